import { random } from '../../base/random.ts';
import { quantiles } from '../../recording/sealed/quantiles.ts';
import { chiSquareQuantile, chiSquareShare } from './chi-square.ts';
import { type Cloud, cloudOf, covarianceOf, squaredDistances } from './mahalanobis.ts';
import { inOrder, type Matrix, takeRows } from './matrix.ts';
import { spreadOf } from './spread.ts';

export interface RobustCovariance {
  centre: Float64Array;
  /** By rows. */
  covariance: Float64Array;
  /** Rows that the raw estimate rests on. */
  subset: number;
  /** Before the rows are weighted by their distance: as Rousseeuw and Van Driessen define it. */
  raw: { centre: Float64Array; covariance: Float64Array; consistency: number; correction: number };
  /** For the distances of any rows. */
  cloud: Cloud;
}

/** Rows in each of the parts that a large matrix is tried on first, and how many parts. */
const PART = 300;
const PARTS = 3;
/** Best attempts that are followed up. */
const KEPT = 10;
/** Random starts in each part, beside the one that needs no luck, and how many of them are followed up. */
const ATTEMPTS_OF_PART = 5;
const KEPT_OF_PART = 1;
/** Where rows are as few as this, every attempt is: the best ones are close to each other. */
const FEW_ROWS = 100;
/**
 * As many as leave a chance of one in a million that no start is free of outliers when three rows of ten are some; more
 * where rows are few, which finds the very best.
 */
const starts = ({ rows, columns }: Matrix): number =>
  Math.max(Math.log(1e-6) / Math.log(1 - 0.7 ** (columns + 1)), Math.min(300, 20_000 / rows));

/**
 * Middle and shape of the innermost half of the rows, by FAST-MCD (Rousseeuw and Van Driessen 1999), with the
 * consistency factor of Croux and Haesbroeck (1999) and the correction for small samples of Pison, Van Aelst and
 * Willems (2002), then weighted once. Undefined when half of the rows lie on a line or plane. Draws lots, but always
 * the same ones, whatever the order of the rows.
 */
export function robustCovariance(given: Matrix): RobustCovariance | undefined {
  const matrix = inOrder(given);
  const { rows: n, columns: p } = matrix;
  const h = Math.floor((n + p + 1) / 2);
  const best = search(matrix, h);
  if (best === undefined) return undefined;

  const raw = covarianceOf(matrix, innermost(squaredDistances(best, matrix), h));
  const consistency = consistencyFactor(p, h / n);
  const correction = smallSampleFactor(p, n, 'raw');
  const scaled = raw.covariance.map((value) => value * consistency * correction);
  const scaledCloud = cloudOf(raw.centre, scaled);
  if (scaledCloud === undefined) return undefined;

  const cut = chiSquareQuantile(0.975, p);
  const distances = squaredDistances(scaledCloud, matrix);
  const kept: number[] = [];
  for (let r = 0; r < n; r++) if (distances[r]! < cut) kept.push(r);
  const weighted = covarianceOf(matrix, kept);
  const factor = kept.length === n ? 1 : consistencyFactor(p, kept.length / n) * smallSampleFactor(p, n, 'weighted');
  const covariance = weighted.covariance.map((value) => value * factor);
  const cloud = cloudOf(weighted.centre, covariance);
  if (cloud === undefined) return undefined;
  return {
    centre: weighted.centre,
    covariance,
    subset: h,
    raw: { centre: raw.centre, covariance: scaled, consistency, correction },
    cloud,
  };
}

/** The cloud of least determinant that concentration steps from many starts lead to. */
function search(matrix: Matrix, h: number): Cloud | undefined {
  const { rows: n, columns: p } = matrix;
  const next = random(n * 31 + p);
  if (n <= 2 * PART) {
    const attempts = Math.ceil(starts(matrix));
    return converge(matrix, h, explore(matrix, h, attempts, next, n <= FEW_ROWS ? attempts : KEPT));
  }

  // tried on parts first, followed up on all parts together, and only the best on everything
  const drawn = drawing(n, next)(Math.min(n, PART * PARTS));
  const groupCount = Math.min(PARTS, Math.floor(drawn.length / PART));
  const clouds: Cloud[] = [];
  for (let i = 0; i < groupCount; i++) {
    const size = Math.floor(drawn.length / groupCount);
    const groupRows = takeRows(matrix, drawn.subarray(i * size, (i + 1) * size));
    clouds.push(...explore(groupRows, Math.ceil((h / n) * size), ATTEMPTS_OF_PART, next, KEPT_OF_PART));
  }
  const together = takeRows(matrix, drawn);
  const followed = best(
    clouds.map((cloud) => concentrate(together, Math.ceil((h / n) * drawn.length), cloud, 2)),
    1,
  );
  return converge(matrix, h, followed);
}

/** The best clouds after two steps from the medians, and from random starts of p + 1 rows. */
function explore(matrix: Matrix, h: number, attempts: number, next: () => number, kept: number): Cloud[] {
  const medians = startFromMedians(matrix);
  const clouds = medians === undefined ? [] : [concentrate(matrix, h, medians, 2)];
  const draw = drawing(matrix.rows, next);
  for (let i = 0; i < attempts; i++) {
    const start = startFrom(matrix, draw);
    if (start !== undefined) clouds.push(concentrate(matrix, h, start, 2));
  }
  return best(clouds, kept);
}

