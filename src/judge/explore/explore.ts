import { Fault } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { suggest } from '../../base/suggest.ts';
import { byName } from '../../recording/folder/open.ts';
import { jobFeatures } from '../outliers/features.ts';
import type { MeasuredJob } from '../outliers/measured-job.ts';
import { spreadOf } from '../outliers/spread.ts';
import { univariateMethods } from '../outliers/univariate.ts';
import { type Spacing, spacingOf } from './segments.ts';

/** The job tags that make an experiment; by default those that EPMT's users know. */
export interface ExperimentTags {
  experiment: string;
  component: string;
  time: string;
}

export const EXPERIMENT_TAGS: ExperimentTags = {
  experiment: 'exp_name',
  component: 'exp_component',
  time: 'exp_time',
};

export interface ExploreOptions {
  tags?: ExperimentTags;
  metric?: string;
  /** Time segments that each component should have; without it those that follow from a regular spacing. */
  expected?: readonly string[];
  progress?: () => void;
}

/** A job, or the jobs of a time segment together. */
export interface Entry {
  segment: string;
  /** One id, or several. */
  jobs: string[];
  /** Where each was recorded. */
  recordings: string[];
  value: number;
  share: number;
  /** Methods that say it is out of line, and those that could say so. */
  stars: number;
  votes: number;
}

export interface Component {
  component: string;
  jobs: number;
  sum: number;
  share: number;
  min: number;
  max: number;
  /** Standard deviation over mean. */
  variation: number;
  /** By time segment. */
  entries: Entry[];
  missing: string[];
}

export interface Exploration {
  experiment: string;
  metric: string;
  jobs: number;
  /** Jobs of which the metric is not known: they are in no sum. */
  unknown: string[];
  sum: number;
  /** Largest sum first. */
  components: Component[];
  /** All components together, by time segment. */
  segments: Entry[];
  /** The regular spacing of segments, when there is one. */
  spacing?: Spacing;
  /** Segments that no component has. */
  missing: string[];
}

interface Measured {
  id: string;
  recording: string;
  component: string;
  segment: string;
  value: number;
}

/** From an experiment to its components, their time segments and jobs. */
export async function explore(
  experiment: string,
  jobs: readonly MeasuredJob[],
  options: ExploreOptions = {},
): Promise<Exploration> {
  const { tags = EXPERIMENT_TAGS, metric = 'duration' } = options;
  const mine = jobs.filter(({ job }) => job.tags[tags.experiment] === experiment);
  if (mine.length === 0) throw noExperiment(experiment, jobs, tags);
  const measured: Measured[] = [];
  const unknown: string[] = [];
  const metrics = new Set<string>();
  for (const one of mine) {
    const { job } = one;
    const value = await metricOf(one, metric, metrics);
    options.progress?.();
    const component = job.tags[tags.component] ?? '';
    const segment = job.tags[tags.time] ?? '';
    if (value === undefined) unknown.push(job.id);
    else measured.push({ id: job.id, recording: job.origin, component, segment, value });
  }
  if (measured.length === 0) throw noMetric(metric, metrics);
  const sum = total(measured);
  const spacing = spacingOf(mine.map(({ job }) => job.tags[tags.time] ?? '').filter((name) => name !== ''));
  const expected = options.expected ?? spacing?.expected ?? [];
  const components = [...Map.groupBy(measured, ({ component }) => component)].map(([name, all]) =>
    componentOf(name, all, sum, expected),
  );
  const segments = [...Map.groupBy(measured, ({ segment }) => segment)]
    .filter(([segment]) => segment !== '')
    .sort(([a], [b]) => byName(a, b));
  const entries = starred(segments.map(([segment, all]) => ({ segment, all, value: total(all) })));
  const present = new Set(mine.map(({ job }) => job.tags[tags.time]));
  return {
    experiment,
    metric,
    jobs: mine.length,
    unknown,
    sum,
    components: components.sort((a, b) => b.sum - a.sum),
    segments: entries.map((entry) => ({ ...entry, share: entry.value / sum })),
    ...stated({ spacing }),
    missing: expected.filter((name) => !present.has(name)),
  };
}

async function metricOf(one: MeasuredJob, metric: string, metrics: Set<string>): Promise<number | undefined> {
  const { job: features } = await jobFeatures(one, { jobOnly: true, only: [metric] });
  for (const name of features.keys()) metrics.add(name);
  return features.get(metric);
}

function componentOf(component: string, all: Measured[], whole: number, expected: readonly string[]): Component {
  all.sort((a, b) => byName(a.segment, b.segment) || byName(a.id, b.id));
  const spread = spreadOf(all.map(({ value }) => value))!;
  const sum = total(all);
  const here = new Set(all.map(({ segment }) => segment));
  return {
    component,
    jobs: all.length,
    sum,
    share: sum / whole,
    min: spread.min,
    max: spread.max,
    variation: spread.deviation === 0 ? 0 : spread.deviation / Math.abs(spread.mean),
    entries: starred(all.map((one) => ({ segment: one.segment, all: [one], value: one.value }))).map((entry) => ({
      ...entry,
      share: entry.value / sum,
    })),
    missing: expected.filter((name) => !here.has(name)),
  };
}

const total = (all: readonly Measured[]): number => all.reduce((sum, { value }) => sum + value, 0);

/** A star for each method that says a value is out of line. */
function starred(rows: { segment: string; all: readonly Measured[]; value: number }[]): Entry[] {
  const spread = spreadOf(rows.map(({ value }) => value));
  const able = spread === undefined ? [] : univariateMethods.filter((method) => method.unable(spread) === undefined);
  return rows.map(({ segment, all, value }) => ({
    segment,
    jobs: all.map(({ id }) => id),
    recordings: all.map(({ recording }) => recording),
    value,
    share: Number.NaN,
    stars: able.filter((method) => method.score(value, spread!) > method.threshold).length,
    votes: able.length,
  }));
}

function noExperiment(experiment: string, jobs: readonly MeasuredJob[], tags: ExperimentTags): Fault {
  const names = [...new Set(jobs.flatMap(({ job }) => job.tags[tags.experiment] ?? []))].sort(byName);
  const near = suggest(experiment, names);
  const hint =
    names.length === 0
      ? `none of the ${jobs.length} jobs has the tag ${tags.experiment}; --experiment-tag names another`
      : near !== undefined
        ? `did you mean ${near}?`
        : `there are ${names.slice(0, 8).join(', ')}`;
  return new Fault(`no job belongs to the experiment "${experiment}"`, { exit: 2, hint });
}

function noMetric(metric: string, metrics: ReadonlySet<string>): Fault {
  const near = suggest(metric, [...metrics]);
  const hint =
    near !== undefined
      ? `did you mean ${near}?`
      : metrics.size > 0
        ? `there are ${[...metrics].join(', ')}`
        : 'its jobs have no processes and no samples';
  return new Fault(`no job of the experiment has the metric "${metric}"`, { exit: 2, hint });
}
