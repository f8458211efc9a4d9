import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import type { TextColumn } from '../../recording/read/batch.ts';
import { readDefined } from '../../recording/read/read.ts';
import { daskTaskTable } from '../../sources/own/dask.ts';

/** The tasks of a monitor, as columns: there may be millions. Times are epoch microseconds; NaN is missing. */
export interface DaskTasks {
  node: string;
  length: number;
  key: TextColumn;
  prefix: TextColumn;
  worker: TextColumn;
  outcome: TextColumn;
  error: TextColumn;
  start: Float64Array;
  stop: Float64Array;
  thread: Float64Array;
  transfer: Float64Array;
  disk: Float64Array;
  bytes: Float64Array;
  job: Float64Array;
  dag: Float64Array;
}

/** The tasks of a recording: one set per monitor, which is mostly one. */
export const daskTasks = ({ nodes }: Pick<Recording, 'nodes'>): DaskTasks[] =>
  nodes.filter(({ tables }) => tables.has(daskTaskTable.name)).map(tasksOf);

function tasksOf(node: NodeRecording): DaskTasks {
  const batch = readDefined(node, daskTaskTable);
  const none: TextColumn = { codes: new Uint32Array(batch.rows), values: [''] };
  const text = (name: 'key' | 'prefix' | 'worker' | 'outcome' | 'error'): TextColumn => batch.texts.get(name) ?? none;
  const number = (
    name: 'start_time' | 'thread' | 'transfer_us' | 'disk_us' | 'bytes' | 'dask_job' | 'dag',
  ): Float64Array => batch.numbers.get(name) ?? new Float64Array(batch.rows).fill(Number.NaN);
  return {
    node: node.name,
    length: batch.rows,
    key: text('key'),
    prefix: text('prefix'),
    worker: text('worker'),
    outcome: text('outcome'),
    error: text('error'),
    start: number('start_time'),
    stop: batch.time,
    thread: number('thread'),
    transfer: number('transfer_us'),
    disk: number('disk_us'),
    bytes: number('bytes'),
    job: number('dask_job'),
    dag: number('dag'),
  };
}

export const textOf = ({ codes, values }: TextColumn, row: number): string => values[codes[row]!] ?? '';
