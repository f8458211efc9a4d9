import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Job } from '../../src/recording/folder/job.ts';
import { cgroupTable } from '../../src/sources/cgroup/table.ts';
import { gpuTable } from '../../src/sources/gpu/gpu.ts';
import { cpu } from '../../src/sources/host/cpu.ts';
import { agentOf, appendRows, jobOf, type Row } from '../make-recording.ts';

const MINUTE = 60e6;

/** A job whose figures are known: it keeps `busy` of its CPUs busy from its first minute to its last. */
interface Known {
  id: string;
  start: string;
  hours: number;
  busy: number;
  node: string;
  /** CPUs of the node that are busy, with everybody’s work; else those of the job. */
  nodeBusy?: number;
  /** Utilisation of its only GPU, in percent. */
  gpu?: number;
  job: Partial<Job>;
}

const ADA = { user: 'ada', account: 'physics', partition: 'cpu', asked: { cpus: 4 } };
const BOB = { user: 'bob', account: 'chem', partition: 'cpu', asked: { cpus: 4 } };
const HALF = { partition: 'shared', asked: { cpus: 2 }, per_node: { c4: { cpus: 2 } } };

/** Every node has 4 CPUs. In Europe/Oslo clocks go forward in the night of job 3, and back in that of job 7. */
const KNOWN: readonly Known[] = [
  {
    ...{ id: '1', start: '2024-03-04T08:00:00Z', hours: 2, busy: 1, node: 'c1' },
    job: { ...ADA, name: 'sim', command: ['./sim', 'a.nml'], tags: { case: 'a' } },
  },
  {
    ...{ id: '2', start: '2024-03-04T10:00:00Z', hours: 1, busy: 4, node: 'c2' },
    job: { ...ADA, name: 'sim', command: ['./sim', 'b.nml'], tags: { case: 'b' } },
  },
  {
    ...{ id: '3', start: '2024-03-30T23:00:00Z', hours: 4, busy: 2, node: 'c3', gpu: 0 },
    job: { ...BOB, partition: 'gpu', name: 'train', command: ['python3', 'train.py'], asked: { cpus: 4, gpus: 1 } },
  },
  {
    ...{ id: '4', start: '2024-03-12T12:00:00Z', hours: 1, busy: 3, node: 'c4', nodeBusy: 4 },
    job: { ...HALF, user: 'eve', account: 'bio', name: 'greedy', command: ['./greedy'] },
  },
  {
    ...{ id: '5', start: '2024-03-12T12:00:00Z', hours: 1, busy: 1, node: 'c4', nodeBusy: 4 },
    job: { ...HALF, user: 'dan', account: 'bio', name: 'modest', command: ['./modest'] },
  },
  {
    ...{ id: '6', start: '2024-03-07T00:30:00Z', hours: 0.5, busy: 4, node: 'c2' },
    job: { ...BOB, name: 'broken', command: ['./broken'], state: 'failed', exit_code: 1 },
  },
  {
    ...{ id: '7', start: '2024-10-27T00:00:00Z', hours: 2, busy: 4, node: 'c1' },
    job: { ...ADA, name: 'night', command: ['./night'] },
  },
];

/** Makes the recordings of these jobs in a folder, and one that is damaged: `job-8`. */
export async function makeHistoryArchive(archive: string): Promise<void> {
  for (const knownJob of KNOWN) await makeKnown(archive, knownJob);
  fs.mkdirSync(path.join(archive, 'job-8'), { recursive: true });
  fs.writeFileSync(path.join(archive, 'job-8', 'job.json'), '{"format": 99}');
}

async function makeKnown(archive: string, { id, start: text, hours, busy, node, nodeBusy, gpu, job }: Known) {
  const folder = path.join(archive, `job-${id}`);
  const nodePath = path.join(folder, `node=${node}`);
  const start = Date.parse(text) * 1000;
  const end = start + hours * 60 * MINUTE;
  const ticks = Array.from({ length: hours * 60 + 1 }, (_, i) => start + i * MINUTE);
  const rows = (row: (seconds: number) => Omit<Row, 'time'>): Row[] =>
    ticks.map((time) => ({ time, ...row((time - start) / 1e6) }));
  await appendRows(
    nodePath,
    cgroupTable,
    rows((t) => ({ cgroup: '.', usage_us: busy * t * 1e6, user_us: busy * t * 1e6, system_us: 0 })),
  );
  await appendRows(
    nodePath,
    cpu.table,
    rows((t) => ({ cpu: 'all', busy_ms: (nodeBusy ?? busy) * t * 1e3, idle_ms: (4 - (nodeBusy ?? busy)) * t * 1e3 })),
  );
  const tables = [cgroupTable, cpu.table];
  if (gpu !== undefined) {
    await appendRows(
      nodePath,
      gpuTable,
      rows(() => ({ gpu: '0', mine: 'yes', utilization_percent: gpu })),
    );
    tables.push(gpuTable);
  }
  const facts = { hostname: node, kernel: '6.1', architecture: 'x64', cpus: 4, memory_bytes: 2 ** 34 };
  const gpus = gpu === undefined ? [] : [{ gpu: '0', vendor: 'nvidia', model: 'A100' }];
  const scope = { members: 'cgroup', cgroup: `/jobs/${id}`, cgroup_shared: false };
  const agent = { start, end, interval_seconds: 60, ticks: ticks.length, facts: { ...facts, gpus }, scope };
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf(node, tables, agent as never)));
  const own = { id, start, end, nodes: [node], scheduler: 'file' as const, interval_seconds: 60, ...job };
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf(own)));
}
