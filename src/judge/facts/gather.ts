import * as path from 'node:path';
import { formatDuration } from '../../base/duration.ts';
import { append, greatest, smallest } from '../../base/extremes.ts';
import { usage } from '../../base/fault.ts';
import { formatMoment } from '../../base/moment.ts';
import { listed } from '../../base/words.ts';
import { damageWords, recordedProcesses } from '../../query/processes/processes.ts';
import { type SampledCpu, sampledCpu } from '../../query/processes/sampled-cpu.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import type { StoredJob } from '../../query/store/records.ts';
import { type NodeSummary, type SummariseOptions, summariseNode, type TableDamage } from '../../query/summarise.ts';
import { lostRecords } from '../../recording/folder/lost-records.ts';
import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import { textAt } from '../../recording/read/batch.ts';
import { readDefined } from '../../recording/read/read.ts';
import {
  agentTable,
  cgroupTable,
  cpuTable,
  diskTable,
  gpuProcessTable,
  gpuTable,
  loadavgTable,
  lustreTable,
  markerTable,
  meminfoTable,
  networkTable,
  nfsTable,
  powerTable,
  pressureTable,
  processMemoryTable,
  processTable,
  processTotalTable,
  vmstatTable,
} from '../../sources/tables.ts';
import { overrunOf } from '../use/overrun.ts';
import { hasLost, isMadeAnew } from '../use/remade-cgroup.ts';
import { numberOf, tellsStep, toldSpan } from '../use/step-lives.ts';
import { hasOwnCgroup } from '../use/usage.ts';
import { largest, type Marker, type Material, type NodeMaterial, type Range, type Unread } from './material.ts';
import { phasesOf } from './phases.ts';
import { processSeries } from './processes.ts';

export interface GatherOptions {
  /** Epoch microseconds. */
  from?: number;
  to?: number;
  /** Only this step of the scheduler. */
  step?: string;
  /** Only while this phase lasted; from the first beginning to the last end when it was repeated. */
  marker?: string;
  /** Also what every phase did on its own: reads the data, not only their statistics. */
  phases?: boolean;
  /** The recorded processes, when they have been read already. */
  processes?: ProcessSet;
  now?: number;
}

/** Tables that the report is made of; others, such as interrupts and users' own, need not be read. */
const REPORT_TABLES = [
  ...[agentTable, cgroupTable, cpuTable, diskTable, gpuTable, gpuProcessTable, loadavgTable, lustreTable],
  ...[meminfoTable, networkTable, nfsTable, powerTable, pressureTable, processTable, processMemoryTable],
  ...[processTotalTable, vmstatTable],
].map(({ name }) => name);

/** Tables that say what a phase did. */
const PHASE_TABLES = [cgroupTable, processTable, cpuTable, gpuTable, loadavgTable, powerTable].map(({ name }) => name);

/** What somebody who has the samples is asked: statistics of some tables of some nodes. */
interface Question {
  nodes: readonly NodeRecording[];
  options: SummariseOptions;
}

/** Collects what the judge must know of a recording. */
export function gather(recording: Recording, options: GatherOptions = {}): Material {
  const troubles = [...recording.troubles, ...lostRecords(recording)];
  const collected = collect({ ...recording, troubles }, markersInFiles, options, recordedProcesses, sampledInFiles);
  let next = collected.next();
  while (next.done !== true) {
    const { nodes, options: wanted } = next.value;
    next = collected.next(nodes.map((node) => summariseNode(node, wanted)));
  }
  const imported = recording.nodes.some((node) => node.agent?.from_store === true && hadProcesses(node));
  return imported ? { ...next.value, leftOut: [NOT_IN_STORES] } : next.value;
}

const NOT_IN_STORES = {
  what: 'process: short processes, and how long they lived',
  why: 'a store has a process only from when it has used so much CPU time as victoria.process_cpu says (1 s)',
  hint: 'the recording in the archive of the hub has them all',
} as const;

/** The same of a job in a store: queries take the place of files. */
export async function gatherStored(stored: StoredJob, options: GatherOptions = {}): Promise<Material> {
  const { storedMarkers, summariseStored } = await import('../../query/store/stored.ts');
  const markers = await storedMarkers(stored);
  // processes that recorded themselves are not in a store
  const collected = collect(
    stored.recording,
    () => markers,
    options,
    () => undefined,
    () => undefined,
  );
  let next = collected.next();
  while (next.done !== true) {
    next = collected.next(await summariseStored(stored, next.value.nodes, next.value.options));
  }
  return stored.recording.nodes.some(hadProcesses) ? { ...next.value, leftOut: [NOT_IN_STORES] } : next.value;
}

