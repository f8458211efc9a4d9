import { smallest } from '../../base/extremes.ts';
import { ALWAYS, type Intervals, intersect, lengthOf } from '../../base/intervals.ts';
import { commandLine } from '../../base/quote.ts';
import { commandOf } from '../../query/processes/columns.ts';
import { operationOf, operationsOf } from '../../query/processes/operations.ts';
import { programName } from '../../query/processes/program.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { timeOfProcesses } from '../../query/processes/time.ts';
import type { Report } from '../report-schema.ts';
import { type MetricRow, metricRows } from './metrics.ts';
import { type PhaseRow, phaseRows } from './phases.ts';
import { type PrefixRow, prefixNotes, prefixRows } from './prefixes.ts';
import { plainCommand, programShape, shapeOf } from './shape.ts';

/** What an operation or command did in one job. Times here are whole microseconds, as everywhere of processes. */
export interface PartUse {
  processes: number;
  cpu: number;
  /** In which at least one of its processes ran. */
  duration: number;
  /** Its part of the job's duration: all parts of a job add up to it. */
  time: number;
}

/** An operation or command, with what it did in every job. */
export interface PartRow {
  name: string;
  /** undefined where it did not occur. */
  jobs: (PartUse | undefined)[];
  /** Against the first job, in the job where that is largest: microseconds that it took more (or less). */
  difference: number;
  /** The part of that job's whole difference that it explains; undefined when there is none. */
  explains?: number;
}

/** Processes that one job has and another has not, or has fewer of: the same command, counted. */
export interface OnlyRow {
  command: string;
  counts: number[];
  /** CPU time and lives added up, of those beyond what the other jobs have, in microseconds. */
  cpu: number;
  duration: number;
}

/** Something about the jobs themselves that is not the same. */
export interface FactRow {
  name: string;
  values: (string | undefined)[];
}

export interface ComparedJob {
  id: string;
  name: string;
  recording: string;
  state: string;
  start: number;
  /** Microseconds. */
  duration: number;
}

export const COMPARE_BY = ['operation', 'process', 'phase', 'prefix', 'metric'] as const;
export type CompareBy = (typeof COMPARE_BY)[number];

export interface Comparison {
  jobs: ComparedJob[];
  /** Microseconds that each job took more than the first. */
  differences: number[];
  facts: FactRow[];
  metrics: MetricRow[];
  /** What `parts` are. */
  by: CompareBy;
  parts: PartRow[];
  only: OnlyRow[];
  /** What `tacho mark` named. */
  phases: PhaseRow[];
  /** Tasks of Dask. */
  prefixes: PrefixRow[];
  /** What could not be compared, and why. */
  notes: string[];
}

/**
 * Two or more jobs side by side. `set` holds the processes of all of them, in the order of the reports; without it only
 * the figures of the report cards are compared. `spans`: when the part of each job was that is compared.
 */
export function compare(
  reports: readonly Report[],
  set: ProcessSet | undefined,
  by?: CompareBy,
  spans: readonly Intervals[] = [],
): Comparison {
  const jobs = reports.map(
    ({ job, recording, summary }): ComparedJob => ({
      id: job.id,
      name: job.name,
      recording,
      state: job.state,
      start: job.start,
      duration: Math.round(summary.wall_seconds * 1e6),
    }),
  );
  const differences = jobs.map(({ duration }) => duration - jobs[0]!.duration);
  const notes: string[] = [];
  const usable = set !== undefined && set.length > 0 ? set : undefined;
  const wanted = by ?? (usable === undefined ? 'metric' : tagged(usable) ? 'operation' : 'process');
  const without = jobs.filter((_, j) => usable === undefined || !usable.job.includes(j));
  if (without.length > 0) notes.push(`no processes were recorded of ${without.map(({ id }) => id).join(', ')}`);
  const ofProcesses = wanted === 'operation' || wanted === 'process' ? wanted : undefined;
  const comparable = without.length === 0 && ofProcesses !== undefined ? usable : undefined;
  const partRows = comparable === undefined ? [] : partsOf(comparable, ofProcesses!, jobs, differences, spans);
  if (wanted === 'operation' && partRows.length === 0 && comparable !== undefined) notes.push('no process has a tag');
  const phases = phaseRows(reports);
  if (wanted === 'phase' && phases.length === 0) notes.push('no job has phases (tacho mark begin NAME)');
  const prefixes = prefixRows(reports);
  if (wanted === 'prefix' && prefixes.length === 0) notes.push('no job has tasks of Dask');
  notes.push(...prefixNotes(reports));
  if (usable !== undefined && everyRow(usable).some((i) => isBeyond(usable, i, spans)))
    notes.push(
      'CPU time and other figures of processes are of their whole lives, not only of the part that is compared',
    );
  return {
    jobs,
    differences,
    facts: factRows(reports),
    metrics: metricRows(reports, usable),
    by: wanted,
    parts: partRows,
    only: comparable === undefined ? [] : onlyRows(comparable, jobs.length),
    phases,
    prefixes,
    notes,
  };
}

