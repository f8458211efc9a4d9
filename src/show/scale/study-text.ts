import { formatDuration } from '../../base/duration.ts';
import { count, energy, figure, percent } from '../../base/readable.ts';
import { lawCurve } from '../../judge/scale/curve.ts';
import type { Estimate } from '../../judge/scale/fit.ts';
import { sizeText } from '../../judge/scale/size-text.ts';
import type { FittedLaw, Recommended, Study } from '../../judge/scale/study.ts';
import { objectCsv } from '../object-csv.ts';
import { paint } from '../terminal/paint.ts';
import { ascii, printable, right, textTable, wrap } from '../terminal/text-table.ts';
import { hasUnicode, speedupChart } from './chart.ts';

export interface ScaleTextOptions {
  stream?: { readonly isTTY?: boolean | undefined };
  width?: number;
  environment?: Readonly<Record<string, string | undefined>>;
}

/** A study for people: what it is, the table of sizes, the laws, what to ask for, and the chart. */
export function studyText(study: Study, options: ScaleTextOptions = {}): string {
  const { stream = {}, environment = process.env } = options;
  const width = Math.min(options.width ?? 80, 100);
  const pen = paint(stream);
  const runs = `${count(study.runs.length, 'run')} on ${figure(study.smallest)} to ${sizeText(study.largest, study.by)}`;
  const lines = wrap(`${printable(study.program)}: ${study.kind} scaling, ${runs}`, width);
  lines[0] = pen.bold(lines[0]!);
  lines.push(
    ...wrap(
      `${study.kind === 'strong' ? 'Strong: the same work on more' : 'Weak: more work on more'} (${study.kind_why}).`,
      width,
    ).map(pen.dim),
  );
  lines.push('', ...sizeLines(study, width, pen.dim));
  lines.push('', ...lawLines(study, width, pen.dim));
  if (study.recommended !== undefined) {
    lines.push('');
    for (const [i, line] of wrap(recommendationText(study.recommended, study), width).entries())
      lines.push(i === 0 ? pen.bold(line) : line);
  }
  lines.push('', ...speedupChart(study, width, stream.isTTY === true && hasUnicode(environment)));
  const notes = [...study.notes];
  if (study.left_out.length > 0)
    notes.push(
      ...study.left_out.slice(0, 5).map(({ job, why }) => `Left out: job ${printable(job)}: ${printable(why)}.`),
    );
  if (study.left_out.length > 5)
    notes.push(`Left out: ${count(study.left_out.length - 5, 'more run')}; --format json has all.`);
  lines.push('', ...notes.flatMap((note) => wrap(note, width)).map(pen.dim));
  const text = `${lines.join('\n')}\n`;
  return stream.isTTY ? text : ascii(text);
}

function sizeLines({ sizes, by, metric, kind }: Study, width: number, dim: (text: string) => string): string[] {
  const [heads, ...rows] = textTable(
    [
      right(by.replace('tag:', '')),
      right('runs', 3),
      right('time'),
      right(metric === 'time' ? 'rate' : metric, 4),
      right('speed-up'),
      right('by law', 2),
      right('efficiency'),
      right('core-hours'),
      right('GPU-hours', 1),
      right('energy', 1),
    ],
    sizes.map((row) => [
      figure(row.size),
      figure(row.runs),
      formatDuration(row.wall_seconds),
      metric === 'time' ? '' : figure(row.rate),
      figure(row.speedup),
      figure(row.predicted_speedup),
      percent(row.efficiency),
      figure(row.core_hours),
      figure(row.gpu_hours),
      row.energy_joules === undefined ? '' : energy(row.energy_joules),
    ]),
    width,
  );
  const notes = kind === 'weak' ? [dim('Weak scaling: speed-up counts the work, which grew with the size.')] : [];
  return [dim(heads!), ...rows, ...notes];
}

function lawLines({ laws, interval, kind }: Study, width: number, dim: (text: string) => string): string[] {
  const [heads, ...rows] = textTable(
    [{ head: 'law' }, { head: 'parameter' }, right('value'), { head: '95 % interval' }, right('off by'), { head: '' }],
    laws.flatMap((law) =>
      law.estimates.map((estimate, i) => [
        i === 0 ? law.law : '',
        estimate.name.replaceAll('_', ' '),
        figure(estimate.value),
        intervalWords(estimate),
        i > 0 || law.error === undefined ? '' : percent(law.error),
        i > 0 ? '' : law.best ? 'fits best' : law.describes ? '' : `not for ${kind} scaling`,
      ]),
    ),
    width,
  );
  const best = laws.find((law) => law.best);
  const lines = [dim(heads!), ...rows];
  lines.push(...wrap(`Intervals by ${interval.method}.`, width).map(dim));
  if (best !== undefined) lines.push(...consequences(best).flatMap((text) => wrap(text, width)));
  return lines;
}

const intervalWords = ({ low, high }: Estimate): string =>
  low === undefined || high === undefined ? '' : `${figure(low)} to ${figure(high)}`;

/** What the law means. */
function consequences({ limit_speedup: limit, peak_size: peak }: FittedLaw): string[] {
  const texts: string[] = [];
  if (limit !== undefined) {
    const range =
      limit.low === undefined
        ? ''
        : ` (${figure(limit.low)} to ${limit.high === undefined ? 'any' : figure(limit.high)})`;
    texts.push(`However many: at most ${figure(limit.value)}${range} times as fast as one.`);
  }
  if (peak !== undefined) texts.push(`Beyond ${figure(Math.round(peak))} it gets slower again.`);
  return texts;
}

/** "Use 16 cores: …". */
export function recommendationText(recommended: Recommended, { by, largest }: Pick<Study, 'by' | 'largest'>): string {
  const {
    size,
    low,
    high,
    efficiency,
    efficiency_there: there,
    efficiency_measured: measured,
    speedup,
    beyond,
    more,
  } = recommended;
  const range = low === undefined || high === undefined || low === high ? '' : ` (${figure(low)} to ${figure(high)})`;
  const goal = `for an efficiency of ${percent(efficiency)}`;
  const gives = `speed-up ${figure(speedup)}, efficiency ${percent(there)}`;
  if (more)
    return `Use ${sizeText(size, by)} or more ${goal}: larger sizes would still be efficient, but no run was larger than ${figure(largest)}. Try larger sizes.`;
  const caution = beyond
    ? ` This is beyond the largest run (${figure(largest)}): try it first.`
    : measured === undefined
      ? ''
      : ` The runs of this size had only ${percent(measured)}: repeat them before you rely on it.`;
  return `Use ${sizeText(size, by)}${range} ${goal}: ${gives}.${caution}`;
}

/** With the curve of the law that fits best, for charts of others. */
export function studyJson(study: Study): string {
  const { predict: _, ...rest } = study;
  const curve = lawCurve(study);
  return `${JSON.stringify({ format: 1, of: 'study', ...rest, ...(curve === undefined ? {} : { curve }) }, null, 1)}\n`;
}

// biome-ignore format: as they come
const COLUMNS = ['size', 'runs', 'wall_seconds', 'wall_seconds_min', 'wall_seconds_max', 'rate', 'speedup', 'efficiency', 'predicted_speedup', 'core_hours', 'gpu_hours', 'node_hours', 'energy_joules'];

export const studyCsv = ({ sizes }: Study): string => objectCsv(COLUMNS, sizes);
