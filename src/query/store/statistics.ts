import { greatest, smallest } from '../../base/extremes.ts';
import { compareKeys } from '../../recording/read/arrange.ts';
import { counted, isOlder } from '../../recording/read/process-part.ts';
import { cpuColumns, MOST_PROCESSES } from '../../recording/sealed/measure.ts';
import type { SeriesStatistics, Statistics, TableStatistics } from '../../recording/sealed/statistics.ts';
import type { Column, Table } from '../../table/table.ts';
import { columnsByMetric, keysOf, sampleOf, unstored } from './columns.ts';
import type { Asked, Told } from './questions.ts';

/** Texts of a series, and when they were said last. */
export interface ToldTexts {
  keys: Record<string, string>;
  texts: Record<string, string>;
  time: number;
}

/** What the store said of a table on one node, in the form that files give. `began`: when that node began to be recorded. */
export function statisticsOf(
  asked: Asked,
  columns: readonly Told[],
  infos: readonly ToldTexts[],
  began = Number.NaN,
): TableStatistics | undefined {
  const { table } = asked;
  const byMetric = columnsByMetric(table);
  const groups = Map.groupBy(columns, ({ labels }) => JSON.stringify(Object.values(keysOf(table, labels))));
  if (groups.size === 0) return undefined;
  let rows = 0;
  const all = [...groups.values()].map((group) => {
    const found = seriesOf(asked, group, byMetric, infos);
    rows += found.samples;
    // as from files: a part between two samples has none of its own
    return group.every(({ values }) => values.has('alone')) ? { ...found, samples: 0 } : found;
  });
  const names = table.keys.map((key) => key.name);
  all.sort((a, b) => {
    for (const name of names) {
      const difference = compareKeys(a.keys[name]!, b.keys[name]!);
      if (difference !== 0) return difference;
    }
    return 0;
  });
  return {
    table: table.name,
    rows,
    start: smallest(all.map(({ start }) => start)),
    end: greatest(all.map(({ end }) => end)),
    series: busiest(table, all, began),
    series_total: all.length,
  };
}

/** Of too many processes those with the most CPU time, as from files. */
function busiest(table: Table, all: SeriesStatistics[], began: number): SeriesStatistics[] {
  const names = cpuColumns(table);
  if (all.length <= MOST_PROCESSES || names.length === 0) return all;
  const spent = ({ keys, columns }: SeriesStatistics): number => {
    const older = isOlder(Number(keys.start) * 1000, began);
    return names.reduce((sum, name) => sum + ((columns[name] && counted(columns[name], older)) ?? 0), 0);
  };
  const chosen = new Set([...all].sort((a, b) => spent(b) - spent(a)).slice(0, MOST_PROCESSES));
  return all.filter((one) => chosen.has(one));
}

function seriesOf(
  asked: Asked,
  group: readonly Told[],
  byMetric: ReadonlyMap<string, Column>,
  infos: readonly ToldTexts[],
): SeriesStatistics {
  const { table } = asked;
  const keys = keysOf(table, group[0]!.labels);
  const at = (told: Told, what: string): number => told.values.get(what) ?? Number.NaN;
  const start = smallest(group.map(({ values }) => spanOf(values)[0])) * 1e6;
  const end = greatest(group.map(({ values }) => spanOf(values)[1])) * 1e6;
  const samples = greatest(group.map((told) => at(told, 'count_over_time')));
  const found: SeriesStatistics = { keys, start, end, samples, texts: {}, columns: {} };
  // what was said later counts, what was left empty does not
  const said = infos.filter((info) => table.keys.every(({ name }) => info.keys[name] === keys[name]));
  for (const { texts } of said.sort((a, b) => a.time - b.time)) Object.assign(found.texts, texts);
  const order = [...byMetric.keys()];
  const place = (told: Told): number => order.indexOf(told.labels.__name__!);
  for (const told of [...group].sort((a, b) => place(a) - place(b))) {
    const column = byMetric.get(told.labels.__name__!);
    if (column !== undefined) found.columns[column.name] = columnOf(asked, column, told.values, found);
  }
  return found;
}

