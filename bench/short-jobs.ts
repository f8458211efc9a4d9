import { execFile, execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import type { Row } from './row.ts';

const TACHO = process.env.TACHO ?? path.join(import.meta.dirname, '..', 'tacho');
/** A job of five minutes takes five minutes. */
const WHOLE = process.env.BENCH_WHOLE === '1';
/** What a node of a cluster has on average. */
const VALUES = 290;
const LDMS_CSV = 1380;

/** What a whole short job takes in an archive, everything included, for as many values a second as a usual node has. */
export async function bench(): Promise<Row[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  const jobs = [
    { name: '30 s', seconds: 30, must: '≤ 350 B' },
    ...(WHOLE ? [{ name: '5 min', seconds: 300, must: '≤ 250 B' }] : []),
  ];
  try {
    const rows = jobs.map(async ({ name, seconds, must }): Promise<Row> => {
      const recording = path.join(folder, `${seconds}`);
      await promisify(execFile)(TACHO, ['run', '-o', recording, '--', 'sleep', `${seconds}`]);
      execFileSync(TACHO, ['seal', recording]);
      const measured = (bytesOf(recording) / valuesOf(recording)) * VALUES;
      const what = `archive: a whole job of ${name}, bytes a node and second (${VALUES} values)`;
      return { what, must, measured, unit: 'B', peer: `LDMS CSV ${LDMS_CSV} B`, ratio: measured / LDMS_CSV };
    });
    return await Promise.all(rows);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

const bytesOf = (folder: string): number =>
  fs
    .globSync('**/*', { cwd: folder })
    .map((name) => fs.statSync(path.join(folder, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);

function valuesOf(folder: string): number {
  let values = 0;
  for (const node of openRecording(folder).nodes)
    for (const table of node.tables.keys())
      for (const column of readTable(node, table).numbers.values())
        for (const value of column) if (!Number.isNaN(value)) values++;
  return values;
}
