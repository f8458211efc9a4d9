import { joinSampled, type RecordedProcess, recordedOn } from '../../query/processes/on-node.ts';
import { type SampledCpu, sampleKey } from '../../query/processes/sampled-cpu.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { isOlder, isSeenOnce, recordingBegan } from '../../recording/read/process-part.ts';
import { KERNEL_CLOCK } from '../../sources/process/same-process.ts';
import { processTable } from '../../sources/tables.ts';
import { type Material, type NodeMaterial, seriesOf } from '../facts/material.ts';

/**
 * The CPU time that a process had used at the moments that are known: where its programs began and ended by their records,
 * and where it was sampled. It grew evenly in between, so that parts of a job add up to the whole. Microseconds.
 */
interface Growth {
  times: number[];
  used: number[];
  /** As samples name it, where it was sampled. */
  key?: string;
  /** Whether it was seen once, so that nobody knows what it used since. */
  isUnknown: boolean;
  /** Whether records tell of it to its end. */
  isTold: boolean;
  /** Its records: places in `lives`, by time. */
  places: readonly number[];
}

export interface PartCpu {
  /** How many processes lived in it, and of how many of them it is known what they used. */
  lived: number;
  known: number;
  seconds: number;
  /** Whether records tell of some of it, and whether they alone do, as these processes began and ended in the part. */
  isTold: boolean;
  isExact: boolean;
  /** Seconds of those that were sampled, by pid and start. */
  bySample: Map<string, number>;
  /** Seconds of programs that their records tell more of than samples in the part do: places in `lives`. */
  byRecord: Map<number, number>;
  /** Sampled ones that are told by these records, or by their own to have lived at another time, by pid and start. */
  notSampled: Set<string>;
  /** The other sampled ones of which records tell, by pid and start: when they lived, and their last place in `lives`. */
  told: Map<string, { begin: number; end: number; place: number }>;
}

/** What the processes of a node used in a part of the job; undefined when nothing is known of any that lived in it. */
export function partCpuOf(material: Material, node: NodeMaterial): PartCpu | undefined {
  const found = partProcessesOf(material, node);
  return found === undefined || found.known === 0 ? undefined : found;
}

/** The same with which of them lived in it; undefined when the whole job is looked at. */
export function partProcessesOf(material: Material, node: NodeMaterial): PartCpu | undefined {
  const { range, job, now } = material;
  if (range === undefined) return undefined;
  // the first part has what was before the job began, as its first processes are said to, and the last what came after
  const from = range.from === undefined || range.from <= job.start ? Number.NEGATIVE_INFINITY : range.from;
  const to = range.to === undefined || range.to >= (job.end ?? now) ? Number.POSITIVE_INFINITY : range.to;
  const found: PartCpu = {
    lived: 0,
    known: 0,
    seconds: 0,
    isTold: false,
    isExact: true,
    bySample: new Map(),
    byRecord: new Map(),
    notSampled: new Set(),
    told: new Map(),
  };
  const here = sampledIn(material, node);
  for (const growth of growthsOf(material, node)) {
    const begin = growth.times[0]!;
    const place = growth.places.at(-1) ?? -1;
    // the row that says that a process had gone is of the tick after it had
    const end = growth.isTold ? material.lives!.end[place]! : growth.times.at(-1)!;
    // all that it became last is in the part
    const isIn = growth.isTold && material.lives!.start[place]! >= from - KERNEL_CLOCK && end <= to;
    const isBeside = begin > to || end < from;
    const isRecord = isIn || growth.key === undefined || (growth.isTold && (isBeside || !here.has(growth.key)));
    if (isRecord && growth.key !== undefined) found.notSampled.add(growth.key);
    if (isBeside) continue;
    found.lived++;
    if (growth.isUnknown) {
      found.isExact = false;
      continue;
    }
    found.known++;
    const seconds = (usedAt(growth, to) - usedAt(growth, from)) / 1e6;
    found.seconds += seconds;
    if (growth.isTold) found.isTold = true;
    if (seconds > 0 && !(growth.isTold && begin >= from && end <= to)) found.isExact = false;
    if (growth.key !== undefined) found.bySample.set(growth.key, seconds);
    if (growth.key !== undefined && growth.isTold && !isRecord) found.told.set(growth.key, { begin, end, place });
    if (isRecord) for (const [i, used] of programsIn(material.lives!, growth, from, to)) found.byRecord.set(i, used);
  }
  return found;
}

