import { stated } from '../base/stated.ts';
import type { ChartData, ChartSeries } from './chart-data.ts';
import { bandOf, type Drawing, type DrawnSeries } from './draw.ts';
import type { ChartSource } from './job-charts.ts';
import { shortValues } from './numbers.ts';

/** More series than this are drawn as one band, unless each is asked for. */
const MOST_LINES = 12;
/** Number of series that are drawn in front of the others. */
const MOST_FOCUSED = 8;

/** Series of a node that are wanted in front of the others: all of them, or the one with this key. */
export interface Focus {
  node: string;
  key?: string;
}

/** A drawing as it is sent. */
export function makeChartData(drawing: Drawing, as?: ChartData['as'], focus?: Focus): ChartData {
  const { chart, source, from, step, series, limit } = drawing;
  const { min, mean, max, sum } = bandOf(drawing);
  const way = as ?? (series.length > MOST_LINES ? 'band' : 'lines');
  const focused =
    focus === undefined
      ? []
      : series.filter(({ node, key }) => node === focus.node && (focus.key === undefined || key === focus.key));
  return {
    id: chart.id,
    title: chart.title,
    unit: chart.unit,
    scope: source.scope,
    source: sourceName(source),
    from,
    step,
    as: way,
    count: series.length,
    ...stated({ limit }),
    series: way === 'band' ? [] : series.map((one) => sentSeries(one, way === 'heat')),
    ...(focused.length === 0 ? {} : { focus: focused.slice(0, MOST_FOCUSED).map((one) => sentSeries(one, false)) }),
    band: { min: shortValues(min), mean: shortValues(mean), max: shortValues(max), sum: shortValues(sum) },
  };
}

function sourceName(source: ChartSource): string {
  if ('ranks' in source) return 'processes of ranks';
  return 'use' in source ? source.use : `${source.column.table}.${source.column.name}`;
}

function sentSeries({ node, key, name, ...values }: DrawnSeries, isMeanAlone: boolean): ChartSeries {
  return {
    node,
    ...stated({ key, name }),
    mean: shortValues(values.mean),
    ...(isMeanAlone || values.min === values.mean
      ? {}
      : { min: shortValues(values.min), max: shortValues(values.max) }),
  };
}
