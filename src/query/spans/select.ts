import { formatDuration } from '../../base/duration.ts';
import { Fault, usage } from '../../base/fault.ts';
import { ALWAYS, type Intervals, intersect, lengthOf, union } from '../../base/intervals.ts';
import { formatMoment } from '../../base/moment.ts';
import { listed } from '../../base/readable.ts';
import type { Recording } from '../../recording/folder/open.ts';
import { type Marker, recordedMarkers } from '../../recording/read/markers.ts';
import { recordedProcesses } from '../processes/processes.ts';
import type { ProcessSet } from '../processes/set.ts';
import { phaseSpans } from './phases.ts';
import { numberOf, recordedStep, stepsOf, tellsStep } from './steps.ts';

/** Which part of a job is asked for; what is given must all be met. */
export interface SpanQuery {
  /** Epoch microseconds. */
  from?: number;
  to?: number;
  /** A step of the scheduler. */
  step?: string;
  /** Phases of this name, without the gaps between them. */
  marker?: string;
}

/** The part of a job that was asked for, in epoch microseconds. */
export interface Selection {
  /** From its first beginning to its last end; open where the job's begin or end is meant. */
  from?: number;
  to?: number;
  /** When it is several stretches of time. */
  intervals?: Intervals;
  /** In words: "step 3", "phase "epoch", 3 times". */
  what: string;
  /** Only these nodes took part. */
  nodes?: readonly string[];
  /** The time whose samples stand for a part that is too short to have its own. */
  around?: { from: number; to: number };
  /** The step that is asked for, where records tell which processes are its own; whole: all of it is. */
  step?: { id: string; whole: boolean };
}

/** When a selection lasted; an end that is open is infinite. */
export const intervalsOf = ({ from, to, intervals }: Partial<Selection> = {}): Intervals =>
  intervals ?? [[from ?? Number.NEGATIVE_INFINITY, to ?? Number.POSITIVE_INFINITY]];

/** When the samples were taken that stand for a selection; nothing: all the time. */
export function sampledPart(selection: Selection | undefined): Pick<Selection, 'from' | 'to' | 'intervals'> {
  const { from, to, intervals }: Partial<Selection> = selection?.around ?? selection ?? {};
  return intervals === undefined ? bounds(from, to) : { intervals };
}

/** Seconds between two moments, without the gaps of a selection. */
export function secondsIn(selection: Selection | undefined, from: number, to: number): number {
  const { intervals } = sampledPart(selection);
  return (intervals === undefined ? to - from : lengthOf(intersect(intervals, [[from, to]]))) / 1e6;
}

export interface SelectOptions {
  /** Those of the recording, when they have been read already. */
  markers?: readonly Marker[];
  /** What its processes recorded: they know which step they belong to. */
  processes?: ProcessSet | undefined;
  now?: number;
}

/** The part of the job that is asked for; undefined: all of it. */
export function select(
  recording: Recording,
  { from, to, step, marker }: SpanQuery,
  { markers, processes, now = Date.now() * 1000 }: SelectOptions = {},
): Selection | undefined {
  const { start, end = lastSample(recording) ?? now } = recording.job;
  const selections: Selection[] = [];
  if (step !== undefined) selections.push(stepSelection(recording, step, processes));
  if (marker !== undefined)
    selections.push(phaseSelection(recording, marker, markers ?? recordedMarkers(recording), now));
  // a time that has all of the job in it is no part
  const isPart = (from ?? start) > start || (to ?? end) < end;
  if (isPart) selections.push({ what: 'the time asked for', ...bounds(from, to) });
  if (selections.length === 0) return undefined;
  const what = selections.map((oneSelection) => oneSelection.what).join(', ');
  const intervals = selections.map((oneSelection) => intervalsOf(oneSelection)).reduce(intersect, ALWAYS);
  if (intervals.length === 0) throw usage('the part of the job that was asked for is empty: it ends before it begins');
  const [first, last] = [intervals[0]![0], intervals.at(-1)![1]];
  if (first > end || last < start) {
    throw usage(
      `nothing was recorded in ${what}`,
      `job ${recording.job.id} ran from ${formatMoment(start)} to ${formatMoment(end)}`,
    );
  }
  const selection: Selection = { what, ...bounds(first, last) };
  if (intervals.length > 1) selection.intervals = intervals;
  const { nodes, around, step: own } = selections[0]!;
  if (nodes !== undefined) selection.nodes = nodes;
  if (own !== undefined) selection.step = { ...own, whole: selections.length === 1 };
  if (around !== undefined) selection.around = around;
  return selection;
}

function bounds(from: number | undefined, to: number | undefined): Pick<Selection, 'from' | 'to'> {
  return { ...(Number.isFinite(from) ? { from: from! } : {}), ...(Number.isFinite(to) ? { to: to! } : {}) };
}

