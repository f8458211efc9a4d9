import type { FeatureTable } from './feature-table.ts';
import { multivariateMethods, standardised, togetherFeatures } from './multivariate.ts';
import { type Spread, spreadOf } from './spread.ts';
import { FEWEST_REFERENCES, type UnivariateMethod, univariateMethods } from './univariate.ts';

export interface Vote {
  method: string;
  /** Infinity where all others are alike. */
  score: number;
  threshold: number;
  vote: boolean;
}

/** What was said of one feature of one row. */
export interface FeatureVotes {
  feature: string;
  value: number;
  /** Of all rows, or of the reference. */
  median: number;
  votes: Vote[];
  /** Most of the methods that could vote did. */
  apart: boolean;
}

/** What was said of one row. */
export interface Verdict {
  row: number;
  outlier: boolean;
  /** Features that are apart come first, the furthest before the others. */
  features: FeatureVotes[];
  /** Of methods that look at several features together. */
  together: Vote[];
  together_apart: boolean;
}

/** Whether a method took part, or why not. */
export interface MethodUse {
  method: string;
  looks_at: 'each feature' | 'features together';
  threshold?: number;
  /** Rows that it needs. */
  needs: number;
  /** The features that it took together. */
  features?: string[];
  /** Why it was left out. */
  left_out?: string;
}

export interface Ballot {
  rows: number;
  /** Rows of the reference, when there is one. */
  reference?: number;
  /** Features that at least one row could be judged by. */
  features: string[];
  methods: MethodUse[];
  verdicts: Verdict[];
}

export interface VoteOptions {
  /** Rows that say what is usual; without it each row is judged among all. */
  reference?: FeatureTable;
  /** Only these methods. */
  methods?: readonly string[];
  /** Verdicts of all rows, not only of outliers. */
  all?: boolean;
}

/** The names of all methods. */
export const METHODS: readonly string[] = [...univariateMethods, ...multivariateMethods].map(({ name }) => name);

/**
 * Lets every method vote on every row. A row is an outlier when most of those that can vote on a feature do so, or most
 * of those that look at features together.
 */
export async function castVotes(table: FeatureTable, options: VoteOptions = {}): Promise<Ballot> {
  const { reference } = options;
  const usual = reference ?? table;
  const wanted = (name: string): boolean => options.methods === undefined || options.methods.includes(name);
  const spreads = new Map<string, Spread>();
  for (const name of table.features.keys()) {
    const values = usual.features.get(name);
    const spread = values === undefined ? undefined : spreadOf(values);
    if (spread !== undefined) spreads.set(name, spread);
  }
  const uses: MethodUse[] = [];
  const each = univariateMethods.filter(({ name }) => wanted(name));
  for (const method of each) {
    const needs = reference === undefined ? method.needs : FEWEST_REFERENCES;
    const use: MethodUse = { method: method.name, looks_at: 'each feature', threshold: method.threshold, needs };
    uses.push(usual.rows >= needs ? use : { ...use, left_out: tooFew(needs, usual.rows) });
  }
  const singles = voteOnFeatures(table, spreads, each, reference !== undefined);

  const groups: Together[] = [];
  const order = togetherFeatures(usual, spreads).filter((name) => table.features.get(name)?.every(Number.isFinite));
  for (const method of multivariateMethods.filter(({ name }) => wanted(name))) {
    const use: MethodUse = { method: method.name, looks_at: 'features together', needs: method.needs };
    uses.push(use);
    const many = Math.min(method.mostFeatures, Math.floor(usual.rows / method.rowsPerFeature), order.length);
    if (usual.rows < method.needs) use.left_out = tooFew(method.needs, usual.rows);
    else if (many < 2) use.left_out = 'fewer than two features vary';
    else {
      const features = order.slice(0, many);
      const learned = standardised(usual, features, spreads);
      const fitted = await method.fit(learned);
      if (typeof fitted === 'string') use.left_out = fitted;
      else {
        use.threshold = fitted.threshold;
        use.features = features;
        const judged = reference === undefined ? learned : standardised(table, features, spreads);
        groups.push({ method: method.name, threshold: fitted.threshold, scores: fitted.scores(judged) });
      }
    }
  }

  const verdicts: Verdict[] = [];
  for (let row = 0; row < table.rows; row++) {
    const votesTogether = groups.filter(({ scores, threshold }) => scores[row]! > threshold).length;
    const togetherApart = votesTogether * 2 > groups.length;
    const outlier = singles.apart[row]! > 0 || togetherApart;
    if (!outlier && options.all !== true) continue;
    verdicts.push({
      row,
      outlier,
      features: singles.of(row),
      together: groups.map(({ method, threshold, scores }) => ({
        method,
        score: scores[row]!,
        threshold,
        vote: scores[row]! > threshold,
      })),
      together_apart: togetherApart,
    });
  }
  return {
    rows: table.rows,
    ...(reference === undefined ? {} : { reference: reference.rows }),
    features: singles.judged,
    methods: uses,
    verdicts,
  };
}

interface Together {
  method: string;
  threshold: number;
  scores: Float64Array;
}

const tooFew = (needs: number, rows: number): string => `needs ${needs}, there ${rows === 1 ? 'is' : 'are'} ${rows}`;

interface Singles {
  judged: string[];
  /** How many features of each row are apart. */
  apart: Uint16Array;
  of(row: number): FeatureVotes[];
}

function voteOnFeatures(
  table: FeatureTable,
  spreads: ReadonlyMap<string, Spread>,
  methods: readonly UnivariateMethod[],
  against: boolean,
): Singles {
  const apart = new Uint16Array(table.rows);
  const judged: { feature: string; values: Float64Array; spread: Spread; able: UnivariateMethod[] }[] = [];
  for (const [feature, values] of table.features) {
    const spread = spreads.get(feature);
    if (spread === undefined) continue;
    const able = methods.filter((method) => (against ? spread.count >= FEWEST_REFERENCES : method.able(spread)));
    if (able.length === 0) continue;
    judged.push({ feature, values, spread, able });
    if (!against && spread.min === spread.max) continue;
    for (let row = 0; row < table.rows; row++) if (isApart(values[row]!, spread, able)) apart[row]!++;
  }
  const of = (row: number): FeatureVotes[] =>
    judged
      .filter(({ values }) => Number.isFinite(values[row]))
      .map(({ feature, values, spread, able }) => {
        const value = values[row]!;
        const votes = able.map((method) => {
          const score = method.score(value, spread);
          return { method: method.name, score, threshold: method.threshold, vote: score > method.threshold };
        });
        return { feature, value, median: spread.median, votes, apart: isApart(value, spread, able) };
      })
      .sort((a, b) => Number(b.apart) - Number(a.apart) || byScore(a.votes, b.votes));
  return { judged: judged.map(({ feature }) => feature), apart, of };
}

function isApart(value: number, spread: Spread, able: readonly UnivariateMethod[]): boolean {
  if (!Number.isFinite(value)) return false;
  let votes = 0;
  for (const method of able) if (method.score(value, spread) > method.threshold) votes++;
  return votes * 2 > able.length;
}

/** The one with the higher score by the first method that both have. */
function byScore(a: readonly Vote[], b: readonly Vote[]): number {
  const [x, y] = [a[0]?.score ?? 0, b[0]?.score ?? 0];
  return x === y ? 0 : y - x;
}
