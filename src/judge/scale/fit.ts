import { inverse, Matrix, solve } from 'ml-matrix';
import { stated } from '../../base/stated.ts';
import type { Law } from './laws.ts';
import { studentWidth } from './student.ts';

/** What was measured once: so much work in a second on so many. */
export interface RatePoint {
  size: number;
  rate: number;
}

/** The share of the cases in which an interval holds the truth. */
export const CONFIDENCE = 0.95;

export interface Estimate {
  name: string;
  help: string;
  value: number;
  /** Not there when there are no more runs than unknowns. */
  low?: number;
  high?: number;
}

export interface Fit {
  law: Law['name'];
  estimates: Estimate[];
  /** Work in a second on one, by the law. */
  rate_of_one: number;
  /** Typical difference of a run from the law, as a share of its time; not there when nothing is left to tell it by. */
  error?: number;
  /** Runs beyond what the law needs to be determined. */
  freedom: number;
  /** More was gained than was added, beyond chance: no law here can say that. */
  superlinear?: true;
  /** The speed-up of one size over another by the law, with the bounds of its interval. */
  speedup(size: number, over: number): Prediction;
}

export interface Prediction {
  value: number;
  low?: number;
  high?: number;
}

/** The law's parameters, and the logarithm of the rate of one behind them. */
type Parameters = readonly number[];

/** Smaller errors are rounding. */
const LEAST_SQUARE = 1e-20;

/**
 * A law through runs: least squares of the logarithm of the rate, because times vary by shares of themselves. Intervals
 * come from the covariance at the solution and Student's t, before values are held to what makes sense (0 and up).
 * Undefined: there are fewer sizes than unknowns.
 */
export function fitLaw(law: Law, points: readonly RatePoint[]): Fit | undefined {
  const unknowns = law.parameters.length + 1;
  if (new Set(points.map(({ size }) => size)).size < unknowns) return undefined;
  const free = law.parameters.map((_, i) => i);
  const best = leastSquares(law, points, free);
  if (best === undefined) return undefined;
  const freedom = points.length - unknowns;
  const square = squaresOf(law, points, best) / points.length;
  const variance = freedom > 0 ? Math.max(LEAST_SQUARE, (square * points.length) / freedom) : undefined;
  const covariance = variance === undefined ? undefined : covarianceOf(law, points, best, variance);
  const width = freedom > 0 ? studentWidth(CONFIDENCE, freedom) : Number.NaN;
  const held = heldToSense(law, points, best);
  const heldSquares = squaresOf(law, points, held);
  const estimates = law.parameters.map(({ name, help, most }, i): Estimate => {
    const value = held[i]!;
    const reach = covariance === undefined ? undefined : width * Math.sqrt(Math.max(0, covariance.get(i, i)));
    const within = (bound: number): number => Math.min(most, Math.max(0, bound));
    return {
      name,
      help,
      value,
      ...(reach === undefined
        ? {}
        : { low: Math.min(value, within(best[i]! - reach)), high: Math.max(value, within(best[i]! + reach)) }),
    };
  });
  const isBeyond = law.parameters.some((_, i) => {
    const reach = covariance === undefined ? 0 : width * Math.sqrt(Math.max(0, covariance.get(i, i)));
    return covariance !== undefined && best[i]! + reach < 0;
  });
  return {
    law: law.name,
    estimates,
    rate_of_one: Math.exp(held.at(-1)!),
    freedom,
    ...stated({
      error: freedom > 0 ? Math.sqrt(heldSquares / freedom) : undefined,
      superlinear: isBeyond ? (true as const) : undefined,
    }),
    speedup(size, over) {
      const value = law.speedup(size, held) / law.speedup(over, held);
      if (covariance === undefined) return { value };
      const [a, b] = [law.slopes(size, held), law.slopes(over, held)];
      const slopes = [...a.map((slope, i) => slope - b[i]!), 0];
      let spread = 0;
      slopes.forEach((x, i) => {
        slopes.forEach((y, k) => {
          spread += x * y * covariance.get(i, k);
        });
      });
      const reach = width * Math.sqrt(Math.max(0, spread));
      return { value, low: value * Math.exp(-reach), high: value * Math.exp(reach) };
    },
  };
}

