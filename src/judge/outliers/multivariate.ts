import type { ProcessMetric } from '../../sources/records/tables.ts';
import { chiSquareQuantile } from './chi-square.ts';
import { type FeatureTable, takeFeatures } from './feature-table.ts';
import { isolationForest } from './isolation-forest.ts';
import { squaredDistances } from './mahalanobis.ts';
import type { Matrix } from './matrix.ts';
import { robustCovariance } from './robust-covariance.ts';
import { type Spread, spreadOf } from './spread.ts';

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
const robustDistance: MultivariateMethod = {
  name: 'robust covariance',
  // with fewer rows a feature, far too many lie beyond the chi-square cut-off
  needs: 20,
  rowsPerFeature: 10,
  mostFeatures: 5,
  async fit(matrix) {
    const covariance = robustCovariance(matrix);
    if (covariance === undefined) return 'half of them lie on a line';
    return {
      threshold: Math.sqrt(chiSquareQuantile(RARE, matrix.columns)),
      scores: (rows) => squaredDistances(covariance.cloud, rows).map(Math.sqrt),
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
    const components = principalComponents(matrix);
    if (components === undefined) return 'their features follow from one another';
    return { threshold: components.cut, scores: components.errors };
  },
};

export const multivariateMethods: readonly MultivariateMethod[] = [robustDistance, isolation, reconstruction];

export type MainFeature =
  | ProcessMetric
  | 'duration'
  | 'cpu_time'
  | 'memory_peak'
  | 'processes'
  | 'energy'
  | 'gpu_utilization';

/** What tells most about a job or process comes first, where not all features can be taken. */
const FIRST: readonly string[] = [
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
] satisfies MainFeature[];

/** Features that move together as closely as this tell the same. */
const SAME = 0.995;

/** Features that are taken together, in the order in which they are, and the rows of which all of them are known. */
export interface Together {
  features: string[];
  rows: Uint32Array;
}

/**
 * Features that vary in more than half of the rows, none the double of another, and how they spread. Where not every
 * row has each of them, those features and rows that together hold most values: the others say nothing of what is usual.
 */
export function togetherFeatures(
  table: FeatureTable,
  all: ReadonlyMap<string, Spread>,
): Together & { spreads: ReadonlyMap<string, Spread> } {
  const rank = (name: string): number => (FIRST.indexOf(name) + FIRST.length + 1) % (FIRST.length + 1);
  const names = [...table.features.keys()];
  const varies = (spreads: ReadonlyMap<string, Spread>, name: string): boolean =>
    (spreads.get(name)?.median_distance ?? 0) > 0;
  let spreads = all;
  let selected = mostValues(
    table,
    names.filter((name) => varies(spreads, name)),
  );
  if (selected.rows.length < table.rows) {
    // a feature may vary among these alone, and not among all
    spreads = spreadsOf(table, selected.rows, names);
    selected = mostValues(
      table,
      names.filter((name) => varies(spreads, name)),
    );
    spreads = spreadsOf(table, selected.rows, selected.features);
  }
  const { features, rows } = selected;
  const chosen: { name: string; values: Float64Array }[] = [];
  const usableTable = takeFeatures(table, rows, features);
  for (const name of features.filter((each) => varies(spreads, each)).sort((a, b) => rank(a) - rank(b))) {
    const values = direction(usableTable.features.get(name)!, spreads.get(name)!);
    if (chosen.every((other) => Math.abs(product(values, other.values)) < SAME)) chosen.push({ name, values });
  }
  return { features: chosen.map(({ name }) => name), rows, spreads };
}

function spreadsOf(table: FeatureTable, rows: Uint32Array, names: readonly string[]): Map<string, Spread> {
  const spreads = new Map<string, Spread>();
  for (const [name, values] of takeFeatures(table, rows, names).features) {
    const spread = spreadOf(values);
    if (spread !== undefined) spreads.set(name, spread);
  }
  return spreads;
}

/** More features than this, no method takes. */
const MOST_FEATURES = Math.max(...multivariateMethods.map(({ mostFeatures }) => mostFeatures));

/** Of these features, those that leave most values when rows that lack one of them are left out; of equals, most rows. */
export function mostValues(table: FeatureTable, names: readonly string[]): Together {
  const counts = new Map(names.map((name) => [name, knownIn(table.features.get(name)!)]));
  let best: Together = { features: [], rows: new Uint32Array() };
  let most = -1;
  for (const least of [...new Set(counts.values())].sort((a, b) => b - a)) {
    const features = names.filter((name) => counts.get(name)! >= least);
    const rows = completeRows(table, features);
    // one feature alone is nothing to take together
    const values = rows.length * (Math.min(features.length, MOST_FEATURES) - 1);
    if (values > most) [best, most] = [{ features, rows }, values];
  }
  return best;
}

function knownIn(values: Float64Array): number {
  let count = 0;
  for (let i = 0; i < values.length; i++) if (Number.isFinite(values[i])) count++;
  return count;
}

/** The rows of which all of these features are known. */
export function completeRows(table: FeatureTable, names: readonly string[]): Uint32Array {
  const lacking = new Uint8Array(table.rows);
  for (const name of names) {
    const values = table.features.get(name);
    for (let row = 0; row < table.rows; row++) if (!Number.isFinite(values?.[row])) lacking[row] = 1;
  }
  const rows = new Uint32Array(table.rows);
  let count = 0;
  for (let row = 0; row < table.rows; row++) if (lacking[row] === 0) rows[count++] = row;
  return rows.subarray(0, count);
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

/** Of length 1 and around 0: the product of two is their correlation. One far value must not make two look alike. */
function direction(values: Float64Array, { median, median_distance }: Spread): Float64Array {
  const n = values.length;
  const vector = new Float64Array(n);
  let sum = 0;
  for (let i = 0; i < n; i++) {
    const value = Math.max(-5, Math.min(5, (values[i]! - median) / (1.4826 * median_distance)));
    vector[i] = value;
    sum += value;
  }
  let squares = 0;
  for (let i = 0; i < n; i++) {
    const value = vector[i]! - sum / n;
    vector[i] = value;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  if (length > 0) for (let i = 0; i < n; i++) vector[i]! /= length;
  return vector;
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
