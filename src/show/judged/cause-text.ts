import { count, listed } from '../../base/readable.ts';
import type { Cause, FeatureCause, PartCause } from '../../judge/models/cause.ts';
import { jobAndRecording } from '../../query/processes/job-labels.ts';
import { paint } from '../terminal/paint.ts';
import { printable, textTable, wrap } from '../terminal/text-table.ts';
import { featureCell, scoreCell, timesCell } from './feature-cell.ts';

export interface CauseTextOptions {
  stream?: { readonly isTTY?: boolean | undefined };
  width?: number;
  /** Features and operations that are shown at most; 0 is all. */
  limit?: number;
}

const NOTHING = 'nothing differs from the baseline';

/** Why a job differs from the baseline, for people. */
export function causeText(cause: Cause, options: CauseTextOptions = {}): string {
  const { width = 80, limit = 10 } = options;
  const pen = paint(options.stream ?? {});
  const lines = wrap(
    `job ${printable(jobAndRecording(cause.job, cause.recording ?? cause.job))} against the model ${cause.model} (${count(cause.whole.reference, 'job')})`,
    width,
  );
  if (cause.in_model === true)
    lines.push(...wrap('it is one of the jobs of the model: its own values count as usual', width));
  lines.push('', ...(partLinesOf(cause.whole, width, limit, pen.dim) ?? [NOTHING]));
  const shown = limit === 0 ? cause.operations : cause.operations.slice(0, limit);
  const alike: string[] = [];
  for (const operation of shown) {
    const partLines = partLinesOf(operation, width, limit === 0 ? 0 : 5, pen.dim);
    if (partLines === undefined) alike.push(printable(operation.name));
    else lines.push('', pen.bold(printable(operation.name)), ...partLines);
  }
  if (alike.length > 0) lines.push('', ...wrap(`${NOTHING} in ${listed(alike, 12)}`, width));
  const notes: string[] = [];
  if (shown.length < cause.operations.length)
    notes.push(`${count(cause.operations.length - shown.length, 'more operation')}; --limit 0 shows all`);
  const named = (names: readonly string[], lead: string): void => {
    if (names.length > 0) notes.push(`${lead}: ${listed(names.map(printable), 12)}`);
  };
  named(cause.added, 'operations that no job of the baseline has');
  named(cause.missing, 'operations that every job of the baseline has, and this one has not');
  named(cause.rare, 'operations that too few jobs of the baseline have');
  if (notes.length > 0) lines.push('', ...notes.flatMap((note) => wrap(note, width)).map(pen.dim));
  return `${lines.join('\n')}\n`;
}

/** Undefined: nothing differs. */
function partLinesOf(
  partCause: PartCause,
  width: number,
  limit: number,
  dim: (text: string) => string,
): string[] | undefined {
  const varied = partCause.features.filter(({ reference }) => reference.largest_distance > 0);
  const fixed = partCause.features
    .filter(({ reference, distance }) => reference.largest_distance === 0 && distance > 0)
    .filter(({ outside }) => outside || limit === 0);
  const outside = varied.filter(({ outside }) => outside);
  const shown = limit === 0 ? varied : outside.slice(0, limit);
  if (shown.length === 0 && fixed.length === 0) return undefined;
  const lines: string[] = [];
  if (shown.length > 0) {
    const [heads, ...rows] = textTable(
      [
        { head: 'feature', most: 30, shrinks: true },
        { head: 'distance', align: 'right' },
        { head: 'value', align: 'right' },
        { head: 'usual', align: 'right' },
        { head: 'times', align: 'right', spare: 1 },
        { head: 'largest in baseline', align: 'right', spare: 2 },
      ],
      shown.map(row),
      width,
    );
    lines.push(dim(heads!), ...rows);
  }
  if (shown.length < outside.length) {
    const rest = outside.slice(shown.length).map(({ feature }) => printable(feature));
    lines.push(...wrap(`these differ, too: ${rest.join(', ')}`, width).map(dim));
  }
  if (fixed.length > 0) {
    const fixedNames = fixed.map(
      ({ feature, value, reference }) =>
        `${printable(feature)} ${apartCell(feature, value, reference.median)}, always ${featureCell(feature, reference.median)}`,
    );
    lines.push(...wrap(`never varied in the baseline: ${fixedNames.join('; ')}`, width));
  }
  return lines;
}

function row({ feature, value, reference, ratio }: FeatureCause): string[] {
  const { median, max, min } = reference;
  // the largest distance in the baseline is what the job's own is measured by
  const furthest = max - median >= median - min ? max : min;
  return [
    printable(feature),
    `${scoreCell(ratio)} x`,
    apartCell(feature, value, median),
    featureCell(feature, median),
    timesCell(value, median),
    awayCell(feature, furthest, median),
  ];
}

/** A value; how far it lies from the usual where its digits would not show that they differ. */
function apartCell(feature: string, value: number, usual: number): string {
  const cell = featureCell(feature, value);
  return value !== usual && cell === featureCell(feature, usual) ? awayCell(feature, value, usual) : cell;
}

const awayCell = (feature: string, value: number, usual: number): string =>
  `${value < usual ? '-' : '+'}${featureCell(feature, Math.abs(value - usual))}`;
