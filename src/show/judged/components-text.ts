import { count, figure } from '../../base/readable.ts';
import type { Components } from '../../judge/outliers/components.ts';
import { jobAndRecording } from '../../query/processes/job-labels.ts';
import { objectCsv } from '../object-csv.ts';
import { paint } from '../terminal/paint.ts';
import { printable, textTable } from '../terminal/text-table.ts';

interface Page {
  stream?: { readonly isTTY?: boolean | undefined };
  width?: number;
  /** Jobs that are shown at most; 0 is all. */
  limit?: number;
}

/** Components in columns of a table; more are in JSON. */
const SHOWN = 3;

const PLOT = { width: 61, height: 17 };

/** Principal components for people: ranking and plot of jobs, then what the components are made of. */
export function componentsText(
  componentsFound: Components,
  { stream = {}, width = 80, limit = 20 }: Page = {},
): string {
  const pen = paint(stream);
  const shown = Math.min(SHOWN, componentsFound.variance.length);
  const heads = componentsFound.variance.slice(0, shown).map((share, k) => `PC${k + 1} ${percent(share)}`);
  const columns = heads.map((head) => ({ head, align: 'right' as const }));
  const jobs = limit === 0 ? componentsFound.scores : componentsFound.scores.slice(0, limit);
  const [jobHeads, ...jobRows] = textTable(
    [
      { head: 'job', most: 40, shrinks: true },
      ...(jobs.some(({ group }) => group !== undefined) ? [{ head: 'group', most: 20, spare: 1 }] : []),
      { head: 'distance', align: 'right' as const },
      ...columns,
    ],
    jobs.map(({ job, recording, group, distance, scores }) => [
      printable(jobAndRecording(job, recording)),
      ...(jobs.some((one) => one.group !== undefined) ? [printable(group ?? '')] : []),
      two(distance),
      ...scores.slice(0, shown).map(two),
    ]),
    width,
  );
  const [featureHeads, ...featureRows] = textTable(
    [{ head: 'feature', most: 30, shrinks: true }, { head: 'weight', align: 'right' as const }, ...columns],
    componentsFound.features.map(({ feature, weight, loadings }) => [
      printable(feature),
      percent(weight),
      ...loadings.slice(0, shown).map(two),
    ]),
    width,
  );
  const held = componentsFound.variance.slice(0, componentsFound.kept).reduce((sum, share) => sum + share, 0);
  const hidden = componentsFound.scores.length - jobs.length;
  const lines = [
    `${count(componentsFound.scores.length, 'job')}, by ${count(componentsFound.features.length, 'feature')}: ${count(componentsFound.kept, 'component')} ` +
      `${componentsFound.kept === 1 ? 'holds' : 'hold'} ${percent(held)} of the variance`,
    '',
    pen.bold('jobs by their distance from the middle'),
    pen.dim(jobHeads!),
    ...jobRows,
    ...(hidden > 0 ? [pen.dim(`${figure(hidden)} more; --limit 0 shows all`)] : []),
    '',
    ...plot(componentsFound),
    '',
    pen.bold('features by their weight in these components (loadings)'),
    pen.dim(featureHeads!),
    ...featureRows,
  ];
  if (componentsFound.left_out.length > 0)
    lines.push('', `${count(componentsFound.left_out.length, 'job')} left out, lacking some of these features`);
  return `${lines.join('\n')}\n`;
}

/** The first two components: a number is the place of a job in the table, a dot any other job. */
function plot({ scores }: Components): string[] {
  const cells = Array.from({ length: PLOT.height }, () => Array.from({ length: PLOT.width }, () => ' '));
  const x = scaleOf(scores.map((one) => one.scores[0] ?? 0));
  const y = scaleOf(scores.map((one) => one.scores[1] ?? 0));
  for (const [rank, one] of [...scores.entries()].reverse()) {
    const column = Math.round(x(one.scores[0] ?? 0) * (PLOT.width - 1));
    const row = Math.round((1 - y(one.scores[1] ?? 0)) * (PLOT.height - 1));
    cells[row]![column] = rank < 9 ? String(rank + 1) : cells[row]![column] === ' ' ? '.' : cells[row]![column]!;
  }
  return [
    'PC2',
    ...cells.map((row) => ` |${row.join('').trimEnd()}`),
    ` +${'-'.repeat(PLOT.width)} PC1   1 to 9: the furthest jobs`,
  ];
}

/** Into 0 to 1. */
export function scaleOf(values: readonly number[]): (value: number) => number {
  const least = Math.min(...values);
  const most = Math.max(...values);
  return (value) => (most === least ? 0.5 : (value - least) / (most - least));
}

/** One row per score of a job and per loading of a feature. */
export function componentsCsv(componentsFound: Components): string {
  const rows = [
    ...componentsFound.scores.flatMap(({ scores, ...job }) =>
      scores.map((value, k) => ({ ...job, component: k + 1, score: value })),
    ),
    ...componentsFound.features.flatMap(({ loadings, ...feature }) =>
      loadings.map((value, k) => ({
        ...feature,
        component: k + 1,
        variance: componentsFound.variance[k],
        loading: value,
      })),
    ),
  ];
  const columns = [
    'job',
    'recording',
    'group',
    'distance',
    'feature',
    'weight',
    'component',
    'variance',
    'score',
    'loading',
  ];
  return objectCsv(columns, rows);
}

const percent = (share: number): string => `${figure(Number((share * 100).toPrecision(2)))} %`;
const two = (value: number): string => value.toFixed(2);
