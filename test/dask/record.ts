import * as path from 'node:path';
import { type Attached, type AttachOptions, attach } from '../../src/dask/attach.ts';
import { type NodeRecording, openRecording } from '../../src/recording/folder/open.ts';
import { readTable } from '../../src/recording/read/read.ts';

export type Row = Record<string, string | number> & { time: number };

/** Attaches in this process. */
export const attachTo = (given: string, folder: string, more: Partial<AttachOptions> = {}): Promise<Attached> =>
  attach({
    given,
    folder: path.join(folder, 'rec'),
    parent: folder,
    tracking: ['tasks', 'total-mem', 'mem-util', 'compute-util'],
    intervalSeconds: 0.05,
    jobType: 'client',
    readOnly: false,
    paused: false,
    certificates: {},
    hardware: { intervalSeconds: 1, only: ['cpu'], without: [], custom: [] },
    writer: {},
    say: () => {},
    ...more,
  });

/** Rows of a table of Dask, by time; what is missing is not there. */
export function rowsOf(recording: string, table: string): Row[] {
  const node = openRecording(recording).nodes.find(({ tables }) => tables.has(table));
  return node === undefined ? [] : rowsOfNode(node, table);
}

function rowsOfNode(node: NodeRecording, table: string): Row[] {
  const batch = readTable(node, table);
  return Array.from({ length: batch.rows }, (_, i): Row => {
    const row: Row = { time: batch.time[i]! };
    for (const [name, { codes, values }] of batch.texts) if (values[codes[i]!] !== '') row[name] = values[codes[i]!]!;
    for (const [name, numbers] of batch.numbers) if (!Number.isNaN(numbers[i]!)) row[name] = numbers[i]!;
    return row;
  }).sort((a, b) => a.time - b.time);
}
