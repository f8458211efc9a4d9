import { count, figure, listed } from '../../base/readable.ts';
import type { Group, Outlier, Outliers } from '../../judge/outliers/outliers.ts';
import { univariateMethods } from '../../judge/outliers/univariate.ts';
import type { MethodUse, Vote } from '../../judge/outliers/votes.ts';
import { jobAndRecording, jobLabels } from '../../query/processes/job-labels.ts';
import { threadName } from '../../query/processes/thread-name.ts';
import { paint } from '../terminal/paint.ts';
import { printable, type TextColumn, textTable, wrap } from '../terminal/text-table.ts';
import { featureCell, scoreCell, timesCell } from './feature-cell.ts';

export interface OutliersTextOptions {
  stream?: { readonly isTTY?: boolean | undefined };
  width?: number;
  /** Outliers, and features of one, that are shown at most; 0 is all. */
  limit?: number;
  /** Every vote of everyone that is shown, also of processes. */
  votes?: boolean;
}

const ONE: Record<Outliers['of'], string> = {
  jobs: 'job',
  operations: 'operation',
  processes: 'process',
  threads: 'thread',
};
const GROUP: Record<Outliers['of'], string> = {
  jobs: 'group',
  operations: 'operation',
  processes: 'program',
  threads: 'program',
};

/** Outliers for people: which methods voted, who is apart, and by which votes. */
export function outliersText(outliersFound: Outliers, options: OutliersTextOptions = {}): string {
  const { width = 80, limit = 20 } = options;
  const pen = paint(options.stream ?? {});
  const rows = outliersFound.groups.reduce((sum, group) => sum + group.rows, 0);
  const all = outliersFound.groups
    .flatMap((group) => group.outliers.map((outlier) => ({ group, outlier })))
    .sort(outliersFound.of === 'jobs' ? () => 0 : (a, b) => b.outlier.excess - a.outlier.excess);
  const shown = limit === 0 ? all : all.slice(0, limit);
  const lines = [...wrap(head(outliersFound, rows), width), ''];
  for (const note of outliersFound.notes) lines.push(...wrap(`! ${printable(note)}`, width));
  if (outliersFound.notes.length > 0) lines.push('');
  lines.push(pen.bold(result(outliersFound.of, all.length, rows)));
  if (outliersFound.of === 'jobs' || options.votes === true) {
    for (const { group, outlier } of shown) lines.push('', ...detail(outliersFound, group, outlier, width, limit, pen));
  } else if (shown.length > 0) lines.push('', ...overview(outliersFound, shown, width, pen.dim));
  if (shown.length < all.length) lines.push(pen.dim(`${figure(all.length - shown.length)} more; --limit 0 shows all`));
  for (const group of outliersFound.groups) {
    for (const other of group.others.slice(0, limit === 0 ? undefined : limit)) {
      lines.push('', ...detail(outliersFound, group, other, width, limit, pen));
    }
  }
  // how it was decided comes after what was decided
  lines.push('', ...methodTable(outliersFound, pen.dim));
  return `${lines.join('\n')}\n`;
}

function result(of: Outliers['of'], outliers: number, rows: number): string {
  if (outliers === 0) return `no outlier among ${count(rows, ONE[of], of)}`;
  if (rows === 1) return `the ${ONE[of]} is an outlier`;
  return `${figure(outliers)} of ${figure(rows)} ${of} ${outliers === 1 ? 'is an outlier' : 'are outliers'}`;
}

function head(outliersFound: Outliers, rows: number): string {
  const features = new Set(outliersFound.groups.flatMap((group) => group.features));
  const by = `by ${count(features.size, 'feature')}`;
  const jobs = count(outliersFound.jobs.length, 'job');
  if (outliersFound.model !== undefined) {
    const reference = Math.max(0, ...outliersFound.groups.map((group) => group.reference ?? 0));
    return `${jobs} against the model ${outliersFound.model} (${count(reference, 'job')}), ${by}`;
  }
  const inGroups =
    outliersFound.groups.length > 1 ? `, each of ${count(outliersFound.groups.length, 'group')} by itself` : '';
  if (outliersFound.of === 'jobs') return `${jobs}${inGroups}, ${by}`;
  const groups = count(outliersFound.groups.length, GROUP[outliersFound.of]);
  if (outliersFound.of === 'operations') return `${groups} of ${jobs}, each compared between the jobs, ${by}`;
  const what = count(rows, ONE[outliersFound.of], outliersFound.of);
  return `${what} of ${jobs}, compared within ${groups}, by ${listed([...features], 8)}`;
}

