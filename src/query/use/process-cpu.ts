import { isOlder, isSampledOnce, processInterval, recordingBegan } from '../../recording/read/process-part.ts';
import { agentTable, processEndTable, processTable } from '../../sources/tables.ts';
import { type Material, type NodeMaterial, seriesOf } from '../material.ts';
import { joinSampled, type RecordedProcess, recordedOn } from '../processes/on-node.ts';
import { type SampledCpu, sampleKey } from '../processes/sampled-cpu.ts';
import { isExact, type ProcessSet } from '../processes/set.ts';
import { type Curve, placeAfter, through } from './curve.ts';
import { sampledOfStatistics } from './reaped.ts';

/**
 * The CPU time that a process had used at the moments that are known: where its programs began and ended by their records, and
 * where it was sampled. It grew evenly in between. Microseconds.
 */
export interface ProcessCpu extends Curve {
  /** When it had used how much. */
  times: readonly number[];
  used: readonly number[];
  /** As samples name it, where it was sampled. */
  key?: string;
  /** Whether it was sampled once, so that nobody knows what it used since. */
  isUnknown: boolean;
  /** Whether records tell of it to its end. */
  isRecorded: boolean;
  /** The share (0 to 1) of it that was not in the kernel; NaN where nobody knows. */
  inUser: number;
  /** Its records: rows of `set`, by time. */
  rows: readonly number[];
}

/** What was sampled of the processes of a node in the whole job. */
export const sampledOn = ({ samples }: Material, node: NodeMaterial): readonly SampledCpu[] =>
  samples?.get(node.node)?.processes ?? sampledOfStatistics(seriesOf(node, processTable));

/** Put together once for all parts of a job, by node. */
const made = new WeakMap<Material, Map<string, readonly ProcessCpu[]>>();

/** All processes of a node in the whole job: each once, whether it recorded itself, was sampled, or both. */
export function processCurves(whole: Material, { node: name }: NodeMaterial): readonly ProcessCpu[] {
  const byNode = made.get(whole) ?? new Map<string, readonly ProcessCpu[]>();
  made.set(whole, byNode);
  const node = whole.nodes.find((one) => one.node === name);
  if (!byNode.has(name) && node !== undefined) {
    const recorded = whole.processes === undefined ? [] : recordedOn(whole.processes, name);
    const joined = joinSampled(recorded, sampledOn(whole, node));
    const ticks = ticksOf(whole, node);
    byNode.set(
      name,
      joined.flatMap((one) => curveOf(whole, node, ticks, one.recorded, one.sampled) ?? []),
    );
  }
  return byNode.get(name) ?? [];
}

interface Point {
  time: number;
  used: number;
  by: 'record' | 'sample';
}

function curveOf(
  { processes: set, job }: Material,
  { agent }: NodeMaterial,
  ticks: ArrayLike<number>,
  process: RecordedProcess | undefined,
  sampled: SampledCpu | undefined,
): ProcessCpu | undefined {
  const recorded = process === undefined ? [] : recordedPoints(set!, process);
  const samplePoints: Point[] = [];
  for (let i = 0; i < (sampled?.times.length ?? 0); i++)
    samplePoints.push({ time: sampled!.times[i]!, used: sampled!.used[i]!, by: 'sample' });
  const began = sampled === undefined ? Number.NaN : Number(sampled.start) * 1000;
  // what a process used before its node was recorded is not the job's
  if (recorded.length === 0 && samplePoints.length > 0 && !isOlder(began, recordingBegan(agent, job)))
    recorded.push({ time: Math.min(began, samplePoints[0]!.time), used: 0, by: 'record' });
  const points = [...recorded, ...samplePoints].sort(
    (a, b) => a.time - b.time || (a.by === b.by ? 0 : a.by === 'record' ? -1 : 1),
  );
  if (points.length === 0) return undefined;
  const isRecorded = process !== undefined && isRecordedToEnd(set!, process);
  const seconds = processInterval(agent, job);
  const interval = seconds * 1e6;
  const looked = agent?.last_sample ?? Number.POSITIVE_INFINITY;
  const isUnknown = recorded.length === 0 && sampled !== undefined && isOnce(sampled, looked, seconds);
  const cpus = agent?.facts.cpus ?? Number.POSITIVE_INFINITY;
  // clocks of samples are coarser than those of records
  let least = isRecorded && recorded.length > 0 ? recorded.at(-1)!.used : Number.POSITIVE_INFINITY;
  for (let i = points.length - 1; i >= 0; i--) {
    const point = points[i]!;
    if (point.by === 'record') least = point.used;
    else if (point.used > least) point.used = least;
  }
  const times: number[] = [];
  const used: number[] = [];
  let reached = recorded.length === 0 ? points[0]!.used : 0;
  let before: Point | undefined;
  for (const point of points) {
    const { time, by } = point;
    // a row is written at the tick after something changed: until then it had used no more, unless nobody looked
    const held = Math.min(time - interval, by === 'record' ? looked : lastBefore(ticks, time - interval / 2));
    if (before?.by === 'sample' && held > before.time && point.used - reached <= (time - held) * cpus) {
      times.push(held);
      used.push(reached);
    }
    reached = Math.max(reached, point.used);
    times.push(time);
    used.push(reached);
    before = point;
  }
  const rows = process?.rows ?? [];
  const inUser = sampled?.inUser ?? recordedInUser(set, rows);
  const curve: ProcessCpu = { ...through(times, used)!, times, used, isRecorded, isUnknown, inUser, rows };
  if (sampled !== undefined) curve.key = sampleKey(sampled.pid, sampled.start);
  return curve;
}

