import type { EChartsOption } from 'echarts';
import type { SizeBy } from '../judge/scale/run.ts';
import { sizeText } from '../judge/scale/size-text.ts';
import { type ChartTheme, colourOf } from './option.ts';
import { digits } from './value-text.ts';

/** What a study of `tacho scale` says, as far as it is drawn. */
export interface DrawnStudy {
  by: SizeBy;
  program: string;
  kind: string;
  /** "time", or the figure of merit. */
  metric: string;
  smallest: number;
  largest: number;
  sizes: readonly DrawnSize[];
  curve?: readonly { size: number; value: number; low?: number; high?: number }[] | undefined;
  laws: readonly { law: string; best: boolean }[];
  interval: { confidence: number };
}

interface DrawnSize {
  size: number;
  speedup: number;
  efficiency: number;
  runs: number;
  wall_seconds: number;
  wall_seconds_min: number;
  wall_seconds_max: number;
}

/** What a sign of the chart means. */
export interface ScalingSign {
  sign: string;
  name: string;
  colour: string;
}

const AREA_OPACITY = 0.18;
/** Half the size of a dot. */
const RADIUS = 4.5;
/** Below the slowest run. */
const ROOM = 0.93;

/** What sizes are counted in: "cores", "GPUs", the name of a tag. */
export const sizeTitle = (by: string): string => (by === 'gpus' ? 'GPUs' : by.replace(/^tag:/, ''));

export const scalingTitle = ({ program, kind, by, smallest, largest }: DrawnStudy): string =>
  `${program}: ${kind} scaling, ${digits(smallest)} to ${sizeText(largest, by)}`;

const hasSpread = ({ metric, sizes }: DrawnStudy): boolean => metric === 'time' && sizes.some(({ runs }) => runs > 1);

const hasInterval = ({ curve = [] }: DrawnStudy): boolean =>
  curve.length > 0 && curve.every(({ low, high }) => low !== undefined && high !== undefined);

/** What the signs of the chart mean, in words that need no colour. */
export function scalingLegend(study: DrawnStudy, theme: ChartTheme): ScalingSign[] {
  const law = study.laws.find(({ best }) => best)?.law;
  const interval = hasInterval(study) ? `, dashed: ${Math.round(study.interval.confidence * 100)} % interval` : '';
  const spread = hasSpread(study) ? ', from the slowest to the fastest run' : '';
  return [
    { sign: 'dots', name: `measured${spread}`, colour: colourOf(theme, 0) },
    ...(law === undefined ? [] : [{ sign: 'line', name: `${law}${interval}`, colour: colourOf(theme, 1) }]),
    { sign: 'dotted', name: 'ideal', colour: theme.faint },
  ];
}

/** Speed-up of the slowest and the fastest run of a size. */
const spreadOf = ({ speedup, wall_seconds, wall_seconds_min, wall_seconds_max }: DrawnSize): [number, number] => [
  (speedup * wall_seconds) / wall_seconds_max,
  (speedup * wall_seconds) / wall_seconds_min,
];

/** Powers of two from the least to the most. */
const doublings = (least: number, most: number): number[] => {
  const first = Math.ceil(Math.log2(least));
  return Array.from({ length: Math.floor(Math.log2(most)) - first + 1 }, (_, i) => 2 ** (first + i));
};

type Api = { value(i: number): number; coord(at: readonly [number, number]): [number, number] };

/**
 * Speed-up against size, both by doublings: what was measured with its spread, the law that fits best with its interval, the
 * ideal.
 */