type Values = ReadonlyMap<string, number>;

/** The time that a column is known in, in epoch seconds: from its first to its last sample, or the edges of the part beside these. */
function spanOf(values: Values): [from: number, to: number] {
  const at = (edge: string, sample: string): number => values.get(edge) ?? values.get(sample) ?? Number.NaN;
  return [at('edge_from', 'tfirst_over_time'), at('edge_to', 'tlast_over_time')];
}

function columnOf(asked: Asked, column: Column, values: Values, series: SeriesStatistics): Statistics {
  const at = (what: string): number => values.get(what) ?? Number.NaN;
  const real = (what: string): number => unstored(column, at(what));
  // a level between two samples need not be whole
  const isBetween = values.has('alone') && column.kind !== 'counter';
  const sample = (what: string): number => (isBetween ? real(what) : sampleOf(column, at(what)));
  const sparse = asked.table.sparse === true;
  const count = at('count_over_time');
  const [first, max] = [sample('first_over_time'), sample('max_over_time')];
  const integral = areaOf(asked, values, series);
  const held = series.end / 1e6 - at('tfirst_over_time');
  const weighted = sparse && held > 0;
  const found: Statistics = {
    count,
    missing: series.samples - count,
    first,
    last: sample('last_over_time'),
    min: sample('min_over_time'),
    max,
    // of several samples with this value the store names the last
    max_time: Math.round(at(max === first ? 'tfirst_over_time' : 'tmax_over_time') * 1e6),
    mean: weighted ? unstored(column, integral / held) : real('avg_over_time'),
    deviation: real(weighted && values.has('held_stddev') ? 'held_stddev' : 'stddev_over_time'),
    ...(quantilesOf(values, real) ?? { p05: first, p25: first, p50: first, p75: first, p95: first }),
  };
  if (column.kind !== 'counter') {
    const time = (milliseconds(at('tlast_over_time')) - milliseconds(at('tfirst_over_time'))) / 1000;
    const mean =
      weighted || values.has('alone')
        ? found.mean
        : meanLevel(found, unstored(column, heldUntilNext(asked, values)), time);
    return { ...found, mean, integral: unstored(column, integral) };
  }
  return { ...found, ...growthOf(column, values, asked) };
}

/** undefined: too short for a grid, so there was one value. */
function quantilesOf(
  values: Values,
  real: (what: string) => number,
): Pick<Statistics, 'p05' | 'p25' | 'p50' | 'p75' | 'p95'> | undefined {
  if (!values.has('0.5')) return undefined;
  return { p05: real('0.05'), p25: real('0.25'), p50: real('0.5'), p75: real('0.75'), p95: real('0.95') };
}

/** Area under the values, in the store's unit × seconds. */
function areaOf(asked: Asked, values: Values, series: SeriesStatistics): number {
  const at = (what: string): number => values.get(what) ?? Number.NaN;
  const [first, last] = [at('tfirst_over_time'), at('tlast_over_time')];
  const count = at('count_over_time');
  const edges = values.get('edge_area') ?? 0;
  if (values.has('alone')) return edges;
  const area = heldUntilNext(asked, values);
  if (asked.table.sparse === true && values.has('before')) return heldArea(values, series, area);
  if (asked.table.sparse === true) return area + at('last_over_time') * (series.end / 1e6 - last);
  // trapezoids are half a step higher where values rise
  const step = count > 1 ? (last - first) / (count - 1) : 0;
  return area + edges + ((at('last_over_time') - at('first_over_time')) * step) / 2;
}

/** A store's moments are whole milliseconds, which seconds since 1970 have only nearly. */
const milliseconds = (seconds: number): number => Math.round(seconds * 1000);

