import * as path from 'node:path';
import { formatDuration } from '../base/duration.ts';
import { figure } from '../base/figure.ts';
import { formatMoment } from '../base/moment.ts';
import { commandLine } from '../base/quote.ts';
import { formatBytes } from '../base/size.ts';
import type { Listed } from '../recording/folder/list.ts';
import { hiddenColumns, printable, type TextColumn, textTable, textWidth, wrap } from './terminal/text-table.ts';

/** What may be told in fewer places. */
interface Brief {
  /** When it began: without seconds and zone, or also without this year. */
  began?: 'minutes' | 'day';
  /** The state only where it says more than how the job ended, a name only where the id or the path does not end with it. */
  once?: boolean;
  /** The id only where the path does not end with it, and a scheduler gave it. */
  idInPath?: boolean;
  /** When it began only where the path does not say it, as those of local jobs do. */
  startInPath?: boolean;
}

/**
 * Recordings for people, one a line. On a terminal that is too narrow for it all, seconds and what is told twice go first,
 * then the size and a user who is everybody's, this year, other users and names. Paths are what one types next: always
 * whole, and where there is no room, below. `hidden` takes the heads of columns that were left out.
 */
export function listText(
  listedJobs: readonly Listed[],
  width = Number.POSITIVE_INFINITY,
  now = Date.now() * 1000,
  hidden: string[] = [],
): string {
  const columns = columnsOf(listedJobs);
  const cheap = columns.filter(({ spare = 0 }) => spare >= CHEAP).map(({ head }) => head);
  const begins = listedJobs.map(({ start }) => (start === undefined ? undefined : formatMoment(start)));
  const year = formatMoment(now).slice(0, 'YYYY-'.length);
  const isThisYear = begins.every((moment) => moment === undefined || moment.startsWith(year));
  const rowsOf = (brief: Brief): string[][] =>
    listedJobs.map((each, i) => rowOf(each, beganCell(begins[i], brief), brief, now));
  const shortest: Brief = { began: isThisYear ? 'day' : 'minutes', once: true, idInPath: true };
  const usual: [brief: Brief, mayGo: readonly string[]][] = [
    [{}, []],
    [{ began: 'minutes' }, []],
    [{ began: 'minutes', once: true }, cheap],
    [{ began: 'minutes', once: true, idInPath: true }, cheap],
    [shortest, columns.map(({ head }) => head)],
  ];
  // what was run comes before sizes and seconds, and goes before who and when
  const tries = [
    ...[...usual, [{ ...shortest, startInPath: true }, columns.map(({ head }) => head)] as const].map(
      ([brief, mayGo]) =>
        [brief, [...mayGo.filter((head) => head !== 'command'), 'tags', 'findings', 'nodes']] as const,
    ),
    ...usual.map(([brief, mayGo]) => [brief, [...mayGo, 'command', 'tags', 'findings']] as const),
  ];
  for (const [brief, mayGo] of tries) {
    const gone: string[] = [];
    const lines = textTable(columns, rowsOf(brief), width, gone);
    if (gone.every((head) => mayGo.includes(head)) && lines.every((line) => textWidth(line) <= width)) {
      hidden.push(...inOrder(columns, gone));
      return `${lines.join('\n')}\n`;
    }
  }
  const [job, ...others] = columns.slice(0, -1);
  const rows = rowsOf({ began: 'minutes', once: true });
  const gone: string[] = [];
  const [heads, ...lines] = textTable([{ ...job!, whole: false }, ...others], rows, width, gone);
  hidden.push(...inOrder(columns, gone));
  return `${[heads, ...lines.flatMap((line, i) => [line, `  ${printable(listedJobs[i]!.path)}`])].join('\n')}\n`;
}

const inOrder = (columns: readonly TextColumn[], heads: readonly string[]): string[] =>
  columns.map(({ head }) => head).filter((head) => heads.includes(head));

/** Names below a list on a narrow terminal the columns that it has left out; empty: none. */
export const hiddenText = (hidden: readonly string[], width: number): string =>
  hiddenColumns(hidden)
    .flatMap((line) => wrap(line, width))
    .map((line) => `${line}\n`)
    .join('');

/** From here on a column is left out before anything else that is told only once. */
const CHEAP = 3;

