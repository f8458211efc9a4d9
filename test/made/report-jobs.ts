import type { Material, NodeMaterial } from '../../src/query/material.ts';
import type { AgentRecord } from '../../src/recording/folder/agent-record.ts';
import type { Job } from '../../src/recording/folder/job.ts';
import type { TableStatistics } from '../../src/recording/sealed/statistics.ts';
import { count, level, line, type Span, series, table } from './report-statistics.ts';

/** Jobs that a report must tell well, told in numbers. */

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** 2026-11-15 20:49:12 UTC. */
export const START = 1_794_775_752_000_000;

export function span(wall: number, interval = 1, from = START): Span {
  return { start: from, end: from + wall * 1e6, samples: Math.floor(wall / interval) + 1 };
}

export function job(wall: number, facts: Partial<Job> = {}): Job {
  return {
    format: 1,
    tacho: '0.1.0',
    id: '4711',
    scheduler: 'slurm',
    name: 'job',
    user: 'alice',
    uid: 1000,
    asked: {},
    nodes: ['c1'],
    interval_seconds: 1,
    start: START,
    end: START + wall * 1e6,
    state: 'completed',
    exit_code: 0,
    tags: {},
    environment: {},
    ...facts,
  };
}

export function agent(node: string, lifetime: Span, facts: Partial<AgentRecord> = {}): AgentRecord {
  return {
    format: 1,
    tacho: '0.1.0',
    node,
    pid: 77,
    interval_seconds: 1,
    start: lifetime.start,
    first_sample: lifetime.start,
    last_sample: lifetime.end,
    end: lifetime.end,
    end_reason: 'stopped',
    facts: {
      hostname: node,
      kernel: '6.1.0',
      architecture: 'x86_64',
      cpus: 64,
      memory_bytes: 512 * GIB,
      gpus: [],
    },
    scope: { members: 'cgroup', cgroup: '/slurm/job_4711', cgroup_shared: false },
    tables: [],
    unmeasured: [],
    ticks: lifetime.samples,
    late_ticks: 0,
    missed_ticks: 0,
    cost: {
      cpu_seconds: ((lifetime.end - lifetime.start) / 1e6) * 0.004,
      max_rss_bytes: 52 * MIB,
      bytes_written: lifetime.samples * 2100,
    },
    ...facts,
  };
}

/** The job's cgroup: CPUs busy, memory at most, and no trouble. */
export function cgroup(
  lifetime: Span,
  busy: number,
  memory: number,
  more: Record<string, ReturnType<typeof level>> = {},
) {
  const wall = (lifetime.end - lifetime.start) / 1e6;
  return table('cgroup', [
    series(
      lifetime,
      { cgroup: '.' },
      {
        usage_us: count(lifetime, busy * wall * 1e6, busy * 1.2e6),
        memory_current_bytes: level(lifetime, memory * 0.8, memory),
        memory_anon_bytes: level(lifetime, memory * 0.6, memory * 0.7),
        memory_file_bytes: level(lifetime, memory * 0.2, memory * 0.3),
        swap_current_bytes: level(lifetime, 0),
        oom_kills: count(lifetime, 0),
        cpu_stalled_us: count(lifetime, wall * 1e4),
        memory_stalled_us: count(lifetime, 0),
        io_stalled_us: count(lifetime, wall * 2e4),
        ...more,
      },
    ),
  ]);
}

export function node(name: string, record: AgentRecord | undefined, tables: [string, TableStatistics][]): NodeMaterial {
  return { node: name, tables: new Map(tables), ...(record === undefined ? {} : { agent: record }) };
}

export function material(facts: Job, nodes: NodeMaterial[], more: Partial<Material> = {}): Material {
  return { path: `tacho-${facts.id}`, job: facts, nodes, markers: [], now: (facts.end ?? START) + 60e6, ...more };
}

/** `tacho run -- sleep 5` on a laptop. */
export function sleep(): Material {
  const lifetime = span(5.004);
  const record = agent('laptop', lifetime, {
    facts: { hostname: 'laptop', kernel: '6.1.0', architecture: 'x86_64', cpus: 8, memory_bytes: 16 * GIB, gpus: [] },
    scope: { members: 'tree' },
    unmeasured: [
      {
        table: 'power',
        what: 'rapl',
        why: 'the energy of the CPUs may be read by root only',
        hint: 'chmod a+r energy_uj',
      },
    ],
    cost: { cpu_seconds: 0.171, max_rss_bytes: 55 * MIB, bytes_written: 22_000 },
  });
  return material(
    job(5.004, {
      id: '20261115-204912-sleep',
      scheduler: 'none',
      name: 'sleep',
      command: ['sleep', '5'],
      nodes: ['laptop'],
      usage: usage(5.004, 0.0011, 1_736_704),
    }),
    [
      node('laptop', record, [
        table('loadavg', [series(lifetime, {}, { load1: level(lifetime, 0.4, 0.6) })]),
        table('vmstat', [series(lifetime, {}, { pswpin: count(lifetime, 0), oom_kill: count(lifetime, 0) })]),
        table('process', [
          series(
            lifetime,
            { pid: '8812', start: String(START / 1000) },
            {
              user_ms: count(lifetime, 0),
              system_ms: count(lifetime, 0),
              rss_bytes: level(lifetime, 1_736_704),
              threads: level(lifetime, 1),
            },
            { name: 'sleep', command: 'sleep 5', user: 'alice' },
          ),
        ]),
      ]),
    ],
  );
}

