import type { EChartsOption } from 'echarts';
import { SVGRenderer } from 'echarts/renderers';
import type { ChartData } from './chart-data.ts';
import { entriesOf, heatLegendOf, type Legend, legendOf, withLegend } from './legend.ts';
import { type ChartLook, chartOption, heatScale, marginsOf } from './option.ts';
import { init, use } from './use-echarts.ts';
import { withUnit } from './value-text.ts';

use([SVGRenderer]);

export interface SvgSize {
  width: number;
  height: number;
}

/** Room for the title of a file, which has no page around it. */
const TITLE = 26;

/** A chart as a picture of its own, with its title and what its colours mean. */
export function chartSvg(data: ChartData, look: ChartLook, { width, height }: SvgSize): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  const option = chartOption(data, look) as { grid: object };
  const { theme } = look;
  const { top } = marginsOf(data);
  const grids = [option.grid].flat() as { top?: number; height?: number }[];
  const legend = legendFor(data, look, width);
  chart.setOption({
    ...option,
    backgroundColor: theme.background,
    grid: grids.map((grid) => ({ ...grid, top: (grid.top ?? top) + TITLE + legend.height })),
    title: {
      text: data.title,
      left: 8,
      top: 4,
      textStyle: { color: theme.text, fontSize: 14 },
    },
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return withLegend(svg, legend);
}

/** A chart that explains itself as a picture. */
export function optionSvg(option: EChartsOption, size: SvgSize): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...size });
  chart.setOption({ ...option, animation: false });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function legendFor(data: ChartData, { theme }: ChartLook, width: number): Legend {
  if (data.as === 'heat') {
    const [least, most] = heatScale(data);
    return heatLegendOf(withUnit(least, data.unit), withUnit(most, data.unit), theme, width);
  }
  return legendOf(entriesOf(data, theme), theme, TITLE, width);
}
