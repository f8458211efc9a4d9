import { processEndTable, threadEndTable } from '../../sources/tables.ts';
import type { Table } from '../../table/table.ts';
import type { Batch } from './batch.ts';
import type { Rows } from './rows.ts';

const [PID, START, TID] = threadEndTable.keys.map(({ name }) => name) as [string, string, string];
const THREAD_START: string = threadEndTable.col.thread_start.name;

/** The table that holds the threads which are all of their process. */
export const impliedBy = (table: Table | undefined): string | undefined =>
  table?.name === threadEndTable.name && table.implied_by === processEndTable.name ? table.implied_by : undefined;

/** The columns of processes that their only threads have. */
export const impliedColumns = (columns: readonly string[]): string[] => columns.filter((name) => name !== THREAD_START);

/** Puts a thread behind the rows for each of the processes that has none there: it has its process's id and figures. */
export function addImpliedThreads(rows: Rows, columns: readonly string[], processes: Batch): void {
  const lone = withoutThreads(rows, processes);
  const first = rows.length;
  rows.reserve(lone.length);
  for (let i = 0; i < lone.length; i++) rows.time[first + i] = processes.time[lone[i]!]!;
  const text = (name: string, from: string): void => {
    const source = processes.texts.get(from);
    if (source === undefined) return;
    rows.addText(name);
    const { codes, pool } = rows.texts.get(name)!;
    const threadOfCode = new Map<number, number>();
    for (let i = 0; i < lone.length; i++) {
      const code = source.codes[lone[i]!]!;
      let own = threadOfCode.get(code);
      if (own === undefined) {
        own = pool.codeOf(source.values[code]!);
        threadOfCode.set(code, own);
      }
      codes[first + i] = own;
    }
  };
  text(PID, PID);
  text(START, START);
  text(TID, PID);
  for (const name of columns) {
    const source = processes.numbers.get(name);
    if (name !== THREAD_START && source === undefined) {
      text(name, name);
      continue;
    }
    rows.addNumber(name);
    const values = rows.numbers.get(name)!;
    const start = processes.texts.get(START)!;
    for (let i = 0; i < lone.length; i++) {
      const row = lone[i]!;
      values[first + i] = source?.[row] ?? Number(start.values[start.codes[row]!]);
    }
  }
  rows.length += lone.length;
}

/** Where the processes are of which no thread has a row. */
function withoutThreads(rows: Rows, { rows: count, texts }: Batch): Uint32Array {
  const there = new Set<string>();
  const [pid, start] = [PID, START].map((name) => rows.texts.get(name));
  if (pid !== undefined && start !== undefined) {
    const [pids, starts] = [pid.pool.values(), start.pool.values()];
    for (let row = 0; row < rows.length; row++) there.add(`${pids[pid.codes[row]!]} ${starts[start.codes[row]!]}`);
  }
  const [pids, starts] = [texts.get(PID)!, texts.get(START)!];
  const all = Uint32Array.from({ length: count }, (_, row) => row);
  if (there.size === 0) return all;
  return all.filter((row) => !there.has(`${pids.values[pids.codes[row]!]} ${starts.values[starts.codes[row]!]}`));
}
