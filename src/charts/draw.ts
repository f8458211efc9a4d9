import { stated } from '../base/stated.ts';
import type { Material, NodeMaterial } from '../query/material.ts';
import { firstCurve, hasOneValue } from '../query/series/first-curve.ts';
import { inMinutes } from '../query/series/from-overview.ts';
import type { ColumnSeries } from '../query/series/series.ts';
import { hasOwnCgroup } from '../query/use/cpu-total.ts';
import { type Curve, placeAfter } from '../query/use/curve.ts';
import { memoryTruthOf } from '../query/use/memory.ts';
import { useOf } from '../query/use/use.ts';
import { byName } from '../recording/folder/open.ts';
import { type ChartSource, type ColumnSource, JOB_CHARTS, type JobChart, type UseSource } from './job-charts.ts';
import { hasRanks, rankSeries } from './rank-chart.ts';

/** What is drawn: steps of equal length, and in each of them the least, mean and greatest value of every series. NaN: none. */
export interface Drawing {
  chart: JobChart;
  source: ChartSource;
  /** When the first step begins, and how long each is; microseconds. */
  from: number;
  step: number;
  steps: number;
  series: DrawnSeries[];
  /** What every series is held to, where that is the same for all. */
  limit?: number;
}

export interface DrawnSeries {
  node: string;
  /** The value of the chart's key (`0` of GPU 0). */
  key?: string;
  /** What people call it, where that is not its key. */
  name?: string;
  min: Float64Array;
  mean: Float64Array;
  max: Float64Array;
}

/** Which part of the time, in epoch microseconds, and in about how many steps. */
export interface DrawOptions {
  from?: number;
  to?: number;
  points?: number;
  /** Microseconds, in place of `points`. */
  step?: number;
  node?: string;
}

const USUAL_POINTS = 300;

/** Draws a chart of a job; undefined: nothing of it was recorded. */
export function draw(material: Material, chart: JobChart, options: DrawOptions = {}): Drawing | undefined {
  const drawn = (source: ChartSource): Drawing | undefined => {
    const drawing = drawSource(material, chart, source, options);
    return drawing === undefined || drawing.series.length === 0 ? undefined : drawing;
  };
  const isDot = ({ series, steps }: Drawing): boolean => steps > 2 && series.every(({ mean }) => hasOneValue(mean));
  return firstCurve(chart.sources, drawn, isDot);
}

function drawSource(
  material: Material,
  chart: JobChart,
  source: ChartSource,
  options: DrawOptions,
): Drawing | undefined {
  if ('ranks' in source) return drawRanks(material, chart, source, options);
  return 'use' in source ? drawUse(material, chart, source, options) : drawColumn(material, chart, source, options);
}

/** Whether there is anything to draw that no other chart of the job shows, without drawing it. */
export function hasChart(material: Material, chart: JobChart): boolean {
  const first = chart.sources.find((source) => {
    if ('ranks' in source) return hasRanks(material);
    return 'use' in source ? hasUse(material, source) : hasColumn(material, source);
  });
  if (first === undefined) return false;
  return !JOB_CHARTS.some(({ id, sources }) => id !== chart.id && sources.length === 1 && sources[0] === first);
}

/** Processes are sampled every so many seconds at least. */
const PROCESS_SECONDS = 10;

function drawRanks(material: Material, chart: JobChart, source: ChartSource, options: DrawOptions): Drawing {
  const [from, to] = extentOf(material, options);
  const least = Math.max(1, Math.floor((to - from) / (PROCESS_SECONDS * 1e6)));
  const points = Math.min(options.points ?? USUAL_POINTS, stepsOf(material, to - from), least);
  const step = Math.max(1, Math.ceil((to - from) / points));
  const begin = Math.floor(from / step) * step;
  const steps = Math.max(1, Math.ceil((to - begin) / step));
  const selection = { from, to, begin, step, steps, ...(options.node === undefined ? {} : { node: options.node }) };
  return { chart, source, from: begin, step, steps, series: rankSeries(material, selection) };
}

function hasUse(material: Material, { use }: UseSource): boolean {
  return material.sampled !== undefined && material.nodes.some((node) => useOf(material, node, use) !== undefined);
}

