import type { SeriesStatistics, Statistics } from './statistics.ts';
import type { StatisticsFile } from './statistics-file.ts';

/**
 * Statistics as they are in a file: a line of JSON for the table and its series, then one for each column, so that whoever
 * needs a few columns parses no others. A value that all series have in common stands there once, else there is one for each.
 */
type Packed<T> = T | readonly T[];

interface Head extends Omit<StatisticsFile, 'series'> {
  series: {
    count: number;
    keys: Record<string, Packed<string>>;
    start: Packed<number>;
    end: Packed<number>;
    samples: Packed<number>;
    /** null: none. */
    texts: Record<string, Packed<string | null>>;
  };
  /** Their names, in the order of the lines below. */
  columns: string[];
}

/** Figures that are left out where all series have them as `min`: most columns of most recordings never change. */
const AS_MIN = ['first', 'last', 'max', 'mean'] as const;
const PERCENTILES = ['p05', 'p25', 'p50', 'p75', 'p95'] as const;
const RATE_PERCENTILES = ['p05', 'p50', 'p95'] as const;
type Rate = NonNullable<Statistics['rate']>;
type Figure = Exclude<keyof Statistics, 'rate'>;

/** `of`: the places of the series that have it, where not all have. Of two lines, the first one says so. */
type Line<K extends string> = { [N in K]?: Packed<number> } & { of?: readonly number[] };
type ColumnLine = Line<Figure> & { column: string; rate?: Line<keyof Rate> };

export function statisticsText({ series, ...rest }: StatisticsFile): string {
  const names = (of: 'keys' | 'texts' | 'columns'): string[] => [
    ...new Set(series.flatMap((each) => Object.keys(each[of]))),
  ];
  const all = <T>(value: (each: SeriesStatistics) => T): Packed<T> => packed(series.map(value));
  const columns = names('columns');
  const head: Head = {
    ...rest,
    series: {
      count: series.length,
      keys: Object.fromEntries(names('keys').map((key) => [key, all(({ keys }) => keys[key]!)])),
      start: all(({ start }) => start),
      end: all(({ end }) => end),
      samples: all(({ samples }) => samples),
      texts: Object.fromEntries(names('texts').map((name) => [name, all(({ texts }) => texts[name] ?? null)])),
    },
    columns,
  };
  const lines = columns.map((name) => linesOf(series, name));
  const text = [head, ...lines.map(([figures]) => figures), ...lines.map(([, spread]) => spread)];
  return `${text.map((line) => JSON.stringify(line)).join('\n')}\n`;
}

function packed<T>(values: readonly T[]): Packed<T> {
  const [first] = values;
  return values.length > 0 && values.every((value) => Object.is(value, first)) ? first! : values;
}

/** The lines of a column: its figures, and how they are spread. */
function linesOf(series: readonly SeriesStatistics[], column: string): [ColumnLine, ColumnLine] {
  const own = series.filter(({ columns }) => columns[column] !== undefined);
  const all = own.map(({ columns }) => columns[column]!);
  const figures: ColumnLine = { column, ...placesOf(series, own) };
  const spread: ColumnLine = { column };
  const put = (line: ColumnLine, name: Figure, usual: (each: Statistics, i: number) => number | undefined): void => {
    const isUsual = all.every((each, i) => Object.is(each[name], usual(each, i)));
    if (!isUsual) line[name] = packed(all.map((each) => each[name]!));
  };
  put(figures, 'count', (_, i) => own[i]!.samples);
  put(figures, 'missing', () => 0);
  put(figures, 'min', () => undefined);
  for (const name of AS_MIN) put(figures, name, ({ min }) => min);
  put(figures, 'max_time', (_, i) => own[i]!.start);
  put(figures, 'integral', () => undefined);
  put(figures, 'increase', () => undefined);
  put(spread, 'deviation', () => 0);
  for (const name of PERCENTILES) put(spread, name, ({ min }) => min);
  const rated = own.filter(({ columns }) => columns[column]!.rate !== undefined);
  if (rated.length === 0) return [figures, spread];
  const rates = rated.map(({ columns }) => columns[column]!.rate!);
  const rate = (names: readonly (keyof Rate)[]): Line<keyof Rate> =>
    Object.fromEntries(
      names
        .filter((name) => name === 'min' || rates.some((each) => !Object.is(each[name], each.min)))
        .map((name) => [name, packed(rates.map((each) => each[name]))]),
    );
  return [
    { ...figures, rate: { ...placesOf(series, rated), ...rate(['min', 'max', 'max_time', 'mean']) } },
    { ...spread, rate: rate(RATE_PERCENTILES) },
  ];
}

const placesOf = (series: readonly SeriesStatistics[], own: readonly SeriesStatistics[]): { of?: number[] } =>
  own.length === series.length ? {} : { of: own.map((each) => series.indexOf(each)) };

/** What somebody needs of the columns. */
export interface WantedFigures {
  /** Only these columns. */
  columns?: ReadonlySet<string>;
  /** Of these also how their values are spread; of others, deviations and percentiles are NaN. */
  spread?: ReadonlySet<string>;
}

