import type { EChartsOption } from 'echarts';
import type { ChartData } from './chart-data.ts';

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

/** How values and times are written; the page knows its own words for them. */
export interface ChartWords {
  value(value: number | null | undefined, unit: string): string;
  time(micros: number): string;
  tick(micros: number): string;
}

/** A part of the time with a name: a phase, a step. */
export interface ChartBand {
  name: string;
  from: number;
  to: number;
}

export interface ChartLook {
  theme: ChartTheme;
  words: ChartWords;
  bands?: readonly ChartBand[];
  /** Part of the time that a finding is about. */
  marked?: { from: number; to: number };
}

const timesOf = ({ from, step }: ChartData, length: number): number[] =>
  Array.from({ length }, (_, i) => from + (i + 0.5) * step);

const nameOf = ({ node, key }: { node: string; key?: string | undefined }): string =>
  key === undefined ? node : `${node} ${key}`;

type Series = NonNullable<Extract<EChartsOption['series'], readonly unknown[]>>[number];

/** Lines over time, or a band from the least to the greatest with the mean. */
export function linesOption(data: ChartData, look: ChartLook): EChartsOption {
  const { theme, words } = look;
  const series =
    data.as === 'band' || data.series.length === 0
      ? bandSeries(data, theme)
      : data.series.flatMap((one, i) => lineOf(data, one, i, theme));
  const [first] = series as { markArea?: unknown }[];
  if (first !== undefined && (look.bands?.length || look.marked)) first.markArea = areas(look);
  const end = data.from + data.step * (data.band?.mean.length ?? data.series[0]?.mean.length ?? 0);
  return {
    ...base(theme),
    grid: { left: 62, right: 12, top: 12, bottom: 26 },
    xAxis: timeAxis(data.from, end, look),
    yAxis: valueAxis(data, look),
    tooltip: {
      trigger: 'axis',
      ...tooltipLook(theme),
      formatter(all: unknown) {
        const points = (all as { seriesName: string; value: [number, number | null]; color: string }[]).filter(
          ({ seriesName }) => !seriesName.startsWith('\0'),
        );
        if (points.length === 0) return '';
        const rows = points
          .filter(({ value }) => value[1] !== null && value[1] !== undefined)
          .sort((a, b) => b.value[1]! - a.value[1]!)
          .slice(0, 10)
          .map(
            ({ seriesName, value, color }) =>
              `<span style="color:${color}">●</span> ${escaped(seriesName)} <b>${words.value(value[1], data.unit)}</b>`,
          );
        return [words.time(points[0]!.value[0]), ...rows].join('<br>');
      },
    },
    series,
  };
}

function lineOf(data: ChartData, one: ChartData['series'][number], i: number, theme: ChartTheme): Series[] {
  const color = (theme.isDark ? COLOURS_DARK : COLOURS)[i % COLOURS.length]!;
  const times = timesOf(data, one.mean.length);
  const line: Series = {
    type: 'line',
    name: nameOf(one),
    showSymbol: one.mean.length < 3,
    symbolSize: 5,
    lineStyle: { width: 1.5, color, type: i < COLOURS.length ? 'solid' : 'dashed' },
    itemStyle: { color },
    emphasis: { disabled: true },
    data: one.mean.map((value, j) => [times[j]!, value]),
  };
  // a spike of one sample is not lost in the mean of its step
  if (one.max === undefined || data.series.length > 4) return [line];
  return [...range(times, one.min!, one.max, color, `\0${i}`), line];
}

function bandSeries(data: ChartData, theme: ChartTheme): Series[] {
  const { band } = data;
  if (band === undefined) return [];
  const color = (theme.isDark ? COLOURS_DARK : COLOURS)[0]!;
  const times = timesOf(data, band.mean.length);
  const thin = (name: string, values: readonly (number | null)[]): Series => ({
    type: 'line',
    name,
    showSymbol: false,
    lineStyle: { width: 0.7, color, opacity: 0.6 },
    itemStyle: { color },
    emphasis: { disabled: true },
    data: values.map((value, i) => [times[i]!, value]),
  });
  return [
    ...range(times, band.min, band.max, color, '\0'),
    thin('greatest', band.max),
    { ...(thin(`mean of ${data.count}`, band.mean) as object), lineStyle: { width: 2, color } } as Series,
    thin('least', band.min),
  ];
}

