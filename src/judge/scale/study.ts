import { greatest } from '../../base/extremes.ts';
import { Fault, usage } from '../../base/fault.ts';
import { count, figure, listed, percent } from '../../base/readable.ts';
import { stated } from '../../base/stated.ts';
import { median, sum } from '../../query/material.ts';
import { CONFIDENCE, type Estimate, type Fit, fitLaw, type Prediction } from './fit.ts';
import { type KindVerdict, kindOf, type StudyKind } from './kind.ts';
import { LAWS, type Law } from './laws.ts';
import type { LeftOut, ScaleRun, SizeBy } from './run.ts';
import { sizeText } from './size-text.ts';

export interface StudyOptions {
  by: SizeBy;
  kind?: StudyKind;
  /** The figure of merit that was asked for. */
  figure?: string;
  /** The efficiency that the recommended size must keep, 0 to 1. */
  efficiency: number;
}

/** The runs of one size together: medians. */
export interface SizeRow {
  size: number;
  runs: number;
  wall_seconds: number;
  /** Least and most of several runs. */
  wall_seconds_min: number;
  wall_seconds_max: number;
  /** Work in a second, in units of a run of the smallest size, or the figure of merit. */
  rate: number;
  /** Against the smallest size. */
  speedup: number;
  efficiency: number;
  /** By the law that fits best. */
  predicted_speedup?: number;
  core_hours?: number;
  gpu_hours?: number;
  node_hours?: number;
  energy_joules?: number;
}

export interface FittedLaw {
  law: Law['name'];
  /** Whether the law is about studies of this kind. */
  describes: boolean;
  best: boolean;
  estimates: Estimate[];
  /** Typical difference of a run from the law, as a share of its time. */
  error?: number;
  freedom: number;
  superlinear?: true;
  /** USL with coherency: from this size on, more makes it slower. */
  peak_size?: number;
  /** Amdahl: no size can be faster than this, against one. */
  limit_speedup?: Prediction;
}

export interface Recommended {
  /** What was asked for. */
  efficiency: number;
  size: number;
  /** Bounds of the size by the interval of the law. */
  low?: number;
  high?: number;
  /** By the law. */
  efficiency_there: number;
  speedup: number;
  /** Of the runs of this size, where it is clearly less than the law promises. */
  efficiency_measured?: number;
  /** It is larger than every run: try it before you rely on it. */
  beyond: boolean;
  /** The law keeps the efficiency beyond all that can be told from these runs. */
  more: boolean;
}

export interface Study extends KindVerdict {
  by: SizeBy;
  program: string;
  metric: string;
  /** What efficiencies and speed-ups are held against. */
  smallest: number;
  largest: number;
  sizes: SizeRow[];
  laws: FittedLaw[];
  /** How often an interval holds the truth, and how it was found. */
  interval: { confidence: number; method: string };
  recommended?: Recommended;
  runs: ScaleRun[];
  left_out: LeftOut[];
  notes: string[];
  /** Of the law that fits best: the speed-up of any size against the smallest. */
  predict?: (size: number) => Prediction;
}

const METHOD = 'covariance of the least squares of log(rate), Student t';
/** Beyond so many times the largest run a law says nothing that anybody should rely on. */
const FARTHEST = 4;
/** Threads that waited for CPUs for more than this of the time make a run slower than it is. */
const WAITED = 0.05;
/** Runs that differ from the law by more than this need a look. */
const ROUGH = 0.1;

/** From the runs of one program at several sizes: how it scales. */
export function studyOf(runs: readonly ScaleRun[], leftOut: readonly LeftOut[], options: StudyOptions): Study {
  const verdict = checked(runs, leftOut, options);
  const points = runs.map((run) => ({ size: run.size, rate: rateOf(run, verdict.kind) }));
  const sizes = sizeRows(runs, verdict.kind);
  const [smallest, largest] = [sizes[0]!.size, sizes.at(-1)!.size];
  const fits = LAWS.flatMap((law) => {
    const fit = fitLaw(law, points);
    return fit === undefined ? [] : [{ law, fit }];
  });
  const best = bestOf(fits, verdict.kind);
  const laws = fits.map(({ law, fit }) => fittedLaw(law, fit, verdict.kind, fit === best?.fit));
  const predict = best && ((size: number): Prediction => best.fit.speedup(size, smallest));
  const rows =
    predict === undefined ? sizes : sizes.map((row) => ({ ...row, predicted_speedup: predict(row.size).value }));
  const study: Study = {
    by: options.by,
    program: runs[0]!.program,
    metric: options.figure ?? 'time',
    ...verdict,
    smallest,
    largest,
    sizes: rows,
    laws,
    interval: { confidence: CONFIDENCE, method: METHOD },
    ...stated({
      recommended: predict && recommendedOf(predict, sizes, options.efficiency),
      predict,
    }),
    runs: runs.toSorted((a, b) => a.size - b.size || a.wall_seconds - b.wall_seconds),
    left_out: [...leftOut],
    notes: [],
  };
  study.notes = notesOf(study, best?.fit);
  return study;
}

