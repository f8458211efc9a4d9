import { append } from '../../base/extremes.ts';
import { count, figure, listed, percent } from '../../base/readable.ts';
import type { Component, Entry, Exploration } from '../../judge/explore/explore.ts';
import { paint } from '../terminal/paint.ts';
import { printable, right, textTable, wrap } from '../terminal/text-table.ts';
import { featureCell } from './feature-cell.ts';

export interface ExploreTextOptions {
  stream?: { readonly isTTY?: boolean | undefined };
  width?: number;
  /** Components that are shown at most; 0 is all. */
  limit?: number;
}

/** An experiment for people: components, then their segments, then all segments together. */
export function exploreText(exploration: Exploration, options: ExploreTextOptions = {}): string {
  const { width = 80, limit = 10 } = options;
  const pen = paint(options.stream ?? {});
  const { metric } = exploration;
  const shown = limit === 0 ? exploration.components : exploration.components.slice(0, limit);
  const cell = (value: number): string => featureCell(metric, value);
  const lines = wrap(
    `${printable(exploration.experiment)}: ${count(exploration.jobs, 'job')}, ${count(exploration.components.length, 'component')}, ` +
      `${count(exploration.segments.length, 'time segment')}, ${metric} ${cell(exploration.sum)} total`,
    width,
  );
  lines[0] = pen.bold(lines[0]!);
  const [heads, ...rows] = textTable(
    [
      { head: 'component', most: 36, shrinks: true },
      right('jobs'),
      right('sum'),
      right('share'),
      right('least', 2),
      right('most', 1),
      right('variation', 3),
      right('missing'),
    ],
    shown.map((one) => [
      named(one.component),
      figure(one.jobs),
      cell(one.sum),
      percent(one.share),
      cell(one.min),
      cell(one.max),
      percent(one.variation),
      one.missing.length === 0 ? '' : figure(one.missing.length),
    ]),
    width,
  );
  lines.push('', pen.dim(heads!), ...rows);
  if (shown.length < exploration.components.length)
    lines.push(
      pen.dim(`${count(exploration.components.length - shown.length, 'more component')}; --limit 0 shows all`),
    );
  for (const one of shown) lines.push('', ...componentLines(one, metric, width, pen));
  if (exploration.segments.length > 0) {
    lines.push('', pen.bold('all components together'), ...entryLines(exploration.segments, metric, width, pen.dim));
  }
  const notes: string[] = [];
  if (exploration.missing.length > 0) notes.push(`missing everywhere: ${listed(exploration.missing, 12)}`);
  if (exploration.spacing !== undefined) notes.push(`segments are ${exploration.spacing.step} apart`);
  else if (exploration.segments.length > 1)
    notes.push('segments are at no regular distance: --segments says which there should be');
  if (exploration.unknown.length > 0)
    notes.push(
      `${metric} is not known of ${count(exploration.unknown.length, 'job')}: ${listed(exploration.unknown.map(printable), 8)}`,
    );
  notes.push('* for each method that says a value is out of line');
  lines.push('', ...notes.flatMap((note) => wrap(note, width)).map(pen.dim));
  return `${lines.join('\n')}\n`;
}

const named = (text: string): string => (text === '' ? '(none)' : printable(text));

function componentLines(one: Component, metric: string, width: number, pen: ReturnType<typeof paint>): string[] {
  const lines = [pen.bold(named(one.component)), ...entryLines(one.entries, metric, width, pen.dim)];
  if (one.missing.length > 0) append(lines, wrap(`missing: ${listed(one.missing, 12)}`, width));
  return lines;
}

function entryLines(entries: readonly Entry[], metric: string, width: number, dim: (text: string) => string): string[] {
  const [heads, ...rows] = textTable(
    [
      { head: 'segment' },
      { head: 'job', most: 44, shrinks: true, middle: true },
      right(metric),
      right('share'),
      { head: '' },
      { head: 'recording', most: 60, middle: true, spare: 1 },
    ],
    entries.map(({ segment, jobs, recordings, value, share, stars }) => [
      named(segment),
      jobs.length === 1 ? printable(jobs[0]!) : count(jobs.length, 'job'),
      featureCell(metric, value),
      percent(share),
      '*'.repeat(stars),
      recordings.length === 1 ? printable(recordings[0]!) : '',
    ]),
    width,
  );
  return [dim(heads!), ...rows];
}