/** Which methods took part; where there are several groups, in how many. */
function methodTable(outliersFound: Outliers, dim: (text: string) => string): string[] {
  const groups = outliersFound.groups;
  const names = [...new Set(groups.flatMap((group) => group.methods.map(({ method }) => method)))];
  const rows = names.map((name) => {
    const uses = groups.flatMap((group) => group.methods.filter(({ method }) => method === name));
    const used = uses.filter(({ left_out }) => left_out === undefined);
    const vote = used.find(({ threshold }) => threshold !== undefined);
    // the cut-offs of some depend on the data
    const same = used.every(({ threshold }) => threshold === undefined || threshold === vote?.threshold);
    const above =
      vote === undefined ? '' : same ? `above ${figure(Number(vote.threshold!.toPrecision(4)))}` : 'its cut-off';
    return [
      name,
      String(uses[0]!.needs),
      above,
      groups.length === 1 ? single(uses[0]!) : severally(outliersFound, uses, used),
    ];
  });
  const [heads, ...lines] = textTable(
    [
      { head: 'method' },
      { head: 'needs', align: 'right' },
      { head: 'threshold' },
      { head: 'looks at', most: 44, shrinks: true },
    ],
    rows,
    80,
  );
  return heads === undefined ? [] : [dim(heads), ...lines];
}

function single(use: MethodUse): string {
  if (use.left_out !== undefined) return `left out: ${use.left_out}`;
  return use.features === undefined ? use.looks_at : listed(use.features, 4);
}

function severally(outliersFound: Outliers, uses: readonly MethodUse[], used: readonly MethodUse[]): string {
  const group = GROUP[outliersFound.of];
  if (used.length === uses.length) return used[0]!.looks_at;
  if (used.length === 0) return `left out: ${uses[0]!.left_out}`;
  return `${used[0]!.looks_at}; ${figure(used.length)} of ${count(uses.length, group)}`;
}

const SHORT: Record<string, string> = {
  'modified z-score': 'mod. z',
  'z-score': 'z',
  'interquartile range': 'IQR',
};

/** One of them with all that was said about it. */
function detail(
  outliersFound: Outliers,
  group: Group,
  outlier: Outlier,
  width: number,
  limit: number,
  pen: ReturnType<typeof paint>,
): string[] {
  const apart = outlier.features.filter((feature) => feature.apart);
  const lines = wrap(
    `${title(outliersFound, group, outlier)}: differs in ${apart.length} of ${count(outlier.features.length, 'feature')}`,
    width,
  );
  lines[0] = pen.bold(lines[0]!);
  const most = limit === 0 ? outlier.features.length : Math.max(limit, 10);
  const worth = outlier.outlier
    ? outlier.features.filter(({ votes }) => votes.some(({ vote }) => vote))
    : outlier.features;
  const shown = worth.slice(0, most);
  const methods = univariateMethods
    .map(({ name }) => name)
    .filter((name) => shown.some(({ votes }) => votes.some((v) => v.method === name)));
  const columns: TextColumn[] = [
    { head: 'feature', most: 30, shrinks: true },
    { head: 'value', align: 'right' },
    { head: 'usual', align: 'right' },
    { head: 'times', align: 'right' },
    ...methods.map((name): TextColumn => ({ head: SHORT[name] ?? name, align: 'right' })),
  ];
  const rows = shown.map(({ feature, value, median, votes }) => [
    printable(feature),
    featureCell(feature, value),
    featureCell(feature, median),
    timesCell(value, median),
    ...methods.map((name) => voteCell(votes.find((vote) => vote.method === name))),
  ]);
  const [heads, ...cells] = textTable(columns, rows, width - 2);
  if (rows.length > 0) lines.push(`  ${pen.dim(heads!)}`, ...cells.map((line) => `  ${line}`));
  if (shown.length < worth.length) {
    const rest = worth.slice(shown.length).map(({ feature }) => feature);
    lines.push(...wrap(`and ${rest.join(', ')}`, Math.min(width, 80) - 2).map((line) => `  ${pen.dim(line)}`));
  }
  if (outlier.together.length > 0) {
    const votes = outlier.together.map(
      ({ method, score, threshold, vote }) =>
        `${method} ${scoreCell(score)}${vote ? '*' : ''} (cut-off ${scoreCell(threshold)})`,
    );
    lines.push(...wrap(`together: ${votes.join(', ')}`, Math.min(width, 80) - 2).map((line) => `  ${line}`));
  }
  if (rows.length > 0 || outlier.together.length > 0) lines.push(pen.dim('  * a vote'));
  const cannot = new Set(shown.flatMap(({ votes }) => votes.flatMap((vote) => vote.cannot ?? [])));
  if (cannot.size > 0)
    lines.push(
      ...wrap(`( ) not counted: ${[...cannot].join('; ')}`, Math.min(width, 80) - 2).map((l) => pen.dim(`  ${l}`)),
    );
  return lines;
}