/** The same where each value holds until the next one, without the last. */
function heldUntilNext({ table, from, to }: Asked, values: Values): number {
  const at = (what: string): number => values.get(what) ?? Number.NaN;
  // integrate() holds the last one until the window ends, and what was before it from its beginning
  const [first, last] = [milliseconds(at('tfirst_over_time')), milliseconds(at('tlast_over_time'))];
  const area = at('integrate') - (at('last_over_time') * (to - last)) / 1000;
  const before = values.get('before');
  if (table.sparse === true || before === undefined) return area;
  return area - (before * (first - from + 1)) / 1000;
}

/** integrate() sees what held when the window began only if it was not long before: the grid tells whether it did. */
function heldArea(values: Values, series: SeriesStatistics, area: number): number {
  const at = (what: string): number => values.get(what) ?? Number.NaN;
  const from = at('tfirst_over_time');
  if (!values.has('tfirst_inside')) return at('before') * (series.end / 1e6 - from);
  const about = at('held_avg') * (series.end / 1e6 - from);
  const more = area + at('before') * (at('tfirst_inside') - from);
  return Math.abs(more - about) < Math.abs(area - about) ? more : area;
}

/** As `measureGrowth` has it of a recording. */
function growthOf(
  column: Column,
  values: Values,
  { every, confined, table: { sparse } }: Asked,
): Pick<Statistics, 'increase' | 'rate'> {
  const at = (what: string): number => values.get(what) ?? Number.NaN;
  const real = (what: string): number => unstored(column, at(what));
  const inside = at('count_over_time') > 1 ? (values.get('increase') ?? 0) : 0;
  const more = (values.get('increase_before') ?? 0) + (values.get('edge_increase') ?? 0);
  const increase = sampleOf(column, inside + more);
  const [from, to] = spanOf(values);
  const seconds = to - from;
  // by a single sample nobody knows how much it grew
  if (confined && sparse !== true && !(seconds > 0)) return {};
  const mean = increase / seconds;
  const one = values.has('alone') || !values.has('rate_max');
  const between = at('tlast_over_time') - at('tfirst_over_time');
  const isLong = between * 2000 >= every;
  const hasEdges = values.has('edge_from') || values.has('edge_to');
  if (!(seconds > 0) || (one && (sparse || !(isLong || hasEdges))) || (sparse && !isLong)) return { increase };
  const only = isLong && hasEdges ? unstored(column, inside / between) : mean;
  const [min, max] = one ? [only, only] : [real('rate_min'), real('rate_max')];
  const edges = one ? [] : ['begin', 'end'].filter((edge) => values.has(`${edge}_max`));
  const lowest = Math.min(min, mean, ...edges.map((edge) => real(`${edge}_min`)));
  const highest = Math.max(max, mean, ...edges.map((edge) => real(`${edge}_max`)));
  const peak = edges.find((edge) => real(`${edge}_max`) === highest && highest > max) ?? 'rate';
  const usual = (what: string): number => (!one && values.has(what) ? Math.min(max, Math.max(min, real(what))) : max);
  return {
    increase,
    rate: {
      min: lowest,
      max: highest,
      max_time: Math.round((one ? to : at(`${peak}_tmax`)) * 1e6),
      mean,
      p05: usual('rate_0.05'),
      p50: usual('rate_0.5'),
      p95: usual('rate_0.95'),
    },
  };
}

/**
 * The mean of a level by time, as samples are not equally far apart: each holds until the next one, the last for a mean
 * step. `area` is what lies under them without the last, in the unit of `time`, which is from the first to the last.
 */
function meanLevel(
  { count, min, max, mean, last }: Pick<Statistics, 'count' | 'min' | 'max' | 'mean' | 'last'>,
  area: number,
  time: number,
): number {
  // equal values have that mean to the last digit
  if (min === max) return min;
  if (!(time > 0)) return mean;
  const step = time / (count - 1);
  return (area + last * step) / (time + step);
}
