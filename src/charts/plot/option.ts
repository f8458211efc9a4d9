import type { EChartsOption } from 'echarts';
import { sortedQuantiles } from '../../recording/sealed/quantiles.ts';
import type { Drawing } from '../draw.ts';
import type { LegendEntry } from '../legend.ts';
import { type ChartTheme, COLOURS, colourOf, seriesName } from '../option.ts';
import { timeTicks, valueTicks } from '../ticks.ts';
import { tickText, withUnit } from '../value-text.ts';

/** Charts that only files and terminals have. */

/** Least, lower quarter, middle, upper quarter and greatest of all series in some samples one after the other. */
export interface Box {
  from: number;
  to: number;
  values: readonly [number, number, number, number, number];
}

/** One box for every `records` steps of a drawing; steps without any value are no part of it. */
export function boxesOf({ from, step, steps, series }: Drawing, records: number): Box[] {
  const boxes: Box[] = [];
  for (let first = 0; first < steps; first += records) {
    const last = Math.min(steps, first + records);
    const all = Float64Array.from(
      series.flatMap(({ mean }) => [...mean.slice(first, last)].filter((value) => !Number.isNaN(value))),
    ).sort();
    if (all.length === 0) continue;
    const values = sortedQuantiles(all, all.length, [0, 0.25, 0.5, 0.75, 1]) as unknown as Box['values'];
    boxes.push({ from: from + first * step, to: from + last * step, values });
  }
  return boxes;
}

/** The mean of each series over all of its time, and its least and greatest value. */
export interface Bar {
  name: string;
  min: number;
  mean: number;
  max: number;
}

export const barsOf = ({ series }: Drawing): Bar[] =>
  series.map((one) => {
    const measured = [...one.mean].filter((value) => !Number.isNaN(value));
    const [least, most] = [one.min, one.max].map((values) => [...values].filter((value) => !Number.isNaN(value)));
    return {
      name: seriesName(one),
      min: Math.min(...least!),
      mean: measured.reduce((sum, value) => sum + value, 0) / measured.length,
      max: Math.max(...most!),
    };
  });

/** Something that ran, once or several times. */
export interface Lane {
  name: string;
  /** What it is coloured by. */
  program: string;
  runs: readonly (readonly [from: number, to: number])[];
}

interface PlotLook {
  theme: ChartTheme;
  start: number;
  title: string;
  unit: string;
}

const axisLook = ({ faint, line }: ChartTheme) => ({
  axisLine: { lineStyle: { color: line } },
  axisTick: { lineStyle: { color: line } },
  axisLabel: { color: faint, fontSize: 11 },
  splitLine: { lineStyle: { color: line } },
});

const frame = ({ theme, title }: PlotLook, left: number): EChartsOption => ({
  animation: false,
  backgroundColor: theme.background,
  textStyle: { color: theme.text, fontFamily: 'Helvetica, Arial, sans-serif' },
  title: { text: title, left: 8, top: 4, textStyle: { color: theme.text, fontSize: 14 } },
  grid: { left, right: 26, top: 40, bottom: 28, outerBoundsMode: 'none' } as object,
});

function valueAxis({ theme, unit }: PlotLook, most: number): object {
  return {
    type: 'value',
    ...axisLook(theme),
    min: 0,
    ...valueTicks(most, unit),
    axisLabel: { color: theme.faint, fontSize: 11, formatter: (value: number) => withUnit(value, unit) },
  };
}

function timeAxis({ theme, start }: PlotLook, from: number, to: number): object {
  const customValues = timeTicks(from, to, start);
  return {
    type: 'value',
    min: from,
    max: to,
    ...axisLook(theme),
    splitLine: { show: false },
    axisTick: { customValues, lineStyle: { color: theme.line } },
    axisLabel: {
      color: theme.faint,
      fontSize: 11,
      customValues,
      formatter: (value: number) => tickText(value - start),
    },
  };
}

type Api = {
  value(i: number): number;
  coord(at: [number, number]): [number, number];
  size(of: [number, number]): [number, number];
};