/** The seconds that a process used in a part, by the programs that it was in that time. */
function programsIn(lives: ProcessSet, growth: Growth, from: number, to: number): [place: number, seconds: number][] {
  const told = growth.places.filter((i) => isExact(lives, i));
  return told.flatMap((i, at): [number, number][] => {
    if (lives.start[i]! > to || lives.end[i]! < from) return [];
    const begin = at === 0 ? from : Math.max(from, lives.start[i]!);
    const end = at === told.length - 1 ? to : Math.min(to, lives.start[told[at + 1]!]!);
    return [[i, Math.max(0, usedAt(growth, end) - usedAt(growth, begin)) / 1e6]];
  });
}

/** From when on nobody saw what a process used, until it had gone; and what it would have used at its usual rate. Microseconds. */
export interface Tail {
  from: number;
  to: number;
  expected: number;
}

/** Of the processes of a node that no record tells of. */
export function tailsOf(material: Material, node: NodeMaterial): Tail[] {
  return growthsOf(material, node).flatMap(({ times, used, isTold, isUnknown }): Tail[] => {
    const [begin, to, all] = [times[0]!, times.at(-1)!, used.at(-1)!];
    // the row that says that it had gone repeats what was seen last
    const from = times[used.indexOf(all)]!;
    if (isTold || isUnknown || !(from > begin) || !(to > from)) return [];
    return [{ from, to, expected: ((all - used[0]!) / (from - begin)) * (to - from) }];
  });
}

/** Processes that samples tell of in a part: they have rows in it, or it is so long that one would have been written. */
function sampledIn({ range, job, now }: Material, node: NodeMaterial): Set<string> {
  const lasts = (range?.to ?? job.end ?? now) - (range?.from ?? job.start);
  const isLong = lasts >= 2e6 * (node.agent?.interval_seconds ?? job.interval_seconds);
  const seen = seriesOf(node, processTable).filter(({ samples }) => isLong || samples > 0);
  return new Set(seen.map(({ keys }) => sampleKey(keys.pid, keys.start)));
}

function usedAt({ times, used }: Growth, moment: number): number {
  let [after, end] = [0, times.length];
  while (after < end) {
    const middle = (after + end) >> 1;
    if (times[middle]! <= moment) after = middle + 1;
    else end = middle;
  }
  if (after === times.length) return used.at(-1)!;
  if (after === 0) return used[0]!;
  const share = (moment - times[after - 1]!) / (times[after]! - times[after - 1]!);
  return used[after - 1]! + (used[after]! - used[after - 1]!) * share;
}

/** The same for all parts of a recording. */
const kept = new WeakMap<object, Map<string, Growth[]>>();

function growthsOf(material: Material, node: NodeMaterial): Growth[] {
  const sampled = [material.sampledCpu, material.sampledInCgroup].find((each) => each?.has(node.node));
  if (sampled === undefined) return makeGrowths(material, node);
  const known = kept.get(sampled) ?? new Map<string, Growth[]>();
  kept.set(sampled, known);
  const found = known.get(node.node) ?? makeGrowths(material, node);
  known.set(node.node, found);
  return found;
}

function makeGrowths(material: Material, node: NodeMaterial): Growth[] {
  const { lives } = material;
  const { sampledCpu, sampledInCgroup } = material;
  const sampled = sampledCpu?.get(node.node) ?? sampledInCgroup?.get(node.node) ?? seenInPart(node);
  const recorded = lives === undefined ? [] : recordedOn(lives, node.node);
  return joinSampled(recorded, sampled).flatMap(
    ({ recorded, sampled }) => growthOf(material, node, recorded, sampled) ?? [],
  );
}

/** What the statistics of a part say, where nobody read more. */
function seenInPart(node: NodeMaterial): SampledCpu[] {
  return seriesOf(node, processTable).map(({ keys, start, end, texts, columns }): SampledCpu => {
    const at = (when: 'first' | 'last'): number =>
      ((columns.user_ms?.[when] ?? 0) + (columns.system_ms?.[when] ?? 0)) * 1000;
    const [pid, began] = [keys.pid ?? '', keys.start ?? ''];
    const gone = texts.state === 'X' ? { isGone: true as const } : {};
    return { pid, start: began, times: [start, end], used: [at('first'), at('last')], ...gone };
  });
}