/** Whether a process ran longer than the part that is compared. */
function isBeyond({ job, start, end }: ProcessSet, i: number, spans: readonly Intervals[]): boolean {
  const span = spans[job[i]!];
  return span !== undefined && !span.some(([from, to]) => start[i]! >= from && !(end[i]! > to));
}

const tagged = (set: ProcessSet): boolean => set.tags.some((tags) => tags !== '');

function partsOf(
  set: ProcessSet,
  by: 'operation' | 'process',
  jobs: readonly ComparedJob[],
  differences: readonly number[],
  spans: readonly Intervals[],
): PartRow[] {
  const groups = by === 'operation' ? byOperation(set) : byCommand(set);
  if (groups.size === 0) return [];
  const time = jobs.map((_, j) => timeOfProcesses(set, j, spans[j]));
  const rows = [...groups].map(([name, members]): PartRow => {
    const uses = jobs.map((_, j): PartUse | undefined => {
      const own = members.filter((i) => set.job[i] === j);
      if (own.length === 0) return undefined;
      const { cpu_time, runs } = operationOf(set, new Map(), own);
      const taken = own.reduce((sum, i) => sum + time[j]![i]!, 0);
      return {
        processes: own.length,
        cpu: Math.round(cpu_time),
        duration: Math.round(lengthOf(intersect(runs, spans[j] ?? ALWAYS))),
        time: Math.round(taken),
      };
    });
    return ranked(name, uses, differences);
  });
  const rest = jobs.map((job, j): PartUse => {
    const ran = rows.reduce((sum, row) => sum + (row.jobs[j]?.time ?? 0), 0);
    const idle = Math.max(0, job.duration - ran);
    return { processes: 0, cpu: 0, duration: idle, time: idle };
  });
  rows.push(ranked('(no recorded process ran)', rest, differences));
  return rows.sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}

function ranked(name: string, uses: (PartUse | undefined)[], differences: readonly number[]): PartRow {
  const first = uses[0]?.time ?? 0;
  let most = 1;
  const away = (j: number): number => (uses[j]?.time ?? 0) - first;
  for (let j = 1; j < uses.length; j++) if (Math.abs(away(j)) > Math.abs(away(most))) most = j;
  const row: PartRow = { name, jobs: uses, difference: away(most) };
  if (differences[most] !== 0) row.explains = row.difference / differences[most]!;
  return row;
}

function byOperation(set: ProcessSet): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const one of operationsOf(set)) {
    const name = one.name === '' ? '(without the tag)' : one.name;
    groups.set(name, [...(groups.get(name) ?? []), ...one.members]);
  }
  return groups;
}

/** Number of names, alike but for what changes from run to run, that are listed; more are one row. */
const FEW_NAMES = 12;

/**
 * By program and script. Names that two jobs have are kept as they are. The others are paired: of those that differ only in
 * what changes from run to run, all are one. Where a single job has them, there is nothing to pair, and a few stay apart.
 */
function byCommand(set: ProcessSet): Map<string, number[]> {
  const jobsOf = (members: readonly number[]): number => new Set(members.map((i) => set.job[i])).size;
  const groups = new Map<string, number[]>();
  const rest: number[] = [];
  for (const [name, members] of grouped(set, everyRow(set), programName)) {
    if (jobsOf(members) > 1) groups.set(name, members);
    else rest.push(...members);
  }
  for (const [shape, members] of grouped(set, rest, programShape)) {
    const named = grouped(set, members, programName);
    const areApart = named.size === 1 || (named.size <= FEW_NAMES && jobsOf(members) === 1);
    for (const [name, own] of areApart ? named : [[shape, members] as const])
      groups.set(name, [...(groups.get(name) ?? []), ...own]);
  }
  return groups;
}

