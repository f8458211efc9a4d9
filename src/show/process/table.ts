import { count } from '../../base/readable.ts';
import { stated } from '../../base/stated.ts';
import { columnNamed, commandOf, type ProcessColumn } from '../../query/processes/columns.ts';
import { jobLabels } from '../../query/processes/job-labels.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { processEndTable } from '../../sources/records/tables.ts';
import { type Paint, paint } from '../terminal/paint.ts';
import { pad, printable, type TextColumn, textTable, textWidth, wrap } from '../terminal/text-table.ts';
import { columnCell, cutMiddle, endingOf } from './cells.ts';

export interface ProcessTextOptions {
  /** Places on a line. */
  width?: number;
  stream?: { readonly isTTY?: boolean | undefined };
}

/** Narrower than this, a command says nothing. */
const LEAST_COMMAND = 28;
/** Where nothing else can be left out, it is cut down to this. */
const LEAST_TAIL = 12;

/** The processes as a table; the command is last and takes the room that is left. `hidden` more are not shown. */
export function processTable(
  set: ProcessSet,
  rows: readonly number[],
  columns: readonly string[] | undefined,
  hidden: number,
  options: ProcessTextOptions = {},
): string {
  const pen = paint(options.stream ?? {});
  const width = options.width ?? 80;
  const lines =
    columns === undefined
      ? usual(set, rows, width, pen)
      : chosen(
          rows,
          columns.map((name) => columnNamed(set, name)),
          width,
          pen,
        );
  if (hidden > 0) lines.push(pen.dim(`${count(hidden, 'more process', 'more processes')}; --limit 0 shows all`));
  for (const note of notesOf(set)) lines.push(...wrap(note, width).map(pen.dim));
  return `${lines.join('\n')}\n`;
}

function usual(set: ProcessSet, rows: readonly number[], width: number, pen: Paint): string[] {
  const right = (head: string, spare?: number): TextColumn => ({
    head,
    align: 'right',
    ...stated({ spare }),
  });
  const names = ['pid', 'cpu_time', 'share', 'duration', processEndTable.col.rssmax.name, 'io', 'threads'];
  const figures = names.map((name) => columnNamed(set, name));
  const several = set.jobs.length > 1;
  const labels = jobLabels(set.jobs);
  const nodes = set.node.some((node) => node !== set.node[0]);
  // a column that says of every process what is usual says nothing
  const endings = rows.some((i) => endingOf(set, i) !== '0');
  return withTail(
    [
      right('pid'),
      right('CPU'),
      right('share', 2),
      right('duration'),
      right('memory'),
      right('I/O', 3),
      right('threads', 4),
      right('exit', 1),
      { head: 'called', most: 16, spare: 5 },
      { head: 'node', most: 12, middle: true },
      { head: 'job', most: 14, middle: true },
    ],
    rows.map((i) => [
      ...figures.map((column) => columnCell(column, i)),
      endings ? endingOf(set, i) : '',
      printable(calledBy(set, i)),
      nodes ? printable(set.node[i]!) : '',
      several ? printable(labels[set.job[i]!]!) : '',
    ]),
    'command',
    rows.map((i) => printable(commandOf(set, i))),
    width,
    pen,
  );
}

/** The name that it was called by, where the command does not say so. */
function calledBy(set: ProcessSet, i: number): string {
  const name = set.argv0[i]!.replace(/.*\//s, '');
  return name === set.exename[i] ? '' : name;
}

function chosen(rows: readonly number[], columns: readonly ProcessColumn[], width: number, pen: Paint): string[] {
  const cells = (of: readonly ProcessColumn[]): string[][] =>
    rows.map((i) => of.map((column) => printable(columnCell(column, i))));
  const head = (column: ProcessColumn): TextColumn => ({
    head: column.name,
    align: column.kind === 'text' ? 'left' : 'right',
  });
  const last = columns.at(-1)!;
  if (last.kind === 'text') {
    const before = columns.slice(0, -1);
    const tails = cells([last]).map(([cell]) => cell!);
    return withTail(before.map(head), cells(before), last.name, tails, width, pen);
  }
  const [heads, ...lines] = textTable(columns.map(head), cells(columns), width);
  return [pen.dim(heads!), ...lines];
}

/** A table whose last column takes what room there is, its texts cut in the middle. */
export function withTail(
  columns: readonly TextColumn[],
  rows: readonly (readonly string[])[],
  tailHead: string,
  tails: readonly string[],
  width: number,
  pen: Paint,
  shorten = cutMiddle,
): string[] {
  const [heads = '', ...lines] = textTable(columns, rows, width - LEAST_COMMAND - 2, [], width - LEAST_TAIL - 2);
  const taken = lines.reduce((most, line) => Math.max(most, textWidth(line)), textWidth(heads));
  const gap = taken === 0 ? '' : '  ';
  const room = Math.max(LEAST_TAIL, width - taken - gap.length);
  return [
    pen.dim(`${pad(heads, taken)}${gap}${tailHead}`),
    ...lines.map((line, k) => `${pad(line, taken)}${gap}${shorten(tails[k]!, room)}`.trimEnd()),
  ];
}

/** What must be known to read the figures: which processes are not, or not wholly, recorded. */
export function notesOf(set: ProcessSet): string[] {
  const of = (source: string): number => set.source.reduce((sum, one) => sum + Number(one === source), 0);
  const notes: string[] = [];
  const [byParent, started, sampled] = [of('parent'), of('start'), of('sample')];
  const recorded = of('record') + byParent;
  if (byParent > 0)
    notes.push(
      `by parent: ${count(byParent, 'process', 'processes')} killed or unable to record, reported by ${byParent === 1 ? 'its parent' : 'their parents'}`,
    );
  if (started > 0)
    notes.push(`no end: ${count(started, 'process', 'processes')} started, then killed or still running`);
  if (sampled > 0 && recorded + started === 0)
    notes.push('sampled: no process recorded itself; short ones are missing');
  else if (sampled > 0)
    notes.push(
      `sampled: ${count(sampled, 'process', 'processes')} left no record of ${sampled === 1 ? 'its' : 'their'} own`,
    );
  return notes;
}
