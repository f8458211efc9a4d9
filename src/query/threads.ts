import type { Recording } from '../recording/open.ts';
import { readTable } from '../recording/read.ts';
import { cumulative } from './process-images.ts';
import type { ProcessId, ThreadColumns } from './process-set.ts';

const IDENTITY = new Set(['thread_start', 'ppid', 'pgid', 'sid', 'uid']);

/** The threads that told of their end, by their start; none when the recording has no records of threads. */
export function readThreads(recording: Recording, process: ProcessId): ThreadColumns {
  const node = recording.nodes.find(({ name }) => name === process.node);
  if (node === undefined || !node.tables.has('thread_end')) return empty();
  const batch = readTable(node, 'thread_end');
  const pid = batch.texts.get('pid')!;
  const start = batch.texts.get('start')!;
  const tid = batch.texts.get('tid')!;
  const wanted = pid.values.indexOf(String(process.pid));
  const rows: number[] = [];
  /** The first thread of the images that this process was before it executed the present one. */
  let earlier = -1;
  for (let s = 0; wanted >= 0 && s + 1 < batch.series.length; s++) {
    const row = batch.series[s + 1]! - 1;
    if (pid.codes[row] !== wanted) continue;
    const began = Number(start.values[start.codes[row]!]);
    if (began === process.start) rows.push(row);
    else if (began < process.start && tid.values[tid.codes[row]!] === String(process.pid)) earlier = row;
  }
  const counters = cumulative(batch);
  const starttime = batch.numbers.get('starttime');
  const sameKernelProcess = (row: number): boolean =>
    earlier >= 0 && starttime !== undefined && starttime[row] === starttime[earlier];
  const begins = (row: number): number =>
    batch.numbers.get('thread_start')?.[row] ?? Number(start.values[start.codes[row]!]);
  rows.sort((a, b) => begins(a) - begins(b) || a - b);
  const metrics = new Map<string, Float64Array>();
  for (const [name, values] of batch.numbers) {
    if (IDENTITY.has(name)) continue;
    metrics.set(
      name,
      Float64Array.from(rows, (row) => {
        const value = values[row]!;
        const first = tid.values[tid.codes[row]!] === String(process.pid);
        const before = first && counters.has(name) && sameKernelProcess(row) ? values[earlier]! : 0;
        return value >= before ? value - before : value;
      }),
    );
  }
  return {
    length: rows.length,
    tid: Float64Array.from(rows, (row) => Number(tid.values[tid.codes[row]!])),
    start: Float64Array.from(rows, begins),
    end: Float64Array.from(rows, (row) => batch.time[row]!),
    cpu_time: Float64Array.from(
      rows,
      (_, i) => (metrics.get('usertime')?.[i] ?? Number.NaN) + (metrics.get('systemtime')?.[i] ?? Number.NaN),
    ),
    metrics,
  };
}

function empty(): ThreadColumns {
  const none = new Float64Array(0);
  return { length: 0, tid: none, start: none, end: none, cpu_time: none, metrics: new Map() };
}
