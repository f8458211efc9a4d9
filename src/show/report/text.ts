import { greatest, smallest } from '../../base/extremes.ts';
import { asciiAround } from '../../base/printable.ts';
import { count, figure, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import type { Finding, Report } from '../../judge/report-schema.ts';
import { foldRows, MOST_ROWS } from '../terminal/fold-rows.ts';
import { type Paint, paint } from '../terminal/paint.ts';
import { cut, cutCommand, pad, printable, textTable, textWidth, wrap } from '../terminal/text-table.ts';
import { curveFeet, curveTexts, curveTitle } from './curve-lines.ts';
import { daskLines } from './dask-lines.ts';
import { about, ending, footer, memoryLines, title, unmeasuredLines } from './head.ts';
import { allocationHours, energyText, kernelWorkText, meters, workText } from './meters.ts';
import { PackedTexts } from './packed-texts.ts';
import { rankPart } from './rank-rows.ts';
import { requestText } from './request-text.ts';
import {
  figureRows,
  flowNote,
  flowRows,
  gpuMark,
  gpuRows,
  nodeMark,
  nodeRows,
  operationRows,
  phaseRows,
  processNote,
  processRows,
  programRows,
  type Rows,
  recordsText,
} from './rows.ts';
import { type JobRow, jobRow, manyRows, severalRows } from './several.ts';
import { verdict } from './verdict.ts';

export interface TextOptions {
  /** Where it is going to be written: colours and lines follow from it. */
  stream?: { readonly isTTY?: boolean | undefined };
  /** Everything: no folded tables, every process, all memory figures. */
  all?: boolean;
  /** Of many jobs: only their table. */
  isTableOnly?: boolean;
}

const WIDTH = 80;
const METER = 16;

interface Pen extends Paint {
  unicode: boolean;
  /** A text as this page can show it. */
  say(text: string): string;
}

/** The card of one job, and what the table of several jobs says of it: plain data, which another thread may make. */
export interface Card {
  /** Not there: of so many jobs only the table is wanted. */
  text?: string;
  row: JobRow;
  /** What people have written in it that is not ASCII. */
  names: string[];
}

export function cardOf(report: Report, { stream = {}, all = false, isTableOnly = false }: TextOptions): Card {
  const own = written(report);
  return {
    ...(isTableOnly ? {} : { text: card(report, penFor(stream, own), all) }),
    row: jobRow(report),
    names: own.filter((name) => NOT_ASCII.test(name)),
  };
}

function penFor(stream: NonNullable<TextOptions['stream']>, names: readonly string[]): Pen {
  const unicode = stream.isTTY === true && utf8();
  const plain = asciiAround(unicode ? [] : names);
  const say = (text: string): string => (unicode ? printable(text) : plain(printable(text)));
  return { ...paint(stream), unicode, say };
}

/** Cards in the making: of each report only the text stays in memory, of many compressed. */
export function reportCards({ stream = {} }: TextOptions): { add(made: Card): void; texts(): Generator<string> } {
  let isTableOnly = false;
  const cards = new PackedTexts();
  const jobs: JobRow[] = [];
  const names = new Set<string>();
  return {
    add(made) {
      if (made.text === undefined) isTableOnly = true;
      else cards.add(`${jobs.length === 0 ? '' : '\n\n'}${made.text}`);
      for (const name of made.names) names.add(name);
      jobs.push(made.row);
    },
    *texts() {
      const pen = penFor(stream, [...names]);
      const title = `Jobs (${figure(jobs.length)})`;
      if (isTableOnly && jobs.length > 0) {
        yield `${sectionLines(pen, title, manyRows(jobs)).join('\n')}\n\n`;
        yield `${pen.dim('tacho report RECORDING prints the card of one, tacho report --all those of all.')}\n`;
        return;
      }
      if (jobs.length > 1) yield `${sectionLines(pen, title, severalRows(jobs)).join('\n')}\n\n\n`;
      yield* cards.texts();
    },
  };
}

const NOT_ASCII = /[^\x00-\x7f]/;

/** What people have written that may stand in a card. */
function written({ job, phases, figures, processes, dask }: Report): string[] {
  const command = job.command ?? [];
  const texts = [job.name, ...command, ...Object.keys(job.tags), ...Object.values(job.tags)];
  const names = [...phases, ...figures].map(({ name }) => name);
  const prefixes = (dask?.prefixes ?? []).map(({ prefix }) => prefix);
  return [...texts, ...names, ...prefixes, ...processes.flatMap((each) => each.command ?? [])].map(printable);
}

function card(report: Report, pen: Pen, all: boolean): string {
  const sections: string[][] = [
    head(report, pen),
    used(report, pen, all),
    overTime(report, pen),
    findings(report.findings, pen),
    gpuPart(report, pen, all),
    nodePart(report, pen, all),
    sectionLines(pen, 'I/O and network', flowRows(report), all ? flowNote(report) : undefined),
    rankLines(report, pen, all),
    daskPart(report, pen),
    processPart(report, pen, all),
    sectionLines(pen, 'Operations', operationRows(report, all ? Number.POSITIVE_INFINITY : 8)),
    sectionLines(pen, 'Phases', phaseRows(report.phases, report.job.start, all ? Number.POSITIVE_INFINITY : 8)),
    sectionLines(pen, 'Figures of merit', figureRows(report.figures)),
    unmeasuredPart(report, pen, all),
    footer(report)
      .flatMap((line) => wrap(pen.say(line), WIDTH))
      .map(pen.dim),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function utf8(): boolean {
  return /utf-?8/i.test(process.env.LC_ALL || process.env.LC_CTYPE || process.env.LANG || '');
}

function head(report: Report, pen: Pen): string[] {
  const state = ending(report);
  const name = cutCommand(pen.say(title(report)), WIDTH - textWidth(state) - 2);
  const colour = report.job.state === 'completed' ? pen.green : report.job.state === 'running' ? pen.cyan : pen.red;
  const rule = (pen.unicode ? '─' : '-').repeat(WIDTH);
  const worst = report.findings[0]?.severity;
  const verdictColour = worst === 'critical' ? pen.red : worst === 'warning' ? pen.yellow : pen.bold;
  return [
    `${pen.bold(pad(name, WIDTH - textWidth(state)))}${colour(state)}`,
    pen.dim(rule),
    ...about(report).flatMap((line) => wrap(pen.say(line), WIDTH).slice(0, 3)),
    '',
    ...wrap(pen.say(verdict(report)), WIDTH).map(verdictColour),
  ];
}

function used(report: Report, pen: Pen, all: boolean): string[] {
  const list = meters(report, all);
  const lines = [pen.bold(requestText(report))];
  const label = (name: string): string => `  ${pad(name, 11)}`;
  const room = WIDTH - 13 - METER - 10;
  for (const { name, share, text } of list) {
    if (share === undefined) {
      lines.push(`${label(name)}${pen.say(text)}`);
      continue;
    }
    const [first, ...more] = wrap(pen.say(text), room);
    lines.push(`${label(name)}${meter(share, pen)} ${pad(percent(share), 7, 'right')}  ${first}`);
    for (const line of more) lines.push(`${' '.repeat(WIDTH - room)}${line}`);
  }
  const work = workText(report);
  if (work !== undefined) {
    // it belongs to the CPU time
    const at = list.findIndex(({ name }) => name === 'CPU') + 2;
    lines.splice(at, 0, `${label('')}${work}`);
  }
  const kernel = all ? kernelWorkText(report) : undefined;
  if (kernel !== undefined) lines.push(`${label('kernel')}${kernel}`);
  const energy = energyText(report);
  lines.push(`${label('energy')}${energy === undefined ? pen.dim('not measurable here') : pen.say(energy)}`);
  if (all || report.summary.wall_seconds >= 60) lines.push(`${label('hours')}${allocationHours(report)}`);
  if (all) {
    for (const [what, bytes] of memoryLines(report))
      lines.push(`${label('')}${pad(formatBytes(bytes), 10, 'right')}  ${pen.say(what)}`);
  }
  return lines;
}

/** Curves, and the phases below them. */
function overTime(report: Report, pen: Pen): string[] {
  if (report.curves === undefined) return [];
  const lines = curveTexts(report.curves, pen.unicode).map(({ name, line, most }) =>
    `${pad(`  ${name}`, 15)}${pen.cyan(line)}  ${pen.dim(most)}`.trimEnd(),
  );
  const { phases, times } = curveFeet(report, pen.unicode);
  const feet = phases.map(({ name, line }) => `  ${pad(cut(pen.say(name), 12), 13)}${pen.say(line)}`);
  return [pen.bold(curveTitle(report.curves)), ...lines, ...feet, `${' '.repeat(15)}${pen.dim(times)}`];
}

/** A share as a bar; what exceeds the allocation fills it. */
function meter(share: number, pen: Pen): string {
  const room = pen.unicode ? METER : METER - 2;
  // something that was used is never drawn as nothing
  const full = share > 0.005 ? Math.max(1, Math.round(Math.min(1, share) * room)) : 0;
  if (pen.unicode) return `${pen.cyan('█'.repeat(full))}${pen.dim('░'.repeat(room - full))}`;
  return `[${'#'.repeat(full)}${'.'.repeat(room - full)}]`;
}

function findings(list: readonly Finding[], pen: Pen): string[] {
  if (list.length === 0) return [];
  const colours = { critical: pen.red, warning: pen.yellow, advice: pen.cyan, info: pen.dim };
  const lines = [pen.bold('Findings')];
  const indent = ' '.repeat(12);
  for (const f of list) {
    const [first, ...more] = wrap(pen.say(f.text), WIDTH - 12);
    lines.push(`  ${colours[f.severity](pad(f.severity.toUpperCase(), 10))}${pen.bold(first ?? '')}`);
    for (const line of more) lines.push(`${indent}${pen.bold(line)}`);
    // a list of evidence may itself be shortened: no count of what is left
    const shown = (f.evidence.length <= 3 ? f.evidence : f.evidence.slice(0, 2)).map((e) => e.text);
    const rest = f.evidence.length > shown.length ? '; and more' : '';
    const sure = f.confidence === 'high' ? 'high confidence' : `${f.confidence} confidence: ${f.confidence_reason}`;
    const proof = `${shown.join('; ')}${rest} (${sure})`;
    for (const line of wrap(pen.say(proof), WIDTH - 12)) lines.push(`${indent}${pen.dim(line)}`);
    const mark = pen.unicode ? '→' : '>';
    wrap(pen.say(f.advice), WIDTH - 14).forEach((line, i) => {
      lines.push(`${indent}${i === 0 ? mark : ' '} ${line}`);
    });
  }
  return lines;
}

function sectionLines(pen: Pen, name: string, { columns, rows }: Rows, note?: string): string[] {
  if (rows.length === 0) return [];
  const [heads, ...lines] = textTable(
    columns.map((column) => ({ ...column, head: pen.say(column.head) })),
    rows.map((row) => row.map((cell, i) => (columns[i]!.mark && cell !== '' ? `< ${pen.say(cell)}` : pen.say(cell)))),
    WIDTH - 2,
  );
  const table = [pen.bold(name), `  ${pen.dim(heads!)}`, ...lines.map((line) => `  ${line}`)];
  if (note !== undefined) table.push(`  ${pen.dim(note)}`);
  return table;
}

function gpuPart(report: Report, pen: Pen, all: boolean): string[] {
  const most = all ? Number.POSITIVE_INFINITY : MOST_ROWS;
  const { rows, hidden } = foldRows(
    report.gpus,
    (g) => gpuMark(g) !== '',
    (g) => g.utilization_mean,
    most,
  );
  const others = report.gpus.filter((g) => !rows.includes(g)).map((g) => g.utilization_mean ?? Number.NaN);
  const note =
    hidden === 0 ? undefined : `${count(hidden, 'more GPU', 'more GPUs')}, ${between(others)} busy (--all shows them)`;
  return sectionLines(pen, `GPUs (${report.gpus.length})`, gpuRows(rows), note);
}

function nodePart(report: Report, pen: Pen, all: boolean): string[] {
  const { nodes } = report;
  if (nodes.length === 1 && !all && nodes[0]!.status === 'recorded') return [];
  const most = all ? Number.POSITIVE_INFINITY : MOST_ROWS;
  const { rows, hidden } = foldRows(
    nodes,
    (n) => nodeMark(n) !== '',
    (n) => n.cpu_utilization,
    most,
  );
  const others = nodes.filter((n) => !rows.includes(n)).map((n) => n.cpu_utilization ?? Number.NaN);
  const note =
    hidden === 0
      ? undefined
      : `${count(hidden, 'more node', 'more nodes')}, ${between(others)} of their CPUs busy (--all shows them)`;
  return sectionLines(pen, `Nodes (${nodes.length})`, nodeRows(rows), note);
}

function between(shares: readonly number[]): string {
  const finiteShares = shares.filter((s) => Number.isFinite(s));
  if (finiteShares.length === 0) return 'unknown share';
  const [least, most] = [percent(smallest(finiteShares)), percent(greatest(finiteShares))];
  return least === most ? `all ${most}` : `${least} to ${most}`;
}

function rankLines(report: Report, pen: Pen, all: boolean): string[] {
  const rankTable = rankPart(report, all);
  if (rankTable === undefined) return [];
  const notes = rankTable.notes.flatMap((note) => wrap(pen.say(note), WIDTH - 2)).map((line) => `  ${pen.dim(line)}`);
  return [...sectionLines(pen, pen.say(rankTable.title), rankTable), ...notes];
}

function daskPart(report: Report, pen: Pen): string[] {
  const lines = daskLines(report).flatMap((line) => wrap(pen.say(line), WIDTH - 2));
  return lines.length === 0 ? [] : [pen.bold('Dask'), ...lines.map((line) => `  ${line}`)];
}

function processPart(report: Report, pen: Pen, all: boolean): string[] {
  const programs = sectionLines(pen, 'Programs', programRows(report, all ? Number.POSITIVE_INFINITY : MOST_PROGRAMS));
  const note = all ? recordsText(report) : processNote(report);
  if (note !== undefined) for (const line of wrap(pen.say(note), WIDTH - 2)) programs.push(`  ${pen.dim(line)}`);
  if (!all) return programs;
  const total = report.summary.processes ?? report.processes.length;
  const hidden = total - report.processes.length;
  const more = hidden > 0 ? count(hidden, 'more process', 'more processes') : undefined;
  const processes = sectionLines(pen, 'Top processes', processRows(report, Number.POSITIVE_INFINITY), more);
  return processes.length === 0 ? programs : [...programs, '', ...processes];
}

const MOST_PROGRAMS = 5;

/** Number of lines on a card about what was not measured. */
const MOST_UNMEASURED = 5;

function unmeasuredPart(report: Report, pen: Pen, all: boolean): string[] {
  const lines = unmeasuredLines(report, all);
  if (lines.length === 0) return [];
  const most = all || lines.length === MOST_UNMEASURED + 1 ? lines.length : MOST_UNMEASURED;
  const shown = lines
    .slice(0, most)
    .flatMap(({ text }) => wrap(pen.say(text), WIDTH - 4).map((line, i) => `  ${i === 0 ? '-' : ' '} ${line}`));
  const rest = lines.slice(most).reduce((sum, { count }) => sum + count, 0);
  return [
    pen.bold('Not measured'),
    ...shown,
    ...(rest > 0 ? [pen.dim(`  - and ${rest} more (--all shows them)`)] : []),
  ];
}
