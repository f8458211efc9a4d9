import { SVGRenderer } from 'echarts/renderers';
import type { ChartData } from './chart-data.ts';
import { type ChartLook, chartOption, marginsOf, seriesName } from './option.ts';
import { init, use } from './use-echarts.ts';

use([SVGRenderer]);

export interface SvgSize {
  width: number;
  height: number;
}

/** Room for the title of a file, which has no page around it. */
const TITLE = 26;

/** A chart as a picture of its own, with its title; of lines also with their names. */
export function chartSvg(data: ChartData, look: ChartLook, { width, height }: SvgSize): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  const option = chartOption(data, look) as { grid: object };
  const { theme } = look;
  const { top } = marginsOf(data);
  const grids = [option.grid].flat() as { top?: number; height?: number }[];
  chart.setOption({
    ...option,
    backgroundColor: theme.background,
    grid: grids.map((grid) => ({ ...grid, top: (grid.top ?? top) + TITLE })),
    title: {
      text: data.title,
      subtext: data.as === 'lines' ? data.series.map(seriesName).join(', ') : '',
      left: 8,
      top: 4,
      itemGap: 2,
      textStyle: { color: theme.text, fontSize: 14 },
      subtextStyle: { color: theme.faint, fontSize: 10, width: width - 20, overflow: 'truncate' },
    },
    ...(data.as === 'lines' ? { grid: { ...option.grid, top: top + TITLE + 14 } } : {}),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}
