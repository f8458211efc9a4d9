import { formatDuration } from '../../base/duration.ts';
import { count, figure, percent } from '../../base/readable.ts';
import { stated } from '../../base/stated.ts';
import { metricKind } from '../../query/processes/columns.ts';
import { jobLabels } from '../../query/processes/job-labels.ts';
import type { Operation } from '../../query/processes/operations.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { metricTotals } from '../../query/processes/totals.ts';
import { paint } from '../terminal/paint.ts';
import { hiddenColumns, printable, type TextColumn, textTable, wrap } from '../terminal/text-table.ts';
import { cellOf } from './cells.ts';
import { listCsv, listJson } from './rows.ts';
import { notesOf, type ProcessTextOptions } from './table.ts';

const time = (microseconds: number): string => formatDuration(microseconds / 1e6);

export interface OperationsTextOptions extends ProcessTextOptions {
  /** Tags that were not asked for: key and number of values. */
  otherKeys?: readonly (readonly [key: string, values: number])[];
  hidden?: number;
  /** Metrics that are shown, too. */
  metrics?: readonly string[];
}

/** Operations as a table: how often, how long, and which part of the job. */
export function operationsTable(
  set: ProcessSet,
  operations: readonly Operation[],
  options: OperationsTextOptions = {},
): string {
  const pen = paint(options.stream ?? {});
  const right = (head: string, spare?: number): TextColumn => ({
    head,
    align: 'right',
    ...stated({ spare }),
  });
  const { metrics = [] } = options;
  const totals = new Map(
    operations.map((one) => [one, metrics.length === 0 ? new Map() : metricTotals(set, one.members)]),
  );
  const several = set.jobs.length > 1;
  const labels = jobLabels(set.jobs);
  const key = onlyKey(operations);
  const width = options.width ?? 80;
  const leftOut: string[] = [];
  const [heads, ...lines] = textTable(
    [
      { head: key ?? 'operation', most: 40, shrinks: true },
      { head: 'job', most: 14, middle: true, ...(metrics.length > 0 && { spare: 0.4 }) },
      right('processes', metrics.length > 0 ? 0.3 : undefined),
      right('threads', 4),
      right('CPU'),
      right('share'),
      right('time', metrics.length > 0 ? 0.2 : undefined),
      right('of job'),
      right('runs', 1),
      right('sum', 2),
      right('first to last', 3),
      ...metrics.map((name) => right(name)),
    ],
    operations.map((one) => [
      one.name === '' ? '(none)' : printable(key === undefined ? one.name : one.tags.get(key)!),
      one.jobs !== undefined ? count(one.jobs, 'job') : several ? printable(labels[one.job]!) : '',
      figure(one.processes),
      figure(one.threads),
      time(one.cpu_time),
      percent(one.cpu_share),
      time(one.duration),
      percent(one.time_share),
      figure(one.runs.length),
      time(one.duration_sum),
      time(one.duration_span),
      ...metrics.map((name) => cellOf(metricKind(name), totals.get(one)!.get(name) ?? Number.NaN)),
    ]),
    width,
    leftOut,
  );
  const notes: string[] = [];
  if ((options.hidden ?? 0) > 0) notes.push(`${count(options.hidden!, 'more operation')}; --limit 0 shows all`);
  const sum = leftOut.includes('sum') ? '' : '; sum: durations added up';
  if (!leftOut.includes('time')) notes.push(`time: while at least one process ran${sum}`);
  notes.push(...hiddenColumns(leftOut));
  const others = options.otherKeys ?? [];
  if (others.length > 0) {
    notes.push(
      `--op-tag KEY groups by another tag: ${others.map(([key, n]) => `${printable(key)} (${figure(n)})`).join(', ')}`,
    );
  }
  const endless = operations.reduce((sum, one) => sum + one.endless, 0);
  if (endless > 0) notes.push(`${count(endless, 'process', 'processes')} without a known end in no duration`);
  notes.push(...notesOf(set));
  return `${[pen.dim(heads!), ...lines, ...notes.flatMap((note) => wrap(note, width)).map(pen.dim)].join('\n')}\n`;
}

/** The tag that all operations differ by: it need not be said in every row. */
function onlyKey(operations: readonly Operation[]): string | undefined {
  const keys = new Set(operations.flatMap((one) => [...one.tags.keys()].join(';') || []));
  const [key] = keys;
  return keys.size === 1 && !key!.includes(';') ? key : undefined;
}

/** What is known of an operation, for programs; times in microseconds. */
function facts(set: ProcessSet, one: Operation): Record<string, string | number> {
  const all: Record<string, string | number> = {
    ...(one.jobs === undefined ? { job: set.jobs[one.job]!.id } : { jobs: one.jobs }),
    operation: one.name,
    processes: one.processes,
    threads: one.threads,
    cpu_time: one.cpu_time,
    cpu_share: Number(one.cpu_share.toPrecision(6)),
    duration: one.duration,
    duration_sum: one.duration_sum,
    duration_span: one.duration_span,
    time_share: Number(one.time_share.toPrecision(6)),
    runs: one.runs.length,
    start: one.start,
    end: one.end,
    endless: one.endless,
    ...Object.fromEntries(metricTotals(set, one.members)),
  };
  return Object.fromEntries(
    Object.entries(all).filter(([, value]) => typeof value === 'string' || Number.isFinite(value)),
  );
}

export function operationsJson(set: ProcessSet, operations: readonly Operation[]): string {
  return listJson(
    operations.map((one) => ({ ...facts(set, one), tags: Object.fromEntries(one.tags), intervals: one.runs })),
  );
}

export function operationsCsv(set: ProcessSet, operations: readonly Operation[]): string {
  const heads = [
    operations.some(({ jobs }) => jobs !== undefined) ? 'jobs' : 'job',
    'operation',
    'processes',
    'threads',
    'cpu_time',
    'cpu_share',
    'duration',
    'duration_sum',
    'duration_span',
    'time_share',
    'runs',
    'start',
    'end',
    'endless',
    ...set.metrics.keys(),
  ];
  return listCsv(
    heads,
    operations.map((one) => {
      const cells = facts(set, one);
      return heads.map((head) => cells[head] ?? '');
    }),
  );
}
