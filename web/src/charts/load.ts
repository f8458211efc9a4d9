type ECharts = typeof import('./echarts.ts');
export type Drawn = ReturnType<ECharts['init']>;

let loading: Promise<ECharts> | undefined;

/** The library that draws is a file of its own: the table of jobs is there before it. */
export function loadECharts(): Promise<ECharts> {
  loading ??= import('./echarts.ts');
  return loading;
}
