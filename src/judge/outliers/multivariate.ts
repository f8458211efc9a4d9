import { chiSquareQuantile } from './chi-square.ts';
import type { FeatureTable } from './feature-table.ts';
import { isolationForest } from './isolation-forest.ts';
import { squaredDistances } from './mahalanobis.ts';
import type { Matrix } from './matrix.ts';
import { robustCovariance } from './robust-covariance.ts';
import type { Spread } from './spread.ts';

export interface Fitted {
  /** A score above this is a vote. */
  threshold: number;
  scores(matrix: Matrix): Float64Array;
}

/** A method that looks at several features together. */
export interface MultivariateMethod {
  readonly name: string;
  /** Fewer rows than this say nothing. */
  readonly needs: number;
  /** Rows that it wants for each feature, and features that it takes at most. */
  readonly rowsPerFeature: number;
  readonly mostFeatures: number;
  /** Learns from rows; in words, why it cannot. */
  fit(matrix: Matrix): Promise<Fitted | string>;
}

/** One value in a thousand of a normal distribution lies beyond the cut-offs. */
const RARE = 0.999;

/** Distance from the innermost half, in terms of how that half spreads. */
export const robustDistance: MultivariateMethod = {
  name: 'robust covariance',
  // with fewer rows a feature, far too many lie beyond the chi-square cut-off
  needs: 20,
  rowsPerFeature: 10,
  mostFeatures: 5,
  async fit(matrix) {
    const found = robustCovariance(matrix);
    if (found === undefined) return 'half of them lie on a line';
    return {
      threshold: Math.sqrt(chiSquareQuantile(RARE, matrix.columns)),
      scores: (rows) => squaredDistances(found.cloud, rows).map(Math.sqrt),
    };
  },
};

/** How few random cuts isolate one. */
export const isolation: MultivariateMethod = {
  name: 'isolation forest',
  needs: 10,
  rowsPerFeature: 1,
  mostFeatures: 16,
  async fit(matrix) {
    // of normal rows one in a few hundred scores higher, whatever their number
    return { threshold: 0.7, scores: isolationForest(matrix) };
  },
};

/** How badly the few patterns that most follow describe one. */
export const reconstruction: MultivariateMethod = {
  name: 'principal components',
  needs: 10,
  rowsPerFeature: 3,
  mostFeatures: 16,
  async fit(matrix) {
    const { principalComponents } = await import('./principal-components.ts');
    const found = principalComponents(matrix);
    if (found === undefined) return 'their features follow from one another';
    return { threshold: found.cut, scores: found.errors };
  },
};

export const multivariateMethods: readonly MultivariateMethod[] = [robustDistance, isolation, reconstruction];

/** What tells most about a job or process comes first, where not all features can be taken. */
const FIRST = [
  'duration',
  'cpu_time',
  'rssmax',
  'memory_peak',
  'rchar',
  'wchar',
  'processes',
  'read_bytes',
  'write_bytes',
  'time_waiting',
  'energy',
  'gpu_utilization',
];

/** Features that move together as closely as this tell the same. */
const SAME = 0.995;

/**
 * The features that can be taken together: known everywhere, varying in more than half of the rows, none the double of
 * another. In the order in which they are taken.
 */
export function togetherFeatures(table: FeatureTable, spreads: ReadonlyMap<string, Spread>): string[] {
  const rank = (name: string): number => (FIRST.indexOf(name) + FIRST.length + 1) % (FIRST.length + 1);
  const usable = [...table.features.keys()].filter((name) => {
    const spread = spreads.get(name);
    return spread !== undefined && spread.count === table.rows && spread.median_distance > 0;
  });
  const chosen: { name: string; values: Float64Array }[] = [];
  for (const name of usable.sort((a, b) => rank(a) - rank(b))) {
    const values = clipped(table.features.get(name)!, spreads.get(name)!);
    if (chosen.every((other) => Math.abs(correlation(values, other.values)) < SAME)) chosen.push({ name, values });
  }
  return chosen.map(({ name }) => name);
}

/** Values as robust deviations from the median: features of every unit weigh the same. */
export function standardised(
  table: FeatureTable,
  names: readonly string[],
  spreads: ReadonlyMap<string, Spread>,
): Matrix {
  const columns = names.length;
  const values = new Float64Array(table.rows * columns);
  names.forEach((name, c) => {
    const { median, median_distance } = spreads.get(name)!;
    const column = table.features.get(name)!;
    for (let r = 0; r < table.rows; r++) values[r * columns + c] = (column[r]! - median) / (1.4826 * median_distance);
  });
  return { rows: table.rows, columns, values };
}

/** One far value must not make two features look alike. */
function clipped(values: Float64Array, { median, median_distance }: Spread): Float64Array {
  return values.map((value) => Math.max(-5, Math.min(5, (value - median) / (1.4826 * median_distance))));
}

function correlation(a: Float64Array, b: Float64Array): number {
  const n = a.length;
  let [sumA, sumB] = [0, 0];
  for (let i = 0; i < n; i++) {
    sumA += a[i]!;
    sumB += b[i]!;
  }
  let [aa, bb, ab] = [0, 0, 0];
  for (let i = 0; i < n; i++) {
    const [x, y] = [a[i]! - sumA / n, b[i]! - sumB / n];
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  return aa > 0 && bb > 0 ? ab / Math.sqrt(aa * bb) : 0;
}