/** Whether a node has the column, and rows that are wanted; all of its values may still be missing. */
function hasColumn({ nodes }: Material, { column, keys = {}, without = {}, own }: ColumnSource): boolean {
  const [wanted, unwanted] = [Object.entries(keys), Object.entries(without)];
  const isIn = ({ tables, agent }: NodeMaterial): boolean => {
    if (!tables.has(column.table)) return false;
    // an agent describes what it writes itself, not what the monitor of a Dask cluster writes beside it
    const described = agent?.tables.find(({ name }) => name === column.table);
    return described === undefined || described.columns.some(({ name }) => name === column.name);
  };
  return nodes.some(
    (node) =>
      isIn(node) &&
      (own !== true || hasOwnCgroup(node)) &&
      node.tables
        .get(column.table)!
        .series.some(
          (one) =>
            wanted.every(([key, value]) => one.keys[key] === value) &&
            !unwanted.some(([key, value]) => one.keys[key] === value),
        ),
  );
}

/** From when to when a job is drawn: all of it, as far as anything is known. */
export function extentOf({ job, now, nodes }: Material, { from, to }: DrawOptions = {}): [from: number, to: number] {
  const begin = from ?? job.start;
  const lasts = nodes.flatMap(({ agent }) => agent?.last_sample ?? []);
  // of a job whose record is damaged nobody knows the end: it does not run
  const end = job.end ?? (job.state === 'running' || lasts.length === 0 ? now : Math.max(...lasts));
  return [begin, Math.max(begin + 1, to ?? end)];
}

function drawUse(material: Material, chart: JobChart, source: UseSource, options: DrawOptions): Drawing | undefined {
  if (material.sampled === undefined) return undefined;
  const whole = material.sampled();
  const [from, to] = extentOf(material, options);
  const steps = Math.min(options.points ?? USUAL_POINTS, stepsOf(material, to - from));
  const step = (to - from) / steps;
  const drawn = whole.nodes.filter(({ node }) => options.node === undefined || options.node === node);
  const look = lookOf(material, to - from, drawn.length);
  const series = drawn.flatMap((node): DrawnSeries[] => {
    const curve = useOf(whole, node, source.use)?.curve;
    if (curve === undefined) return [];
    const rates = ratesOf(curve, from, step, steps, look);
    // clocks of nodes and counters differ by a little
    const top = source.use === 'CPU' ? (node.agent?.facts.cpus ?? Number.NaN) : Number.NaN;
    if (top > 0 && rates.max !== rates.mean)
      rates.max = rates.max.map((value, i) => (value > top ? Math.max(top, rates.mean[i]!) : value));
    return [{ node: node.node, ...rates }];
  });
  return { chart, source, from, step, steps, series };
}

/** All nodes together are looked at so often: a day of many nodes is not looked at each second, or it would take several. */
const MOST_LOOKS = 1_000_000;

/** Microseconds from one look at the rates within a step to the next: from one sample to the next, where there are not too many. */
function lookOf(material: Material, length: number, nodes: number): number {
  const interval = intervalOf(material);
  return interval * Math.max(1, Math.ceil((length / interval) * (nodes / MOST_LOOKS)));
}

/** Not more steps than samples: between two of them nothing is known. */
const stepsOf = (material: Material, length: number): number => Math.max(1, Math.floor(length / intervalOf(material)));

/** Microseconds between samples. */
const intervalOf = ({ job, nodes }: Material): number =>
  (job.interval_seconds || nodes[0]?.agent?.interval_seconds || 1) * 1e6;

/** What was used in each step, for each second of it: on average, and in the look at it that saw least and most. */
function ratesOf(curve: Curve, from: number, step: number, steps: number, look: number): Omit<DrawnSeries, 'node'> {
  const mean = new Float64Array(steps).fill(Number.NaN);
  // mostly a step begins where the one before it ended
  let [reached, used] = [Number.NaN, Number.NaN];
  for (let i = 0; i < steps; i++) {
    const [first, last] = [curve.next(from + i * step), curve.previous(from + (i + 1) * step)];
    if (!(last > first)) continue;
    const before = first === reached ? used : curve.at(first);
    [reached, used] = [last, curve.at(last)];
    mean[i] = ((used - before) / (last - first)) * 1e6;
  }
  return step < 2 * look ? { min: mean, mean, max: mean } : { mean, ...extremesOf(curve, { from, step, look }, mean) };
}