export function usage(wall: number, cpu: number, rss: number): NonNullable<Job['usage']> {
  return {
    wall_seconds: wall,
    user_seconds: cpu,
    system_seconds: 0,
    max_rss_bytes: rss,
    minor_faults: 96,
    major_faults: 0,
    read_blocks: 0,
    written_blocks: 0,
    voluntary_switches: 2,
    involuntary_switches: 0,
  };
}

/** A command that had ended before anything but the first and last sample was taken. */
export function blink(): Material {
  const lifetime = span(0.052);
  const record = agent('laptop', lifetime, {
    facts: { hostname: 'laptop', kernel: '6.1.0', architecture: 'x86_64', cpus: 8, memory_bytes: 16 * GIB, gpus: [] },
    scope: { members: 'tree' },
    ticks: 2,
    cost: { cpu_seconds: 0.09, max_rss_bytes: 50 * MIB, bytes_written: 9000 },
  });
  return material(
    job(0.052, {
      id: '20261115-204912-convert',
      scheduler: 'none',
      name: 'convert',
      command: ['./convert', 'input.png'],
      nodes: ['laptop'],
      state: 'failed',
      exit_code: 3,
      usage: usage(0.052, 0.047, 18 * MIB),
    }),
    [
      node('laptop', record, [
        table('loadavg', [series({ ...lifetime, samples: 2 }, {}, { load1: level(lifetime, 0.4) })]),
      ]),
    ],
  );
}

/** A table with a curve of two hours, in steps of 80 s. */
function withCurve(
  [name, statistics]: [string, TableStatistics],
  column: string,
  at: (step: number) => number | null,
): [string, TableStatistics] {
  const values = Array.from({ length: 90 }, (_, i) => at(i));
  return [name, { ...statistics, curves: { [column]: { from: START, step: 80e6, values } } }];
}

/** Two hours of training on 8 × 8 GPUs: c3 is slow, c6 GPU 5 is idle, the time limit is generous. */
export function training(): Material {
  const wall = 7200;
  const lifetime = span(wall);
  const names = Array.from({ length: 8 }, (_, i) => `c${i + 1}`);
  const nodes = names.map((name, n) => {
    const slow = name === 'c3';
    const gpus = Array.from({ length: 8 }, (_, g) => {
      const idle = name === 'c6' && g === 5;
      const busy = idle ? 0 : 91 + ((n * 8 + g) % 5) * 0.5;
      const watts = idle ? 90 : slow ? 410 : 620 + ((n + g) % 7) * 4;
      return series(
        lifetime,
        { gpu: String(g) },
        {
          utilization_percent: level(lifetime, busy, idle ? 0 : 100, idle ? 0 : 20),
          memory_used_bytes: level(lifetime, idle ? GIB / 2 : 60 * GIB, idle ? GIB / 2 : 65.2 * GIB),
          memory_total_bytes: level(lifetime, 80 * GIB),
          power_watts: level(lifetime, watts, watts * 1.1),
          energy_mj: count(lifetime, watts * wall * 1000),
          temperature_celsius: level(lifetime, idle ? 31 : 62, idle ? 33 : 70),
          clock_mhz: level(lifetime, idle ? 345 : slow ? 1290 : 1755 + g, 1980),
          throttled_thermal: level(lifetime, 0),
          throttled_power: level(lifetime, 0),
          ecc_uncorrected: count(lifetime, 0),
        },
        { vendor: 'NVIDIA', model: 'NVIDIA H100 80GB HBM3', mine: 'yes' },
      );
    });
    const ranks = Array.from({ length: 8 }, (_, g) =>
      series(
        lifetime,
        { pid: String(9000 + n * 100 + g), start: String(START / 1000 + 800) },
        {
          user_ms: count(lifetime, wall * (1100 + n)),
          system_ms: count(lifetime, wall * 200),
          rss_bytes: level(lifetime, 14 * GIB, 15.5 * GIB),
          threads: level(lifetime, 35),
        },
        { name: 'python3', command: 'python3 train.py --config large.yaml', user: 'alice' },
      ),
    );
    return node(name, agent(name, lifetime), [
      table('loadavg', [series(lifetime, {}, { load1: level(lifetime, 12 + n / 10, 19) })]),
      withCurve(cgroup(lifetime, 11 + n / 10, 180 * GIB), 'memory_current_bytes', (i) => (90 + i) * GIB),
      // while a checkpoint is written nothing is computed; once nobody looked
      withCurve(table('gpu', gpus), 'utilization_percent', (i) => (i % 10 === 9 ? 20 : i > 40 && i < 47 ? null : 95)),
      table('process', ranks),
      table('network', [
        series(
          lifetime,
          { interface: 'mlx5_0:1' },
          { received_bytes: count(lifetime, 6e12, 21e9), sent_bytes: count(lifetime, 6e12, 20e9) },
          { class: 'infiniband' },
        ),
        series(
          lifetime,
          { interface: 'lo' },
          { received_bytes: count(lifetime, 9e12), sent_bytes: count(lifetime, 9e12) },
          { class: 'loopback' },
        ),
      ]),
      table('lustre', [
        series(
          lifetime,
          { filesystem: 'work' },
          { read_bytes: count(lifetime, 4e11, 3e9), written_bytes: count(lifetime, 2e11, 2e9) },
        ),
      ]),
    ]);
  });
  const epochs = Array.from({ length: 12 }, (_, i) => {
    const begin = START + (60 + i * 590) * 1e6;
    return [
      { time: begin, node: 'c1', action: 'begin' as const, name: `epoch ${i + 1}` },
      { time: begin + (560 + (i === 7 ? 28 : i)) * 1e6, node: 'c1', action: 'end' as const, name: `epoch ${i + 1}` },
      {
        time: begin + 560e6,
        node: 'c1',
        action: 'fom' as const,
        name: 'samples_per_second',
        value: String(4100 + i * 3),
      },
    ];
  }).flat();
  return material(
    job(wall, {
      name: 'train-large',
      cluster: 'hpc',
      partition: 'gpu',
      account: 'vision',
      command: ['srun', 'python3', 'train.py', '--config', 'large.yaml'],
      nodes: names,
      asked: { nodes: 8, cpus: 512, memory_bytes: 8 * 480 * GIB, gpus: 64, time_limit_seconds: 86_400 },
      per_node: Object.fromEntries(names.map((n) => [n, { cpus: 64, memory_bytes: 480 * GIB, gpus: 8 }])),
      tags: { model: 'large' },
    }),
    nodes,
    { markers: [...epochs].sort((a, b) => a.time - b.time) },
  );
}

