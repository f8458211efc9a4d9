import { CanvasRenderer } from 'echarts/renderers';
import { init, use } from '../../../src/charts/use-echarts.ts';

use([CanvasRenderer]);

export { init };