const hadProcesses = ({ tables, agent }: NodeRecording): boolean =>
  tables.has(processTable.name) || agent?.tables.some(({ name }) => name === processTable.name) === true;

/** Yields what it must know, and is told; what it returns is the same wherever the samples lie. */
function* collect(
  recording: Recording,
  readMarkers: (recording: Recording, tell: Tell) => Marker[],
  asked: GatherOptions,
  readProcesses: typeof recordedProcesses,
  readSampled: (nodes: readonly NodeRecording[], tell: Tell) => Material['sampledCpu'],
): Generator<Question, Material, NodeSummary[]> {
  const now = asked.now ?? Date.now() * 1000;
  const options = isAllTime(recording, asked, now) ? withoutTime(asked) : asked;
  const damage = [...recording.troubles];
  const unread: Unread[] = [];
  const tell = (node: NodeRecording, found: TableDamage): void => {
    const words = damageWords(found);
    if (damage.includes(words)) return;
    damage.push(words);
    const file = path.basename(found.file);
    const why = words.slice(words.indexOf(': ', found.file.length) + 2);
    const whole = found.unreadable !== undefined;
    if (whole || found.bad_lines > 0 || found.lost_header || found.lost_columns !== undefined)
      unread.push({ node: node.name, table: found.table, file, why, whole, lines: found.bad_lines });
  };
  const markers = readMarkers(recording, tell);
  const isPart = [options.from, options.to, options.step, options.marker].some((each) => each !== undefined);
  // records are of whole lives: of a part of the job they tell what began and ended in it, or was its step's
  const lives = isPart ? readProcesses(recording, () => [], tell) : undefined;
  const range = rangeOf(recording, markers, options, now, lives);
  const chosen = recording.nodes.filter((node) => range?.nodes === undefined || range.nodes.includes(node.name));
  // what an agent recorded that did not know of the end is none of the job's
  const late = range === undefined && chosen.some(({ agent }) => overrunOf(recording.job, agent) !== undefined);
  const until = late ? { what: 'the job', to: recording.job.end! } : range;
  const nodes = (yield question(chosen, until, REPORT_TABLES)).map((found) => nodeMaterial(found, tell));
  const material: Material = { path: recording.path, job: recording.job, nodes, markers, now };
  if (range !== undefined) material.range = range;
  if (range !== undefined) {
    if (lives !== undefined) material.lives = lives;
  } else {
    const sampled = (name: string) => processSeries(nodes.find((n) => n.node === name)!);
    const processes = options.processes ?? readProcesses(recording, sampled, tell);
    if (processes !== undefined) {
      material.processes = processes;
      append(
        damage,
        processes.troubles.filter((trouble) => !damage.includes(trouble)),
      );
    }
  }
  if (options.phases === true) {
    const tables: NodeMaterial[][] = [];
    for (const phase of phasesOf(material)) {
      const span = { what: phase.name, from: phase.start, to: phase.start + phase.seconds * 1e6 };
      const found = yield question(chosen, span, PHASE_TABLES);
      tables.push(found.map((one) => nodeMaterial(one, tell)));
    }
    material.phaseTables = tables;
  }
  const hasParts = range !== undefined || (material.phaseTables?.length ?? 0) > 0;
  const byName = new Map(nodes.map((n) => [n.node, n]));
  const uncounted = chosen.filter(({ name }) => !hasOwnCgroup(byName.get(name)!));
  // those of a node's own agent come and go with the job's processes
  const told = lives ?? material.processes;
  const served = chosen.filter((n) => hasParts && told && n.agent?.service === true && !uncounted.includes(n));
  const wholes =
    range === undefined || served.length === 0
      ? nodes
      : (yield question(served, undefined, [cgroupTable.name])).map((found) => nodeMaterial(found, tell));
  const remade = wholes.filter(({ node }) => served.some(({ name }) => name === node)).filter(isMadeAnew);
  const sought = chosen.filter((n) => uncounted.includes(n) || remade.some(({ node }) => node === n.name));
  let sampled = hasParts && sought.length > 0 ? readSampled(sought, tell) : undefined;
  if (sampled !== undefined && remade.length > 0) {
    const all: Material = { ...material, lives: told!, sampledCpu: sampled };
    const right = remade.filter((n) => !hasLost(all, n)).map(({ node }) => node);
    sampled = new Map([...sampled].filter(([name]) => !right.includes(name)));
  }
  if (sampled !== undefined) material.sampledCpu = sampled;
  const counted = chosen.filter(({ name }) => sampled?.has(name) !== true);
  const inCgroup = range !== undefined && told && counted.length > 0 ? readSampled(counted, tell) : undefined;
  if (inCgroup !== undefined) material.sampledInCgroup = inCgroup;
  if (damage.length > 0) material.damage = damage;
  if (recording.troubles.length > 0) material.troubles = recording.troubles;
  if (unread.length > 0) material.unread = unread;
  if (recording.strays !== undefined) material.strays = recording.strays;
  return material;
}