/** Each column for itself: the start that outliers cannot spoil, if only it were not blind to what goes together. */
function startFromMedians({ rows, columns, values }: Matrix): Cloud | undefined {
  const centre = new Float64Array(columns);
  const covariance = new Float64Array(columns * columns);
  for (let c = 0; c < columns; c++) {
    const column = new Float64Array(rows);
    for (let r = 0; r < rows; r++) column[r] = values[r * columns + c]!;
    const { median, median_distance } = spreadOf(column)!;
    centre[c] = median;
    covariance[c * columns + c] = median_distance ** 2;
  }
  return cloudOf(centre, covariance);
}

/** The cloud of p + 1 random rows, or of a few more when those are singular. */
function startFrom(matrix: Matrix, draw: (many: number) => Uint32Array): Cloud | undefined {
  const { rows: n, columns: p } = matrix;
  const order = draw(Math.min(n, 4 * (p + 1)));
  for (let size = p + 1; size <= order.length; size++) {
    const { centre, covariance } = covarianceOf(matrix, order.subarray(0, size));
    const cloud = cloudOf(centre, covariance);
    if (cloud !== undefined) return cloud;
  }
  return undefined;
}

/** Takes the h nearest rows and makes a cloud of them, several times: its determinant never grows. */
function concentrate(matrix: Matrix, h: number, from: Cloud, steps: number): Cloud | undefined {
  let cloud: Cloud = from;
  // among many rows the last few that come and go change nothing
  const settledAt = matrix.rows > 2 * PART ? 1e-4 : 1e-12;
  for (let step = 0; step < steps; step++) {
    const { centre, covariance } = covarianceOf(matrix, innermost(squaredDistances(cloud, matrix), h));
    const smaller = cloudOf(centre, covariance);
    if (smaller === undefined) return undefined;
    const settled = step > 0 && Math.abs(smaller.logDeterminant - cloud.logDeterminant) < settledAt;
    cloud = smaller;
    if (settled) break;
  }
  return cloud;
}

function converge(matrix: Matrix, h: number, clouds: readonly Cloud[]): Cloud | undefined {
  return best(
    clouds.map((cloud) => concentrate(matrix, h, cloud, 100)),
    1,
  )[0];
}

function best(clouds: readonly (Cloud | undefined)[], most: number): Cloud[] {
  return clouds
    .filter((cloud) => cloud !== undefined)
    .sort((a, b) => a.logDeterminant - b.logDeterminant)
    .slice(0, most);
}

/** The h rows with the least distances. */
function innermost(distances: Float64Array, h: number): Uint32Array {
  const n = distances.length;
  // between the last that belongs to them and the first that does not
  const cut = h >= n ? Number.POSITIVE_INFINITY : quantiles(distances.slice(), n, [(h - 0.5) / (n - 1)])[0]!;
  const rows = new Uint32Array(h);
  let taken = 0;
  for (let r = 0; r < n && taken < h; r++) if (distances[r]! <= cut) rows[taken++] = r;
  return rows.subarray(0, taken);
}

/** Draws so many different numbers below n; those drawn before are overwritten. */
function drawing(n: number, next: () => number): (many: number) => Uint32Array {
  const all = new Uint32Array(n);
  for (let i = 0; i < n; i++) all[i] = i;
  return (many) => {
    for (let i = 0; i < many; i++) {
      const other = i + Math.floor(next() * (n - i));
      const value = all[other]!;
      all[other] = all[i]!;
      all[i] = value;
    }
    return all.subarray(0, many);
  };
}

/** Makes the covariance of the innermost share that of the whole, if the whole is normal. */
function consistencyFactor(p: number, share: number): number {
  return share / chiSquareShare(chiSquareQuantile(share, p), p + 2) || 1;
}

/** Coefficients of Pison, Van Aelst and Willems for a subset of half of the rows: base and power for 1 and 2 columns. */
const FEW = {
  raw: [
    [0.262024211897096, 0.604756680630497],
    [0.673292623522027, 0.691365864961895],
  ],
  weighted: [
    [1.11098143415027, 1.5182890270453],
    [3.11101712909049, 1.91401056721863],
  ],
} as const;
/** For more columns: two points of the curve (factor, power) at 2p² and 3p² rows. */
const MANY = {
  raw: [
    [1.42764571687802, 1.26263336932151],
    [1.06141115981725, 1.28907991440387],
  ],
  weighted: [
    [1.02842572724793, 1.67659883081926],
    [0.26800273450853, 1.35968562893582],
  ],
} as const;

function smallSampleFactor(p: number, n: number, which: 'raw' | 'weighted'): number {
  const [base, power] = p <= 2 ? FEW[which][p - 1]! : curve(p, which);
  const factor = 1 / (1 - Math.exp(base) / n ** power);
  // the curve was not made for so few rows
  return factor > 0 && factor < 50 ? factor : 1;
}

function curve(p: number, which: 'raw' | 'weighted'): readonly [base: number, power: number] {
  const [two, three] = MANY[which];
  const y2 = Math.log(two[0] / p ** two[1]);
  const y3 = Math.log(three[0] / p ** three[1]);
  const power = (y2 - y3) / Math.log(3 / 2);
  return [y2 + power * Math.log(2 * p * p), power];
}
