import type { EChartsOption } from 'echarts';
import { asMarkup } from '../base/markup.ts';
import type { ChartData, ChartSeries } from './chart-data.ts';
import { timeTicks, valueTicks } from './ticks.ts';
import { clockText, dateText, digits, sinceStart, tickText, withUnit } from './value-text.ts';

/*
 * One definition of each chart: the page, the HTML report, files and notebooks draw these. Nothing of Node is used here.
 */

export interface ChartTheme {
  isDark: boolean;
  text: string;
  faint: string;
  line: string;
  background: string;
}

export const LIGHT: ChartTheme = {
  isDark: false,
  text: '#1c2530',
  faint: '#5b6877',
  line: '#dfe4ea',
  background: '#ffffff',
};
export const DARK: ChartTheme = {
  isDark: true,
  text: '#e6ebf1',
  faint: '#9aa7b5',
  line: '#333d49',
  background: '#171c23',
};

/** Okabe and Ito's colours: people who do not see all colours can tell them apart. */
export const COLOURS = ['#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#D55E00', '#8C6BB1', '#7A8793'];
const COLOURS_DARK = ['#4CA6E0', '#F0B43C', '#2CC49A', '#E29BC0', '#8FD0F5', '#FF8348', '#B497D6', '#A5B1BD'];
/** From little to much, the same order of lightness for everybody (cividis). */
export const HEAT = [
  '#00224e',
  '#123570',
  '#3b496c',
  '#575d6d',
  '#707173',
  '#8a8678',
  '#a59c74',
  '#c3b369',
  '#e1cc55',
  '#fee838',
];

/** The colours of a heat map; the darkest ones cannot be seen on a dark page. */
export const heatColours = ({ isDark }: ChartTheme): readonly string[] => (isDark ? HEAT.slice(3) : HEAT);

/** A part of the time with a name: a phase, a step. */
export interface ChartBand {
  name: string;
  from: number;
  to: number;
}

export interface ChartLook {
  theme: ChartTheme;
  /** When the job began: axes count from there. */
  start: number;
  bands?: readonly ChartBand[];
  /** The threshold of a finding that is shown. */
  threshold?: number;
  /** From when to when it is drawn, so that all charts of a page have the same time from left to right (default: as the values are). */
  extent?: readonly [from: number, to: number];
  /** What is drawn from left to right: time since the start, percent of the job's time (a million to each), or dates. */
  across?: 'time' | 'progress' | 'date';
  /** On a small screen: more room for what is drawn, less for what stands beside it. */
  isNarrow?: boolean;
  /** Pixels from left to right: few have fewer times at the axis. */
  width?: number;
}

/** Room around what is drawn: whoever points at a chart needs to know where its time begins. */
export const MARGINS = {
  lines: { left: 70, right: 26, top: 10, bottom: 24 },
  heat: { left: 110, right: 84, top: 50, bottom: 24 },
  narrowHeat: { left: 70, right: 40, top: 50, bottom: 24 },
} as const;

/** A long label does not move what is drawn: the cursor of all charts stands at one place. */
const FIXED = { outerBoundsMode: 'none' } as const;

export const marginsOf = ({ as }: ChartData, isNarrow = false): (typeof MARGINS)[keyof typeof MARGINS] =>
  as !== 'heat' ? MARGINS.lines : isNarrow ? MARGINS.narrowHeat : MARGINS.heat;

/** The option of a chart, in the way that its data asks for. */
export const chartOption = (data: ChartData, look: ChartLook): EChartsOption =>
  data.as === 'heat' ? heatOption(data, look) : linesOption(data, look);

export const stepsOf = (data: ChartData): number => data.band?.mean.length ?? data.series[0]?.mean.length ?? 0;
export const endOf = (data: ChartData): number => data.from + data.step * stepsOf(data);

/** From when to when a chart is drawn. */
export const extentOf = (data: ChartData, { extent }: Pick<ChartLook, 'extent'>): readonly [from: number, to: number] =>
  extent ?? [data.from, endOf(data)];

