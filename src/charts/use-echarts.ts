import { BarChart, HeatmapChart, LineChart } from 'echarts/charts';
import {
  AriaComponent,
  GridComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
  VisualMapComponent,
} from 'echarts/components';
import { init, use } from 'echarts/core';

// only what is drawn: the whole library is three times as large
use([
  LineChart,
  HeatmapChart,
  BarChart,
  GridComponent,
  TooltipComponent,
  TitleComponent,
  MarkAreaComponent,
  MarkLineComponent,
  VisualMapComponent,
  AriaComponent,
]);

export { init, use };