/** Between two samples, and what is left out of them: a spike of one sample is not lost in the mean of its step. */
function extremesOf(
  curve: Curve,
  { from, step, look }: { from: number; step: number; look: number },
  mean: Float64Array,
): Pick<DrawnSeries, 'min' | 'max'> {
  const [min, max] = [mean.slice(), mean.slice()];
  const { moments = [] } = curve;
  const to = Math.min(from + step * mean.length, curve.to);
  let at = placeAfter(moments, Math.max(from, curve.from) - 1);
  let [begin, before] = [Number.NaN, Number.NaN];
  for (; at < moments.length && moments[at]! <= to; at++) {
    const end = moments[at]!;
    // the last sample of a job may come at once after the one before it
    if (end - begin < look / 2) continue;
    const used = curve.at(end);
    const middle = (begin + end) / 2;
    const i = Math.floor((middle - from) / step);
    const rate = ((used - before) / (end - begin)) * 1e6;
    if (curve.next(middle) === middle) {
      if (rate < min[i]!) min[i] = rate;
      else if (rate > max[i]!) max[i] = rate;
    }
    [begin, before] = [end, used];
  }
  return { min, max };
}

function drawColumn(
  material: Material,
  chart: JobChart,
  source: ColumnSource,
  options: DrawOptions,
): Drawing | undefined {
  const { column, keys, without = {}, from: whole, factor = 1 } = source;
  const { series: ask } = material;
  if (ask === undefined) return undefined;
  const [from, to] = extentOf(material, options);
  const points = Math.min(options.points ?? USUAL_POINTS, stepsOf(material, to - from));
  const step = options.step ?? inMinutes(Math.max(1, Math.ceil((to - from) / points)));
  const selection = { from, to, step, ...(options.node === undefined ? {} : { node: options.node }) };
  const unwanted = Object.entries(without);
  const owned = (name: string): boolean =>
    source.own !== true || material.nodes.some((each) => each.node === name && hasOwnCgroup(each));
  const drawnSeries = ask(column, { ...selection, ...(keys === undefined ? {} : { keys }) }).filter(
    (one) => owned(one.node) && !unwanted.some(([key, value]) => one.keys[key] === value),
  );
  const wholes = whole === undefined ? [] : ask(whole, selection);
  const begin = Math.floor(from / step) * step;
  const steps = Math.max(1, Math.ceil((to - begin) / step));
  const drawn = drawnSeries.map((one): DrawnSeries => {
    const held = source.sum === true ? HOLDS : 0;
    const values = onGrid(one, begin, step, steps, factor, held);
    const of = wholes.find(({ node }) => node === one.node);
    const key =
      chart.key === undefined ? {} : { key: keyOf(one.keys, chart.key), ...nameOf(material, one.keys, chart.key) };
    const rest = of === undefined ? values : lessThan(onGrid(of, begin, step, steps, factor, 0), values);
    return { node: one.node, ...key, ...(chart.top === undefined ? rest : upTo(rest, chart.top)) };
  });
  const series = source.sum === true ? upToPeaks(material, summed(drawn, steps)) : byNames(drawn);
  const isSome = ({ mean }: DrawnSeries): boolean => mean.some((value) => !Number.isNaN(value));
  const limit = chart.limit === undefined ? undefined : sameValue(ask(chart.limit, selection));
  return { chart, source, from: begin, step, steps, series: series.filter(isSome), ...stated({ limit }) };
}

/** The one value that all series have all the time. */
function sameValue(series: readonly ColumnSeries[]): number | undefined {
  const values = new Set(series.flatMap(({ min, max }) => [...min, ...max].filter((value) => !Number.isNaN(value))));
  return values.size === 1 ? [...values][0] : undefined;
}

const keyOf = (keys: Readonly<Record<string, string>>, names: string): string =>
  names
    .split(' ')
    .map((name) => keys[name] ?? '')
    .join(' ');