const isExact = (lives: ProcessSet, i: number): boolean => lives.source[i] === 'record' || lives.source[i] === 'parent';

interface Point {
  time: number;
  used: number;
  by: 'record' | 'sample';
}

function growthOf(
  material: Material,
  node: NodeMaterial,
  process: RecordedProcess | undefined,
  sampled: SampledCpu | undefined,
): Growth | undefined {
  const { lives } = material;
  const told = process === undefined ? [] : toldPoints(process, lives!);
  const seen = (sampled?.times ?? []).map((time, i): Point => ({ time, used: sampled!.used[i]!, by: 'sample' }));
  const began = sampled === undefined ? Number.NaN : Number(sampled.start) * 1000;
  // what a process used before its node was recorded is not the job's
  if (told.length === 0 && seen.length > 0 && !isOlder(began, recordingBegan(node.agent, material.job)))
    told.push({ time: Math.min(began, seen[0]!.time), used: 0, by: 'record' });
  const points = [...told, ...seen].sort((a, b) => a.time - b.time || (a.by === b.by ? 0 : a.by === 'record' ? -1 : 1));
  if (points.length === 0) return undefined;
  const isTold = process !== undefined && hasToldAll(process, lives!);
  const seconds = node.agent?.interval_seconds ?? material.job.interval_seconds;
  const interval = seconds * 1e6;
  const looked = node.agent?.last_sample ?? Number.POSITIVE_INFINITY;
  const isUnknown = told.length === 0 && sampled !== undefined && isOnce(sampled, looked, seconds);
  const growth: Growth = { times: [], used: [], isTold, isUnknown, places: process?.rows ?? [] };
  if (sampled !== undefined) growth.key = sampleKey(sampled.pid, sampled.start);
  const cpus = node.agent?.facts.cpus ?? Number.POSITIVE_INFINITY;
  // clocks of samples are coarser than those of records
  let least = growth.isTold && told.length > 0 ? told.at(-1)!.used : Number.POSITIVE_INFINITY;
  for (const point of points.toReversed()) {
    if (point.by === 'record') least = point.used;
    else point.used = Math.min(point.used, least);
  }
  let reached = told.length === 0 ? points[0]!.used : 0;
  points.forEach(({ time, used, by }, i) => {
    const before = points[i - 1];
    // a row is written at the tick after something changed: until then it had used no more, unless nobody looked
    const held = Math.min(time - interval, by === 'record' ? looked : time);
    if (before?.by === 'sample' && held > before.time && used - reached <= (time - held) * cpus) {
      growth.times.push(held);
      growth.used.push(reached);
    }
    reached = Math.max(reached, used);
    growth.times.push(time);
    growth.used.push(reached);
  });
  return growth;
}

/** Whether a process was seen once, and by no row later to have used more. */
function isOnce({ times, used, isGone }: SampledCpu, looked: number, interval: number): boolean {
  const last = times.at(-1)!;
  const once = isSeenOnce(isGone ? 'X' : undefined, times[0]!, isGone ? last : Math.max(last, looked), interval);
  return once && used.at(-1) === used[0];
}

/** What records say: each program began with what those before it had used. */
function toldPoints({ rows }: RecordedProcess, lives: ProcessSet): Point[] {
  let used = 0;
  return rows.flatMap((i): Point[] => {
    if (!isExact(lives, i) || !(lives.cpu_time[i]! >= 0)) return [];
    const end = lives.end[i]!;
    const start = [lives.start[i]!, lives.birth[i]!].find((moment) => moment <= end) ?? end;
    const begin: Point = { time: start, used, by: 'record' };
    used += lives.cpu_time[i]!;
    return Number.isNaN(end) ? [] : [begin, { time: end, used, by: 'record' }];
  });
}

/** Whether records tell of a process to its end. */
const hasToldAll = ({ rows }: RecordedProcess, lives: ProcessSet): boolean =>
  rows.every((i) => isExact(lives, i)) && lives.ended[rows.at(-1)!] !== 'exec';
