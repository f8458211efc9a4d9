type ECharts = typeof import('./echarts.ts');
export type Init = ECharts['init'];
export type Drawn = ReturnType<Init>;

let loading: Promise<ECharts> | undefined;

/** The library that draws is a file of its own: the table of jobs is there before it. */
export function loadECharts(): Promise<ECharts> {
  loading ??= import('./echarts.ts');
  return loading;
}
