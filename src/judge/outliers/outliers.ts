import { count, listed } from '../../base/readable.ts';
import { stated } from '../../base/stated.ts';
import { largest, sum } from '../../query/material.ts';
import { commandOf } from '../../query/processes/columns.ts';
import { joinColumns, type ProcessColumns, type ProcessJob } from '../../query/processes/set.ts';
import { isLevel } from '../../query/processes/totals.ts';
import { byName } from '../../recording/folder/open.ts';
import { type FeatureTable, takeFeatures } from './feature-table.ts';
import {
  distinctFeatures,
  type Features,
  featureTable,
  jobFeatures,
  processFeatures,
  threadFeatures,
} from './features.ts';
import { groupOf, mixedKinds } from './job-kinds.ts';
import type { MeasuredJob } from './measured-job.ts';
import type { MainFeature } from './multivariate.ts';
import { type Ballot, castVotes, LEAST_PART, type Verdict, type VoteOptions } from './votes.ts';

export const KINDS = ['jobs', 'operations', 'processes', 'threads'] as const;
export type Kind = (typeof KINDS)[number];

/** Rows that are compared with each other: all jobs, one operation in all jobs, the processes of one program. */
export interface Group extends Omit<Ballot, 'verdicts' | 'incomplete'> {
  /** The operation or program; '' for jobs, or the tag that its jobs share. */
  name: string;
  outliers: Outlier[];
  /** Only when they were asked for. */
  others: Outlier[];
  /** Those that were not judged by features together, as they lack some of them. */
  incomplete: (Pick<Outlier, 'job' | 'recording' | 'node' | 'pid' | 'tid'> & { lacks: string[] })[];
}

/** One that was judged, and why. */
export interface Outlier extends Omit<Verdict, 'row'> {
  job: string;
  /** Where the job was recorded. */
  recording: string;
  node?: string;
  pid?: number;
  /** Epoch microseconds. */
  start?: number;
  tid?: number;
  command?: string;
  /** Microseconds of CPU time and duration beyond the usual. */
  excess: number;
}

/** Which one it is. */
type Who = Omit<Partial<Outlier>, 'job' | 'recording'> & Pick<Outlier, 'job' | 'recording'>;

export interface Outliers {
  of: Kind;
  /** The reference model, when there was one. */
  model?: string;
  jobs: { id: string; name: string; recording: string }[];
  groups: Group[];
  /** What weakens the answer, in words. */
  notes: string[];
}

/** What is usual, by the name of the group: '' for jobs, "op:build" for operations. */
export interface Reference {
  model: string;
  tables: ReadonlyMap<string, FeatureTable>;
}

export interface OutlierOptions extends Pick<VoteOptions, 'methods' | 'all' | 'thresholds'> {
  /** Features that count; 'all' for every one. Default: all of jobs and operations, the main ones of processes and threads. */
  features?: readonly string[] | 'all';
  /** Tags that operations go by: KEY, or KEY:VALUE. */
  tags?: readonly string[];
  /** Threads of this process only. */
  pid?: number;
  reference?: Reference;
  /** The smallest difference that matters: of processes and threads a part of what all used, of jobs and operations of the usual. */
  floor?: number;
  /** A tag of jobs, or `name`: jobs with the same value are compared with each other alone. */
  by?: string;
  /** Called after each job that was read. */
  progress?: () => void;
}

/** Processes differ in most of their many counters; these are what matters about them. */
export const MAIN_FEATURES: readonly string[] = [
  'duration',
  'cpu_time',
  'rssmax',
  'rchar',
  'wchar',
] satisfies MainFeature[];

/** A thousandth of what the jobs used in all: nobody would look for less. */
export const FLOOR = 0.001;
/** For levels such as memory, which do not add up: a part of the highest that is a hundred times as large. */
const OF_HIGHEST = 100;

/** Who differs from the others, and by whose vote. */
export async function findOutliers(
  of: Kind,
  jobs: readonly MeasuredJob[],
  options: OutlierOptions = {},
): Promise<Outliers> {
  const groups =
    of === 'jobs' || of === 'operations'
      ? await ofJobGroups(of, jobs, options)
      : of === 'processes'
        ? await ofProcesses(jobs, options)
        : await ofThreads(jobs, options);
  return {
    of,
    ...(options.reference === undefined ? {} : { model: options.reference.model }),
    jobs: jobs.map(({ job }) => ({ id: job.id, name: job.name, recording: job.origin })),
    groups,
    notes: [
      ...fewReferences(options.reference),
      ...(of === 'jobs' && options.by === undefined && options.reference === undefined ? mixedKinds(jobs) : []),
      ...(options.by === undefined ? [] : smallGroups(groups)),
      ...groups.flatMap((group) => lacking(of, group)),
    ],
  };
}

