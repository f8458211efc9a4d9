import { usage } from '../../base/fault.ts';
import { suggest } from '../../base/suggest.ts';
import { PERF_EVENTS } from '../../sources/records/perf-events.ts';
import {
  ADDRESS_SPACE,
  PROCESS_METRICS,
  type ProcessMetric,
  processEndTable,
  processStartTable,
} from '../../sources/records/tables.ts';
import type { NameIn } from '../../table/table.ts';
import { jobCpuTime } from './operations.ts';
import { CPU_TIMES, durationOf, type ProcessSet, TEXTS } from './set.ts';
import { tagReader } from './tags.ts';

/** What the values of a column are: it decides how they are written and how a filter reads them. */
export type ColumnKind =
  | 'text'
  | 'count'
  | 'bytes'
  | 'kibibytes'
  | 'microseconds'
  | 'nanoseconds'
  | 'ticks'
  | 'moment'
  | 'share';

/** One thing that can be shown, sorted by and filtered by. */
export interface ProcessColumn {
  name: string;
  kind: ColumnKind;
  /** Texts have no numbers. */
  number(i: number): number;
  text(i: number): string;
}

/** Short names for what is asked for most. */
const ALIASES: Readonly<Record<string, string>> = {
  cpu: 'cpu_time',
  inclusive: 'inclusive_cpu_time',
  rss: processEndTable.col.rssmax.name,
  signal: 'exitsignal',
  name: 'exename',
};

const NUMBERS = {
  pid: 'count',
  ppid: 'count',
  pgid: 'count',
  sid: 'count',
  uid: 'count',
  exitcode: 'count',
  exitsignal: 'count',
  ranks: 'count',
  threads: 'count',
  start: 'moment',
  end: 'moment',
  cpu_time: 'microseconds',
  inclusive_cpu_time: 'microseconds',
  depth: 'count',
  descendants: 'count',
} as const;

/** Kernels count these in ticks. */
const TICKS: readonly string[] = ['delayacct_blkio_time', 'guest_time'] satisfies ProcessMetric[];

/** Of the metrics that are no mere counts. */
const METRIC_KINDS: ReadonlyMap<string, ColumnKind> = new Map(
  [...[...PROCESS_METRICS, ...ADDRESS_SPACE].map((one) => [one.name, one] as const), ...PERF_EVENTS]
    .map(([name, { unit }]) => [name, TICKS.includes(name) ? 'ticks' : (unit as ColumnKind)] as const)
    .filter(([, kind]) => kind !== 'count'),
);

type EndName = NameIn<typeof processEndTable>;

/** Columns of records that the merging and the tree are made of. */
const ALWAYS: readonly EndName[] = [
  ...(['ppid', 'uid', 'ended', 'told_by', 'exitcode', 'exitsignal', 'numtids', 'starttime'] as const),
  ...CPU_TIMES,
];

const IO: readonly ProcessMetric[] = ['rchar', 'wchar'];

const MADE_OF: Readonly<Record<string, readonly EndName[]>> = {
  command: ['exename', 'path', 'args'],
  exename: ['exename', 'path'],
  io: IO,
};

/** The columns of end records that these columns are made of. */
export function recordColumns(wanted: readonly string[]): EndName[] {
  const names = wanted.map((name) => ALIASES[name] ?? name);
  return [
    ...ALWAYS,
    ...names.flatMap((name) => (name.startsWith('tag:') ? ['tags' as const] : (MADE_OF[name] ?? [name as EndName]))),
  ];
}

/** The same of start records, with how each began and as what: a copy of its parent may have been sampled as another program. */
export const startColumns = (wanted: readonly string[]): NameIn<typeof processStartTable>[] => [
  ...(['began', 'exename', 'path'] as const),
  ...processStartTable.columns
    .map(({ name }) => name)
    .filter((name) => recordColumns(wanted).some((each) => each === name)),
];

/** What a metric of a process or thread is measured in. */
export const metricKind = (name: string): ColumnKind => METRIC_KINDS.get(name) ?? 'count';

/** Every column by name, except tags, of which there are any number. */
export function columnNames(set: ProcessSet): string[] {
  return [
    'job',
    ...TEXTS,
    'command',
    ...Object.keys(NUMBERS),
    'duration',
    'share',
    'inclusive_share',
    'children',
    'parent',
    'io',
    ...set.metrics.keys(),
  ];
}

/** A column by its name or a short name for it; `tag:KEY` is the value of a tag. */
export function columnNamed(set: ProcessSet, asked: string): ProcessColumn {
  const name = ALIASES[asked] ?? asked;
  const column = named(set, name);
  if (column !== undefined) return column;
  const names = columnNames(set);
  const near = suggest(asked, [...names, ...Object.keys(ALIASES)]);
  throw usage(
    `processes have no column "${asked}"`,
    near === undefined ? `there are ${names.join(', ')} and tag:KEY` : `did you mean ${near}?`,
  );
}

function named(set: ProcessSet, name: string): ProcessColumn | undefined {
  const textColumn = (text: (i: number) => string): ProcessColumn => ({
    name,
    kind: 'text',
    number: () => Number.NaN,
    text,
  });
  const figures = (kind: ColumnKind, number: (i: number) => number): ProcessColumn => ({
    name,
    kind,
    number,
    text: (i) => (Number.isNaN(number(i)) ? '' : String(number(i))),
  });
  if (name.startsWith('tag:')) {
    const read = tagReader();
    const key = name.slice(4);
    return textColumn((i) => read(set.tags[i]!).get(key) ?? '');
  }
  for (const text of TEXTS) if (text === name) return textColumn((i) => set[text][i]!);
  for (const number of Object.keys(NUMBERS) as (keyof typeof NUMBERS)[]) {
    if (number === name) return figures(NUMBERS[number], (i) => set[number][i]!);
  }
  const metric = set.metrics.get(name);
  if (metric !== undefined) return figures(metricKind(name), (i) => metric[i]!);
  switch (name) {
    case 'job':
      return textColumn((i) => set.jobs[set.job[i]!]!.id);
    case 'command':
      return textColumn((i) => commandOf(set, i));
    case 'duration':
      return figures('microseconds', (i) => durationOf(set, i));
    case 'share':
      return figures('share', (i) => set.cpu_time[i]! / jobCpuTime(set, set.job[i]!));
    case 'inclusive_share':
      return figures('share', (i) => set.inclusive_cpu_time[i]! / jobCpuTime(set, set.job[i]!));
    case 'children':
      return figures('count', (i) => set.first[i + 1]! - set.first[i]!);
    case 'parent':
      return figures('count', (i) => (set.parent[i]! < 0 ? Number.NaN : set.pid[set.parent[i]!]!));
    case 'io':
      return figures('bytes', (i) => ioOf(set, i));
    default:
      // a metric that only other recordings have
      return METRIC_KINDS.has(name) ? figures(metricKind(name), () => Number.NaN) : undefined;
  }
}

/** The program and its arguments. */
export function commandOf(set: Pick<ProcessSet, 'args' | 'exename'>, i: number): string {
  const args = set.args[i]!;
  return args === '' ? set.exename[i]! : `${set.exename[i]} ${args}`;
}

/** Bytes that its system calls read and wrote. */
function ioOf(set: ProcessSet, i: number): number {
  const [read, written] = IO.map((name) => set.metrics.get(name)?.[i] ?? Number.NaN) as [number, number];
  return Number.isNaN(read) ? written : Number.isNaN(written) ? read : read + written;
}