export function boxesOption(boxes: readonly Box[], look: PlotLook): EChartsOption {
  const [from, to] = [boxes[0]!.from, boxes.at(-1)!.to];
  const colour = COLOURS[0]!;
  const line = (x1: number, y1: number, x2: number, y2: number, width = 1): object => ({
    type: 'line',
    shape: { x1, y1, x2, y2 },
    style: { stroke: colour, lineWidth: width },
  });
  return {
    ...frame(look, 80),
    xAxis: timeAxis(look, from, to),
    yAxis: valueAxis(look, Math.max(...boxes.map(({ values }) => values[4]))),
    series: [
      {
        type: 'custom',
        data: boxes.map(({ from: begin, to: end, values }) => [begin, end, ...values]),
        renderItem(_: unknown, api: Api) {
          const y = (i: number): number => api.coord([0, api.value(i)])[1];
          const [left, right] = [api.coord([api.value(0), 0])[0], api.coord([api.value(1), 0])[0]];
          const width = Math.max(1, (right - left) * 0.7);
          const x = (left + right) / 2;
          return {
            type: 'group',
            children: [
              line(x, y(2), x, y(3)),
              line(x, y(5), x, y(6)),
              {
                type: 'rect',
                shape: { x: x - width / 2, y: y(5), width, height: Math.max(0.5, y(3) - y(5)) },
                style: { fill: 'rgba(0,114,178,0.25)', stroke: colour, lineWidth: 1 },
              },
              line(x - width / 2, y(4), x + width / 2, y(4), 2),
              ...[2, 6].map((i) => line(x - width / 4, y(i), x + width / 4, y(i))),
            ],
          };
        },
      } as object,
    ],
  } as EChartsOption;
}

export function barsOption(bars: readonly Bar[], look: PlotLook): EChartsOption {
  return {
    ...frame(look, 110),
    xAxis: valueAxis(look, Math.max(...bars.map(({ mean }) => mean))),
    yAxis: {
      type: 'category',
      inverse: true,
      data: bars.map(({ name }) => name),
      ...axisLook(look.theme),
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: { color: look.theme.faint, fontSize: 10, width: 96, overflow: 'truncate' },
    },
    series: [
      { type: 'bar', barCategoryGap: '25%', itemStyle: { color: COLOURS[0]! }, data: bars.map(({ mean }) => mean) },
    ],
  } as EChartsOption;
}

/** The colours of lanes, by what they ran. */
export function laneColours(lanes: readonly Lane[], theme: ChartTheme): LegendEntry[] {
  const programs = [...new Set(lanes.map(({ program }) => program))];
  return programs.map((name, i) => ({ name, colour: colourOf(theme, i) }));
}

/** `room`: for the legend below the title. */
export function ganttOption(lanes: readonly Lane[], from: number, to: number, look: PlotLook, room = 0): EChartsOption {
  const colours = new Map(laneColours(lanes, look.theme).map(({ name, colour }) => [name, colour]));
  const { grid, ...rest } = frame(look, 190);
  return {
    ...rest,
    grid: { ...(grid as { top: number }), top: 34 + room },
    xAxis: timeAxis(look, from, to),
    yAxis: {
      type: 'category',
      inverse: true,
      data: lanes.map(({ name }) => name),
      ...axisLook(look.theme),
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: { color: look.theme.faint, fontSize: 10, width: 176, overflow: 'truncate' },
    },
    series: [
      {
        type: 'custom',
        clip: true,
        data: lanes.flatMap(({ runs }, i) => runs.map(([begin, end]) => [begin, i, end])),
        renderItem(_: unknown, api: Api) {
          const [left, y] = api.coord([api.value(0), api.value(1)]);
          const [right] = api.coord([api.value(2), api.value(1)]);
          const height = Math.max(1, api.size([0, 1])[1] * 0.6);
          return {
            type: 'rect',
            shape: { x: left, y: y - height / 2, width: Math.max(0.7, right - left), height },
            style: { fill: colours.get(lanes[api.value(1)]!.program) },
          };
        },
      } as object,
    ],
  } as EChartsOption;
}
