import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Fault } from '../src/base/fault.ts';
import { tell } from '../src/cli/failure.ts';
import type { Row } from './row.ts';
import { verdict } from './verdict.ts';

/** `npm run bench [-- WORD…]`: every benchmark (whose path has one of the words in it), as one table with pass or miss. */

const HERE = import.meta.dirname;
const args = process.argv.slice(2);
const files = fs
  .globSync('{*,*/*}.ts', { cwd: HERE })
  .filter(
    (file) =>
      !file.endsWith('.test.ts') &&
      fs.readFileSync(path.join(HERE, file), 'utf8').includes('export async function bench('),
  )
  .filter((file) => args.length === 0 || args.some((word) => file.includes(word)))
  .sort();

console.log(
  `${os.cpus().length} × ${os.cpus()[0]?.model.trim()}, Linux ${os.release()}, load ${os.loadavg()[0]!.toFixed(2)}\n`,
);
const columns = [56, 10, 20, 32, 9] as const;
const line = (...cells: string[]): string =>
  cells
    .map((cell, i) => cell.padEnd(columns[i] ?? 0))
    .join(' ')
    .trimEnd();
console.log(line('what', 'must', 'measured', 'beside', 'ratio', ''));

let missed = 0;
for (const file of files) {
  process.stderr.write(`${file} …\n`);
  const { bench } = (await import(path.join(HERE, file))) as typeof import('./start.ts');
  for (const row of await rowsOf(bench)) {
    const outcome = verdict(row);
    if (outcome === 'miss') missed++;
    const measured = Number.isNaN(row.measured) ? row.unit : `${Number(row.measured.toPrecision(3))} ${row.unit}`;
    const ratio = Number.isFinite(row.ratio) ? `${Number(row.ratio.toPrecision(3))} ×` : '';
    console.log(line(row.what, row.must, measured, row.peer, ratio, outcome));
  }
}
process.exitCode = missed > 0 ? 1 : 0;

/** What cannot be measured here is said in words, and the others go on. */
async function rowsOf(bench: () => Promise<Row[]>): Promise<Row[]> {
  try {
    return await bench();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    tell(error);
    missed++;
    return [];
  }
}