/** Whether the time asked for has all of the job in it: then it is no part. */
function isAllTime(recording: Recording, { from = 0, to = Number.POSITIVE_INFINITY }: GatherOptions, now: number) {
  const { start, end = lastSample(recording) ?? now } = recording.job;
  return from <= start && to >= end;
}

const withoutTime = ({ from: _from, to: _to, ...options }: GatherOptions): GatherOptions => options;

type Tell = (node: NodeRecording, damage: TableDamage) => void;

function question(nodes: readonly NodeRecording[], range: Range | undefined, tables: readonly string[]): Question {
  const { from, to } = range?.around ?? range ?? {};
  return { nodes, options: { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }), tables } };
}

function nodeMaterial({ node, tables, damage }: NodeSummary, tell: Tell): NodeMaterial {
  for (const each of damage) tell(node, each);
  return { node: node.name, tables, ...(node.agent === undefined ? {} : { agent: node.agent }) };
}

const markersInFiles = (recording: Recording, tell: Tell): Marker[] =>
  recording.nodes.flatMap((node) => markersOf(node, tell)).sort((a, b) => a.time - b.time);

const sampledInFiles = (nodes: readonly NodeRecording[], tell: Tell): ReadonlyMap<string, readonly SampledCpu[]> =>
  new Map(
    nodes.map((node) => [
      node.name,
      sampledCpu(node, ({ damage }) => {
        for (const each of damage) tell(node, { ...each, table: processTable.name });
      }),
    ]),
  );

function markersOf(node: NodeRecording, tell: Tell): Marker[] {
  if (!node.tables.has(markerTable.name)) return [];
  const batch = readDefined(node, markerTable);
  for (const damage of batch.damage) tell(node, { ...damage, table: markerTable.name });
  const found: Marker[] = [];
  for (let row = 0; row < batch.rows; row++) {
    const action = textAt(batch, 'action', row);
    if (action !== 'begin' && action !== 'end' && action !== 'fom') continue;
    const marker: Marker = { time: batch.time[row]!, node: node.name, action, name: textAt(batch, 'name', row) };
    const number = batch.numbers.get('value')?.[row];
    const value = number === undefined ? textAt(batch, 'value', row) : Number.isNaN(number) ? '' : String(number);
    if (value !== '') marker.value = value;
    found.push(marker);
  }
  return found;
}

/** The part of the job that was asked for; undefined: all of it. */
function rangeOf(
  recording: Recording,
  markers: readonly Marker[],
  options: GatherOptions,
  now: number,
  lives: ProcessSet | undefined,
): Range | undefined {
  const parts: Range[] = [];
  if (options.step !== undefined) parts.push(stepRange(recording, options.step, lives));
  if (options.marker !== undefined) parts.push(markerRange(recording, markers, options.marker, now));
  if (options.from !== undefined || options.to !== undefined) {
    const part: Range = { what: 'the time asked for' };
    if (options.from !== undefined) part.from = options.from;
    if (options.to !== undefined) part.to = options.to;
    parts.push(part);
  }
  if (parts.length === 0) return undefined;
  const range: Range = { what: parts.map((p) => p.what).join(', ') };
  const from = greatest(parts.map((p) => p.from ?? Number.NEGATIVE_INFINITY));
  const to = smallest(parts.map((p) => p.to ?? Number.POSITIVE_INFINITY));
  if (Number.isFinite(from)) range.from = from;
  if (Number.isFinite(to)) range.to = to;
  const { nodes } = parts.find((p) => p.nodes !== undefined) ?? {};
  if (nodes !== undefined) range.nodes = nodes;
  const { step, around } = parts[0]!;
  if (step !== undefined) range.step = { ...step, whole: parts.length === 1 };
  if (around !== undefined) range.around = around;
  if (from > to) throw usage('the part of the job that was asked for is empty: it ends before it begins');
  const { start, end = lastSample(recording) ?? now } = recording.job;
  if (from > end || to < start) {
    throw usage(
      `nothing was recorded in ${range.what}`,
      `job ${recording.job.id} ran from ${formatMoment(start)} to ${formatMoment(end)}`,
    );
  }
  return range;
}