function lastSample({ job, nodes }: Recording): number | undefined {
  if (job.state === 'running') return undefined;
  const last = Math.max(...nodes.map((node) => node.agent?.last_sample ?? Number.NEGATIVE_INFINITY));
  return Number.isFinite(last) ? last : undefined;
}

function phaseSelection(recording: Recording, name: string, markers: readonly Marker[], now: number): Selection {
  const phases = phaseSpans(recording.job, markers, now);
  const matching = phases.filter((phase) => phase.name === name);
  if (matching.length === 0) {
    const names = [...new Set(phases.map((phase) => phase.name))];
    const hint = names.length === 0 ? 'nothing was marked: tacho mark begin NAME' : `it has ${listed(names, 8)}`;
    throw usage(`job ${recording.job.id} has no phase "${name}"`, hint);
  }
  const intervals = union(
    matching.map(({ from }) => from),
    matching.map(({ to }) => to),
  );
  const times = matching.length === 1 ? '' : `, ${matching.length} times`;
  return { what: `phase "${name}"${times}`, intervals };
}

function stepSelection(recording: Recording, wanted: string, processes: ProcessSet | undefined): Selection {
  const { id: job, steps = [], interval_seconds } = recording.job;
  const step = steps.find(({ id, name }) => id === wanted || id === `${job}.${wanted}` || name === wanted);
  if (step === undefined) {
    const names = steps.map(({ id }) => id);
    const hint = names.length === 0 ? 'its steps are not known' : `it has ${listed(names, 8)}`;
    throw usage(`job ${job} has no step ${wanted}`, hint);
  }
  const selection: Selection = { what: `step ${step.id}`, ...bounds(step.start, step.end) };
  if (step.nodes !== undefined && step.nodes.length > 0) selection.nodes = step.nodes;
  const id = numberOf(step);
  const isTold = tellsStep(processes, id);
  const own = isTold ? recordedStep(processes!, stepsOf(processes!, steps), step) : undefined;
  const around = samplesAround(selection, interval_seconds * 1e6);
  // what is not a process's own is known by its time, not by the step
  if (around !== undefined && own?.whole !== true) {
    selection.what += ` (${TOO_SHORT}: ${lastedOf(selection)}), with the samples around it`;
    return { ...selection, ...around };
  }
  if (own !== undefined) Object.assign(selection, { from: own.from, to: own.to });
  if (isTold) selection.step = { id, whole: true };
  if (around !== undefined) {
    const { start, end = around.to } = recording.job;
    const seconds = (Math.min(around.to, end) - Math.max(around.from, start)) / 1e6;
    const all = `all else is from the samples around it, over ${formatDuration(seconds)}`;
    return { ...selection, what: `${selection.what} (its own processes; ${TOO_SHORT}: ${all})`, around };
  }
  const time = own === undefined ? 'by the scheduler, in whole seconds' : '';
  const all = isTold
    ? 'its own processes; all else is what the job did on its nodes meanwhile'
    : 'with all that the job did on its nodes meanwhile';
  selection.what += ` (${time}${time === '' ? '' : isTold ? '; ' : ', '}${all})`;
  return selection;
}

const TOO_SHORT = 'too short to be sampled by itself';

/** A step that ended between two ticks has no samples of its own: those around it are all there is. */
function samplesAround({ from, to }: Selection, interval: number): Selection['around'] {
  if (from === undefined || to === undefined || !(to - from < 2 * interval)) return undefined;
  // schedulers' moments are cut to whole seconds
  return { from: from - interval, to: to + Math.max(1e6, interval) };
}

const lastedOf = ({ from, to }: Selection): string =>
  to! - from! < 1e6 ? 'less than a second' : `about ${formatDuration((to! - from!) / 1e6)}`;

/** The same of those of several recordings that ran then. One without the step or phase is left out; wrong use when all are. */
export function selectEach(
  recordings: readonly Recording[],
  query: SpanQuery,
  leftOut: (recording: Recording, why: Fault) => void,
): Map<Recording, Selection | undefined> {
  const selections = new Map<Recording, Selection | undefined>();
  const then = recordings.filter((recording) => ranThen(recording, query));
  let first: Fault | undefined;
  for (const recording of then.length > 0 ? then : recordings) {
    try {
      const processes = query.step === undefined ? undefined : recordedProcesses(recording, () => []);
      selections.set(recording, select(recording, query, { processes }));
    } catch (error) {
      if (!isWrongUse(error)) throw error;
      first ??= error;
      if (recordings.length > 1) leftOut(recording, error);
    }
  }
  if (selections.size === 0 && first !== undefined) throw first;
  return selections;
}

/** Of several recordings those that ran at the time asked for are meant. */
export function ranThen({ job }: { job: Pick<Recording['job'], 'start' | 'end'> }, { from, to }: SpanQuery): boolean {
  return !(job.start > (to ?? job.start) || (job.end ?? Number.POSITIVE_INFINITY) < (from ?? Number.NEGATIVE_INFINITY));
}

export const isWrongUse = (error: unknown): error is Fault => error instanceof Fault && error.exit === 2;
