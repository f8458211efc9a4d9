import * as fs from 'node:fs';
import * as path from 'node:path';
import { rowEnd, splitLine } from '../../base/csv.ts';
import { processTotalTable } from '../../sources/own/process-total.ts';
import { processTable } from '../../sources/process/table.ts';
import type { NameIn, Table } from '../../table/table.ts';

/** What an agent that was here before had added up of a job's processes when it wrote its last row. */
export interface EarlierTotals {
  cpu_us: number;
  peak_bytes: number;
  /** When that was, epoch microseconds. */
  time: number;
  /** Of each process that it saw lately: its start in epoch milliseconds, what it and the children that it waited for had used. By pid. */
  processes: Map<string, { start: number; used_us: number; children_us: number }>;
}

/** A process that lives has a row in every minute; of very many the last ones are enough. */
const TAIL = 8 << 20;

/** Undefined: it has left no row of its sums, or they are not in the live part any more. */
export function earlierTotals(folder: string): EarlierTotals | undefined {
  const sums = [...rowsOf(folder, processTotalTable)].at(-1);
  if (sums === undefined) return undefined;
  const processes: EarlierTotals['processes'] = new Map();
  for (const row of rowsOf(folder, processTable)) {
    const [used_us, children_us] = [
      (Number(row.get('user_ms')) + Number(row.get('system_ms'))) * 1000,
      (Number(row.get('children_user_ms') ?? 0) + Number(row.get('children_system_ms') ?? 0)) * 1000,
    ];
    processes.set(row.get('pid')!, { start: Number(row.get('start')), used_us, children_us });
  }
  const number = (name: 'time' | NameIn<typeof processTotalTable>): number => Number(sums.get(name) ?? 0);
  return { cpu_us: number('cpu_us'), peak_bytes: number('peak_bytes'), time: number('time'), processes };
}

/** The last rows of a live part that are whole. */
function* rowsOf<T extends Table>(folder: string, table: T): Generator<ReadonlyMap<'time' | NameIn<T>, string>> {
  let text: string;
  try {
    text = fs.readFileSync(path.join(folder, `${table.name}.csv`), 'utf8');
  } catch {
    return;
  }
  const names = splitLine(text.slice(0, text.indexOf('\n'))) as ('time' | NameIn<T>)[];
  for (let at = Math.max(text.indexOf('\n') + 1, text.length - TAIL), end = 0; ; at = end + 1) {
    end = rowEnd(text, at);
    // a row without its newline was being written
    if (end >= text.length) return;
    const cells = splitLine(text.slice(at, end));
    if (cells.length === names.length) yield new Map(names.map((name, i) => [name, cells[i]!]));
  }
}
