import { type FeatureTable, takeFeatures } from './feature-table.ts';
import { inOrder, type Matrix } from './matrix.ts';
import { completeRows, mostValues, multivariateMethods, standardised, togetherFeatures } from './multivariate.ts';
import { type Spread, spreadOf } from './spread.ts';
import { FEWEST_REFERENCES, type UnivariateMethod, univariateMethods } from './univariate.ts';

export interface Vote {
  method: string;
  /** Infinity where all others are alike. */
  score: number;
  threshold: number;
  vote: boolean;
  /** Why the method can tell nobody apart by this feature: then this is not counted. */
  cannot?: string;
}

/** What was said of one feature of one row. */
export interface FeatureVotes {
  feature: string;
  value: number;
  /** Of all rows, or of the reference. */
  median: number;
  votes: Vote[];
  /** Most of the methods that could vote did, and the difference is one that matters. */
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
  /** Rows that lack features which the others were judged by together, so that these methods say nothing of them. */
  incomplete: { row: number; lacks: string[] }[];
  verdicts: Verdict[];
}

export interface VoteOptions {
  /** Rows that say what is usual; without it each row is judged among all. */
  reference?: FeatureTable;
  /** Only these methods. */
  methods?: readonly string[];
  /** By feature, the smallest difference from the median that matters to anyone: what differs by less is no outlier. */
  floors?: ReadonlyMap<string, number>;
  /** A part of the median: what differs from it by less is no outlier, however alike the others are. */
  leastPart?: number;
  /** By method, a score above which one votes instead of its own. */
  thresholds?: ReadonlyMap<string, number>;
  /** Verdicts of all rows, not only of outliers. */
  all?: boolean;
}

/** Two jobs that differ by less than this part of the usual are alike to everybody. */
export const LEAST_PART = 0.02;

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
  const each = univariateMethods
    .filter(({ name }) => wanted(name))
    .map((method) => ({ ...method, threshold: options.thresholds?.get(method.name) ?? method.threshold }));
  for (const method of each) {
    const needs = reference === undefined ? method.needs : FEWEST_REFERENCES;
    const use: MethodUse = { method: method.name, looks_at: 'each feature', threshold: method.threshold, needs };
    uses.push(usual.rows >= needs ? use : { ...use, left_out: tooFew(needs, usual.rows) });
  }
  const taking = each.filter((_, i) => uses[i]!.left_out === undefined);
  const singles = voteOnFeatures(table, spreads, taking, { against: reference !== undefined, ...options });
  const candidates =
    options.all === true ? allRows(table.rows) : allRows(table.rows).filter((row) => singles.matters(row));
  const together = await voteTogether(table, usual, spreads, wanted, candidates, options.thresholds);
  uses.push(...together.uses);

  const verdicts: Verdict[] = [];
  candidates.forEach((row, at) => {
    const scoredGroups = together.groups.filter(({ scores }) => !Number.isNaN(scores[at]));
    const votes = scoredGroups.map(({ method, threshold, scores }) => {
      return { method, score: scores[at]!, threshold, vote: scores[at]! > threshold };
    });
    const togetherApart = votes.filter(({ vote }) => vote).length * 2 > votes.length && singles.matters(row);
    const outlier = singles.isApart(row) || togetherApart;
    if (!outlier && options.all !== true) return;
    verdicts.push({ row, outlier, features: singles.of(row), together: votes, together_apart: togetherApart });
  });
  return {
    rows: table.rows,
    ...(reference === undefined ? {} : { reference: reference.rows }),
    features: singles.judged,
    methods: uses,
    incomplete: together.incomplete,
    verdicts,
  };
}

const allRows = (rows: number): Uint32Array => Uint32Array.from({ length: rows }, (_, row) => row);

const tooFew = (needs: number, rows: number): string => `needs ${needs}, there ${rows === 1 ? 'is' : 'are'} ${rows}`;

interface VotesTogether {
  uses: MethodUse[];
  /** Scores go along with the candidates; NaN where one lacks a feature. */
  groups: { method: string; threshold: number; scores: Float64Array }[];
  incomplete: Ballot['incomplete'];
}

/** Methods that take several features together: they learn from all rows and score those that could matter. */
async function voteTogether(
  table: FeatureTable,
  usual: FeatureTable,
  spreads: ReadonlyMap<string, Spread>,
  wanted: (method: string) => boolean,
  candidates: Uint32Array,
  thresholds?: ReadonlyMap<string, number>,
): Promise<VotesTogether> {
  const votes: VotesTogether = { uses: [], groups: [], incomplete: [] };
  let chosen: ReturnType<typeof chooseTogether> | undefined;
  for (const method of multivariateMethods.filter(({ name }) => wanted(name))) {
    const use: MethodUse = { method: method.name, looks_at: 'features together', needs: method.needs };
    votes.uses.push(use);
    if (usual.rows < method.needs) use.left_out = tooFew(method.needs, usual.rows);
    if (use.left_out !== undefined || candidates.length === 0) continue;
    chosen ??= chooseTogether(table, usual, spreads, candidates);
    const { order, learnFrom, rows, rowIndexes, judged } = chosen;
    const many = Math.min(method.mostFeatures, Math.floor(rows / method.rowsPerFeature), order.length);
    if (rows < method.needs && rows > 0) use.left_out = `${tooFew(method.needs, rows)} with the same features`;
    else if (many < 2) use.left_out = 'fewer than two features vary by themselves';
    if (use.left_out !== undefined) continue;
    const features = order.slice(0, many);
    const fitted = await method.fit(learnFrom(features));
    if (typeof fitted === 'string') {
      use.left_out = fitted;
      continue;
    }
    const threshold = thresholds?.get(method.name) ?? fitted.threshold;
    use.threshold = threshold;
    use.features = features;
    const given = fitted.scores(judged(features));
    const scores = new Float64Array(candidates.length).fill(Number.NaN);
    for (let i = 0; i < rowIndexes.length; i++) scores[rowIndexes[i]!] = given[i]!;
    votes.groups.push({ method: method.name, threshold, scores });
  }
  if (votes.groups.length > 0) votes.incomplete = chosen!.incomplete();
  return votes;
}

