import { VERSION } from '../base/version.ts';
import type { AgentRecord } from '../recording/folder/agent-record.ts';
import { FORMAT, type Job } from '../recording/folder/job.ts';
import type { Table } from '../table/table.ts';
import { CARD } from './cards.ts';
import { COMMAND, USER } from './job-tables.ts';
import { NODE } from './machine.ts';

/** The demo always begins at the same moment, so that it is the same each time: Monday, 2 March 2026, 08:00 UTC. */
export const START = Date.UTC(2026, 2, 2, 8) * 1000;

export interface DemoSize {
  nodes: number;
  gpus: number;
  seconds: number;
  /** Seconds between samples. */
  interval: number;
}

export const nodeName = (node: number): string => `node${String(node + 1).padStart(2, '0')}`;

/** What the scheduler says of the job. */
export function jobFacts(size: DemoSize): Job {
  const nodes = Array.from({ length: size.nodes }, (_, node) => nodeName(node));
  const end = START + size.seconds * 1e6;
  const share = { cpus: NODE.allowedCpus, memory_bytes: NODE.memoryLimit, gpus: size.gpus };
  return {
    format: FORMAT,
    tacho: VERSION,
    id: '48213',
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
      time_limit_seconds: size.seconds * 1.5,
    },
    nodes,
    per_node: Object.fromEntries(nodes.map((node) => [node, share])),
    interval_seconds: size.interval,
    submit: START - 754e6,
    start: START,
    end,
    state: 'completed',
    exit_code: 0,
    steps: [
      {
        id: 'batch',
        name: 'batch',
        start: START,
        end,
        state: 'COMPLETED',
        nodes: nodes.slice(0, 1),
        tasks: 1,
        exit_code: 0,
      },
      {
        id: '0',
        name: COMMAND[0]!,
        start: START + 1e6,
        end: end - 1e6,
        state: 'COMPLETED',
        nodes,
        tasks: size.nodes * size.gpus,
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
  node: number,
  tables: AgentRecord['tables'],
  bytesWritten: number,
): AgentRecord {
  const ticks = Math.round(size.seconds / size.interval);
  const last = START + (ticks - 1) * size.interval * 1e6;
  const end = START + size.seconds * 1e6;
  return {
    format: FORMAT,
    tacho: VERSION,
    node: nodeName(node),
    pid: 39_000 + node,
    step: '0',
    interval_seconds: size.interval,
    start: START - 180_000,
    first_sample: START,
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
      boot_time: START - 11 * 86_400e6,
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
    scope: { members: 'cgroup', cgroup: '/slurm/uid_20417/job_48213', cgroup_shared: false },
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
