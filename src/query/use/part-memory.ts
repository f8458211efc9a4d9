import { HIGHER_PEAK, KERNEL_CLOCK } from '../../sources/process/same-process.ts';
import { processEndTable } from '../../sources/tables.ts';
import { largest, type Material, type NodeMaterial, type ProcessSeries, wholeOf } from '../material.ts';
import { processPeak, seenAlive } from '../processes/sampled.ts';
import { sampleKey } from '../processes/sampled-cpu.ts';
import type { ProcessSet } from '../processes/set.ts';
import { isTimed, partProcessesOf, sampledInPart } from './part-processes.ts';

/** When a process lived, and its highest resident set. */
export interface Life {
  start: number;
  end: number;
  peak: number | undefined;
}

/** Of a part of the job: its processes, each either by its record or as it was sampled. */
export interface PartMemory {
  lives: Life[];
  /** The largest of those that are known to have been so large in the part: not of one that may have been so beside it. */
  largest: number | undefined;
}

/** undefined when the whole job is looked at, or nobody knows more than samples tell. */
export function partMemoryOf(material: Material, node: NodeMaterial): PartMemory | undefined {
  if (!isTimed(material)) return undefined;
  const { processes: set } = wholeOf(material);
  const part = partProcessesOf(material, node);
  const [from, to] = [part.spans[0]![0], part.spans.at(-1)![1]];
  const found: PartMemory = { lives: [], largest: undefined };
  for (const series of sampledInPart(node, part)) {
    const { keys, start, end } = series;
    const record = part.recorded.get(sampleKey(keys.pid, keys.start));
    const later = record !== undefined && record.end <= to ? laterPeak(set!, record.row, series) : undefined;
    const peak = largest([processPeak(material, node, series), later]);
    // rows beside the part stand for what lies in it
    const begin = Math.max(from, record?.begin ?? start);
    const last = Math.min(to, record?.end ?? seenAlive(material, start, end));
    found.lives.push({ start: begin, end: Math.max(begin, last), peak });
    found.largest = largest([found.largest, peak]);
  }
  const peaks = set?.metrics.get(processEndTable.col.rssmax.name);
  for (const i of part.byRecord.keys()) {
    const peak = peaks === undefined ? Number.NaN : peaks[i]! * 1024;
    if (set!.node[i] !== node.node || !(peak > 0)) continue;
    const [start, end] = [set!.start[i]!, set!.end[i]!];
    found.lives.push({ start: Math.max(start, from), end: Math.min(end, to), peak });
    if (start >= from - KERNEL_CLOCK && end <= to) found.largest = largest([found.largest, peak]);
  }
  return found;
}

/** What a process that ended in a part came to after its last sample, by its record. */
function laterPeak(set: ProcessSet, row: number, { columns }: ProcessSeries): number | undefined {
  const peak = (set.metrics.get(processEndTable.col.rssmax.name)?.[row] ?? Number.NaN) * 1024;
  const seen = largest([columns.rss_peak_bytes?.max, columns.rss_bytes?.max]);
  return seen !== undefined && peak > seen * HIGHER_PEAK ? peak : undefined;
}