interface JobTimes {
  start: number;
  /** Not there: the job runs. */
  end?: number | undefined;
  /** What somebody looks at. */
  range?: { from: number; to: number } | undefined;
}

/** From when to when charts of a job are drawn. While it runs each goes as far as its samples, and all begin with the job. */
export function jobExtent(
  { start, end, range }: JobTimes,
  data: ChartData | undefined,
): readonly [from: number, to: number] | undefined {
  const to = range?.to ?? end ?? (data && endOf(data));
  return to === undefined ? undefined : [range?.from ?? start, to];
}

const timesOf = ({ from, step }: ChartData, length: number): number[] =>
  Array.from({ length }, (_, i) => from + (i + 0.5) * step);

/** The same of lines: steps begin before the first moment and end after the last one, and their values are still seen. */
function lineTimes(data: ChartData, look: ChartLook, length: number): number[] {
  const [from, to] = extentOf(data, look);
  return timesOf(data, length).map((time) => Math.min(Math.max(time, from), to));
}

/** The cgroup of the job itself has this name, those of its steps are below it. */
const WHOLE_JOB = '.';

export const seriesName = ({ node, key, name }: { node: string; key?: string | undefined; name?: string }): string => {
  // a worker of Dask need not be on the node that recorded it
  if (name !== undefined) return name;
  return key === undefined ? node : key === WHOLE_JOB ? `${node}, whole job` : `${node} ${key}`;
};

type Series = NonNullable<Extract<EChartsOption['series'], readonly unknown[]>>[number];
type Values = readonly (number | null)[];

/** The colour of the series at this place. */
export const colourOf = ({ isDark }: ChartTheme, i: number): string =>
  (isDark ? COLOURS_DARK : COLOURS)[i % COLOURS.length]!;

/** Which colour the first series has that is asked for by name: it stands in front of the others, which are grey. */
export const FIRST_FOCUSED = 5;

/** Colours come again after some series: those are dashed. */
export const isDashed = (i: number): boolean => i >= COLOURS.length;

/** Lines over time, or a band from the least to the greatest with the mean; what is asked for by name in front. */
function linesOption(data: ChartData, look: ChartLook): EChartsOption {
  const { theme, bands } = look;
  const isBand = data.as === 'band' || data.series.length === 0;
  const isFaint = data.focus !== undefined;
  const series = isBand
    ? bandSeries(data, look)
    : [...rangeBehind(data, look), ...data.series.flatMap((one, i) => lineOf(data, one, i, look, isFaint))];
  for (const [i, one] of (data.focus ?? []).entries())
    series.push(...lineOf(data, one, i + FIRST_FOCUSED, look, false));
  const [first] = series as { markArea?: unknown; markLine?: unknown }[];
  if (first !== undefined && bands !== undefined && bands.length > 0) first.markArea = areas(look);
  const limit = drawnLimit(data, look);
  if (first !== undefined && limit !== undefined) first.markLine = limitLine(limit, data.unit, theme);
  return {
    ...base(theme),
    grid: { ...MARGINS.lines, ...FIXED },
    xAxis: timeAxis(...extentOf(data, look), look),
    yAxis: valueAxis(data, look),
    tooltip: {
      trigger: 'axis',
      ...tooltipLook(theme),
      formatter(all: unknown) {
        const points = (all as { seriesName: string; value: [number, number | null]; color: string }[]).filter(
          ({ seriesName: name }) => !name.startsWith('\0'),
        );
        if (points.length === 0) return '';
        const rows = points
          .filter(({ value }) => value[1] !== null && value[1] !== undefined)
          .sort((a, b) => b.value[1]! - a.value[1]!)
          .slice(0, 10)
          .map(
            ({ seriesName: name, value, color }) =>
              `<span style="color:${color}">●</span> ${asMarkup(name)} <b>${withUnit(value[1], data.unit)}</b>`,
          );
        return [timeText(points[0]!.value[0], look), ...rows].join('<br>');
      },
    },
    series,
  };
}

/** Ranges of more series than this would hide each other: behind them is what the least and the greatest go beyond all means. */
const hasOneRange = ({ series }: ChartData): boolean => series.length > 4;

