import * as fs from 'node:fs';
import * as path from 'node:path';
import type { AgentRecord } from '../../src/recording/folder/agent-record.ts';
import type { Job } from '../../src/recording/folder/job.ts';
import { cgroupTable } from '../../src/sources/cgroup/table.ts';
import { gpuTable } from '../../src/sources/gpu/gpu.ts';
import { cpu } from '../../src/sources/host/cpu.ts';
import { disk } from '../../src/sources/host/disk.ts';
import { loadavg } from '../../src/sources/host/loadavg.ts';
import { network } from '../../src/sources/host/network.ts';
import { power } from '../../src/sources/host/power.ts';
import { agentTable } from '../../src/sources/own/agent.ts';
import { processTable } from '../../src/sources/process/table.ts';
import { processEndTable, processStartTable } from '../../src/sources/records/tables.ts';
import type { Table } from '../../src/table/table.ts';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from '../make-recording.ts';

/** Recordings of one and the same job of a minute, each made in another way. */
export interface Kind {
  cgroup?: { from?: number; to?: number /** Made anew at this second. */; anew?: number; gap?: [number, number] };
  /** Of which of its processes there are records. */
  records?: 'all' | 'some';
  samples?: boolean;
  wait4?: boolean;
  node?: boolean;
  agent?: Partial<AgentRecord>;
  job?: Partial<Job>;
}

/** A script, two workers, and short ones that come and go between two ticks. Seconds. */
interface Worker {
  pid: number;
  from: number;
  to: number;
  /** CPUs busy while it lived. */
  busy: number;
}

const SCRIPT: Worker = { pid: 100, from: 0.2, to: 59.8, busy: 0.01 };
const WORKERS: readonly Worker[] = [
  { pid: 110, from: 2.3, to: 31.7, busy: 0.9 },
  { pid: 120, from: 20.4, to: 58.6, busy: 1.7 },
];
const SHORT: readonly Worker[] = Array.from({ length: 20 }, (_, i) => {
  const from = 35 + i + 0.1;
  return { pid: 200 + i, from, to: from + 0.7, busy: 1 };
});
const ALL: readonly Worker[] = [SCRIPT, ...WORKERS, ...SHORT];

const at = (second: number): number => START + Math.round(second * 1e6);
const usedBy = ({ from, to, busy }: Worker, second: number): number =>
  busy * Math.min(to - from, Math.max(0, second - from));
export const usedUpTo = (second: number): number => ALL.reduce((sum, one) => sum + usedBy(one, second), 0);
const TICKS = Array.from({ length: 61 }, (_, i) => i + 0.05);

/** Bytes that came and went: in bursts, and at times not at all. */
const moved = (t: number): { io_read_bytes: number; io_written_bytes: number } => ({
  io_read_bytes: Math.round(1e6 * Math.floor(t / 7) + 1e4 * t),
  io_written_bytes: Math.round(5e6 * Math.max(0, t - 33.3)),
});

/** Memory at a tick, and its mark, which has a peak between two ticks. */
const filledUp = (t: number): { memory_current_bytes: number; memory_peak_bytes: number } => ({
  memory_current_bytes: Math.round(1e8 + 1e6 * Math.min(t, 90 - t)),
  memory_peak_bytes: Math.round(t > 21.5 ? 3e8 : 1e8 + 1e6 * t),
});

const watts = (t: number): number => Math.round(100 + 50 * Math.sin(t / 5));

/** What a node counts of itself. */
const NODE_ROWS: readonly [Table, (t: number) => Omit<Row, 'time'>[]][] = [
  [
    disk.table,
    (t) =>
      ['sda', 'sda1'].map((name) => ({
        ...{ disk: name, class: name === 'sda' ? 'disk' : 'partition' },
        ...{ read_bytes: moved(t).io_read_bytes + 4096, written_bytes: Math.round(t * t) },
      })),
  ],
  [
    network.table,
    (t) =>
      ['eth0', 'lo'].map((name) => ({
        ...{ interface: name, class: name === 'lo' ? 'loopback' : 'ethernet' },
        // begins again in the middle
        ...{ received_bytes: Math.round(1000 * (t < 30 ? t : t - 30)), sent_bytes: 12 },
      })),
  ],
  [power.table, (t) => [{ domain: 'package-0', meter: 'rapl', energy_mj: Math.round(1000 * t * (60 + t)) }]],
  [
    gpuTable,
    (t) => [
      { gpu: '0', mine: 'yes', utilization_percent: t < 20 ? 0 : 80, power_watts: watts(t) },
      { gpu: '1', mine: 'yes', utilization_percent: 50, power_watts: watts(t), energy_mj: Math.round(t * 200_000) },
    ],
  ],
];