/** What `statisticsText` made; undefined when it is damaged. */
export function parseStatistics(text: string, wanted: WantedFigures = {}): StatisticsFile | undefined {
  const lines = text.split('\n');
  const { series: packed, columns, ...rest } = JSON.parse(lines[0]!) as Head;
  const { count, keys, start, end, samples, texts } = packed;
  const isNumbers = (values: unknown): boolean => isPacked(values, count, isNumber);
  const isTexts = (values: unknown): boolean => isPacked(values, count, isText);
  // each series has keys of its own: there are no more of them than bytes
  if (!Number.isSafeInteger(count) || count > text.length || lines.length !== 2 * columns.length + 2) return undefined;
  if (![start, end, samples].every(isNumbers) || ![keys, texts].every((all) => Object.values(all).every(isTexts)))
    return undefined;
  const series = Array.from({ length: count }, (_, i): SeriesStatistics => {
    const own: SeriesStatistics = {
      ...{ keys: {}, start: at(start, i), end: at(end, i), samples: at(samples, i), texts: {}, columns: {} },
    };
    for (const key in keys) own.keys[key] = at(keys[key]!, i);
    for (const name in texts) {
      const value = at(texts[name]!, i);
      if (value !== null) own.texts[name] = value;
    }
    return own;
  });
  for (const [i, name] of columns.entries()) {
    if (wanted.columns?.has(name) === false) continue;
    const figures = JSON.parse(lines[i + 1]!) as ColumnLine;
    const isSpread = wanted.spread?.has(name) !== false;
    const spread = isSpread ? (JSON.parse(lines[columns.length + i + 1]!) as ColumnLine) : undefined;
    if (figures.column !== name || (spread ?? figures).column !== name) return undefined;
    if (!addColumn(series, figures, spread)) return undefined;
  }
  return { ...rest, series };
}

const { NaN: no } = Number;
/** Stands for a line that nobody wants. */
const NOT_WANTED: Line<Figure> = { deviation: no, p05: no, p25: no, p50: no, p75: no, p95: no };
const NO_RATES: Line<keyof Rate> = { p05: no, p50: no, p95: no };

const at = <T>(values: Packed<T>, i: number): T => (Array.isArray(values) ? values[i] : values) as T;

function isPacked(values: unknown, count: number, is: (value: unknown) => boolean): boolean {
  if (!Array.isArray(values)) return is(values);
  if (values.length !== count) return false;
  for (let i = 0; i < count; i++) if (!is(values[i])) return false;
  return true;
}

/** JSON makes null of what is no number. */
const isNumber = (value: unknown): boolean => typeof value === 'number' || value === null;
const isText = (value: unknown): boolean => typeof value === 'string' || value === null;

/** Puts a column into the series that have it; false: its lines are damaged. */
function addColumn(series: readonly SeriesStatistics[], figures: ColumnLine, spread?: ColumnLine): boolean {
  const { column, count, missing = 0, min, max_time, integral, increase, rate } = figures;
  const own = placed(series, figures.of);
  if (own === undefined || min === undefined) return false;
  if (!isLine(figures, own.length) || (spread !== undefined && !isLine(spread, own.length))) return false;
  const { first = min, last = min, max = min, mean = min } = figures;
  const { deviation = 0, p05 = min, p25 = min, p50 = min, p75 = min, p95 = min } = spread ?? NOT_WANTED;
  for (let i = 0; i < own.length; i++) {
    const { samples, start, columns } = own[i]!;
    const statistics: Statistics = {
      count: count === undefined ? samples : at(count, i),
      missing: at(missing, i),
      first: at(first, i),
      last: at(last, i),
      min: at(min, i),
      max: at(max, i),
      max_time: max_time === undefined ? start : at(max_time, i),
      mean: at(mean, i),
      deviation: at(deviation, i),
      p05: at(p05, i),
      p25: at(p25, i),
      p50: at(p50, i),
      p75: at(p75, i),
      p95: at(p95, i),
    };
    if (integral !== undefined) statistics.integral = at(integral, i);
    if (increase !== undefined) statistics.increase = at(increase, i);
    columns[column] = statistics;
  }
  return rate === undefined || addRates(series, column, rate, spread === undefined ? NO_RATES : (spread.rate ?? {}));
}

function addRates(
  series: readonly SeriesStatistics[],
  column: string,
  figures: Line<keyof Rate>,
  spread: Line<keyof Rate>,
): boolean {
  const { of, min } = figures;
  const own = placed(series, of);
  if (own === undefined || min === undefined || own.some(({ columns }) => columns[column] === undefined)) return false;
  if (!isLine(figures, own.length) || !isLine(spread, own.length)) return false;
  const { max = min, max_time = min, mean = min } = figures;
  const { p05 = min, p50 = min, p95 = min } = spread;
  for (let i = 0; i < own.length; i++) {
    own[i]!.columns[column]!.rate = {
      min: at(min, i),
      max: at(max, i),
      max_time: at(max_time, i),
      mean: at(mean, i),
      p05: at(p05, i),
      p50: at(p50, i),
      p95: at(p95, i),
    };
  }
  return true;
}

function placed(
  series: readonly SeriesStatistics[],
  of: readonly number[] | undefined,
): readonly SeriesStatistics[] | undefined {
  if (of === undefined) return series;
  if (!Array.isArray(of) || !of.every((seriesIndex) => series[seriesIndex] !== undefined)) return undefined;
  return of.map((seriesIndex) => series[seriesIndex]!);
}

/** Whether the figures of a line are numbers, one or as many as there are series that have it. */
function isLine(line: Readonly<Record<string, unknown>>, count: number): boolean {
  for (const name in line)
    if (name !== 'column' && name !== 'of' && name !== 'rate' && !isPacked(line[name], count, isNumber)) return false;
  return true;
}
