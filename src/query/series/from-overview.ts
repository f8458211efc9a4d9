import type { NodeRecording } from '../../recording/folder/open.ts';
import { seriesKeys } from '../../recording/read/batch.ts';
import { OVERVIEW_STEP, type Overview, readOverview } from '../../recording/sealed/overview.ts';
import type { ColumnSeries } from './series.ts';

/** Whether steps of this length can be made of minutes. */
export const isOfMinutes = (step: number): boolean => step >= OVERVIEW_STEP && step % OVERVIEW_STEP === 0;

/** The next longer step that can be made of minutes; shorter ones stay as they are. */
export const inMinutes = (step: number): number =>
  step < OVERVIEW_STEP ? step : Math.ceil(step / OVERVIEW_STEP) * OVERVIEW_STEP;

/** The series of a node from the overview of a table; undefined: there is none. */
export function overviewSeries(
  node: NodeRecording,
  table: string,
  name: string,
  {
    from = Number.NEGATIVE_INFINITY,
    to = Number.POSITIVE_INFINITY,
    step,
  }: { from?: number; to?: number; step: number },
  keys: readonly [string, unknown][],
): ColumnSeries[] | undefined {
  const overview = readOverview(node, table, name);
  if (overview === undefined) return undefined;
  const columnSeries: ColumnSeries[] = [];
  for (let s = 0; s + 1 < overview.series.length; s++) {
    const [first, end] = [overview.series[s]!, overview.series[s + 1]!];
    const own = seriesKeys(overview, s);
    if (keys.every(([key, value]) => own[key] === value))
      columnSeries.push({ node: node.name, keys: own, step, ...joined(overview, first, end, from, to, step) });
  }
  return columnSeries;
}

/** Minutes become steps: the mean by how many samples each has. A minute that is in the range in part counts whole. */
function joined(
  { time, figures: { count, min, mean, max } }: Overview,
  first: number,
  end: number,
  from: number,
  to: number,
  step: number,
): Omit<ColumnSeries, 'node' | 'keys' | 'step'> {
  const most = Math.min(end - first, Math.ceil((time[end - 1]! - time[first]!) / step) + 2);
  const made = {
    time: new Float64Array(most),
    count: new Uint32Array(most),
    min: new Float64Array(most).fill(Number.NaN),
    mean: new Float64Array(most).fill(Number.NaN),
    max: new Float64Array(most).fill(Number.NaN),
  };
  let at = -1;
  for (let row = first; row < end; row++) {
    const moment = time[row]!;
    if (moment + OVERVIEW_STEP <= from || moment >= to) continue;
    const begin = Math.floor(moment / step) * step;
    if (at < 0 || made.time[at] !== begin) made.time[++at] = begin;
    const samples = count[row]!;
    if (!(samples > 0)) continue;
    const before = made.count[at]!;
    made.count[at] = before + samples;
    if (!(min[row]! >= made.min[at]!)) made.min[at] = min[row]!;
    if (!(max[row]! <= made.max[at]!)) made.max[at] = max[row]!;
    made.mean[at] =
      before === 0 ? mean[row]! : made.mean[at]! + ((mean[row]! - made.mean[at]!) * samples) / (before + samples);
  }
  const length = at + 1;
  return {
    time: made.time.subarray(0, length),
    count: made.count.subarray(0, length),
    min: made.min.subarray(0, length),
    mean: made.mean.subarray(0, length),
    max: made.max.subarray(0, length),
  };
}