/** Returns the folder of the recording. */
export async function usedRecording(kind: Kind): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  const nodePath = path.join(folder, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  const all = usedUpTo(60);
  const usage = {
    ...{ wall_seconds: 60, user_seconds: all, system_seconds: 0, max_rss_bytes: 2 ** 24, minor_faults: 0 },
    ...{ major_faults: 0, read_blocks: 0, written_blocks: 0, voluntary_switches: 0, involuntary_switches: 0 },
  };
  const job = jobOf({ asked: { cpus: 4 }, ...(kind.wait4 === true ? { usage } : {}), ...kind.job });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  const tables: Table[] = [];
  const write = async (table: Table, rows: Row[]): Promise<void> => {
    tables.push(table);
    await appendRows(
      nodePath,
      table,
      rows.toSorted((a, b) => a.time - b.time),
    );
  };
  await write(
    loadavg.table,
    TICKS.map((t) => ({ time: at(t), load1: 1 })),
  );
  await write(
    agentTable,
    TICKS.map((t) => ({ time: at(t), cpu_us: Math.round(t * 1000), written_bytes: Math.round(t * 500) })),
  );
  for (const [table, row] of NODE_ROWS)
    await write(
      table,
      TICKS.flatMap((t) => row(t).map((one) => ({ time: at(t), ...one }))),
    );
  if (kind.node === true) {
    const busy = (t: number): Row => ({ time: at(t), cpu: 'all', busy_ms: Math.round(usedUpTo(t) * 1100 + t) });
    await write(cpu.table, TICKS.map(busy));
  }
  if (kind.cgroup !== undefined) {
    const { from = 0, to = 61, anew = 0, gap = [-1, -1] } = kind.cgroup;
    const counted = TICKS.filter((t) => t >= from && t <= to && !(t > gap[0] && t < gap[1]));
    await write(
      cgroupTable,
      counted.map((t) => {
        const before = t > anew ? usedUpTo(anew) : 0;
        const usage_us = Math.round((usedUpTo(t) - before) * 1e6 + t * 1000);
        const user_us = Math.round(usage_us * 0.75);
        return {
          time: at(t),
          cgroup: '.',
          usage_us,
          user_us,
          system_us: usage_us - user_us,
          ...filledUp(t),
          ...moved(t),
        };
      }),
    );
  }
  if (kind.samples !== false) await write(processTable, [SCRIPT, ...WORKERS].flatMap(sampled));
  if (kind.records !== undefined) {
    const recorded = kind.records === 'all' ? ALL : [SCRIPT, ...SHORT];
    const who = ({ pid, from }: Worker): Omit<Row, 'time'> => ({
      ...{ pid: String(pid), start: String(at(from)), ppid: pid === 100 ? 1 : 100, uid: 1000 },
      ...{ exename: `p${pid}`, path: `/p${pid}` },
    });
    await write(
      processStartTable,
      recorded.map((one) => ({ time: at(one.from), ...who(one), began: 'exec' })),
    );
    await write(
      processEndTable,
      recorded.map((one) => {
        const ended = { ended: 'exit', told_by: 'itself', exitcode: 0, exitsignal: 0, numtids: 1, systemtime: 0 };
        return { time: at(one.to), ...who(one), ...ended, usertime: Math.round(usedBy(one, 60) * 1e6) };
      }),
    );
  }
  const scope =
    kind.cgroup === undefined ? { members: 'tree' as const } : { members: 'cgroup' as const, cgroup: '/job_17' };
  const agentTimes = { ticks: TICKS.length, first_sample: at(TICKS[0]!), last_sample: at(TICKS.at(-1)!) };
  const record = agentOf('c1', tables, { scope, ...agentTimes, ...kind.agent });
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(record));
  return folder;
}

/** Rows at the ticks while it lived, and one that it had gone. */
function sampled(one: Worker): Row[] {
  const { pid, from, to } = one;
  const who = { pid: String(pid), start: String(at(from) / 1000), ppid: pid === 100 ? 1 : 100, name: `p${pid}` };
  const children = pid === 100 ? [...WORKERS, ...SHORT] : [];
  const row = (t: number, state: string, last: number): Row => ({
    ...{ time: at(t), ...who, state, system_ms: 0, children_system_ms: 0 },
    user_ms: Math.floor(usedBy(one, last) * 100) * 10,
    children_user_ms: children.reduce((sum, child) => sum + (child.to <= last ? usedBy(child, 60) * 1000 : 0), 0),
  });
  const alive = TICKS.filter((t) => t >= from && t <= to);
  const gone = TICKS.find((t) => t > to)!;
  return [...alive.map((t) => row(t, 'R', t)), row(gone, 'X', alive.at(-1)!)];
}