function lastSample({ job, nodes }: Recording): number | undefined {
  return job.state === 'running' ? undefined : largest(nodes.map((node) => node.agent?.last_sample));
}

function stepRange(recording: Recording, wanted: string, lives: ProcessSet | undefined): Range {
  const steps = recording.job.steps ?? [];
  const step = steps.find((s) => s.id === wanted || s.id === `${recording.job.id}.${wanted}` || s.name === wanted);
  if (step === undefined) {
    const known =
      steps.length === 0
        ? 'its steps are not known'
        : `it has ${listed(
            steps.map((s) => s.id),
            8,
          )}`;
    throw usage(`job ${recording.job.id} has no step ${wanted}`, known);
  }
  const range: Range = { what: `step ${step.id}` };
  if (step.start !== undefined) range.from = step.start;
  if (step.end !== undefined) range.to = step.end;
  if (step.nodes !== undefined && step.nodes.length > 0) range.nodes = step.nodes;
  const id = numberOf(step);
  const isTold = tellsStep(lives, id);
  const own = isTold ? toldSpan(lives!, step, steps) : undefined;
  const around = samplesAround(range, recording.job.interval_seconds * 1e6);
  // what is not a process's own is known by its time, not by the step
  if (around !== undefined && own?.whole !== true) {
    range.what += ` (${TOO_SHORT}: ${lastedOf(range)}), with the samples around it`;
    return { ...range, ...around };
  }
  if (own !== undefined) Object.assign(range, { from: own.from, to: own.to });
  if (isTold) range.step = { id, whole: true };
  if (around !== undefined) {
    const seconds =
      (Math.min(around.to, recording.job.end ?? around.to) - Math.max(around.from, recording.job.start)) / 1e6;
    const all = `all else is from the samples around it, over ${formatDuration(seconds)}`;
    return { ...range, what: `${range.what} (its own processes; ${TOO_SHORT}: ${all})`, around };
  }
  const time = own === undefined ? 'by the scheduler, in whole seconds' : '';
  const all = isTold
    ? 'its own processes; all else is what the job did on its nodes meanwhile'
    : 'with all that the job did on its nodes meanwhile';
  range.what += ` (${time}${time === '' ? '' : isTold ? '; ' : ', '}${all})`;
  return range;
}

const TOO_SHORT = 'too short to be sampled by itself';

/** A step that ended between two ticks has no samples of its own: those around it are all there is. */
function samplesAround({ from, to }: Range, interval: number): Range['around'] {
  if (from === undefined || to === undefined || !(to - from < 2 * interval)) return undefined;
  // schedulers' moments are cut to whole seconds
  return { from: from - interval, to: to + Math.max(1e6, interval) };
}

const lastedOf = ({ from, to }: Range): string =>
  to! - from! < 1e6 ? 'less than a second' : `about ${formatDuration((to! - from!) / 1e6)}`;

function markerRange(recording: Recording, markers: readonly Marker[], wanted: string, now: number): Range {
  const phases = phasesOf({ markers, job: recording.job, now });
  const found = phases.filter((p) => p.name === wanted);
  if (found.length === 0) {
    const names = [...new Set(phases.map((p) => p.name))];
    const known = names.length === 0 ? 'nothing was marked: tacho mark begin NAME' : `it has ${listed(names, 8)}`;
    throw usage(`job ${recording.job.id} has no phase "${wanted}"`, known);
  }
  const from = smallest(found.map((p) => p.start));
  const to = greatest(found.map((p) => p.start + p.seconds * 1e6));
  const times = found.length === 1 ? '' : `, from its first beginning to the last of its ${found.length} ends`;
  return { what: `phase "${wanted}"${times}`, from, to };
}