/** Throws what makes a study impossible. */
function checked(runs: readonly ScaleRun[], leftOut: readonly LeftOut[], { by, kind }: StudyOptions): KindVerdict {
  const why = leftOut.length === 0 ? '' : `; left out: ${listed([...new Set(leftOut.map((one) => one.why))])}`;
  const hint =
    by === 'cores'
      ? 'tacho run --tag cores:4 -- … says it, and tacho scale run --cores 1,2,4 -- … makes a study'
      : 'tacho scale --by says what sizes are counted in';
  if (runs.length === 0) throw new Fault(`no run has a known size${why}`, { hint });
  const programs = [...new Set(runs.map((run) => run.program))];
  if (programs.length > 1)
    throw usage(
      `these are runs of ${programs.length} programs: ${listed(programs, 6)}`,
      'choose one with --program, --name or --tag',
    );
  const sizes = new Set(runs.map((run) => run.size));
  if (sizes.size < 2) {
    const all = runs.length === 1 ? 'there is one run' : `all ${runs.length} runs have the same size`;
    throw new Fault(`${all}, of ${sizeText([...sizes][0]!, by)}: a study needs at least two sizes${why}`, { hint });
  }
  return kindOf(runs, kind);
}

/** Work in a second; where nobody says how much work it was, one unit, or as much as the size in a weak study. */
function rateOf(run: ScaleRun, kind: StudyKind): number {
  return run.rate ?? (run.work ?? (kind === 'weak' ? run.size : 1)) / run.wall_seconds;
}

function sizeRows(runs: readonly ScaleRun[], kind: StudyKind): SizeRow[] {
  const groups = [...Map.groupBy(runs, (run) => run.size)].sort(([a], [b]) => a - b);
  const rows = groups.map(([size, all]): SizeRow => {
    const walls = all.map((run) => run.wall_seconds);
    const middle = (of: (run: ScaleRun) => number | undefined): number | undefined =>
      all.every((run) => of(run) !== undefined) ? median(all.map(of)) : undefined;
    return {
      size,
      runs: all.length,
      wall_seconds: median(walls)!,
      wall_seconds_min: Math.min(...walls),
      wall_seconds_max: Math.max(...walls),
      rate: median(all.map((run) => rateOf(run, kind)))!,
      speedup: Number.NaN,
      efficiency: Number.NaN,
      ...stated({
        core_hours: middle((run) => run.core_hours),
        gpu_hours: middle((run) => run.gpu_hours),
        node_hours: middle((run) => run.node_hours),
        energy_joules: middle((run) => run.energy_joules),
      }),
    };
  });
  const first = rows[0]!;
  for (const row of rows) {
    row.speedup = row.rate / first.rate;
    row.efficiency = row.speedup / (row.size / first.size);
  }
  return rows;
}

interface LawFit {
  law: Law;
  fit: Fit;
}

/** The simple law of this kind, unless USL shows coherency beyond chance, which no other law has, and is nearer to the runs. */
function bestOf(fits: readonly LawFit[], kind: StudyKind): LawFit | undefined {
  const simple = fits.find(({ law }) => law.kinds.includes(kind) && law.name !== 'USL');
  const full = fits.find(({ law }) => law.name === 'USL');
  const isShown = (full?.fit.estimates[1]?.low ?? 0) > 0;
  if (simple === undefined || full === undefined || !isShown) return simple ?? full;
  return full.fit.error! < (simple.fit.error ?? Number.POSITIVE_INFINITY) ? full : simple;
}

function fittedLaw(law: Law, fit: Fit, kind: StudyKind, best: boolean): FittedLaw {
  const { estimates, error, freedom, superlinear } = fit;
  const [first, second] = estimates;
  const hasPeak = law.name === 'USL' && second!.value > 0 && first!.value < 1;
  const hasLimit = law.name === 'Amdahl' && first!.value > 0;
  return {
    law: law.name,
    describes: law.kinds.includes(kind),
    best,
    estimates,
    freedom,
    ...stated({
      error,
      superlinear,
      peak_size: hasPeak ? Math.sqrt((1 - first!.value) / second!.value) : undefined,
      limit_speedup: hasLimit ? limitOf(first!) : undefined,
    }),
  };
}

