import type { EChartsOption } from 'echarts';
import type { SizeBy } from '../judge/scale/run.ts';
import { sizeText } from '../judge/scale/size-text.ts';
import { type ChartTheme, COLOURS } from './option.ts';
import { digits } from './value-text.ts';

/** What a study of `tacho scale` says, as far as it is drawn. */
export interface DrawnStudy {
  by: SizeBy;
  smallest: number;
  sizes: readonly { size: number; speedup: number; efficiency: number; runs: number }[];
  curve?: readonly { size: number; value: number; low?: number; high?: number }[];
  laws: readonly { law: string; best: boolean }[];
}

/** What sizes are counted in: "cores", "GPUs", the name of a tag. */
export const sizeTitle = (by: string): string => (by === 'gpus' ? 'GPUs' : by.replace(/^tag:/, ''));

/** Speed-up against size, both by doublings: what was measured, the law that fits best with its interval, the ideal. */
export function scalingOption({ by, smallest, sizes, curve = [], laws }: DrawnStudy, theme: ChartTheme): EChartsOption {
  const [blue, orange, grey] = [COLOURS[0]!, COLOURS[1]!, theme.faint];
  const law = laws.find(({ best }) => best)?.law ?? 'law';
  const most = Math.max(...sizes.map(({ size }) => size), ...curve.map(({ size }) => size));
  const speedups = sizes.map(({ speedup }) => speedup);
  const hasBand = curve.length > 0 && curve.every(({ low, high }) => low !== undefined && high !== undefined);
  const axis = (name: string, min: number, max: number) =>
    ({
      type: 'log',
      logBase: 2,
      min,
      max,
      name,
      nameLocation: 'middle',
      nameGap: 28,
      nameTextStyle: { color: theme.faint },
      axisLabel: { color: theme.faint, formatter: (value: number) => digits(value) },
      axisLine: { show: true, lineStyle: { color: theme.line } },
      splitLine: { lineStyle: { color: theme.line } },
    }) as const;
  const down = (value: number): number => 2 ** Math.floor(Math.log2(value));
  const up = (value: number): number => 2 ** Math.ceil(Math.log2(value));
  const line = (name: string, color: string, data: number[][], type: 'solid' | 'dashed' | 'dotted') =>
    ({
      type: 'line',
      name,
      showSymbol: false,
      lineStyle: { color, width: 1.5, type },
      itemStyle: { color },
      data,
    }) as const;
  return {
    animation: false,
    backgroundColor: 'transparent',
    aria: { enabled: true },
    textStyle: { color: theme.text, fontFamily: 'system-ui, sans-serif' },
    grid: { left: 60, right: 30, top: 16, bottom: 44 },
    xAxis: axis(sizeTitle(by), down(smallest), up(most)),
    // more than the ideal may have been measured: it is drawn, too
    yAxis: axis('speed-up', Math.min(1, down(Math.min(...speedups))), up(Math.max(most / smallest, ...speedups))),
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
    series: [
      line(
        'ideal',
        grey,
        [
          [smallest, 1],
          [most, most / smallest],
        ],
        'dotted',
      ),
      ...(hasBand
        ? [
            line(
              'low',
              orange,
              curve.map(({ size, low }) => [size, low!]),
              'dashed',
            ),
            line(
              'high',
              orange,
              curve.map(({ size, high }) => [size, high!]),
              'dashed',
            ),
          ]
        : []),
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
      {
        type: 'line',
        name: 'measured',
        symbol: 'circle',
        symbolSize: 9,
        lineStyle: { opacity: 0 },
        itemStyle: { color: blue },
        data: sizes.map(({ size, speedup }) => [size, speedup]),
      },
    ],
  };
}