function columnsOf(listedJobs: readonly Listed[]): TextColumn[] {
  const users = new Set(listedJobs.map(({ user }) => user).filter((user) => user !== ''));
  return [
    { head: 'job', middle: true, whole: true },
    { head: 'name', spare: 1, shrinks: true },
    { head: 'user', spare: users.size > 1 ? 2 : CHEAP },
    { head: 'start', whole: true },
    { head: 'duration', align: 'right' },
    { head: 'ended', whole: true },
    { head: 'nodes', align: 'right', ...(listedJobs.every(({ nodes }) => nodes === 1) && { spare: CHEAP - 0.8 }) },
    { head: 'size', align: 'right', spare: CHEAP + 1 },
    { head: 'state' },
    { head: 'command', spare: 0, shrinks: true, least: 12, command: true },
    { head: 'tags', spare: CHEAP - 0.5, most: 40 },
    { head: 'findings', spare: CHEAP - 0.7, most: 40 },
    // last, because it may be long
    { head: 'recording', whole: true },
  ];
}

function rowOf(each: Listed, began: string, brief: Brief, now: number): string[] {
  const id = each.restart === undefined ? each.job : `${each.job}r${each.restart}`;
  const folder = path.basename(each.path);
  const program = each.command?.[0] === undefined ? undefined : path.basename(each.command[0]);
  const isNamed = [folder, unnumbered(folder), id].some((text) => endsWith(text, each.name)) || each.name === program;
  return [
    brief.idInPath && (LOCAL_ID.test(id) || namesId(folder, id)) ? '' : id,
    brief.once && isNamed ? '' : each.name,
    each.user,
    brief.startInPath && namesDay(folder, each.start) ? '' : began,
    each.start === undefined ? '' : lasted(each, now),
    brief.once ? endedOrState(each) : ended(each),
    figure(each.nodes),
    each.bytes === undefined ? '' : formatBytes(each.bytes),
    brief.once ? '' : each.state,
    each.command ? commandLine(each.command) : '',
    Object.entries(each.tags ?? {})
      .map(([key, value]) => `${key}:${value}`)
      .join(' '),
    each.findings === undefined ? '-' : each.findings.length === 0 ? 'none' : each.findings.join(','),
    each.path,
  ];
}

/** Local ids are the time, the name and four characters; a second folder of that time and name has a number instead. */
const LOCAL_ID = /^(\d{8}-\d{6}-.+)-[a-z0-9]{4}$/;

/** Whether who reads the folder's name has no need of the id. */
function namesId(folder: string, id: string): boolean {
  const stem = LOCAL_ID.exec(id)?.[1] ?? id;
  return endsWith(folder, stem) || endsWith(unnumbered(folder), stem);
}

/** "tacho-20261115-204912-sleep" has the day of a job, and its time. */
function namesDay(folder: string, start: number | undefined): boolean {
  const [, ...date] = /(\d{4})(\d{2})(\d{2})-\d{6}/.exec(folder) ?? [];
  return start !== undefined && formatMoment(start).startsWith(date.join('-') || '-');
}

/** "tacho-x" of "tacho-x-2". */
const unnumbered = (folder: string): string => folder.replace(/-\d+$/, '');

/** "tacho-4711" ends with "4711", and not with "11". */
function endsWith(text: string, end: string): boolean {
  return end !== '' && text.endsWith(end) && !/[\p{L}\p{N}]$/u.test(text.slice(0, -end.length));
}

/** The same word as in the title of its report. */
const ended = ({ job_state }: Listed): string =>
  job_state === 'running' ? '' : job_state.replaceAll('_', ' ').toUpperCase();

/** How the job ended; with the state of the recording where that says more. */
function endedOrState(each: Listed): string {
  const how = ended(each);
  if (how === '') return each.state;
  if (each.state === 'ended' || each.state === 'sealed') return how;
  return each.job_state === 'unknown' ? each.state : `${how}, ${each.state}`;
}

/** When a job began; on a narrow page without seconds and zone. */
export function began(start: number, width = Number.POSITIVE_INFINITY): string {
  const moment = formatMoment(start);
  return width < 120 ? moment.slice(0, MINUTES) : moment;
}

const MINUTES = 'YYYY-MM-DD HH:MM'.length;

function beganCell(moment: string | undefined, brief: Brief): string {
  if (moment === undefined) return 'unknown';
  return brief.began === undefined ? moment : moment.slice(brief.began === 'day' ? 'YYYY-'.length : 0, MINUTES);
}

function lasted(each: Listed, now: number): string {
  if (each.end === undefined && each.state !== 'running') return 'unknown';
  return formatDuration(Math.max(0, (each.end ?? now) - each.start!) / 1e6);
}
