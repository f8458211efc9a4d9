import { formatDuration } from '../../base/duration.ts';
import { count, percent } from '../../base/readable.ts';
import { commandOf } from '../../query/processes/columns.ts';
import { jobLabels } from '../../query/processes/job-labels.ts';
import { jobCpuTime } from '../../query/processes/operations.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { paint } from '../terminal/paint.ts';
import { printable, right, wrap } from '../terminal/text-table.ts';
import { cutMiddle } from './cells.ts';
import { notesOf, type ProcessTextOptions, withTail } from './table.ts';

/** Deeper levels are not moved further to the right: they say their depth. */
const DEEPEST = 12;

interface Line {
  /** A process, or −1 for a line that stands for several. */
  i: number;
  depth: number;
  hidden: number;
  /** CPU time of the hidden ones, microseconds. */
  spent: number;
}

/**
 * The tree of the wanted processes with their ancestors: the `most` with the largest CPU time, children included. What
 * is left out is counted where it would stand.
 */
export function processTree(
  set: ProcessSet,
  wanted: readonly number[],
  most: number,
  compare: (a: number, b: number) => number,
  options: ProcessTextOptions = {},
): string {
  const pen = paint(options.stream ?? {});
  const lines = linesOf(set, wanted, most, compare);
  const time = (microseconds: number): string =>
    Number.isNaN(microseconds) ? '-' : formatDuration(microseconds / 1e6);
  const share = (i: number): string => percent(set.inclusive_cpu_time[i]! / jobCpuTime(set, set.job[i]!));
  const several = set.jobs.length > 1;
  const labels = jobLabels(set.jobs);
  const nodes = set.node.some((node) => node !== set.node[0]);
  const text = withTail(
    [
      right('CPU total'),
      right('self'),
      right('share'),
      right('pid'),
      { head: 'node', most: 12, middle: true },
      { head: 'job', most: 14, middle: true },
    ],
    lines.map(({ i, spent }) =>
      i < 0
        ? [time(spent), '', '', '', '', '']
        : [
            time(set.inclusive_cpu_time[i]!),
            time(set.cpu_time[i]!),
            share(i),
            String(set.pid[i]),
            nodes ? printable(set.node[i]!) : '',
            several ? printable(labels[set.job[i]!]!) : '',
          ],
    ),
    'command',
    lines.map(
      (line) =>
        indent(line.depth) +
        (line.i < 0 ? `.. ${count(line.hidden, 'more process', 'more processes')}` : label(set, line.i)),
    ),
    options.width ?? 80,
    pen,
    shorten,
  );
  for (const note of notesOf(set)) text.push(...wrap(note, options.width ?? 80).map(pen.dim));
  return `${text.join('\n')}\n`;
}

const MARKS: Readonly<Record<string, string>> = { parent: ' (by parent)', start: ' (no end)', sample: ' (sampled)' };

function label(set: ProcessSet, i: number): string {
  return printable(commandOf(set, i)) + (MARKS[set.source[i]!] ?? '');
}

/** How many are left out is said nowhere else: such a line moves to the left before it is cut. */
function shorten(text: string, room: number): string {
  const trimmed = text.trimStart();
  return trimmed.startsWith('.. ') && text.length > room
    ? `${' '.repeat(Math.max(0, room - trimmed.length))}${cutMiddle(trimmed, room)}`
    : cutMiddle(text, room);
}

const indent = (depth: number): string =>
  depth <= DEEPEST ? '  '.repeat(depth) : `${'  '.repeat(DEEPEST)}(level ${depth + 1}) `;

function linesOf(
  set: ProcessSet,
  wanted: readonly number[],
  most: number,
  compare: (a: number, b: number) => number,
): Line[] {
  const value = (i: number): number => (Number.isNaN(set.inclusive_cpu_time[i]!) ? -1 : set.inclusive_cpu_time[i]!);
  const ranked = [...wanted].sort((a, b) => value(b) - value(a) || set.depth[a]! - set.depth[b]! || a - b);
  const shown = new Uint8Array(set.length);
  for (const i of ranked.slice(0, most))
    for (let at = i; at >= 0 && shown[at] === 0; at = set.parent[at]!) shown[at] = 1;
  // how many of the wanted are at or below each process, and what they used themselves
  const below = new Uint32Array(set.length);
  const spent = new Float64Array(set.length);
  for (const i of wanted) {
    below[i] = 1;
    spent[i] = Number.isNaN(set.cpu_time[i]!) ? 0 : set.cpu_time[i]!;
  }
  for (let k = set.order.length - 1; k >= 0; k--) {
    const i = set.order[k]!;
    const above = set.parent[i]!;
    if (above < 0) continue;
    below[above]! += below[i]!;
    spent[above]! += spent[i]!;
  }
  const lines: Line[] = [];
  // a stack instead of recursion: chains may be as long as they like
  const stack: Line[] = [];
  const push = (group: readonly number[], depth: number): void => {
    const visible = group.filter((i) => shown[i] === 1).sort(compare);
    const rest = group.filter((i) => shown[i] === 0 && below[i]! > 0);
    if (rest.length > 0) {
      const hidden = rest.reduce((sum, i) => sum + below[i]!, 0);
      stack.push({ i: -1, depth, hidden, spent: rest.reduce((sum, i) => sum + spent[i]!, 0) });
    }
    for (const i of visible.reverse()) stack.push({ i, depth, hidden: 0, spent: 0 });
  };
  push(
    Array.from(set.order.subarray(0)).filter((i) => set.parent[i]! < 0),
    0,
  );
  for (let line = stack.pop(); line !== undefined; line = stack.pop()) {
    lines.push(line);
    if (line.i >= 0) push(Array.from(set.children.subarray(set.first[line.i], set.first[line.i + 1])), line.depth + 1);
  }
  return lines;
}
