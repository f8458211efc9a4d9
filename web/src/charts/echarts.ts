import { HeatmapChart, LineChart } from 'echarts/charts';
import {
  AriaComponent,
  GridComponent,
  MarkAreaComponent,
  TooltipComponent,
  VisualMapComponent,
} from 'echarts/components';
import { connect, init, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';

// only what is drawn: the whole library is three times as large
use([
  LineChart,
  HeatmapChart,
  GridComponent,
  TooltipComponent,
  MarkAreaComponent,
  VisualMapComponent,
  AriaComponent,
  CanvasRenderer,
]);

export { connect, init };