const everyRow = (set: ProcessSet): number[] => Array.from({ length: set.length }, (_, i) => i);

/** Rows by what `keyOf` makes of their commands, in their order. */
function grouped(
  set: ProcessSet,
  rows: readonly number[],
  keyOf: (exename: string, args: string) => string,
): Map<string, number[]> {
  const groupsByCommand = new Map<string, number[]>();
  const groups = new Map<string, number[]>();
  for (const i of rows) {
    const command = commandOf(set, i);
    let group = groupsByCommand.get(command);
    if (group === undefined) {
      const key = keyOf(set.exename[i]!, set.args[i]!);
      group = groups.get(key) ?? [];
      groups.set(key, group);
      groupsByCommand.set(command, group);
    }
    group.push(i);
  }
  return groups;
}

/**
 * The n-th process with a command is the n-th one in every job: first with the same command, then of those left with one
 * that differs only in what changes from run to run. Who has no partner then is told.
 */
function onlyRows(set: ProcessSet, jobs: number): OnlyRow[] {
  const like = new Map<number, number[]>();
  for (const members of grouped(set, everyRow(set), plainCommand).values())
    for (const i of alone(set, members, jobs)) like.set(i, members);
  const left = [...like.keys()].sort((a, b) => a - b);
  const rows: OnlyRow[] = [];
  const add = (command: string, all: readonly number[], others: readonly number[]): void => {
    const sum = (of: (i: number) => number): number =>
      Math.round(others.reduce((total, i) => total + (Number.isNaN(of(i)) ? 0 : of(i)), 0));
    rows.push({
      command,
      counts: ofJobs(set, all, jobs).map((group) => group.length),
      cpu: sum((i) => set.cpu_time[i]!),
      duration: sum((i) => set.end[i]! - set.start[i]!),
    });
  };
  for (const [shape, members] of grouped(set, left, shapeOf)) {
    const others = alone(set, members, jobs);
    const all = [...new Set(members.map((i) => like.get(i)!))].flat();
    const named = grouped(set, others, programName);
    if (named.size > FEW_NAMES) {
      add(shape, all, others);
      continue;
    }
    const allNamed = grouped(set, all, programName);
    for (const [name, own] of named) add(commandOf(set, own[0]!), allNamed.get(name)!, own);
  }
  return rows.sort((a, b) => b.cpu - a.cpu || b.duration - a.duration);
}

const ofJobs = (set: ProcessSet, members: readonly number[], jobs: number): number[][] =>
  Array.from({ length: jobs }, (_, j) =>
    members.filter((i) => set.job[i] === j).sort((a, b) => set.start[a]! - set.start[b]!),
  );

/** Those beyond what every job has. */
function alone(set: ProcessSet, members: readonly number[], jobs: number): number[] {
  const own = ofJobs(set, members, jobs);
  const least = smallest(own.map((group) => group.length));
  return own.flatMap((group) => group.slice(least));
}

/** What the jobs were and asked for, as far as it differs. */
function factRows(reports: readonly Report[]): FactRow[] {
  const keys = new Set(reports.flatMap(({ job }) => Object.keys(job.tags)));
  const rows: FactRow[] = [
    { name: 'name', values: reports.map(({ job }) => job.name || undefined) },
    { name: 'user', values: reports.map(({ job }) => job.user || undefined) },
    { name: 'state', values: reports.map(({ job }) => job.state) },
    { name: 'exit code', values: reports.map(({ job }) => job.exit_code?.toString()) },
    { name: 'nodes', values: reports.map(({ job }) => job.nodes.join(',')) },
    { name: 'command', values: reports.map(({ job }) => job.command && commandLine(job.command)) },
    { name: 'partition', values: reports.map(({ job }) => job.partition) },
    ...[...keys].map((key) => ({ name: `tag ${key}`, values: reports.map(({ job }) => job.tags[key]) })),
  ];
  return rows.filter(({ values }) => values.some((value) => value !== values[0]));
}