/** Whether there are spikes in it that the means of steps do not have. */
export const hasRangeBehind = (data: ChartData): boolean =>
  data.as === 'lines' &&
  data.band !== undefined &&
  hasOneRange(data) &&
  data.series.some(({ max }) => max !== undefined);

function rangeBehind(data: ChartData, look: ChartLook): Series[] {
  const { band } = data;
  if (band === undefined || !hasRangeBehind(data)) return [];
  const { faint } = look.theme;
  const times = lineTimes(data, look, band.mean.length);
  const means = times.map((_, i) => data.series.flatMap(({ mean }) => mean[i] ?? []));
  const lowest = means.map((all) => (all.length === 0 ? null : Math.min(...all)));
  const highest = means.map((all) => (all.length === 0 ? null : Math.max(...all)));
  return [...range(times, band.min, lowest, faint, '\0below'), ...range(times, highest, band.max, faint, '\0above')];
}

function timeText(micros: number, { start, across }: ChartLook): string {
  if (across === 'progress') return `${Math.round(micros / 1e6)} % of its time`;
  if (across === 'date') return dateText(micros, true);
  // jobs that are held against each other have no time of day in common
  return start === 0 ? `${sinceStart(micros)} after the start` : `${clockText(micros)} (${sinceStart(micros - start)})`;
}

function lineOf(data: ChartData, one: ChartSeries, i: number, look: ChartLook, isFaint: boolean): Series[] {
  const { theme } = look;
  const color = isFaint ? theme.faint : colourOf(theme, i);
  const times = lineTimes(data, look, one.mean.length);
  const line: Series = {
    type: 'line',
    name: seriesName(one),
    showSymbol: isScarce(one.mean),
    symbolSize: 4,
    lineStyle: {
      width: isFaint ? 0.7 : 1.5,
      opacity: isFaint ? 0.6 : 1,
      color,
      type: isDashed(i) ? 'dashed' : 'solid',
    },
    itemStyle: { color },
    emphasis: { disabled: true },
    data: one.mean.map((value, j) => [times[j]!, value]),
  };
  // a spike of one sample is not lost in the mean of its step
  if (isFaint || one.max === undefined || hasOneRange(data)) return [line];
  return [...range(times, one.min!, one.max, color, `\0${i}`), line];
}

/** A line needs two values beside each other: those that stand alone are dots. */
const isScarce = (values: Values): boolean => {
  const isAlone = (_: unknown, i: number): boolean =>
    values[i] !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null;
  const measured = values.filter((value) => value !== null).length;
  return measured < 3 || values.filter(isAlone).length > measured / 2;
};

function bandSeries(data: ChartData, look: ChartLook): Series[] {
  const { band } = data;
  const { theme } = look;
  if (band === undefined) return [];
  const color = colourOf(theme, 0);
  const times = lineTimes(data, look, band.mean.length);
  const thin = (name: string, values: Values): Series => ({
    type: 'line',
    name,
    showSymbol: isScarce(values),
    symbolSize: 4,
    lineStyle: { width: 0.7, color, opacity: 0.6 },
    itemStyle: { color },
    emphasis: { disabled: true },
    data: values.map((value, i) => [times[i]!, value]),
  });
  return [
    ...range(times, band.min, band.max, color, '\0'),
    thin('maximum', band.max),
    { ...(thin(`mean of ${data.count}`, band.mean) as object), lineStyle: { width: 2, color } } as Series,
    thin('minimum', band.min),
  ];
}

/** The area from the least to the greatest: one invisible line, and the difference stacked on it. */
function range(times: readonly number[], min: Values, max: Values, color: string, stack: string): Series[] {
  const invisible = {
    type: 'line',
    stack,
    showSymbol: false,
    lineStyle: { opacity: 0 },
    silent: true,
    emphasis: { disabled: true },
    stackStrategy: 'all',
  } as const;
  return [
    { ...invisible, name: `\0${stack}low`, data: min.map((value, i) => [times[i]!, value]) },
    {
      ...invisible,
      name: `\0${stack}high`,
      areaStyle: { color, opacity: 0.18 },
      data: max.map((value, i) => [times[i]!, value === null || min[i] === null ? null : value - min[i]!]),
    },
  ];
}

