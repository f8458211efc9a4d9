import { Fault } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { takeFeatures } from './feature-table.ts';
import { distinctFeatures, featureTable, jobFeatures } from './features.ts';
import { groupOf } from './job-kinds.ts';
import type { MeasuredJob } from './measured-job.ts';
import { standardised, togetherFeatures } from './multivariate.ts';
import type { OutlierOptions } from './outliers.ts';
import { COMMON, directionsOf } from './principal-components.ts';
import { type Spread, spreadOf } from './spread.ts';

/** Principal components of jobs: the few directions in which they vary together. */
export interface Components {
  jobs: number;
  /** Part of the variance of each component, largest first. */
  variance: number[];
  /** How many of them hold most of the variance; rankings are by these. */
  kept: number;
  /** Features by how much they weigh in the kept components, the heaviest first. */
  features: { feature: string; weight: number; loadings: number[] }[];
  /** Jobs by their distance from the middle, in deviations of the kept components; the furthest first. */
  scores: { job: string; recording: string; group?: string; distance: number; scores: number[] }[];
  /** Jobs that lack some of these features. */
  left_out: { job: string; recording: string }[];
}

const FEWEST_JOBS = 4;
const MOST_FEATURES = 16;
/** A component with less of the variance is an error of rounding: there are fewer jobs than features. */
const ROUNDING = 1e-9;

/** The components of jobs, as `tacho outliers --pca` shows them. */
export async function componentsOf(jobs: readonly MeasuredJob[], options: OutlierOptions = {}): Promise<Components> {
  const only = options.features === 'all' ? undefined : options.features;
  const rows = [];
  for (const one of jobs) {
    rows.push((await jobFeatures(one, { jobOnly: true, ...stated({ only }) })).job);
    options.progress?.();
  }
  const all = featureTable(rows);
  const names = distinctFeatures(all.features.keys()).filter((name) => only?.includes(name) ?? true);
  const table = takeFeatures(
    all,
    rows.map((_, row) => row),
    names,
  );
  const spreads = new Map<string, Spread>();
  for (const [name, values] of table.features) {
    const spread = spreadOf(values);
    if (spread !== undefined) spreads.set(name, spread);
  }
  const together = togetherFeatures(table, spreads);
  const features = together.features.slice(0, MOST_FEATURES);
  if (together.rows.length < FEWEST_JOBS || features.length < 2) throw tooLittle(together.rows.length, features);
  const matrix = standardised(takeFeatures(table, together.rows, features), features, together.spreads);
  const { centre, directions: allDirections, total } = directionsOf(matrix);
  const directions = allDirections.filter(({ variance }) => variance > ROUNDING * total);
  const variance = directions.map((each) => each.variance / total);
  let kept = 0;
  for (let held = 0; kept < variance.length && held < COMMON; kept++) held += variance[kept]!;
  const scores = Array.from(together.rows, (row, r) => {
    const along = directions.map(({ axis }) => {
      let score = 0;
      for (let c = 0; c < features.length; c++)
        score += (matrix.values[r * features.length + c]! - centre[c]!) * axis[c]!;
      return score;
    });
    const squares = along.slice(0, kept).reduce((sum, score, k) => sum + score ** 2 / directions[k]!.variance, 0);
    const { id: job, origin: recording } = jobs[row]!.job;
    const group = options.by === undefined ? undefined : groupOf(jobs[row]!.job, options.by);
    return { job, recording, ...stated({ group }), distance: Math.sqrt(squares), scores: along };
  });
  const complete = new Set(together.rows);
  return {
    jobs: jobs.length,
    variance,
    kept,
    features: features
      .map((feature, c) => {
        const loadings = directions.map(({ axis }) => axis[c]!);
        const weight = loadings.slice(0, kept).reduce((sum, loading, k) => sum + variance[k]! * loading ** 2, 0);
        return { feature, weight, loadings };
      })
      .sort((a, b) => b.weight - a.weight),
    scores: scores.sort((a, b) => b.distance - a.distance),
    left_out: jobs.flatMap(({ job: { id, origin } }, row) =>
      complete.has(row) ? [] : [{ job: id, recording: origin }],
    ),
  };
}

function tooLittle(jobs: number, features: readonly string[]): Fault {
  const [what, hint] =
    jobs < FEWEST_JOBS
      ? [`they need ${FEWEST_JOBS} jobs with the same features, there are ${jobs}`, 'name more jobs']
      : [
          `they need two features that vary by themselves, there ${features.length === 1 ? `is ${features[0]}` : 'is none'}`,
          'leave --features out, or name more of them',
        ];
  return new Fault(`there are no principal components: ${what}`, { hint });
}