/** The area from the least to the greatest: one invisible line, and the difference stacked on it. */
function range(
  times: readonly number[],
  min: readonly (number | null)[],
  max: readonly (number | null)[],
  color: string,
  stack: string,
): Series[] {
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

/** Time × series, each cell coloured by its mean. */
export function heatOption(data: ChartData, look: ChartLook): EChartsOption {
  const { theme, words } = look;
  const rows = data.series.map(nameOf);
  const steps = data.series[0]?.mean.length ?? 0;
  const values: [number, number, number][] = [];
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [y, { mean }] of data.series.entries())
    for (const [x, value] of mean.entries()) {
      if (value === null) continue;
      values.push([x, y, value]);
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
  if (data.unit === '%') [least, most] = [0, 100];
  else least = Math.min(0, least);
  const times = timesOf(data, steps);
  return {
    ...base(theme),
    grid: { left: 92, right: 12, top: 8, bottom: 26 },
    xAxis: {
      type: 'category',
      data: times.map(String),
      axisTick: { show: false },
      axisLine: { lineStyle: { color: theme.line } },
      axisLabel: {
        color: theme.faint,
        fontSize: 11,
        hideOverlap: true,
        formatter: (text: string) => words.tick(Number(text)),
      },
    },
    yAxis: {
      type: 'category',
      data: rows,
      inverse: true,
      axisTick: { show: false },
      axisLine: { show: false },
      axisLabel: { color: theme.faint, fontSize: 10, width: 84, overflow: 'truncate' },
    },
    visualMap: { show: false, min: least, max: most, inRange: { color: HEAT } },
    tooltip: {
      ...tooltipLook(theme),
      formatter(one: unknown) {
        const { value } = one as { value: [number, number, number] };
        return `${words.time(times[value[0]]!)}<br>${escaped(rows[value[1]]!)} <b>${words.value(value[2], data.unit)}</b>`;
      },
    },
    series: [
      {
        type: 'heatmap',
        data: values,
        progressive: 20_000,
        animation: false,
        emphasis: { itemStyle: { borderColor: theme.text, borderWidth: 1 } },
      },
    ],
  };
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

const timeAxis = (from: number, to: number, { theme, words }: ChartLook): NonNullable<EChartsOption['xAxis']> => ({
  type: 'value',
  min: from,
  max: to,
  axisLine: { lineStyle: { color: theme.line } },
  axisTick: { show: false },
  splitLine: { show: false },
  splitNumber: 6,
  axisLabel: {
    color: theme.faint,
    fontSize: 11,
    hideOverlap: true,
    showMaxLabel: false,
    formatter: (value: number) => words.tick(value),
  },
});

const valueAxis = ({ unit, band }: ChartData, { theme, words }: ChartLook): NonNullable<EChartsOption['yAxis']> => ({
  type: 'value',
  min: unit === '°C' || unit === 'MHz' ? 'dataMin' : 0,
  ...(unit === '%' && isBelow(band, 100.5) ? { max: 100 } : {}),
  splitNumber: 3,
  splitLine: { lineStyle: { color: theme.line } },
  axisLabel: { color: theme.faint, fontSize: 11, formatter: (value: number) => words.value(value, unit) },
});

const isBelow = (band: ChartData['band'], most: number): boolean =>
  band?.max.every((value) => value === null || value <= most) ?? true;

/** Phases and steps behind the lines, in two shades by turns; what a finding is about in a colour. */
function areas({ bands = [], marked, theme }: ChartLook): object {
  const shade = theme.isDark
    ? ['rgba(255,255,255,0.05)', 'rgba(255,255,255,0.0)']
    : ['rgba(20,40,70,0.05)', 'rgba(20,40,70,0.0)'];
  const all = bands.map(({ from, to }, i) => [{ xAxis: from, itemStyle: { color: shade[i % 2] } }, { xAxis: to }]);
  if (marked !== undefined)
    all.push([{ xAxis: marked.from, itemStyle: { color: 'rgba(213,94,0,0.22)' } }, { xAxis: marked.to }]);
  return { silent: true, data: all };
}

/** Tooltips are HTML: names are somebody's words. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