/** Steps that reach beyond the time that is drawn by less than this of it are not cut. */
const OVERLAP = 0.005;
/** Columns of equal width for few steps, of which the first and the last are cut. */
const LEAST_COLUMNS = 200;

/** The step that each column of a heat map shows: cells have equal widths, but steps may begin before the job and end after it. */
export function heatColumns(data: ChartData, look: Pick<ChartLook, 'extent'>): number[] {
  const [from, to] = extentOf(data, look);
  const steps = stepsOf(data);
  const apart = Math.abs(from - data.from) + Math.abs(endOf(data) - to);
  if (apart <= (to - from) * OVERLAP) return Array.from({ length: steps }, (_, i) => i);
  const length = Math.max(LEAST_COLUMNS, steps);
  return Array.from({ length }, (_, i) =>
    Math.floor((from + ((i + 0.5) * (to - from)) / length - data.from) / data.step),
  );
}

/** A row that differs from the middle one by so much of the scale is marked. */
const UNLIKE = 0.1;

/** Time × series, each cell coloured by its mean; above it the mean of all rows, beside it the mean of each. */
function heatOption(data: ChartData, look: ChartLook): EChartsOption {
  const { theme } = look;
  const rows = data.series.map(seriesName);
  const { left, right, top, bottom } = marginsOf(data, look.isNarrow);
  const columns = heatColumns(data, look);
  const values: [number, number, number][] = [];
  for (const [y, { mean }] of data.series.entries())
    for (const [x, step] of columns.entries()) {
      const value = mean[step] ?? null;
      if (value !== null) values.push([x, y, value]);
    }
  const [least, most] = heatScale(data);
  const times = lineTimes(data, look, stepsOf(data));
  const [from, to] = extentOf(data, look);
  const means = rowMeans(data);
  const unlike = unlikeRows(data);
  const colour = colourOf(theme, 0);
  const none = { axisTick: { show: false }, axisLine: { show: false }, splitLine: { show: false } };
  return {
    ...base(theme),
    grid: [
      { left, right, top, bottom, ...FIXED },
      { left, right, top: 6, height: top - 12, ...FIXED },
      { width: Math.round(right * 0.76), right: 10, top, bottom, ...FIXED },
    ],
    xAxis: [
      {
        type: 'category',
        data: columns.map(String),
        axisTick: { show: false },
        axisLine: { lineStyle: { color: theme.line } },
        axisLabel: { show: false },
      },
      { ...timeAxisBase(from, to), ...none, gridIndex: 1, axisLabel: { show: false } },
      { type: 'value', gridIndex: 2, min: least, max: most, ...none, axisLabel: { show: false } },
      // the times: of a scale of their own, as cells have places only
      { ...timeAxis(from, to, look), gridIndex: 0, position: 'bottom' } as object,
    ],
    yAxis: [
      {
        type: 'category',
        data: rows,
        inverse: true,
        axisTick: { show: false },
        axisLine: { show: false },
        axisLabel: { color: theme.faint, fontSize: 10, width: left - 12, overflow: 'truncate' },
      },
      { type: 'value', gridIndex: 1, min: least, max: most, ...none, axisLabel: { show: false } },
      { type: 'category', gridIndex: 2, data: rows, inverse: true, ...none, axisLabel: { show: false } },
    ],
    visualMap: { show: false, min: least, max: most, seriesIndex: 0, inRange: { color: [...heatColours(theme)] } },
    tooltip: {
      ...tooltipLook(theme),
      formatter(one: unknown) {
        const { value, seriesIndex, dataIndex } = one as {
          value: [number, number, number];
          seriesIndex: number;
          dataIndex: number;
        };
        if (seriesIndex === 2)
          return `${asMarkup(rows[dataIndex]!)}<br>mean <b>${withUnit(means[dataIndex], data.unit)}</b>`;
        return `${timeText(times[columns[value[0]]!]!, look)}<br>${asMarkup(rows[value[1]]!)} <b>${withUnit(value[2], data.unit)}</b>`;
      },
    },
    series: [
      {
        type: 'heatmap',
        data: values,
        progressive: 0,
        emphasis: { itemStyle: { borderColor: theme.text, borderWidth: 1 } },
      },
      {
        type: 'line',
        name: 'mean of all rows',
        xAxisIndex: 1,
        yAxisIndex: 1,
        silent: true,
        showSymbol: isScarce(data.band?.mean ?? []),
        symbolSize: 4,
        itemStyle: { color: colour },
        lineStyle: { width: 1.2, color: colour },
        areaStyle: { color: colour, opacity: 0.15 },
        data: (data.band?.mean ?? []).map((value, i) => [times[i]!, value]),
      },
      {
        type: 'bar',
        name: 'mean of each row',
        xAxisIndex: 2,
        yAxisIndex: 2,
        barCategoryGap: '20%',
        // a row that did nothing is marked, too
        barMinHeight: 3,
        data: means.map((value, i) => ({
          value: value ?? Number.NaN,
          itemStyle: { color: unlike[i] ? unlikeColour(theme) : colour },
        })),
      },
    ],
  };
}