const limitOf = ({ value, low, high }: Estimate): Prediction => ({
  value: 1 / value,
  ...stated({
    low: high === undefined ? undefined : 1 / high,
    high: low === undefined || low === 0 ? undefined : 1 / low,
  }),
});

/** The largest size that keeps the efficiency, by the law. */
function recommendedOf(
  predict: (size: number) => Prediction,
  sizes: readonly SizeRow[],
  efficiency: number,
): Recommended {
  const [smallest, largest] = [sizes[0]!.size, sizes.at(-1)!.size];
  const farthest = Math.floor(largest * FARTHEST);
  const reach = (bound: (prediction: Prediction) => number | undefined): number | undefined => {
    const keeps = (size: number): boolean => (bound(predict(size)) ?? Number.NaN) / (size / smallest) >= efficiency;
    if (bound(predict(farthest)) === undefined) return undefined;
    if (keeps(farthest)) return farthest;
    // the efficiency of every law only falls with the size
    let [low, high] = [Math.ceil(smallest), farthest];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (keeps(middle)) low = middle;
      else high = middle;
    }
    return low;
  };
  const size = reach(({ value }) => value)!;
  const there = predict(size).value;
  const byLaw = there / (size / smallest);
  const measured = sizes.find((row) => row.size === size)?.efficiency;
  const isLess = measured !== undefined && measured < byLaw * (1 - ROUGH);
  return {
    efficiency,
    size,
    ...stated({
      low: reach(({ low }) => low),
      high: reach(({ high }) => high),
      efficiency_measured: isLess ? measured : undefined,
    }),
    efficiency_there: byLaw,
    speedup: there,
    beyond: size > largest,
    more: size === farthest,
  };
}

function notesOf(study: Study, best: Fit | undefined): string[] {
  const { runs, sizes, laws, by } = study;
  const notes: string[] = [];
  if (sizes.every((row) => row.runs === 1))
    notes.push('Every size was run once: how much runs vary is known only from the law. Repeat them (--repeat 3).');
  if (best !== undefined && best.freedom === 0)
    notes.push('There are as many runs as unknowns: no interval can be given. More sizes or repeats would give one.');
  if (sizes.length < 3) notes.push('Two sizes cannot tell waiting from coherency: USL needs three.');
  if ((best?.error ?? 0) > ROUGH)
    notes.push(`Runs differ from the law by ${percent(best!.error!)} on average: something else varies, too.`);
  const late = runs.filter((run) => (run.waited ?? 0) > WAITED);
  if (late.length > 0)
    notes.push(
      `In ${count(late.length, 'run')} of ${runs.length}, threads waited for a CPU (up to ${percent(greatest(late.map((run) => run.waited!)))} of the time): others used the machine, or there were more threads than cores. Their times are too long.`,
    );
  if (laws.some((law) => law.best && law.superlinear === true))
    notes.push('More was gained than was added (caches, or a slow smallest run): no law here describes that.');
  const commands = new Set(runs.flatMap((run) => (run.command === undefined ? [] : shape(run.command, run.size))));
  if (commands.size > 1)
    notes.push(`The runs have ${commands.size} different commands: check that these do the same work.`);
  const nodes = [...new Set(runs.map((run) => run.nodes))];
  if (by === 'cores' && nodes.length > 1)
    notes.push(
      `The runs are on ${listed(nodes.sort((a, b) => a - b).map(String))} nodes: the network is part of the figures.`,
    );
  const hours = sum(runs.map((run) => run.core_hours));
  if (sizes.every((size) => size.energy_joules === undefined))
    notes.push('Energy was not measured: no counter of it could be read (tacho check says why).');
  if (hours !== undefined) notes.push(`The study itself took ${figure(hours)} core-hours.`);
  return notes;
}

/** A command without the numbers that are its size, and without how it was bound to CPUs. */
function shape(command: string, size: number): string {
  const plain = command.replace(/^taskset (?:-c |--cpu-list )?\S+ /, '');
  return plain.replaceAll(new RegExp(`(?<![\\d.])${String(size).replace('.', '\\.')}(?![\\d.])`, 'g'), '{size}');
}