/** Number of jobs that are enough to say what is usual. */
export const ENOUGH_REFERENCES = 10;

export const FEW = 'with fewer, many good jobs differ from the baseline by chance';

function fewReferences(reference: Reference | undefined): string[] {
  const rows = reference?.tables.get('')?.rows ?? ENOUGH_REFERENCES;
  if (rows >= ENOUGH_REFERENCES) return [];
  return [`the model has ${count(rows, 'job')}, ${ENOUGH_REFERENCES} or more are better: ${FEW}`];
}

/** Groups that are too small for every method. */
function smallGroups(groups: readonly Group[]): string[] {
  const small = groups.filter(({ methods }) => methods.every(({ left_out }) => left_out !== undefined));
  if (small.length === 0) return [];
  const names = small.map(({ name, rows }) => `${name} (${rows})`);
  return [`too few jobs to judge: ${listed(names, 8)}`];
}

/** Who was not judged by all methods. */
function lacking(of: Kind, { name, rows, incomplete }: Group): string[] {
  if (incomplete.length === 0) return [];
  const who = new Set(incomplete.map(({ job, pid }) => (pid === undefined ? job : String(pid))));
  const lacks = new Set(incomplete.flatMap((one) => one.lacks));
  const where = name === '' ? '' : `${name}: `;
  const verb = incomplete.length === 1 ? 'was' : 'were';
  return [
    `${where}${incomplete.length} of ${count(rows, of.slice(0, -1), of)} ${verb} not judged by features together, ` +
      `lacking ${listed([...lacks], 4)}: ${listed([...who], 4)}`,
  ];
}

/** All jobs together, or each group alone. */
async function ofJobGroups(
  of: 'jobs' | 'operations',
  jobs: readonly MeasuredJob[],
  options: OutlierOptions,
): Promise<Group[]> {
  const { by } = options;
  if (by === undefined) return ofJobs(of, jobs, options);
  const results: Group[] = [];
  const groups = Map.groupBy(jobs, ({ job }) => groupOf(job, by));
  for (const [value, members] of [...groups].sort(([a], [b]) => byName(a ?? '', b ?? ''))) {
    const title = value === undefined ? `without ${by}` : `${by}:${value}`;
    for (const group of await ofJobs(of, members, options))
      results.push({ ...group, name: group.name === '' ? title : `${group.name}, ${title}` });
  }
  return results;
}

async function ofJobs(
  of: 'jobs' | 'operations',
  jobs: readonly MeasuredJob[],
  options: OutlierOptions,
): Promise<Group[]> {
  /** By the name of the group: which job, and its features. */
  const groups = new Map<string, { job: ProcessJob; features: Features }[]>();
  for (const one of jobs) {
    const ownFeatures = await jobFeatures(one, {
      jobOnly: of === 'jobs',
      ...stated({ tags: options.tags, only: options.features === 'all' ? undefined : options.features }),
    });
    const featuresByOperation = of === 'jobs' ? [['', ownFeatures.job] as const] : ownFeatures.operations;
    for (const [name, features] of featuresByOperation) {
      const rows = groups.get(name);
      const row = { job: one.job, features };
      if (rows === undefined) groups.set(name, [row]);
      else rows.push(row);
    }
    options.progress?.();
  }
  const results: Group[] = [];
  for (const [name, rows] of groups) {
    const reference = options.reference?.tables.get(name);
    if (options.reference !== undefined && reference === undefined) continue;
    const all = featureTable(rows.map(({ features }) => features));
    const names = options.features ?? 'all';
    const table = takeColumns(all, names === 'all' ? distinctFeatures(all.features.keys()) : names);
    results.push(
      await judge(
        name,
        table,
        (row) => ({ job: rows[row]!.job.id, recording: rows[row]!.job.origin }),
        { ...options, leastPart: options.floor ?? LEAST_PART },
        reference,
      ),
    );
  }
  return results;
}

