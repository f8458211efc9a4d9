import type { Batch } from '../recording/batch.ts';
import type { NodeRecording } from '../recording/open.ts';
import { type ReadBatch, readTable } from '../recording/read.ts';

/** The CPU time that a process was seen to have used. Times are epoch microseconds, `used` is in microseconds. */
export interface SampledCpu {
  pid: string;
  /** As samples name it, in milliseconds. */
  start: string;
  times: number[];
  used: number[];
}

/** Of every process that was sampled on a node, in all of its recording. */
export function sampledCpu(node: NodeRecording, damaged: (batch: ReadBatch) => void): SampledCpu[] {
  if (!node.tables.has('process')) return [];
  const batch = readTable(node, 'process', { columns: ['user_ms', 'system_ms'] });
  damaged(batch);
  return Array.from({ length: Math.max(0, batch.series.length - 1) }, (_, s) => cpuOf(batch, s));
}

function cpuOf(batch: Batch, s: number): SampledCpu {
  const [from, to] = [batch.series[s]!, batch.series[s + 1]!];
  const key = (name: string): string => {
    const texts = batch.texts.get(name);
    return texts?.values[texts.codes[from]!] ?? '';
  };
  const [user, system] = [batch.numbers.get('user_ms'), batch.numbers.get('system_ms')];
  const found: SampledCpu = { pid: key('pid'), start: key('start'), times: [], used: [] };
  for (let row = from; row < to; row++) {
    const used = ((user?.[row] ?? 0) + (system?.[row] ?? 0)) * 1000;
    if (Number.isNaN(used) || (user === undefined && system === undefined)) continue;
    found.times.push(batch.time[row]!);
    found.used.push(used);
  }
  return found;
}
