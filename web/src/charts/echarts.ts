import { CustomChart } from 'echarts/charts';
import { CanvasRenderer } from 'echarts/renderers';
import { init, use } from '../../../src/charts/use-echarts.ts';

use([
  CanvasRenderer,
  // the study of sizes
  CustomChart,
  // ECharts 6.1 paints heat maps for 15 ms of each frame, also with `progressive: 0`: each sample of a running job would empty
  // the map, and fill it again from the top
  ({ registerUpdateLifecycle }) =>
    registerUpdateLifecycle('series:afterupdate', (_, api) => {
      for (const element of api.getZr().storage.getDisplayList(true)) element.incremental = 0;
    }),
]);

export { init };