/** Four nodes; c2 falls silent after 20 minutes of an hour, c4 never spoke. */
export function killedNode(): Material {
  const wall = 3600;
  const names = ['c1', 'c2', 'c3', 'c4'];
  const nodes = names.slice(0, 3).map((name) => {
    const lifetime = span(name === 'c2' ? 1210 : wall);
    const record = agent(name, lifetime);
    if (name === 'c2') {
      delete record.end;
      delete record.end_reason;
    }
    return node(name, record, [
      table('loadavg', [series(lifetime, {}, { load1: level(lifetime, 31.5, 33) })]),
      cgroup(lifetime, 31, 100 * GIB),
    ]);
  });
  return material(
    job(wall, {
      name: 'ocean',
      partition: 'standard',
      nodes: names,
      asked: { nodes: 4, cpus: 128, memory_bytes: 4 * 128 * GIB, time_limit_seconds: 5400 },
      state: 'node_fail',
      exit_code: 1,
      reason: 'node c2 does not answer',
    }),
    nodes,
  );
}

/** Three days of a serial program on sixteen CPUs that leaks memory. */
export function days(): Material {
  const wall = 3 * 86_400 + 4 * 3600 + 600;
  const lifetime = span(wall, 10);
  return material(
    job(wall, {
      id: '90210',
      name: 'assemble',
      partition: 'long',
      command: ['./assemble', '--threads', '16', 'reads.fastq'],
      asked: { nodes: 1, cpus: 16, memory_bytes: 64 * GIB, time_limit_seconds: 7 * 86_400 },
      interval_seconds: 10,
      environment: { OMP_NUM_THREADS: '1' },
    }),
    [
      node('c1', agent('c1', lifetime, { interval_seconds: 10 }), [
        table('loadavg', [series(lifetime, {}, { load1: level(lifetime, 1.1, 3) })]),
        cgroup(lifetime, 0.99, 21 * GIB),
        table('process', [
          series(
            lifetime,
            { pid: '311', start: String(START / 1000) },
            {
              user_ms: count(lifetime, wall * 985),
              system_ms: count(lifetime, wall * 4),
              rss_bytes: line(lifetime, GIB, 20 * GIB),
              threads: level(lifetime, 1),
            },
            { name: 'assemble', command: './assemble --threads 16 reads.fastq', user: 'alice' },
          ),
        ]),
        table('disk', [
          series(
            lifetime,
            { disk: 'nvme0n1' },
            { read_bytes: count(lifetime, 8e11, 2.1e9), written_bytes: count(lifetime, 3e11, 9e8) },
            { class: 'disk' },
          ),
        ]),
        table('power', [
          series(
            lifetime,
            { domain: 'package-0' },
            { energy_mj: count(lifetime, wall * 120_000) },
            { meter: 'rapl', within: '' },
          ),
          series(
            lifetime,
            { domain: 'core-0' },
            { energy_mj: count(lifetime, wall * 80_000) },
            { meter: 'rapl', within: 'package-0' },
          ),
          series(
            lifetime,
            { domain: 'dram-0' },
            { energy_mj: count(lifetime, wall * 20_000) },
            { meter: 'rapl', within: '' },
          ),
        ]),
      ]),
    ],
  );
}
