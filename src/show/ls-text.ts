import { formatDuration } from '../base/duration.ts';
import { nodeList } from '../base/node-list.ts';
import { formatBytes } from '../base/size.ts';
import { byName } from '../recording/folder/open.ts';
import type { NodeLine } from '../sinks/hub/protocol.ts';
import { type TextColumn, textTable } from './terminal/text-table.ts';

/** A user who is everybody's says the least. */
const columnsOf = (lines: readonly NodeLine[]): TextColumn[] => [
  { head: 'node', shrinks: true },
  { head: 'user', spare: lines.some(({ user }) => user !== lines[0]!.user) ? 1 : 5, most: 16 },
  { head: 'job', most: 20, middle: true },
  { head: 'table', most: 20 },
  { head: 'age', align: 'right' },
  { head: 'rows/s', align: 'right', spare: 3 },
  { head: 'bytes/s', align: 'right', spare: 4 },
  { head: 'size', align: 'right', spare: 2 },
  { head: 'state' },
];

/** By node, then user, job and table. */
export function sortLines(lines: readonly NodeLine[]): NodeLine[] {
  return [...lines].sort(
    (a, b) => byName(a.node, b.node) || byName(a.user, b.user) || byName(a.job, b.job) || byName(a.table, b.table),
  );
}

export interface LsLayout {
  width?: number;
  /** Number of lines that fit; the rest is counted. */
  height?: number;
  /** Seconds for which agents collect samples before they send them. */
  batchSeconds?: number;
}

/** What a hub receives, a line a table of a node, and all of it together. `now`: the hub's clock, epoch microseconds. */
export function lsText(
  lines: readonly NodeLine[],
  now: number,
  { width, height, batchSeconds = 0 }: LsLayout = {},
): string {
  const sorted = sortLines(lines);
  const most = height === undefined ? sorted.length : Math.max(1, height - 3);
  const rows = sorted
    .slice(0, most)
    .map((line) => [
      line.node,
      line.user,
      line.job,
      line.table,
      line.newest > 0 ? formatDuration(Math.max(0, now - line.newest) / 1e6) : '',
      isKnown(line.rows_per_second) ? shortNumber(line.rows_per_second) : '',
      isKnown(line.bytes_per_second) ? formatBytes(line.bytes_per_second) : '',
      formatBytes(line.bytes),
      line.state,
    ]);
  const left = sorted.length - rows.length;
  const more = left > 0 ? [`${left} more lines; --node, --user and --job choose`] : [];
  return `${[...textTable(columnsOf(sorted), rows, width), ...more, together(sorted, batchSeconds)].join('\n')}\n`;
}

const JOB_COLUMNS: readonly TextColumn[] = [
  { head: 'job', most: 24, middle: true },
  { head: 'user', most: 16, spare: 1 },
  { head: 'nodes', most: 30, shrinks: true },
  { head: 'tables', align: 'right', spare: 5 },
  { head: 'age', align: 'right' },
  { head: 'rows/s', align: 'right', spare: 3 },
  { head: 'bytes/s', align: 'right', spare: 4 },
  { head: 'size', align: 'right', spare: 2 },
  { head: 'state' },
];

/** The same, one line per job: of its tables the newest samples, and the worst of their states. */
export function jobsText(
  lines: readonly NodeLine[],
  now: number,
  { width, height, batchSeconds = 0 }: LsLayout = {},
): string {
  const jobs = [...Map.groupBy(sortLines(lines), ({ user, job }) => `${user}/${job}`).values()].sort(
    ([a], [b]) => byName(a!.user, b!.user) || byName(a!.job, b!.job),
  );
  const most = height === undefined ? jobs.length : Math.max(1, height - 3);
  const rows = jobs.slice(0, most).map((all) => {
    const [{ job, user }] = all as [NodeLine];
    const sum = (pick: (line: NodeLine) => number): number | undefined => {
      const numbers = all.map(pick).filter(isKnown);
      return numbers.length === 0 ? undefined : numbers.reduce((total, value) => total + value, 0);
    };
    const newest = Math.max(...all.map((line) => line.newest));
    const [rate, bytes] = [sum((line) => line.rows_per_second), sum((line) => line.bytes_per_second)];
    return [
      job,
      user,
      nodeList([...new Set(all.map(({ node }) => node))]),
      String(new Set(all.map(({ table }) => table)).size),
      newest > 0 ? formatDuration(Math.max(0, now - newest) / 1e6) : '',
      rate === undefined ? '' : shortNumber(rate),
      bytes === undefined ? '' : formatBytes(bytes),
      formatBytes(sum((line) => line.bytes) ?? 0),
      (['late', 'live', 'ended'] as const).find((state) => all.some((line) => line.state === state))!,
    ];
  });
  const left = jobs.length - rows.length;
  const more = left > 0 ? [`${left} more jobs; --node, --user and --job choose`] : [];
  return `${[...textTable(JOB_COLUMNS, rows, width), ...more, together(lines, batchSeconds)].join('\n')}\n`;
}

function together(lines: readonly NodeLine[], batchSeconds: number): string {
  const sum = (pick: (line: NodeLine) => number): number =>
    lines.reduce((total, line) => total + (isKnown(pick(line)) ? pick(line) : 0), 0);
  const nodes = new Set(lines.map(({ node }) => node)).size;
  const jobs = new Set(lines.map(({ user, job }) => `${user}/${job}`)).size;
  const counts = [count(nodes, 'node'), count(jobs, 'recording'), count(lines.length, 'table')];
  if (lines.some((line) => isKnown(line.rows_per_second))) {
    counts.push(
      `${shortNumber(sum((l) => l.rows_per_second))} rows/s`,
      `${formatBytes(sum((l) => l.bytes_per_second))}/s`,
    );
  }
  const late = lines.filter(({ state }) => state === 'late');
  if (late.length > 0) counts.push(`${count(new Set(late.map(({ node }) => node)).size, 'node')} late`);
  if (batchSeconds > 0) counts.push(`sent every ${formatDuration(batchSeconds)}`);
  return [...counts, formatBytes(sum((l) => l.bytes))].join(', ');
}

/** A number that nobody knows travels as null. */
const isKnown = (value: number | null): value is number => typeof value === 'number' && Number.isFinite(value);
const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
const shortNumber = (value: number): string => (value >= 100 ? String(Math.round(value)) : value.toFixed(1));