/** What can be taken together, of the rows that are learned from and of those that are judged. */
function chooseTogether(
  table: FeatureTable,
  usual: FeatureTable,
  all: ReadonlyMap<string, Spread>,
  candidates: Uint32Array,
) {
  const { features, rows, spreads } = togetherFeatures(usual, all);
  const usualFeatures = table === usual ? features : mostValues(table, features).features;
  const order = features.filter((name) => usualFeatures.includes(name));
  const complete = new Uint8Array(table.rows);
  for (const row of completeRows(table, order)) complete[row] = 1;
  const lacks = (row: number): string[] => order.filter((name) => !Number.isFinite(table.features.get(name)![row]));
  const standard = (from: FeatureTable, which: Uint32Array, names: readonly string[]): Matrix =>
    standardised(takeFeatures(from, which, names), names, spreads);
  const rowIndexes = allRows(candidates.length).filter((at) => complete[candidates[at]!] === 1);
  const which = rowIndexes.map((at) => candidates[at]!);
  return {
    order,
    rows: rows.length,
    /** Which of the candidates can be judged. */
    rowIndexes,
    incomplete: () =>
      [...allRows(table.rows)].filter((row) => complete[row] === 0).map((row) => ({ row, lacks: lacks(row) })),
    learnFrom: oncePerSize((names) => inOrder(standard(usual, rows, names))),
    judged: oncePerSize((names) => standard(table, which, names)),
  };
}

/** Made once for all methods that take as many features: these are the same. */
function oncePerSize(make: (names: readonly string[]) => Matrix): (names: readonly string[]) => Matrix {
  const made = new Map<number, Matrix>();
  return (names) => {
    const madeMatrix = made.get(names.length) ?? make(names);
    made.set(names.length, madeMatrix);
    return madeMatrix;
  };
}

interface Judged {
  feature: string;
  values: Float64Array;
  spread: Spread;
  able: UnivariateMethod[];
  /** By method, why it cannot vote on this feature. */
  unable: ReadonlyMap<UnivariateMethod, string>;
  floor: number;
}

interface Singles {
  judged: string[];
  /** Whether it differs in any feature by as much as matters. */
  matters(row: number): boolean;
  /** Whether any feature of it is apart. */
  isApart(row: number): boolean;
  of(row: number): FeatureVotes[];
}

function voteOnFeatures(
  table: FeatureTable,
  spreads: ReadonlyMap<string, Spread>,
  methods: readonly UnivariateMethod[],
  { against, floors, leastPart = 0 }: { against: boolean } & Pick<VoteOptions, 'floors' | 'leastPart'>,
): Singles {
  const judged: Judged[] = [];
  for (const [feature, values] of table.features) {
    const spread = spreads.get(feature);
    if (spread === undefined) continue;
    const unable = new Map<UnivariateMethod, string>();
    for (const method of methods) {
      const why = against ? tooFewReferences(spread.count) : method.unable(spread);
      if (why !== undefined) unable.set(method, why);
    }
    const able = methods.filter((method) => !unable.has(method));
    const floor = Math.max(floors?.get(feature) ?? 0, leastPart * Math.abs(spread.median));
    judged.push({ feature, values, spread, able, unable, floor });
  }
  const voted = judged.filter(({ able }) => able.length > 0);
  const of = (row: number): FeatureVotes[] =>
    voted
      .filter(({ values }) => Number.isFinite(values[row]))
      .map((one) => {
        const value = one.values[row]!;
        const votes = methods.map((method): Vote => {
          const score = method.score(value, one.spread);
          const cannot = one.unable.get(method);
          const vote = cannot === undefined && score > method.threshold;
          return { method: method.name, score, threshold: method.threshold, vote, ...(cannot && { cannot }) };
        });
        return { feature: one.feature, value, median: one.spread.median, votes, apart: isApart(one, row) };
      })
      .sort((a, b) => Number(b.apart) - Number(a.apart) || byScore(a.votes, b.votes));
  return {
    judged: voted.map(({ feature }) => feature),
    matters: (row) => judged.some((one) => matters(one, row)),
    isApart: (row) => voted.some((one) => isApart(one, row)),
    of,
  };
}

const tooFewReferences = (count: number): string | undefined =>
  count >= FEWEST_REFERENCES ? undefined : tooFew(FEWEST_REFERENCES, count);

function matters({ values, spread, floor }: Judged, row: number): boolean {
  const distance = Math.abs(values[row]! - spread.median);
  return floor > 0 ? distance >= floor : distance > 0;
}

function isApart(one: Judged, row: number): boolean {
  if (!matters(one, row)) return false;
  let votes = 0;
  for (const method of one.able) if (method.score(one.values[row]!, one.spread) > method.threshold) votes++;
  return votes * 2 > one.able.length;
}

/** The one with the higher score by the first method that can vote on it. */
function byScore(a: readonly Vote[], b: readonly Vote[]): number {
  const first = (votes: readonly Vote[]): number => votes.find(({ cannot }) => cannot === undefined)?.score ?? 0;
  const [x, y] = [first(a), first(b)];
  return x === y ? 0 : y - x;
}