export function scalingOption(study: DrawnStudy, theme: ChartTheme): EChartsOption {
  const { by, smallest, sizes, curve = [], laws } = study;
  const [blue, orange, grey] = [colourOf(theme, 0), colourOf(theme, 1), theme.faint];
  const law = laws.find(({ best }) => best)?.law ?? 'law';
  const most = Math.max(...sizes.map(({ size }) => size), ...curve.map(({ size }) => size));
  const spreads = sizes.map((row): [number, number] => (hasSpread(study) ? spreadOf(row) : [row.speedup, row.speedup]));
  const down = (value: number): number => 2 ** Math.floor(Math.log2(value));
  const up = (value: number): number => 2 ** Math.ceil(Math.log2(value));
  // runs of the smallest size that differ a little do not cost a doubling of empty room
  const least = Math.min(1, Math.min(...spreads.flat()) * ROOM);
  // a law that is not sure may end below the axis
  const edge = (of: 'low' | 'high'): [number, number][] =>
    hasInterval(study) ? curve.map((at) => [at.size, Math.max(least, at[of]!)]) : [];
  const [low, high] = [edge('low'), edge('high')];
  const axis = (name: string, min: number, max: number) => {
    const customValues = doublings(min, max);
    return {
      type: 'log',
      logBase: 2,
      min,
      max,
      name,
      nameLocation: 'middle',
      nameGap: 28,
      nameTextStyle: { color: theme.faint },
      axisTick: { customValues, lineStyle: { color: theme.line } },
      axisLabel: { color: theme.faint, customValues, formatter: (value: number) => digits(value) },
      axisLine: { show: true, lineStyle: { color: theme.line } },
      splitLine: { lineStyle: { color: theme.line } },
    } as const;
  };
  const line = (name: string, color: string, data: [number, number][], type: 'solid' | 'dashed' | 'dotted') =>
    ({
      type: 'line',
      name,
      showSymbol: false,
      lineStyle: { color, width: type === 'dashed' ? 1 : 1.5, type },
      itemStyle: { color },
      data,
    }) as const;
  const band = {
    type: 'custom',
    name: 'interval',
    clip: true,
    silent: true,
    data: [[smallest, 1]],
    renderItem: (_: unknown, { coord }: Api) => ({
      type: 'polygon',
      shape: { points: [...high, ...low.toReversed()].map(coord) },
      style: { fill: orange, opacity: AREA_OPACITY },
    }),
  };
  const measured = {
    type: 'custom',
    name: 'measured',
    // above the lines
    z: 4,
    itemStyle: { color: blue },
    data: sizes.map(({ size, speedup }, i) => [size, speedup, ...spreads[i]!]),
    renderItem(_: unknown, { value, coord }: Api) {
      const [cx, cy] = coord([value(0), value(1)]);
      const [y1, y2] = [2, 3].map((i) => coord([value(0), value(i)])[1]);
      return {
        type: 'group',
        children: [
          { type: 'line', shape: { x1: cx, x2: cx, y1, y2 }, style: { stroke: blue, lineWidth: 2 } },
          { type: 'circle', shape: { cx, cy, r: RADIUS }, style: { fill: blue } },
        ],
      };
    },
  };
  const series = [
    ...(low.length > 0 ? [band, line('low', orange, low, 'dashed'), line('high', orange, high, 'dashed')] : []),
    line(
      'ideal',
      grey,
      [
        [smallest, 1],
        [most, most / smallest],
      ],
      'dotted',
    ),
    ...(curve.length > 0
      ? [
          line(
            law,
            orange,
            curve.map(({ size, value }) => [size, value]),
            'solid',
          ),
        ]
      : []),
    measured,
  ];
  return {
    animation: false,
    backgroundColor: 'transparent',
    aria: { enabled: true },
    textStyle: { color: theme.text, fontFamily: 'system-ui, sans-serif' },
    grid: { left: 60, right: 30, top: 16, bottom: 44 },
    xAxis: axis(sizeTitle(by), down(smallest), up(most)),
    // more than the ideal may have been measured: it is drawn, too
    yAxis: axis('speed-up', least, up(Math.max(most / smallest, ...spreads.flat()))),
    tooltip: {
      trigger: 'item',
      confine: true,
      backgroundColor: theme.background,
      borderColor: theme.line,
      textStyle: { color: theme.text, fontSize: 12 },
      formatter(one: unknown) {
        const { value } = one as { value: [number, number] };
        const row = sizes.find(({ size }) => size === value[0]);
        const efficiency = row === undefined ? '' : `<br>efficiency ${digits(row.efficiency * 100)} %`;
        return `${sizeText(value[0], by)}<br>speed-up <b>${digits(value[1])}</b>${efficiency}`;
      },
    },
    series: series as object[],
  };
}

/** The same as a file, which has no page around it: with its title and what its signs mean. */
export function scalingPicture(study: DrawnStudy, theme: ChartTheme): EChartsOption {
  const option = scalingOption(study, theme) as { grid: object };
  return {
    ...option,
    backgroundColor: theme.background,
    textStyle: { color: theme.text, fontFamily: 'Helvetica, Arial, sans-serif' },
    grid: { ...option.grid, top: 62 },
    title: {
      text: scalingTitle(study),
      left: 8,
      top: 4,
      textStyle: { color: theme.text, fontSize: 14 },
      subtext: scalingLegend(study, theme)
        .map(({ sign, name }) => `${sign}: ${name}`)
        .join(' · '),
      subtextStyle: { color: theme.faint, fontSize: 11 },
    },
  };
}