const residual = (law: Law, { size, rate }: RatePoint, parameters: Parameters): number =>
  Math.log(rate) - parameters.at(-1)! - Math.log(law.speedup(size, parameters));

function squaresOf(law: Law, points: readonly RatePoint[], parameters: Parameters): number {
  let sum = 0;
  for (const point of points) {
    if (!(law.speedup(point.size, parameters) > 0)) return Number.POSITIVE_INFINITY;
    sum += residual(law, point, parameters) ** 2;
  }
  return sum;
}

/** How the logarithm of each run's rate changes with each free parameter, and with the rate of one. */
const slopesOf = (law: Law, points: readonly RatePoint[], parameters: Parameters, free: readonly number[]): Matrix =>
  new Matrix(
    points.map(({ size }) => {
      const slopes = law.slopes(size, parameters);
      return [...free.map((i) => slopes[i]!), 1];
    }),
  );

/** Levenberg and Marquardt's way down; parameters that are not free stay 0. Undefined: it leads nowhere. */
function leastSquares(law: Law, points: readonly RatePoint[], free: readonly number[]): number[] | undefined {
  const mean = points.reduce((sum, { size, rate }) => sum + Math.log(rate / size), 0) / points.length;
  let parameters = [...law.parameters.map(() => 0), mean];
  let squares = squaresOf(law, points, parameters);
  let damping = 1e-3;
  for (let round = 0; round < 500; round++) {
    const slopes = slopesOf(law, points, parameters, free);
    const turned = slopes.transpose();
    const normal = turned.mmul(slopes);
    const wanted = turned.mmul(Matrix.columnVector(points.map((point) => residual(law, point, parameters))));
    for (let i = 0; i < normal.rows; i++) normal.set(i, i, normal.get(i, i) * (1 + damping));
    const step = stepOf(normal, wanted);
    if (step === undefined) return undefined;
    const next = [...parameters];
    free.forEach((i, k) => {
      next[i]! += step[k]!;
    });
    next[next.length - 1]! += step.at(-1)!;
    const better = squaresOf(law, points, next);
    if (better <= squares) {
      const gained = squares - better;
      [parameters, squares] = [next, better];
      damping = Math.max(1e-12, damping / 10);
      if (gained <= 1e-15 * squares || squares < LEAST_SQUARE) return parameters;
    } else if (damping > 1e12) return parameters;
    else damping *= 10;
  }
  return parameters;
}

function stepOf(normal: Matrix, wanted: Matrix): number[] | undefined {
  try {
    const step = solve(normal, wanted).to1DArray();
    return step.every(Number.isFinite) ? step : undefined;
  } catch {
    return undefined;
  }
}

/** A parameter below 0 or above what it may be makes no sense: it is held there, and the others are found again. */
function heldToSense(law: Law, points: readonly RatePoint[], best: readonly number[]): number[] {
  let held = [...best];
  let free = law.parameters.map((_, i) => i);
  while (free.some((i) => held[i]! < 0)) {
    const worst = free.reduce((a, b) => (held[b]! < held[a]! ? b : a));
    free = free.filter((i) => i !== worst);
    held = leastSquares(law, points, free) ?? held.map((value, i) => (i === worst ? 0 : value));
  }
  return held.map((value, i) => Math.min(value, law.parameters[i]?.most ?? Number.POSITIVE_INFINITY));
}

function covarianceOf(law: Law, points: readonly RatePoint[], best: Parameters, variance: number): Matrix | undefined {
  const all = law.parameters.map((_, i) => i);
  const slopes = slopesOf(law, points, best, all);
  try {
    return inverse(slopes.transpose().mmul(slopes)).mul(variance);
  } catch {
    return undefined;
  }
}
