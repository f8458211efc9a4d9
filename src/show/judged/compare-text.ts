import { formatDuration } from '../../base/duration.ts';
import { formatMoment } from '../../base/moment.ts';
import { count, energy, figure, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import type { Comparison, PartRow } from '../../judge/compare/compare.ts';
import type { MetricKind } from '../../judge/compare/metrics.ts';
import type { PrefixRow } from '../../judge/compare/prefixes.ts';
import type { DaskPrefix } from '../../judge/report-schema.ts';
import { exactJson } from '../exact-json.ts';
import { listCsv } from '../process/rows.ts';
import { type ProcessTextOptions, withTail } from '../process/table.ts';
import { type Paint, paint } from '../terminal/paint.ts';
import { printable, right, type TextColumn, textTable, textWidth, wrap } from '../terminal/text-table.ts';

export interface CompareTextOptions extends ProcessTextOptions {
  /** Rows of each table; 0: all. */
  limit?: number;
}

/** A, B, C… stand for the jobs. */
const letter = (j: number): string => (j < 26 ? String.fromCharCode(65 + j) : `J${j + 1}`);

function metricCell(kind: MetricKind, value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '-';
  switch (kind) {
    case 'microseconds':
      return lasting(value);
    case 'bytes':
      return formatBytes(value);
    case 'share':
      return percent(value);
    case 'joules':
      return energy(value);
    case 'watts':
      return `${figure(value)} W`;
    case 'celsius':
      return `${figure(value)} °C`;
    default:
      return figure(value);
  }
}

/** "+12 %", "-3.0 %", "x 40", "same". */
function change(before: number | undefined, after: number | undefined): string {
  if (before === undefined || after === undefined) return '';
  if (before === after) return 'same';
  if (before === 0) return 'new';
  const ratio = after / before;
  if (ratio >= 10) return `x ${figure(Math.round(ratio))}`;
  const share = ratio - 1;
  if (Math.abs(share) < 0.0005) return 'same';
  return `${share >= 0.001 ? '+' : share <= -0.001 ? '-' : ''}${percent(Math.abs(share))}`;
}

const lasting = (microseconds: number): string => formatDuration(microseconds / 1e6);

const signed = (microseconds: number): string =>
  microseconds === 0 ? '0 s' : `${microseconds > 0 ? '+' : '-'}${lasting(Math.abs(microseconds))}`;

/** Jobs side by side: what they were, their figures, and what explains the difference in duration. */
export function compareText(comparison: Comparison, options: CompareTextOptions = {}): string {
  const pen = paint(options.stream ?? {});
  const width = options.width ?? 80;
  const limit = options.limit ?? 12;
  const most = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  const sections = [
    jobLines(comparison, pen, width),
    factLines(comparison, pen, width),
    metricLines(comparison, pen, width),
    partLines(comparison, pen, width, most),
    onlyLines(comparison, pen, width, most),
    phaseLines(comparison, pen, width, most),
    prefixLines(comparison, pen, width, most),
    comparison.notes.flatMap((note) => wrap(note, width)).map(pen.dim),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function jobLines({ jobs, differences }: Comparison, pen: Paint, width: number): string[] {
  return table(
    [
      { head: '' },
      { head: 'job', most: 24, shrinks: true, least: 8, middle: true },
      right('duration'),
      right('difference'),
      { head: 'state' },
      { head: 'start', spare: 1 },
      // what one types next
      { head: 'recording', middle: true },
    ],
    jobs.map((job, j) => [
      letter(j),
      printable(job.id),
      lasting(job.duration),
      j === 0 ? '' : `${signed(differences[j]!)}`,
      job.state,
      formatMoment(job.start),
      printable(job.recording),
    ]),
    width,
    pen,
  );
}

function factLines({ facts, jobs }: Comparison, pen: Paint, width: number): string[] {
  if (facts.length === 0) return [];
  const room = Math.max(12, Math.floor((width - 18) / jobs.length) - 2);
  return table(
    [{ head: 'what differs', most: 20, shrinks: true }, ...jobs.map((_, j) => ({ head: letter(j), most: room }))],
    facts.map(({ name, values }) => [
      name,
      ...fromDifference(
        values.map((value) => printable(value ?? '-')),
        room,
      ),
    ]),
    width,
    pen,
  );
}

/** What stands before a difference that would be cut off. */
const BEFORE = 8;

/** Long texts that begin alike are shown from shortly before the place where they differ. */
export function fromDifference(texts: readonly string[], room: number): string[] {
  const [first = '', ...others] = texts;
  let alike = 0;
  while (alike < first.length && others.every((text) => text[alike] === first[alike])) alike++;
  if (texts.every((text) => textWidth(text) <= room) || alike + BEFORE < room) return [...texts];
  return texts.map((text) => (text.length <= BEFORE ? text : `..${text.slice(alike - BEFORE)}`));
}

function metricLines({ metrics, jobs }: Comparison, pen: Paint, width: number): string[] {
  return table(
    [
      { head: 'figure', most: 24, shrinks: true },
      ...jobs.flatMap((_, j) =>
        j === 0 ? [right(letter(j))] : [right(letter(j)), right(jobs.length === 2 ? 'change' : '', j)],
      ),
    ],
    metrics.map(({ name, kind, values }) => [
      name,
      ...values.flatMap((value, j) =>
        j === 0 ? [metricCell(kind, value)] : [metricCell(kind, value), change(values[0], value)],
      ),
    ]),
    width,
    pen,
  );
}

/** Shares of the difference between two jobs are shown up to 200 %. */
const MOST_SHARE = 2;

function partLines(comparison: Comparison, pen: Paint, width: number, most: number): string[] {
  const { parts, jobs, by, differences } = comparison;
  if (parts.length === 0) return [];
  const wide = width >= 60 + 30 * jobs.length;
  const differing = parts.filter((row) => row.difference !== 0);
  const shown = differing.slice(0, most);
  const what = by === 'operation' ? 'operation' : 'command';
  // differences that cancel each other out are many times what is left of them
  const hasShares = jobs.length === 2 && shown.every(({ explains = 0 }) => Math.abs(explains) <= MOST_SHARE);
  const about = jobs.length === 2 ? `B took ${longer(differences[1]!)} A. ` : '';
  if (differing.length === 0) return wrap(`${about}No ${what} took more or less time.`, width).map(pen.bold);
  const head = `${about}Where the time went, by ${what}: each moment is divided among the processes that ran and did not wait for children.`;
  const lines = withTail(
    [
      right('difference'),
      right('of all', 2),
      ...jobs.map((_, j) => right(letter(j))),
      // CPU times only where there is room for all of them
      ...(wide ? jobs.map((_, j) => right(`CPU ${letter(j)}`)) : []),
    ],
    shown.map((row) => [
      signed(row.difference),
      hasShares && row.explains !== undefined ? share(row.explains) : '',
      ...row.jobs.map((use) => (use === undefined ? '-' : lasting(use.time))),
      ...(wide ? row.jobs.map((use) => (use === undefined ? '-' : lasting(use.cpu))) : []),
    ]),
    what,
    shown.map((row) => printable(row.name)),
    width,
    pen,
  );
  return [...wrap(head, width).map(pen.bold), ...lines, ...hiddenRows(differing.length - shown.length, pen)];
}

const longer = (microseconds: number): string =>
  microseconds === 0 ? 'as long as' : `${lasting(Math.abs(microseconds))} ${microseconds < 0 ? 'less' : 'more'} than`;

/** Too little to be told has no direction either. */
const share = (value: number): string => `${value <= -0.001 ? '-' : ''}${percent(Math.abs(value))}`;

function onlyLines({ only, jobs }: Comparison, pen: Paint, width: number, most: number): string[] {
  if (only.length === 0) return [];
  const shown = only.slice(0, most);
  const lines = withTail(
    [...jobs.map((_, j) => right(letter(j))), right('CPU'), right('duration')],
    shown.map((row) => [...row.counts.map(figure), lasting(row.cpu), lasting(row.duration)]),
    'command',
    shown.map((row) => printable(row.command)),
    width,
    pen,
  );
  if (only.length > shown.length)
    lines.push(pen.dim(`${count(only.length - shown.length, 'more command')}; --limit 0 shows all`));
  return [
    ...wrap(
      'Commands that not every job ran equally often: how often, then CPU and time of the runs without a partner',
      width,
    ).map(pen.bold),
    ...lines,
  ];
}

function phaseLines({ phases, jobs }: Comparison, pen: Paint, width: number, most: number): string[] {
  if (phases.length === 0) return [];
  const shown = phases.slice(0, most);
  const lines = withTail(
    [
      right('difference'),
      ...jobs.map((_, j) => right(letter(j))),
      ...jobs.map((_, j) => right(`times ${letter(j)}`, 1)),
    ],
    shown.map(({ difference, jobs: uses }) => [
      signed(difference),
      ...uses.map((use) => (use === undefined ? '-' : lasting(use.duration))),
      ...uses.map((use) => (use === undefined ? '-' : figure(use.times))),
    ]),
    'phase',
    shown.map(({ name }) => printable(name)),
    width,
    pen,
  );
  return [pen.bold('Phases: time of each, added up'), ...lines, ...hiddenRows(phases.length - shown.length, pen)];
}

const hiddenRows = (hidden: number, pen: Paint): string[] =>
  hidden > 0 ? [pen.dim(`${count(hidden, 'more row')} with less of a difference; --limit 0 shows all`)] : [];

function prefixLines({ prefixes, jobs }: Comparison, pen: Paint, width: number, most: number): string[] {
  if (prefixes.length === 0) return [];
  const shown = prefixes.slice(0, most);
  const cell = (use: DaskPrefix | undefined, text: (use: DaskPrefix) => string): string =>
    use === undefined ? '-' : text(use);
  const seconds = (value: number | undefined): string => (value === undefined ? '-' : formatDuration(value));
  const lines = withTail(
    [
      right('difference'),
      ...jobs.map((_, j) => right(letter(j))),
      ...jobs.map((_, j) => right(`tasks ${letter(j)}`, 2)),
      ...jobs.map((_, j) => right(`median ${letter(j)}`, 1)),
    ],
    shown.map((row) => [
      signed(row.difference),
      ...row.jobs.map((use) => cell(use, (it) => formatDuration(it.seconds))),
      ...row.jobs.map((use) => cell(use, ({ tasks }) => figure(tasks))),
      ...row.jobs.map((use) => cell(use, (it) => seconds(it.median_seconds))),
    ]),
    'prefix',
    shown.map(({ prefix }) => printable(prefix)),
    width,
    pen,
  );
  return [
    ...wrap('Tasks of Dask by prefix: their time added up', width).map(pen.bold),
    ...lines,
    ...hiddenRows(prefixes.length - shown.length, pen),
  ];
}

function table(
  columns: readonly TextColumn[],
  rows: readonly (readonly string[])[],
  width: number,
  pen: Paint,
): string[] {
  if (rows.length === 0) return [];
  const [heads, ...lines] = textTable(columns, rows, width);
  return [pen.dim(heads!), ...lines];
}

/** The whole comparison; what was not measured is left out. */
export function compareJson(comparison: Comparison): string {
  return exactJson(comparison);
}

const PREFIX_FIELDS = [
  'seconds',
  'tasks',
  'median_seconds',
  'max_seconds',
  'cpu_seconds',
  'memory_peak_bytes',
] as const;

/** One table: the parts, the phases, the prefixes of Dask, or the figures. */
export function compareCsv({ by, parts, phases, prefixes, metrics, jobs }: Comparison): string {
  const ids = jobs.map(({ id }) => id);
  // two runs of one id are told apart by their letters, as in the text
  const names = ids.map((id, j) => (ids.indexOf(id) === ids.lastIndexOf(id) ? id : `${id} (${letter(j)})`));
  if (by === 'metric') {
    return listCsv(
      ['figure', 'unit', ...names],
      metrics.map(({ name, kind, values }) => [name, kind, ...values.map((value) => value ?? '')]),
    );
  }
  const each = (name: string): string[] => names.map((job) => `${name} ${job}`);
  if (by === 'phase')
    return listCsv(
      ['phase', 'difference', ...each('duration'), ...each('times')],
      phases.map((row) => [
        row.name,
        row.difference,
        ...row.jobs.map((use) => use?.duration ?? ''),
        ...row.jobs.map((use) => use?.times ?? ''),
      ]),
    );
  if (by === 'prefix')
    return listCsv(
      ['prefix', 'difference', ...PREFIX_FIELDS.flatMap(each)],
      prefixes.map((row: PrefixRow) => [
        row.prefix,
        row.difference,
        ...PREFIX_FIELDS.flatMap((field) => row.jobs.map((use) => use?.[field] ?? '')),
      ]),
    );
  const cells = (row: PartRow, of: 'processes' | 'cpu' | 'duration' | 'time'): (number | string)[] =>
    row.jobs.map((use) => use?.[of] ?? '');
  return listCsv(
    [by, 'difference', 'explains', ...each('time'), ...each('duration'), ...each('cpu'), ...each('processes')],
    parts.map((row) => [
      row.name,
      row.difference,
      row.explains ?? '',
      ...cells(row, 'time'),
      ...cells(row, 'duration'),
      ...cells(row, 'cpu'),
      ...cells(row, 'processes'),
    ]),
  );
}