async function ofProcesses(jobs: readonly MeasuredJob[], options: OutlierOptions): Promise<Group[]> {
  const columnsOfJobs: ProcessColumns[] = [];
  for (const one of jobs) {
    columnsOfJobs.push(await one.processes());
    options.progress?.();
  }
  const processes = joinColumns(columnsOfJobs);
  const table = processFeatures(processes);
  return byProgram(
    table,
    (row) => row,
    processes,
    options,
    () => ({}),
  );
}

async function ofThreads(jobs: readonly MeasuredJob[], options: OutlierOptions): Promise<Group[]> {
  const results: Group[] = [];
  for (const one of jobs) {
    const processes = await one.processes();
    const threads = await one.threads(processes);
    const table = threadFeatures(threads);
    const process = (row: number): number => threads.process[row]!;
    results.push(...(await byProgram(table, process, processes, options, (row) => ({ tid: threads.tid[row]! }))));
    options.progress?.();
  }
  return results;
}

/** Rows that belong to processes, compared with the rows of the same program. */
async function byProgram(
  table: FeatureTable,
  process: (row: number) => number,
  processes: ProcessColumns,
  options: OutlierOptions,
  more: (row: number) => Partial<Outlier>,
): Promise<Group[]> {
  const programs = new Map<string, number[]>();
  for (let row = 0; row < table.rows; row++) {
    const i = process(row);
    if (options.pid !== undefined && processes.pid[i] !== options.pid) continue;
    const name = processes.exename[i]!;
    const rows = programs.get(name);
    if (rows === undefined) programs.set(name, [row]);
    else rows.push(row);
  }
  const names = [...table.features.keys()];
  const wanted = options.features === 'all' ? distinctFeatures(names) : (options.features ?? MAIN_FEATURES);
  const floors = floorsOf(table, wanted, options.floor ?? FLOOR);
  const results: Group[] = [];
  for (const [name, rows] of programs) {
    const who = (at: number): Who => {
      const i = process(rows[at]!);
      return {
        job: processes.jobs[processes.job[i]!]!.id,
        recording: processes.jobs[processes.job[i]!]!.origin,
        node: processes.node[i]!,
        pid: processes.pid[i]!,
        start: processes.start[i]!,
        command: commandOf(processes, i),
        ...more(rows[at]!),
      };
    };
    results.push(await judge(name, takeFeatures(table, rows, wanted), who, { ...options, floors }));
  }
  return results;
}

/** By feature, the difference that matters. */
function floorsOf(table: FeatureTable, names: readonly string[], portion: number): Map<string, number> {
  const floors = new Map<string, number>();
  for (const name of names) {
    const values = table.features.get(name);
    if (values === undefined) continue;
    const whole = isLevel(name) ? OF_HIGHEST * (largest(values) ?? 0) : (sum(values) ?? 0);
    floors.set(name, portion * whole);
  }
  return floors;
}

const takeColumns = (table: FeatureTable, names: readonly string[]): FeatureTable => ({
  rows: table.rows,
  features: new Map([...table.features].filter(([name]) => names.includes(name))),
});

async function judge(
  name: string,
  table: FeatureTable,
  who: (row: number) => Who,
  options: OutlierOptions & Pick<VoteOptions, 'floors' | 'leastPart'>,
  reference?: FeatureTable,
): Promise<Group> {
  const { verdicts, incomplete, ...ballot } = await castVotes(table, {
    ...stated({
      methods: options.methods,
      all: options.all,
      thresholds: options.thresholds,
      floors: options.floors,
      leastPart: options.leastPart,
      reference,
    }),
  });
  const judged = verdicts.map(({ row, ...verdict }) => ({ ...who(row), ...verdict, excess: excessOf(verdict) }));
  const score = (one: Outlier): number => one.features.filter(({ apart }) => apart).length;
  const outliers = judged.filter(({ outlier }) => outlier).sort((a, b) => score(b) - score(a) || b.excess - a.excess);
  return {
    name,
    ...ballot,
    outliers,
    others: judged.filter(({ outlier }) => !outlier),
    incomplete: incomplete.map(({ row, lacks }) => {
      const { start, command, ...one } = who(row);
      return { ...one, lacks };
    }),
  };
}

function excessOf({ features }: Pick<Verdict, 'features'>): number {
  let total = 0;
  for (const { feature, value, median } of features) {
    if (feature === 'cpu_time' || feature === 'duration') total += Math.max(0, value - median);
  }
  return total;
}
