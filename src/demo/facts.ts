import { VERSION } from '../base/version.ts';
import type { AgentRecord } from '../recording/folder/agent-record.ts';
import { FORMAT, type Job } from '../recording/folder/job.ts';
import type { Table } from '../table/table.ts';
import { CARD } from './cards.ts';
import { COMMAND, USER } from './job-tables.ts';
import { NODE } from './machine.ts';

/** A run of the job. */
export interface DemoRun {
  id: string;
  /** Epoch microseconds. */
  start: number;
}

/** The demo always begins at the same moment, so that it is the same each time: Monday, 2 March 2026, 08:00 UTC. */
export const FIRST_RUN: DemoRun = { id: '48213', start: Date.UTC(2026, 2, 2, 8) * 1000 };
/** The same job again a day later, when storage is slow. */
export const SLOWER_RUN: DemoRun = { id: '48377', start: Date.UTC(2026, 2, 3, 8) * 1000 };

/** When the nodes were booted. */
export const BOOT = FIRST_RUN.start - 11 * 86_400e6;

export interface DemoSize {
  nodes: number;
  gpus: number;
  seconds: number;
  /** Seconds between samples. */
  interval: number;
}

/** The size of a run, and its time limit in seconds. */
export interface RunSize extends DemoSize {
  limit: number;
}

export const nodeName = (node: number): string => `node${String(node + 1).padStart(2, '0')}`;

/** What the scheduler says of the job. */
export function jobFacts(size: RunSize, { id, start }: DemoRun, ranks: number): Job {
  const nodes = Array.from({ length: size.nodes }, (_, node) => nodeName(node));
  const end = start + Math.round(size.seconds * 1e6);
  const share = { cpus: NODE.allowedCpus, memory_bytes: NODE.memoryLimit, gpus: size.gpus };
  return {
    format: FORMAT,
    tacho: VERSION,
    id,
    cluster: 'demo',
    scheduler: 'slurm',
    name: 'train-mixture-70b',
    user: USER.name,
    uid: USER.uid,
    account: 'language-models',
    partition: 'gpu',
    command: ['srun', ...COMMAND],
    directory: `/scratch/${USER.name}/mixture`,
    asked: {
      nodes: size.nodes,
      cpus: size.nodes * NODE.allowedCpus,
      memory_bytes: size.nodes * NODE.memoryLimit,
      gpus: size.nodes * size.gpus,
      time_limit_seconds: Math.round(size.limit),
    },
    nodes,
    per_node: Object.fromEntries(nodes.map((node) => [node, share])),
    interval_seconds: size.interval,
    submit: start - 754e6,
    start,
    end,
    state: 'completed',
    exit_code: 0,
    steps: [
      {
        id: 'batch',
        name: 'batch',
        start,
        end,
        state: 'COMPLETED',
        nodes: nodes.slice(0, 1),
        tasks: 1,
        exit_code: 0,
      },
      {
        id: '0',
        name: COMMAND[0]!,
        start: start + 1e6,
        end: end - 1e6,
        state: 'COMPLETED',
        nodes,
        tasks: Math.max(1, ranks),
        exit_code: 0,
      },
    ],
    // nobody shall take it for a measurement
    tags: { demo: 'synthetic' },
    environment: {},
  };
}

/** What the agent of a node says of itself. */
export function agentFacts(
  size: DemoSize,
  { id, start }: DemoRun,
  node: number,
  tables: AgentRecord['tables'],
  bytesWritten: number,
): AgentRecord {
  const ticks = Math.round(size.seconds / size.interval);
  const last = start + (ticks - 1) * size.interval * 1e6;
  const end = start + Math.round(size.seconds * 1e6);
  return {
    format: FORMAT,
    tacho: VERSION,
    node: nodeName(node),
    pid: 39_000 + node,
    step: '0',
    interval_seconds: size.interval,
    start: start - 180_000,
    first_sample: start,
    last_sample: last,
    end,
    end_reason: 'stopped',
    facts: {
      hostname: nodeName(node),
      kernel: '6.4.0-150600.23.60-default',
      architecture: 'x64',
      cpu_model: 'AMD EPYC 9554 64-Core Processor',
      cpus: NODE.cpus,
      sockets: NODE.sockets,
      memory_bytes: NODE.memory,
      boot_time: BOOT,
      gpus: Array.from({ length: size.gpus }, (_, gpu) => ({
        gpu: String(gpu),
        vendor: CARD.vendor,
        model: CARD.model,
        uuid: `demo-${nodeName(node)}-${gpu}`,
        memory_bytes: CARD.memory,
        driver: CARD.driver,
      })),
      allowed_cpus: NODE.allowedCpus,
      memory_limit_bytes: NODE.memoryLimit,
    },
    scope: { members: 'cgroup', cgroup: `/slurm/uid_20417/job_${id}`, cgroup_shared: false },
    tables,
    unmeasured: [],
    ticks,
    late_ticks: 0,
    missed_ticks: 0,
    cost: {
      cpu_seconds: Math.round(ticks * 0.0031 * 100) / 100,
      max_rss_bytes: 56_623_104,
      bytes_written: bytesWritten,
    },
  };
}

/** A table as agent.json lists it. */
export const listed = (table: Table, every?: number): AgentRecord['tables'][number] =>
  every === undefined ? table : { ...table, every };
