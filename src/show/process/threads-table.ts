import { append } from '../../base/extremes.ts';
import { formatMoment } from '../../base/moment.ts';
import { count } from '../../base/readable.ts';
import { commandOf, metricKind } from '../../query/processes/columns.ts';
import type { ProcessSet, ThreadColumns } from '../../query/processes/set.ts';
import { threadName } from '../../query/processes/thread-name.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';
import { paint } from '../terminal/paint.ts';
import { printable, right, textTable } from '../terminal/text-table.ts';
import { cellOf, cutMiddle } from './cells.ts';
import { listCsv, listJson } from './rows.ts';
import type { ProcessTextOptions } from './table.ts';

/** A process and its threads, in the order in which they are to be shown. */
export interface ThreadsOf {
  process: number;
  threads: ThreadColumns;
  order: readonly number[];
}

const SHOWN: ProcessMetric[] = ['usertime', 'systemtime', 'rchar', 'wchar', 'vol_ctxsw', 'invol_ctxsw', 'time_waiting'];
const HEADS = ['user', 'system', 'read', 'written', 'waits', 'preempted', 'queued'];

/** The threads of one process. */
export function threadsTable(
  set: ProcessSet,
  { process: i, threads, order }: ThreadsOf,
  options: ProcessTextOptions,
): string {
  const pen = paint(options.stream ?? {});
  const width = options.width ?? 80;
  const title = `pid ${set.pid[i]}${set.node[i] === '' ? '' : ` on ${printable(set.node[i]!)}`}, ${formatMoment(set.start[i]!)}: `;
  const lines = [pen.bold(title + cutMiddle(printable(commandOf(set, i)), Math.max(20, width - title.length)))];
  if (threads.length > 0) {
    const [heads, ...rows] = textTable(
      [right('tid'), right('start'), right('duration'), right('CPU'), ...HEADS.map((head, k) => right(head, k + 1))],
      order.map((k) => [
        tidCell(threads.tid[k]!),
        `+${cellOf('microseconds', threads.start[k]! - set.start[i]!)}`,
        cellOf('microseconds', threads.end[k]! - threads.start[k]!),
        cellOf('microseconds', threads.cpu_time[k]!),
        ...SHOWN.map((name) => cellOf(metricKind(name), threads.metrics.get(name)?.[k] ?? Number.NaN)),
      ]),
      width,
    );
    lines.push(pen.dim(heads!), ...rows);
  }
  append(lines, notesOf(set, i, threads, order.length).map(pen.dim));
  return `${lines.join('\n')}\n`;
}

const tidCell = (tid: number): string => (Number.isNaN(tid) ? '' : String(threadName(tid)));

function notesOf(set: ProcessSet, i: number, threads: ThreadColumns, shown: number): string[] {
  const notes: string[] = [];
  if (shown < threads.length) {
    notes.push(`${count(threads.length - shown, 'more thread')}; --limit 0 shows all`);
  }
  const had = set.threads[i]!;
  if (set.source[i] === 'sample') {
    notes.push(`sampled: its threads were not recorded one by one${had > 0 ? `; it had up to ${had}` : ''}`);
  } else if (set.source[i] === 'parent') notes.push('its end was reported by its parent: its threads are not known');
  else if (set.source[i] === 'start') notes.push('no end record: threads that had not ended are not known');
  else if (had > threads.length) {
    notes.push(`${count(had - threads.length, 'thread')} of ${had} too short for a record of their own`);
  }
  return notes;
}

function facts(set: ProcessSet, { process: i, threads }: ThreadsOf, k: number): Record<string, string | number> {
  const all: Record<string, string | number> = {
    job: set.jobs[set.job[i]!]!.id,
    node: set.node[i]!,
    pid: set.pid[i]!,
    process_start: set.start[i]!,
    tid: threadName(threads.tid[k]!),
    start: threads.start[k]!,
    end: threads.end[k]!,
    cpu_time: threads.cpu_time[k]!,
  };
  for (const [name, values] of threads.metrics) all[name] = values[k]!;
  return all;
}

const present = (value: string | number): boolean => typeof value === 'string' || Number.isFinite(value);

export function threadsJson(set: ProcessSet, all: readonly ThreadsOf[]): string {
  return listJson(
    all.flatMap((one) =>
      one.order.map((k) =>
        Object.fromEntries(Object.entries(facts(set, one, k)).filter(([, value]) => present(value))),
      ),
    ),
  );
}

export function threadsCsv(set: ProcessSet, all: readonly ThreadsOf[]): string {
  const rows = all.flatMap((one) => one.order.map((k) => facts(set, one, k)));
  const heads = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return listCsv(
    heads,
    rows.map((row) => heads.map((head) => (present(row[head] ?? Number.NaN) ? row[head]! : ''))),
  );
}