/** Workers of Dask have names; one that was restarted has the name of the one before it, and both have their address, too. */
function nameOf({ dask, whole }: Material, keys: Readonly<Record<string, string>>, names: string): { name?: string } {
  const { worker } = keys;
  if (worker === undefined || !names.split(' ').includes('worker')) return {};
  const workers = ((whole?.dask ?? dask)?.()?.uses ?? []).flatMap((use) => [...use.workers.values()]);
  const name = workers.find((each) => each.worker === worker)?.name ?? '';
  if (name === '' || name === worker) return {};
  const isAlone = workers.filter((each) => each.name === name).length === 1;
  return { name: keyOf({ ...keys, worker: isAlone ? `worker ${name}` : `worker ${name} (${worker})` }, names) };
}

const byNames = (series: DrawnSeries[]): DrawnSeries[] =>
  series.some(({ name }) => name !== undefined) ? series.sort((a, b) => byName(a.name ?? '', b.name ?? '')) : series;

/** A process that changes nothing is written again after a minute at the latest: until then what was last written holds. */
const HOLDS = 61e6;

/** The series of each node added up. */
const summed = (series: readonly DrawnSeries[], steps: number): DrawnSeries[] =>
  [...Map.groupBy(series, ({ node }) => node)].map(([node, all]) => {
    const sum = (of: keyof Values): Float64Array => {
      const total = new Float64Array(steps).fill(Number.NaN);
      for (const { [of]: values } of all)
        for (let i = 0; i < steps; i++) if (!Number.isNaN(values[i]!)) total[i] = (total[i] || 0) + values[i]!;
      return total;
    };
    return { node, min: sum('min'), mean: sum('mean'), max: sum('max') };
  });

/** Processes that came one after the other in a step were not there together: all are not more than those that were. */
function upToPeaks(material: Material, series: readonly DrawnSeries[]): DrawnSeries[] {
  return series.map(({ node: name, min, mean, max }) => {
    const node = material.nodes.find((each) => each.node === name);
    const peak = (node && memoryTruthOf(material, node).process_peaks_sum) ?? Number.POSITIVE_INFINITY;
    return { node: name, ...upTo({ min, mean, max }, peak) };
  });
}

type Values = Pick<DrawnSeries, 'min' | 'mean' | 'max'>;

/** `held`: for so long a value stands for steps without one, up to the last value. */
function onGrid(one: ColumnSeries, begin: number, step: number, steps: number, factor: number, held: number): Values {
  const empty = (): Float64Array => new Float64Array(steps).fill(Number.NaN);
  const values = { min: empty(), mean: empty(), max: empty() };
  let last = -1;
  for (const [i, time] of one.time.entries()) {
    const at = Math.round((time - begin) / step);
    if (at < 0 || at >= steps) continue;
    if (last >= 0 && (at - last) * step <= held)
      for (const each of ['min', 'mean', 'max'] as const) values[each].fill(values.mean[last]!, last + 1, at);
    values.min[at] = one.min[i]! * factor;
    values.mean[at] = one.mean[i]! * factor;
    values.max[at] = one.max[i]! * factor;
    last = at;
  }
  return values;
}

/** Clocks of nodes and counters differ by a little: 101 % of the time is all of it. A gap stays one. */
const upTo = ({ min, mean, max }: Values, top: number): Values => {
  const held = (values: Float64Array): Float64Array => values.map((value) => Math.min(value, top));
  return { min: held(min), mean: held(mean), max: held(max) };
};

const lessThan = (whole: Values, portion: Values): Values => ({
  min: whole.mean.map((value, i) => value - portion.max[i]!),
  mean: whole.mean.map((value, i) => value - portion.mean[i]!),
  max: whole.mean.map((value, i) => value - portion.min[i]!),
});

/** All series in one: the least, mean and greatest of them in each step, and their sum. */
export function bandOf({ series, steps }: Drawing): Values & { sum: Float64Array } {
  const empty = (): Float64Array => new Float64Array(steps).fill(Number.NaN);
  const band = { min: empty(), mean: empty(), max: empty(), sum: empty() };
  for (let i = 0; i < steps; i++) {
    let [count, sum, least, most] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const { min, mean, max } of series) {
      if (Number.isNaN(mean[i]!)) continue;
      count++;
      sum += mean[i]!;
      least = Math.min(least, min[i]!);
      most = Math.max(most, max[i]!);
    }
    if (count === 0) continue;
    band.min[i] = least;
    band.max[i] = most;
    band.mean[i] = sum / count;
    band.sum[i] = sum;
  }
  return band;
}
