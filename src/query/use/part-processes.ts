import { type Intervals, within } from '../../base/intervals.ts';
import { KERNEL_CLOCK } from '../../sources/process/same-process.ts';
import { processTable } from '../../sources/tables.ts';
import { type Material, type NodeMaterial, type ProcessSeries, seriesOf, wholeOf } from '../material.ts';
import { processSeries } from '../processes/sampled.ts';
import { sampleKey } from '../processes/sampled-cpu.ts';
import { isExact, type ProcessSet } from '../processes/set.ts';
import { intervalsOf } from '../spans/select.ts';
import { type StepOwner, stepOwner } from '../spans/steps.ts';
import { type ProcessCpu, processCurves } from './process-cpu.ts';

/**
 * The stretches of time of a part. The first part of a job has what was before the job began, as its first processes are said
 * to, and the last what came after.
 */
export function partSpans({ range, job, now }: Material): Intervals {
  const end = job.end ?? now;
  const open = ([from, to]: readonly [number, number]): [number, number] => [
    from <= job.start && to > job.start ? Number.NEGATIVE_INFINITY : from,
    to >= end && from < end ? Number.POSITIVE_INFINITY : to,
  ];
  if (range === undefined || range.step?.whole === true) return [[Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]];
  const asked = intervalsOf(range);
  const during = asked.filter(([from, to]) => from < end && to > job.start).map(open);
  // what came after the end is in the last part that began before it
  return during.length > 0 ? during : [[end, end]];
}

/** What the processes of a node used in a part of the job. */
export interface PartProcesses {
  spans: Intervals;
  /** How many processes lived in it, and of how many of them it is known what they used. */
  count: number;
  measured: number;
  seconds: number;
  /** Whether records tell of some of it, and whether they alone do, as these processes began and ended in the part. */
  isRecorded: boolean;
  isExact: boolean;
  /** Seconds of those that were sampled, by pid and start. */
  bySample: Map<string, number>;
  /** Seconds of programs that their records tell more of than samples in the part do: rows of the recorded processes. */
  byRecord: Map<number, number>;
  /** Sampled ones that have such records, or are of another step or time, by pid and start. */
  notSampled: Set<string>;
  /** The other sampled ones of which records tell, by pid and start: when they lived, and their last row. */
  recorded: Map<string, { begin: number; end: number; row: number }>;
}

export function partProcessesOf(material: Material, node: NodeMaterial): PartProcesses {
  const whole = wholeOf(material);
  const set = whole.processes;
  const spans = partSpans(material);
  const partProcesses: PartProcesses = {
    spans,
    count: 0,
    measured: 0,
    seconds: 0,
    isRecorded: false,
    isExact: true,
    bySample: new Map(),
    byRecord: new Map(),
    notSampled: new Set(),
    recorded: new Map(),
  };
  const here = sampledIn(material, node);
  const step = ownerOf(material);
  for (const curve of processCurves(whole, node)) {
    const { key, isRecorded, isUnknown, rows } = curve;
    const begin = curve.from;
    const row = rows.at(-1) ?? -1;
    // the row that says that a process had gone is of the tick after it had
    const end = isRecorded ? set!.end[row]! : curve.to;
    const isOther = step !== undefined && (row < 0 ? !step.mayOwn(startOf(key!)) : !step.isOwn(rows[0]!));
    const isBeside = isOther || spans.every(([from, to]) => begin > to || end < from);
    // all that it became last is in the part
    const isIn = isRecorded && spans.some(([from, to]) => set!.start[row]! >= from - KERNEL_CLOCK && end <= to);
    const isByRecord = isIn || key === undefined || (isRecorded && (isBeside || !here.has(key)));
    if ((isByRecord || isOther) && key !== undefined) partProcesses.notSampled.add(key);
    if (isBeside) continue;
    partProcesses.count++;
    if (isUnknown) {
      partProcesses.isExact = false;
      continue;
    }
    partProcesses.measured++;
    const seconds = secondsIn(curve, spans);
    partProcesses.seconds += seconds;
    if (isRecorded) partProcesses.isRecorded = true;
    if (seconds > 0 && !(isRecorded && spans.some(([from, to]) => begin >= from && end <= to)))
      partProcesses.isExact = false;
    if (key !== undefined) partProcesses.bySample.set(key, seconds);
    if (key !== undefined && isRecorded && !isByRecord) partProcesses.recorded.set(key, { begin, end, row });
    if (isByRecord) for (const [i, used] of programsIn(set!, curve, spans)) partProcesses.byRecord.set(i, used);
  }
  return partProcesses;
}

/** Put together once for all nodes of a report. */
const owners = new WeakMap<object, StepOwner>();

/** Whose processes are those of the step that is asked for; undefined: no step is, or records do not tell of steps. */
function ownerOf(material: Material): StepOwner | undefined {
  const [set, step] = [wholeOf(material).processes, material.range?.step];
  if (set === undefined || step === undefined) return undefined;
  const owner = owners.get(step) ?? stepOwner(set, material.job.steps, step.id);
  owners.set(step, owner);
  return owner;
}

const startOf = (key: string): number => Number(key.slice(key.indexOf(' ') + 1)) * 1000;

const secondsIn = (curve: ProcessCpu, spans: Intervals): number =>
  spans.reduce((sum, [from, to]) => sum + (curve.at(to) - curve.at(from)) / 1e6, 0);

/** The seconds that a process used in a part, by the programs that it was in that time. */
function programsIn(set: ProcessSet, curve: ProcessCpu, spans: Intervals): [row: number, seconds: number][] {
  const exact = curve.rows.filter((i) => isExact(set, i));
  return exact.flatMap((i, at): [number, number][] => {
    if (!spans.some(([from, to]) => set.start[i]! <= to && set.end[i]! >= from)) return [];
    const begin = at === 0 ? Number.NEGATIVE_INFINITY : set.start[i]!;
    const end = at === exact.length - 1 ? Number.POSITIVE_INFINITY : set.start[exact[at + 1]!]!;
    return [[i, Math.max(0, secondsIn(curve, within(spans, begin, end)))]];
  });
}

/** Processes that samples tell of in a part: they have rows in it, or it is so long that one would have been written. */
function sampledIn({ range, job, now }: Material, node: NodeMaterial): Set<string> {
  const lasts = (range?.to ?? job.end ?? now) - (range?.from ?? job.start);
  const isLong = lasts >= 2e6 * (node.agent?.interval_seconds ?? job.interval_seconds);
  const sampledSeries = seriesOf(node, processTable).filter(({ samples }) => isLong || samples > 0);
  return new Set(sampledSeries.map(({ keys }) => sampleKey(keys.pid, keys.start)));
}

/** What samples tell of in a part: not of those that records tell more of, nor of those that had ended before. */
export function sampledInPart(node: NodeMaterial, { notSampled, spans }: PartProcesses): ProcessSeries[] {
  return processSeries(node).filter(({ keys: { pid, start }, end }) => {
    if (notSampled.has(sampleKey(pid, start))) return false;
    return spans.some(([from, to]) => !(end < from || Number(start) * 1000 > to + KERNEL_CLOCK));
  });
}