const rowMeans = ({ series }: ChartData): (number | null)[] => series.map(({ mean }) => meanOf(mean));

/** The rows of a heat map whose mean is unlike that of most. */
export function unlikeRows(data: ChartData): boolean[] {
  const means = rowMeans(data);
  const measuredMeans = means.filter((mean) => mean !== null).sort((a, b) => a - b);
  const middle = measuredMeans[Math.floor(measuredMeans.length / 2)] ?? 0;
  const [least, most] = heatScale(data);
  const isUnlike = means.map((mean) => mean !== null && Math.abs(mean - middle) > UNLIKE * (most - least));
  // of two rows neither is like most, and where half of them differ there is no "most"
  const isMinority = isUnlike.filter(Boolean).length * 2 < measuredMeans.length;
  return isMinority ? isUnlike : isUnlike.map(() => false);
}

export const unlikeColour = (theme: ChartTheme): string => colourOf(theme, 5);

/** The values of the darkest and of the brightest cell of a heat map. */
export function heatScale({ series, unit }: ChartData): [least: number, most: number] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { mean } of series)
    for (const value of mean) {
      if (value === null) continue;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
  if (unit === '%' && most <= 100) return [0, 100];
  return [startsAtLeast(unit) ? least : Math.min(0, least), most];
}

function meanOf(values: Values): number | null {
  const measured = values.filter((value) => value !== null);
  return measured.length === 0 ? null : measured.reduce((a, b) => a + b, 0) / measured.length;
}

const base = (theme: ChartTheme): EChartsOption => ({
  animation: false,
  backgroundColor: 'transparent',
  textStyle: { color: theme.text, fontFamily: 'system-ui, sans-serif' },
  aria: { enabled: true },
});

const tooltipLook = (theme: ChartTheme) =>
  ({
    confine: true,
    backgroundColor: theme.background,
    borderColor: theme.line,
    textStyle: { color: theme.text, fontSize: 12 },
    transitionDuration: 0,
    axisPointer: { type: 'line', lineStyle: { color: theme.faint, width: 1 }, animation: false },
  }) as const;

/** In less time than this axes tell the hour, too. */
const DAYS = 3 * 86_400e6;
const YEAR = 366 * 86_400e6;

const timeAxisBase = (from: number, to: number) => ({ type: 'value', min: from, max: to }) as const;

/** Pixels of the longest time at an axis, with the gap to the next. */
const TICK_ROOM = 68;
const MOST_TICKS = 6;

function timeAxis(from: number, to: number, { theme, start, across, width = Number.POSITIVE_INFINITY }: ChartLook) {
  const room = Math.floor((width - MARGINS.lines.left - MARGINS.lines.right) / TICK_ROOM);
  const customValues = timeTicks(from, to, start, Math.max(2, Math.min(MOST_TICKS, room)));
  return {
    ...timeAxisBase(from, to),
    axisLine: { lineStyle: { color: theme.line } },
    axisTick: { show: true, customValues, length: 4, lineStyle: { color: theme.line } },
    splitLine: { show: false },
    axisLabel: {
      color: theme.faint,
      fontSize: 11,
      hideOverlap: true,
      customValues,
      formatter: (value: number) =>
        across === 'progress'
          ? `${Math.round(value / 1e6)} %`
          : across === 'date'
            ? dateText(value, to - from < DAYS, to - from > YEAR)
            : tickText(value - start),
    },
  } as const;
}

