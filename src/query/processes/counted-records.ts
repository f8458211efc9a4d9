import type { Job } from '../../recording/folder/job.ts';
import type { Batch } from '../../recording/read/batch.ts';
import type { EndBatch } from './images.ts';
import { cpuTimes, metricsOf } from './node-processes.ts';
import { processJob } from './processes.ts';
import type { CountedProcesses } from './set.ts';

/** End records of a node that are in memory, each of a whole process: none executed another program. */
export interface EndRecords {
  ends: EndBatch;
  /** When each process began, epoch microseconds. */
  start: Float64Array;
}

/** What adding up needs of such processes: the same that `readColumns` reads of them, where nothing else was recorded. */
export function countedRecords(job: Job, nodes: readonly EndRecords[]): CountedProcesses {
  const length = nodes.reduce((sum, { ends }) => sum + ends.rows, 0);
  const names = new Set(nodes.flatMap(({ ends }) => metricsOf(ends)));
  const column = (of: (node: EndRecords) => Float64Array | undefined): Float64Array => joined(nodes, length, of);
  const metrics = new Map(
    Array.from(names, (name) => [name, column(({ ends }: { ends: Batch }) => ends.numbers.get(name))] as const),
  );
  return {
    jobs: [processJob(job, '')],
    length,
    job: new Float64Array(length),
    start: column(({ start }) => start),
    end: column(({ ends }) => ends.time),
    tags: nodes.flatMap(({ ends }) => tagsOf(ends)),
    source: new Array<string>(length).fill('record'),
    threads: column(({ ends }) => ends.numbers.get('numtids')),
    cpu_time: cpuTimes(metrics, length),
    metrics,
  };
}

/** A column of all nodes; that of a single one as it is. */
function joined(
  nodes: readonly EndRecords[],
  length: number,
  of: (node: EndRecords) => Float64Array | undefined,
): Float64Array {
  const first = nodes.length === 1 ? of(nodes[0]!) : undefined;
  if (first !== undefined) return first;
  const values = new Float64Array(length).fill(Number.NaN);
  let at = 0;
  for (const node of nodes) {
    const own = of(node);
    if (own !== undefined) values.set(own, at);
    at += node.ends.rows;
  }
  return values;
}

function tagsOf({ texts, rows }: EndBatch): string[] {
  const tags = texts.get('tags');
  if (tags === undefined) return new Array<string>(rows).fill('');
  const { codes, values } = tags;
  const each = new Array<string>(rows);
  for (let i = 0; i < rows; i++) each[i] = values[codes[i]!]!;
  return each;
}
