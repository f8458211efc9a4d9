import { formatDuration } from '../../base/duration.ts';
import { count, energy, figure, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { stated } from '../../base/stated.ts';
import type { Report } from '../../judge/report-schema.ts';

/** A meter of the part "asked for and used". */
export interface Meter {
  name: string;
  /** 0 to 1; undefined: nothing to hold it against. */
  share?: number;
  text: string;
}

const MEMORY_WORDS = {
  cgroup: 'cgroup',
  processes: 'processes',
  pss: 'processes, shared memory once',
  process: 'largest process',
  node: 'whole node',
};

/** CPU time is no time of the clock: days of it are hours. */
const cpuTime = (seconds: number): string =>
  seconds >= 24 * 3600 ? `${figure(seconds / 3600)} CPU h` : formatDuration(seconds);

/** Asked for against used, in the order that people care about; with `sources` each figure says who counted. */
export function meters(report: Report, sources = true): Meter[] {
  const { summary: s, job, nodes } = report;
  const meterList: Meter[] = [];
  const wall = `${formatDuration(s.wall_seconds)}${job.state === 'running' ? ' so far' : ''}`;
  if (s.time_used !== undefined)
    meterList.push({ name: 'time', share: s.time_used, text: `${wall} of ${formatDuration(s.time_limit_seconds!)}` });
  else meterList.push({ name: 'time', text: wall });
  const own = job.command_use;
  if (s.cpu_seconds === undefined) {
    const only =
      own === undefined
        ? ''
        : `; the command itself used ${formatDuration(own.cpu_seconds)}${sources ? ' (wait4)' : ''}`;
    meterList.push({ name: 'CPU', text: `not measured${only}` });
  } else {
    const isSampled = s.cpu_source === 'processes';
    // the line has no room for more
    const who = s.cpu_source === 'records and samples' ? 'mixed' : isSampled ? 'sampled' : s.cpu_source;
    // what a process used after its last sample is missing; of a part, it is shared out
    const least = !isSampled || s.cpu_seconds === 0 ? '' : report.confined === undefined ? 'at least ' : 'about ';
    const spent = `${least}${cpuTime(s.cpu_seconds)}${sources ? ` (${who})` : ''}`;
    const busy =
      s.cpu_utilization === undefined
        ? ''
        : `${s.cpus_busy!.toFixed(s.cpus_busy! < 10 ? 1 : 0)} of ${count(s.cpus_measured!, 'CPU')}, `;
    const measuredNodes = nodes.filter((n) => n.cpu_seconds !== undefined).length;
    const coverageText =
      measuredNodes < nodes.length ? `, ${measuredNodes} of ${count(nodes.length, 'node')} measured` : '';
    meterList.push({
      name: 'CPU',
      text: busy + spent + coverageText,
      ...stated({ share: s.cpu_utilization }),
    });
  }
  meterList.push(memoryMeter(report, sources));
  if (s.gpu_utilization !== undefined) {
    const measured = s.gpus_measured!;
    const busy = figure(Number((s.gpu_utilization * measured).toFixed(1)));
    // an unmeasured card need not have been as busy as the others
    const coverageText = measured < (s.gpus ?? 0) ? `, ${measured} of ${s.gpus} measured` : ' on average';
    meterList.push({
      name: 'GPU',
      share: s.gpu_utilization,
      text: `${busy} of ${count(measured, 'GPU')}${coverageText}`,
    });
  } else if ((s.gpus ?? 0) > 0) meterList.push({ name: 'GPU', text: `${count(s.gpus!, 'GPU')}, use not measured` });
  if (s.gpu_memory_peak_bytes !== undefined && s.gpu_memory_total_bytes !== undefined) {
    meterList.push({
      name: 'GPU memory',
      share: s.gpu_memory_peak_bytes / s.gpu_memory_total_bytes,
      text: `${formatBytes(s.gpu_memory_peak_bytes)} of ${formatBytes(s.gpu_memory_total_bytes)} on the fullest card`,
    });
  }
  return meterList;
}

/** From here on files in memory that may be the job's are worth a word on the card: others make some, too. */
const MUCH_SHM = 64 << 20;

function memoryMeter({ summary: s, job }: Report, sources: boolean): Meter {
  if (s.memory_peak_bytes === undefined) {
    const own = job.command_use?.max_rss_bytes;
    const who = sources ? ' (wait4)' : '';
    const only = own === undefined ? '' : `; the command’s own largest process had ${formatBytes(own)}${who}`;
    return { name: 'memory', text: `not measured${only}` };
  }
  const where = s.nodes > 1 ? ` on ${s.memory_peak_node}` : '';
  const shm = s.memory_shm_bytes;
  const isMuch = shm !== undefined && shm >= MUCH_SHM;
  const source = s.memory_source!;
  const isAdded = source === 'processes';
  // files in memory may come on top
  const isMost = isAdded && shm === undefined;
  const isLeast = !sources && source === 'process' && s.processes !== 1;
  const used = `${isMost ? 'at most ' : isLeast ? 'at least ' : ''}${formatBytes(s.memory_peak_bytes)}`;
  const twice = isAdded && shm !== undefined && (sources || isMuch) ? 'shared memory counted for each' : undefined;
  const who = sources ? MEMORY_WORDS[source] : source === 'node' ? 'the whole node' : undefined;
  const how = [who, twice].filter((phrase) => phrase !== undefined).join(', ');
  const more = shm !== undefined && (sources || isMuch) ? `perhaps ${formatBytes(shm)} more in /dev/shm` : '';
  const note = [how, more].filter((phrase) => phrase !== '').join('; ');
  const end = `${where}${note === '' ? '' : ` (${note})`}`;
  if (s.memory_limit_bytes === undefined) return { name: 'memory', text: `${used}${end}` };
  return {
    name: 'memory',
    share: s.memory_peak_bytes / s.memory_limit_bytes,
    text: `${used} of ${formatBytes(s.memory_limit_bytes)}${end}`,
  };
}

/** "user 3.2 s, system 120 ms, 1.4 s waiting for a CPU": what became of the CPU time; undefined when nobody knows. */
export function workText({ work }: Report): string | undefined {
  if (work?.user_seconds === undefined || work.system_seconds === undefined) return undefined;
  const workTexts = [`user ${cpuTime(work.user_seconds)}`, `system ${cpuTime(work.system_seconds)}`];
  if (work.waiting_seconds !== undefined) workTexts.push(`${cpuTime(work.waiting_seconds)} waiting for a CPU`);
  return workTexts.join(', ');
}

/** Page faults and context switches. */
export function kernelWorkText({ work }: Report): string | undefined {
  if (work?.minor_faults === undefined || work.voluntary_switches === undefined) return undefined;
  const faults = `page faults ${figure(work.minor_faults)} minor, ${figure(work.major_faults)} major`;
  return `${faults}; switches ${figure(work.voluntary_switches)} voluntary, ${figure(work.involuntary_switches)} forced`;
}

/** From here on the part of the time that was metered is all of it: ticks and the job's edges lie apart. */
const WHOLE = 0.995;

/** "41.2 kWh by counters (CPUs, memory, GPUs)". */
export function energyText({ summary: s }: Report): string | undefined {
  if (s.energy_joules === undefined) return undefined;
  const how = { counter: 'by counters', 'integrated power': 'from sampled power', both: 'counters and sampled power' };
  const coverageText = (s.energy_coverage ?? 1) < WHOLE ? `, ${percent(s.energy_coverage)} of node time` : '';
  const coveredParts = s.energy_covers!.join(', ');
  const covers = coveredParts === 'node' ? 'whole nodes' : coveredParts === 'GPUs' ? 'GPUs only' : coveredParts;
  return `${energy(s.energy_joules)} ${how[s.energy_source!]} (${covers}${coverageText})`;
}

export function allocationHours({ summary: s }: Report): string {
  const workTexts = [`${figure(s.node_hours)} node-hours`];
  if (s.core_hours !== undefined) workTexts.push(`${figure(s.core_hours)} core-hours`);
  if (s.gpu_hours !== undefined) workTexts.push(`${figure(s.gpu_hours)} GPU-hours`);
  return workTexts.join(', ');
}