/** Units of which nobody expects that they begin at 0. */
const startsAtLeast = (unit: string): boolean => unit === '°C' || unit === 'MHz';

/** A limit so many times above all values would press them to the ground. */
const FAR_ABOVE = 4;

const greatestOf = ({ band }: ChartData): number => Math.max(0, ...(band?.max ?? []).filter((value) => value !== null));

interface Limit {
  value: number;
  /** What it limits. */
  name: string;
}

/** The threshold of a finding, else the limit of the chart itself. */
function drawnLimit(data: ChartData, { threshold }: ChartLook): Limit | undefined {
  if (threshold !== undefined) return { value: threshold, name: 'threshold of the finding' };
  if (data.limit === undefined || data.limit > FAR_ABOVE * greatestOf(data)) return undefined;
  return { value: data.limit, name: data.count > 1 ? 'limit of each' : 'limit' };
}

function valueAxis(data: ChartData, look: ChartLook): NonNullable<EChartsOption['yAxis']> {
  const { theme } = look;
  const { unit } = data;
  const most = Math.max(drawnLimit(data, look)?.value ?? 0, greatestOf(data));
  const ends =
    unit === '%' && most <= 100.5 && most > 5
      ? { min: 0, max: 100, interval: 50 }
      : startsAtLeast(unit)
        ? { min: 'dataMin' as const, splitNumber: 3 }
        : { min: 0, ...valueTicks(most, unit) };
  return {
    type: 'value',
    ...ends,
    splitLine: { lineStyle: { color: theme.line } },
    axisLabel: {
      color: theme.faint,
      fontSize: 11,
      showMinLabel: startsAtLeast(unit) ? false : undefined,
      formatter: (value: number) => axisText(value, unit, isCrowded(ends, unit)),
    } as object,
  };
}

/** Letters that have room beside the axis. */
const AXIS_LETTERS = 10;

/** What is too long goes without its unit, which other labels and the title of the chart name; "MiB/s" no other label needs to have. */
function axisText(value: number, unit: string, areCrowded: boolean): string {
  const text = withUnit(value, unit);
  if (unit.startsWith('bytes') || (value === 0 && areCrowded)) return text;
  return areCrowded || text.length > AXIS_LETTERS ? digits(value) : text;
}

/** Where one label has no room for its unit, that at 0 alone has it: labels with and without one look as if units differed. */
const isCrowded = ({ max = 0, interval = 1 }: { max?: number; interval?: number }, unit: string): boolean =>
  Array.from({ length: Math.round(max / interval) }, (_, i) => withUnit((i + 1) * interval, unit)).some(
    ({ length }) => length > AXIS_LETTERS,
  );

const limitLine = ({ value, name }: Limit, unit: string, theme: ChartTheme) => ({
  silent: true,
  symbol: 'none',
  lineStyle: { color: colourOf(theme, 5), type: 'dashed', width: 1.2 },
  // curves run behind it
  label: {
    ...{ formatter: `${name}: ${withUnit(value, unit)}`, position: 'insideEndTop' as const, fontSize: 11 },
    ...{ color: theme.text, backgroundColor: theme.background, padding: [1, 3] },
  },
  data: [{ yAxis: value }],
});

/** Phases and steps behind the lines, in two shades by turns. */
function areas({ bands = [], theme }: ChartLook): object {
  const shade = theme.isDark
    ? ['rgba(255,255,255,0.05)', 'rgba(255,255,255,0.0)']
    : ['rgba(20,40,70,0.05)', 'rgba(20,40,70,0.0)'];
  const all = bands.map(({ from, to }, i) => [{ xAxis: from, itemStyle: { color: shade[i % 2] } }, { xAxis: to }]);
  return { silent: true, data: all };
}