/** When the agent looked at its node; empty: nobody noted that. */
export const ticksOf = ({ samples }: Material, { node }: NodeMaterial): ArrayLike<number> =>
  samples?.get(node)?.series.get(agentTable.name)?.[0]?.points.get(agentTable.col.cpu_us.name)?.times ?? [];

/** The last of some moments that is not later; the moment itself where none of them is earlier. */
function lastBefore(moments: ArrayLike<number>, time: number): number {
  const next = placeAfter(moments, time);
  return next === 0 ? time : moments[next - 1]!;
}

/** Whether a process was sampled once, and by no row later to have used more. */
function isOnce({ times, used, isGone }: SampledCpu, looked: number, interval: number): boolean {
  const last = times.at(-1)!;
  const once = isSampledOnce(isGone ? 'X' : undefined, times[0]!, isGone ? last : Math.max(last, looked), interval);
  return once && used.at(-1) === used[0];
}

function recordedInUser(set: ProcessSet | undefined, rows: readonly number[]): number {
  const { usertime, systemtime } = processEndTable.col;
  const [user, system] = [set?.metrics.get(usertime.name), set?.metrics.get(systemtime.name)];
  const sum = (values: Float64Array | undefined): number => rows.reduce((all, i) => all + (values?.[i] || 0), 0);
  return sum(user) / (sum(user) + sum(system));
}

/** What records say: each program began with what those before it had used. */
function recordedPoints(set: ProcessSet, { rows }: RecordedProcess): Point[] {
  let used = 0;
  return rows.flatMap((i): Point[] => {
    if (!isExact(set, i) || !(set.cpu_time[i]! >= 0)) return [];
    const end = set.end[i]!;
    const start = [set.start[i]!, set.birth[i]!].find((moment) => moment <= end) ?? end;
    const begin: Point = { time: start, used, by: 'record' };
    used += set.cpu_time[i]!;
    return Number.isNaN(end) ? [] : [begin, { time: end, used, by: 'record' }];
  });
}

const isRecordedToEnd = (set: ProcessSet, { rows }: RecordedProcess): boolean =>
  rows.every((i) => isExact(set, i)) && set.ended[rows.at(-1)!] !== 'exec';

/** How much processes may have used, and when, after they were sampled last. undefined: all of them recorded themselves. */
export function tailsOf(curves: readonly ProcessCpu[]): Curve[] {
  return curves.flatMap(({ times, used, isRecorded, isUnknown }): Curve[] => {
    const [begin, to, all] = [times[0]!, times.at(-1)!, used.at(-1)!];
    // the row that says that it had gone repeats what was seen last
    const from = times[used.indexOf(all)]!;
    if (isRecorded || isUnknown || !(from > begin) || !(to > from)) return [];
    return [through([from, to], [0, ((all - used[0]!) / (from - begin)) * (to - from)])!];
  });
}
