import { count, cpusFigure, figure, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { stated } from '../../base/stated.ts';
import { largest, type Material } from '../../query/material.ts';
import { diskTable, networkTable } from '../../sources/tables.ts';
import type { Report } from '../report-schema.ts';
import { FILE_WORK, hasNoIo } from '../rules/shared/file-work.ts';
import { weightedMean } from '../use/recorded-time.ts';
import { type Profile, STARVED, waitingOf } from './profile.ts';

/** What may hold a job up. */
export const LIMITS = [
  ...(['cores', 'serial phase', 'lock', 'memory', 'memory bandwidth'] as const),
  ...(['disk', 'network', 'GPU'] as const),
];
export type LimitName = (typeof LIMITS)[number];

/** How near a resource is to its end, and what follows. */
export interface Limit {
  what: LimitName;
  /** unknown: not measurable, and why. none: the job has nothing of it. */
  state: 'saturated' | 'partly' | 'free' | 'unknown' | 'none';
  /** 0 to 1, where there is a figure. */
  use?: number;
  text: string;
  hint?: string;
}

/** From here on a resource is at its end. */
const FULL = 0.9;
const HALF = 0.5;
/** A serial phase of less than this holds nobody up yet. */
const SERIAL = 0.05;

const graded = (use: number): 'saturated' | 'partly' | 'free' =>
  use >= FULL ? 'saturated' : use >= HALF ? 'partly' : 'free';

export function limitsOf(material: Material, report: Report, profile: Profile | undefined): Limit[] {
  return [
    coresLimit(report, profile),
    serialLimit(report, profile),
    lockLimit(report),
    memoryLimit(report),
    bandwidthLimit(material),
    diskLimit(material, report),
    networkLimit(material),
    gpuLimit(report),
  ];
}

function coresLimit({ summary, nodes }: Report, profile: Profile | undefined): Limit {
  const throttled = largest(nodes.map((n) => n.cpu_throttled));
  if (throttled !== undefined && throttled > 0.05)
    return {
      what: 'cores',
      state: 'saturated',
      use: throttled,
      text: `the CPU quota of its cgroup ran out in ${percent(throttled)} of the periods`,
    };
  const waiting = profile?.waiting ?? waitingOf(nodes);
  if (waiting > STARVED)
    return {
      what: 'cores',
      state: 'saturated',
      use: 1 - 1 / waiting,
      text: `its threads had no CPU in ${percent(1 - 1 / waiting)} of the time in which they wanted one: others had them, or it has too many threads`,
    };
  if (profile?.levels !== undefined) {
    const use = profile.levels.all / profile.seconds;
    const busy = summary.cpus_busy === undefined ? '' : `, ${cpusFigure(summary.cpus_busy)} on average`;
    return {
      what: 'cores',
      state: use >= HALF ? 'saturated' : use >= 0.1 ? 'partly' : 'free',
      use,
      text: `all ${figure(profile.cpus)} CPUs were wanted in ${percent(use)} of the time${busy}`,
    };
  }
  const use = summary.cpu_utilization;
  if (use === undefined) return { what: 'cores', state: 'unknown', text: 'CPU time was not measured' };
  const state = use >= FULL ? 'saturated' : use >= HALF ? 'partly' : 'free';
  return {
    what: 'cores',
    state,
    use,
    text: `${percent(use)} of ${count(summary.cpus!, 'CPU')} ${summary.cpus === 1 ? 'was' : 'were'} busy on average`,
  };
}

function serialLimit({ summary }: Report, profile: Profile | undefined): Limit {
  if (profile === undefined) {
    const isOne = summary.cpus !== undefined && summary.cpus <= 1;
    return {
      what: 'serial phase',
      state: 'unknown',
      text: isOne
        ? 'a run on one core does not show which part of it is serial'
        : 'too few samples to tell one thread from many',
      hint: isOne ? 'record it on two cores or more' : 'record with a shorter interval (tacho run --interval 0.1s)',
    };
  }
  const { low, high } = profile.serial;
  if (profile.levels === undefined)
    return {
      what: 'serial phase',
      state: low >= 0.25 ? 'saturated' : 'unknown',
      use: low,
      text:
        profile.alone === undefined
          ? 'it waited too much for CPUs to tell one thread from many'
          : `with all of its CPUs, one thread would work alone for at least ${percent(low)} of the time`,
      hint: 'record it where it has its CPUs for itself',
    };
  const state = low >= SERIAL ? (low >= 0.25 ? 'saturated' : 'partly') : high >= 0.25 ? 'partly' : 'free';
  const range = low === high ? percent(low) : `${percent(low)} to ${percent(high)}`;
  return { what: 'serial phase', state, use: low, text: `no more than one thread ran in ${range} of the time` };
}

/** What the rule on locks says. */
function lockLimit({ checks, findings }: Report): Limit {
  const check = checks.find(({ id }) => id === 'lock-contention');
  const lockFinding = findings.find(({ id }) => id === 'lock-contention');
  if (lockFinding !== undefined) return { what: 'lock', state: 'saturated', text: lockFinding.text };
  if (check?.outcome === 'fine') return { what: 'lock', state: 'free', text: 'no thread waited much for others' };
  return { what: 'lock', state: 'unknown', text: check?.why ?? 'waiting for locks was not measured' };
}

function memoryLimit({ summary, nodes }: Report): Limit {
  const { memory_peak_bytes: peak, memory_limit_bytes: limit } = summary;
  if (peak === undefined || limit === undefined)
    return { what: 'memory', state: 'unknown', text: 'the peak of memory, or its limit, is not known' };
  const swapped = largest(nodes.map((n) => n.swapped_in_bytes)) ?? 0;
  const use = peak / limit;
  const swap = swapped > 0 ? `; ${formatBytes(swapped)} were read back from swap` : '';
  return {
    what: 'memory',
    state: swapped > 0 ? 'saturated' : graded(use),
    use,
    text: `peak ${formatBytes(peak)} of ${formatBytes(limit)} (${percent(use)})${swap}`,
  };
}

const STALLED = 'PERF_COUNT_HW_STALLED_CYCLES_BACKEND';
const CYCLES = 'PERF_COUNT_HW_CPU_CYCLES';

/** Counters tell how long CPUs waited for memory; what the machine could carry no counter says. */
function bandwidthLimit({ processes }: Material): Limit {
  const total = (name: string): number =>
    processes?.metrics.get(name)?.reduce((sum, value) => sum + (value || 0), 0) ?? 0;
  const [stalled, cycles] = [total(STALLED), total(CYCLES)];
  if (!(cycles > 0 && stalled > 0))
    return {
      what: 'memory bandwidth',
      state: 'unknown',
      text: 'no counters of it were recorded',
      hint: 'where the CPU has them, record the perf events cycles and stalled-cycles-backend (docs/processes-recording.md)',
    };
  const use = stalled / cycles;
  return {
    what: 'memory bandwidth',
    state: use >= HALF ? 'saturated' : use >= 0.25 ? 'partly' : 'free',
    use,
    text: `CPUs waited for data in ${percent(use)} of their cycles`,
  };
}

function diskLimit(material: Material, { nodes }: Report): Limit {
  const own = nodes.filter((n) => !hasNoIo(n, FILE_WORK));
  if (own.length === 0) return { what: 'disk', state: 'free', use: 0, text: 'its own processes did next to no I/O' };
  const waited = weightedMean(own.map((n) => [n.pressure_io ?? n.iowait, n.recorded_seconds]));
  const busy = busiest(material, (node) => material.series?.(diskTable.col.busy_ms, { node }) ?? [], 1000);
  if (waited === undefined && busy === undefined)
    return { what: 'disk', state: 'unknown', text: 'neither I/O pressure nor disks were recorded' };
  const device = busy === undefined ? '' : `${busy.of} was busy ${percent(busy.use)} of the time`;
  const wait = waited === undefined ? '' : `work waited for I/O ${percent(waited)} of the time`;
  const isFull = (busy?.use ?? 0) >= FULL || (waited ?? 0) >= HALF;
  const isPart = (waited ?? 0) >= FILE_WORK.pressure_io || (busy?.use ?? 0) >= HALF;
  return {
    what: 'disk',
    state: isFull ? 'saturated' : isPart ? 'partly' : 'free',
    ...stated({ use: waited }),
    text: [wait, device].filter((each) => each !== '').join('; '),
  };
}

function networkLimit(material: Material): Limit {
  const rates = material.nodes.flatMap(({ node }) => {
    const speeds = material.series?.(networkTable.col.link_rate_bytes, { node }) ?? [];
    return speeds.flatMap(({ keys, max }) => {
      const speed = largest(max);
      if (speed === undefined || speed <= 0) return [];
      const key = { interface: keys.interface ?? '' };
      const ways = [networkTable.col.received_bytes, networkTable.col.sent_bytes].map((column) => {
        const [one] = material.series?.(column, { node, keys: key }) ?? [];
        return one === undefined ? 0 : meanOf(one) / speed;
      });
      return { of: `${node} ${key.interface}`, use: Math.max(...ways) };
    });
  });
  if (rates.length === 0)
    return { what: 'network', state: 'unknown', text: 'how much its links can carry is not known' };
  const most = rates.reduce((a, b) => (b.use > a.use ? b : a));
  return {
    what: 'network',
    state: graded(most.use),
    use: most.use,
    text: `${most.of} carried ${percent(most.use)} of what it can, on average`,
  };
}

function gpuLimit({ summary }: Report): Limit {
  const { gpus, gpu_utilization: use } = summary;
  if (gpus === undefined && use === undefined) return { what: 'GPU', state: 'none', text: 'the job had none' };
  if (use === undefined) return { what: 'GPU', state: 'unknown', text: 'their use was not measured' };
  return { what: 'GPU', state: graded(use), use, text: `${percent(use)} busy on average` };
}

interface Rates {
  count: ArrayLike<number>;
  mean: ArrayLike<number>;
}

function meanOf({ count, mean }: Rates): number {
  let [sum, weight] = [0, 0];
  for (let i = 0; i < mean.length; i++) {
    if (!Number.isFinite(mean[i]!)) continue;
    sum += mean[i]! * count[i]!;
    weight += count[i]!;
  }
  return weight > 0 ? sum / weight : 0;
}

/** The device that worked most, as a share of the time. */
function busiest(
  { nodes }: Material,
  series: (node: string) => (Rates & { keys: Record<string, string> })[],
  unit: number,
): { of: string; use: number } | undefined {
  const all = nodes.flatMap(({ node }) =>
    series(node).map((one) => ({ of: `${node} ${Object.values(one.keys).join(' ')}`, use: meanOf(one) / unit })),
  );
  return all.length === 0 ? undefined : all.reduce((a, b) => (b.use > a.use ? b : a));
}