function voteCell(vote: Vote | undefined): string {
  if (vote === undefined) return '';
  return vote.cannot === undefined ? `${scoreCell(vote.score)}${vote.vote ? '*' : ' '}` : `(${scoreCell(vote.score)})`;
}

function title(outliersFound: Outliers, group: Group, outlier: Outlier): string {
  const titleParts = [printable(group.name)];
  if (outlier.pid !== undefined) titleParts.push(`pid ${outlier.pid}`);
  if (outlier.tid !== undefined) titleParts.push(`thread ${threadName(outlier.tid)}`);
  if (outliersFound.of === 'jobs' || outliersFound.jobs.length > 1)
    titleParts.push(`job ${printable(jobAndRecording(outlier.job, outlier.recording))}`);
  return titleParts.filter((word) => word !== '').join(', ');
}

/** Many at a glance: what they took, and in which features they are apart. */
function overview(
  outliersFound: Outliers,
  shown: readonly { group: Group; outlier: Outlier }[],
  width: number,
  dim: (text: string) => string,
): string[] {
  const of = (outlier: Outlier, feature: string) => outlier.features.find((each) => each.feature === feature);
  const value = (outlier: Outlier, feature: string): string[] => {
    const featureVotes = of(outlier, feature);
    if (featureVotes === undefined) return ['', ''];
    return [featureCell(feature, featureVotes.value), timesCell(featureVotes.value, featureVotes.median)];
  };
  const names = jobLabels(outliersFound.jobs.map(({ id, recording }) => ({ id, origin: recording })));
  const labels = new Map(outliersFound.jobs.map(({ recording }, at) => [recording, names[at]!]));
  const [heads, ...lines] = textTable(
    [
      { head: GROUP[outliersFound.of], most: 24, shrinks: true },
      { head: 'pid', align: 'right' },
      { head: 'thread', align: 'right' },
      { head: 'job', spare: 3, most: 16, middle: true },
      { head: 'duration', align: 'right' },
      { head: 'of usual', align: 'right' },
      { head: 'CPU', align: 'right' },
      { head: 'of usual', align: 'right' },
      { head: 'votes', align: 'right' },
      { head: 'differs in', most: 34, spare: 4 },
    ],
    shown.map(({ group, outlier }) => {
      const cast = [...outlier.features.flatMap((feature) => feature.votes), ...outlier.together];
      const votes = cast.filter(({ cannot }) => cannot === undefined);
      const apart = outlier.features.filter((feature) => feature.apart).map(({ feature }) => feature);
      if (outlier.together_apart) apart.push('all together');
      return [
        printable(group.name),
        outlier.pid === undefined ? '' : String(outlier.pid),
        outlier.tid === undefined ? '' : String(threadName(outlier.tid)),
        outliersFound.jobs.length > 1 ? printable(labels.get(outlier.recording) ?? outlier.job) : '',
        ...value(outlier, 'duration'),
        ...value(outlier, 'cpu_time'),
        `${votes.filter(({ vote }) => vote).length}/${votes.length}`,
        apart.join(' '),
      ];
    }),
    width,
  );
  return [dim(heads!), ...lines, dim('those that took most beyond the usual first; --votes shows every vote')];
}
