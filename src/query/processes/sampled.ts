import {
  counted,
  isOlder,
  isSampledOnce,
  lastAlive,
  peakMemory,
  processInterval,
  recordingBegan,
} from '../../recording/read/process-part.ts';
import { KERNEL_CLOCK } from '../../sources/process/same-process.ts';
import { processTable } from '../../sources/tables.ts';
import { largest, type Material, type NodeMaterial, type ProcessSeries, seriesOf, sum } from '../material.ts';

/** What sampling saw of the processes of a node, each to when it was alive last. */
export function processSeries(node: NodeMaterial): ProcessSeries[] {
  const tick = largest([...node.tables.values()].map(({ end }) => end));
  return seriesOf(node, processTable).map((series) => {
    const end = lastAlive(series.texts.state, series.end, () => tick);
    return end === series.end ? series : { ...series, end };
  });
}

/** The last row of a sampled process is of the tick at which it had gone: when it was seen alive, one tick earlier at least. */
export const lastSampledAlive = ({ job }: Material, start: number, lastRow: number): number =>
  Math.max(start, lastRow - (job.interval_seconds || 0) * 1e6);

/** A process that began while the job ran has used all its CPU time in the job, also what it used before it was seen. */
export function processCpuSeconds(material: Material, node: NodeMaterial, series: ProcessSeries): number | undefined {
  const older = isEarlier(material, node, series);
  const once = isOnce(material, node, series);
  const { user_ms, system_ms } = series.columns;
  const spent = sum([user_ms, system_ms].map((each) => each && counted(each, older, once)));
  return spent === undefined ? undefined : spent / 1000;
}

export const isOnce = ({ job }: Material, { agent }: NodeMaterial, { texts, start, end }: ProcessSeries): boolean =>
  isSampledOnce(texts.state, start, end, processInterval(agent, job));

/** Whether only what a process was seen to do is the job's, or that of the part looked at. Its start is in milliseconds. */
export function isEarlier({ range, job }: Material, { agent }: NodeMaterial, { keys }: ProcessSeries): boolean {
  const start = Number(keys.start) * 1000;
  if (range?.from !== undefined) return !(start > range.from - KERNEL_CLOCK);
  return isOlder(start, recordingBegan(agent, job));
}

/** Its highest resident set. */
export function processPeak(material: Material, node: NodeMaterial, series: ProcessSeries): number | undefined {
  const { rss_peak_bytes: mark, rss_bytes: sampledMemory } = series.columns;
  return peakMemory(mark, sampledMemory, isEarlier(material, node, series));
}
