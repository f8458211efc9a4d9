import { greatest, smallest } from '../../base/extremes.ts';
import type { SonarData, SonarProcess } from './sample.ts';

/** A process, or several that were rolled up, over time. Times rise. */
export interface SonarStream {
  node: string;
  pid: number;
  ppid?: number;
  command: string;
  user: string;
  times: number[];
  points: SonarProcess[];
  /** CPU seconds of its own at each of the times; undefined: this Sonar says none. */
  cpu?: number[];
  /** Epoch microseconds, as far as its CPU time tells; else when it was seen first. */
  start: number;
}

export interface SonarJob {
  id: string;
  cluster: string;
  user: string;
  /** Streams by node. */
  nodes: Map<string, SonarStream[]>;
  /** When it was seen, of all nodes. */
  first: number;
  last: number;
  /** Different times at which it was seen. */
  samples: number;
  /** Seen at the first, or at the last, time that there is of one of its nodes. */
  alive: { first: boolean; last: boolean };
}

/** What is no work: shells, daemons of logins. A job that has nothing else is left out. */
const IDLE = new Set(['bash', 'zsh', 'sshd', 'tmux', 'systemd']);

export interface JobOptions {
  /** An id means another job on every node, also where Sonar does not say so. */
  separate?: boolean;
  /** Those that were seen less often are left out. */
  minSamples: number;
  /** Also jobs that have only shells and daemons of logins. */
  all?: boolean;
}

/** Jobs with what their processes did, and how many were left out. */
export function sonarJobs(data: SonarData, options: JobOptions): { jobs: SonarJob[]; short: number; idle: number } {
  const jobsByKey = new Map<string, SonarJob & { streams: Map<string, SonarStream> }>();
  const bounds = new Map<string, { first: number; last: number }>();
  const samples = [...data.samples.values()].sort((a, b) => a.time - b.time);
  for (const { node, time, cluster, processes } of samples) {
    const nodeBounds = bounds.get(node);
    bounds.set(node, { first: nodeBounds?.first ?? time, last: time });
    for (const process of processes) {
      if (process.job === '0') continue;
      const isOneNode = options.separate === true || process.epoch !== 0;
      const key = JSON.stringify([process.job, process.user, cluster, process.epoch, isOneNode ? node : '']);
      let job = jobsByKey.get(key);
      if (job === undefined) {
        job = {
          id: process.job,
          cluster,
          user: process.user,
          nodes: new Map(),
          first: time,
          last: time,
          samples: 0,
          alive: { first: false, last: false },
          streams: new Map(),
        };
        jobsByKey.set(key, job);
      }
      job.last = time;
      add(job, node, time, process);
    }
  }
  let [short, idle] = [0, 0];
  const jobs: SonarJob[] = [];
  for (const { streams, ...job } of jobsByKey.values()) {
    const all = [...streams.values()];
    const times = new Set(all.flatMap((stream) => stream.times));
    if (options.all !== true && all.every(({ command }) => IDLE.has(command))) idle++;
    else if (times.size < options.minSamples) short++;
    else {
      for (const [node, own] of job.nodes) {
        const parents = new Set(own.flatMap(({ ppid }) => ppid ?? []));
        for (const stream of own) countCpu(stream, parents.has(stream.pid));
        withoutReaped(own);
        const sampleTimes = own.flatMap((stream) => stream.times);
        if (smallest(sampleTimes) === bounds.get(node)!.first) job.alive.first = true;
        if (greatest(sampleTimes) === bounds.get(node)!.last) job.alive.last = true;
      }
      jobs.push({ ...job, samples: times.size });
    }
  }
  return { jobs, short, idle };
}

function add(
  job: SonarJob & { streams: Map<string, SonarStream> },
  node: string,
  time: number,
  process: SonarProcess,
): void {
  const { pid, ppid, command, user } = process;
  // those that are rolled up have no pid of their own: their parent tells them apart
  const key = JSON.stringify([node, pid === 0 ? `under ${ppid ?? 0}` : pid, command]);
  let stream = job.streams.get(key);
  if (stream === undefined) {
    stream = { node, pid, command, user, times: [], points: [], start: time, ...(ppid === undefined ? {} : { ppid }) };
    job.streams.set(key, stream);
    job.nodes.set(node, [...(job.nodes.get(node) ?? []), stream]);
  }
  const before = stream.points.at(-1);
  // twice at a moment: the first counts; CPU time that falls is a slip of Sonar's
  if (stream.times.at(-1) === time) return;
  if (
    before?.cpu_seconds !== undefined &&
    process.cpu_seconds! < before.cpu_seconds &&
    process.rolled === 0 &&
    before.rolled === 0
  )
    return;
  stream.times.push(time);
  stream.points.push(process);
}

/** A mean that is less is too coarse to tell how long a process had run. */
const LEAST_PERCENT = 1;

function countCpu(stream: SonarStream, isParent: boolean): void {
  const { times, points } = stream;
  const [first] = points as [SonarProcess];
  if (first.cpu_seconds === undefined) {
    // until 0.6 there is only the mean use since the start of the process: it is taken for the time since the sample before
    let used = 0;
    stream.cpu = points.map(({ cpu_percent = 0 }, i) => {
      used += i === 0 ? 0 : (cpu_percent / 100) * ((times[i]! - times[i - 1]!) / 1e6);
      return used;
    });
    return;
  }
  let [lost, before] = [0, 0];
  stream.cpu = points.map(({ cpu_seconds = 0 }) => {
    // of those that are rolled up one may have ended: what it used was used all the same
    if (cpu_seconds < before) lost += before - cpu_seconds;
    before = cpu_seconds;
    return cpu_seconds + lost;
  });
  const { cpu_percent = 0, cpu_seconds } = first;
  // the mean is of the process itself, the CPU time has children as well: of a parent they do not tell its age
  if (!isParent && cpu_percent >= LEAST_PERCENT && cpu_seconds > 0)
    stream.start = times[0]! - Math.round((cpu_seconds / (cpu_percent / 100)) * 1e6);
}

/** A parent has the CPU time of children that it waited for: what was counted as the child's is not the parent's, too. */
function withoutReaped(own: readonly SonarStream[]): void {
  const byPid = new Map(own.filter(({ pid }) => pid !== 0).map((stream) => [stream.pid, stream]));
  const ended = own
    .filter(({ pid, ppid }) => pid !== 0 && ppid !== undefined && byPid.has(ppid))
    .sort((a, b) => a.times.at(-1)! - b.times.at(-1)!);
  for (const child of ended) {
    const parent = byPid.get(child.ppid!)!;
    if (child.points[0]!.cpu_seconds === undefined || parent.cpu === undefined) continue;
    const end = child.times.at(-1)!;
    const next = parent.times.findIndex((time) => time > end);
    if (next < 1) continue;
    const taken = child.points.at(-1)!.cpu_seconds!;
    const grown = parent.points[next]!.cpu_seconds! - parent.points[next - 1]!.cpu_seconds!;
    // it was waited for by then, or it has another parent by now
    if (taken === 0 || grown < taken) continue;
    for (let i = next; i < parent.cpu.length; i++) parent.cpu[i]! -= taken;
  }
}
