import { Fault } from '../../base/fault.ts';
import type { ProcessRows } from './rows.ts';

/** What a kernel can count processes, threads and users by. */
const MOST_IDS = 2 ** 32;

/** The least and the most that a column may hold where a wrong value would make the whole process wrong. */
const LIMITS: Readonly<Record<string, readonly [least: number, most: number]>> = {
  pid: [1, MOST_IDS],
  ppid: [-1, MOST_IDS],
  pgid: [-1, MOST_IDS],
  sid: [-1, MOST_IDS],
  tid: [0, MOST_IDS],
  start: [1, Number.MAX_SAFE_INTEGER],
  end: [1, Number.MAX_SAFE_INTEGER],
  usertime: [0, Number.MAX_SAFE_INTEGER],
  systemtime: [0, Number.MAX_SAFE_INTEGER],
};

/** Numbers that no process can have are a line that is corrupted; what is missing is looked for where lines are read. */
export function checkRows(rows: ProcessRows): void {
  for (const [name, [least, most]] of Object.entries(LIMITS)) {
    const column = rows.numbers.get(name);
    if (column === undefined || within(column, rows.threads, least, most)) continue;
    for (let p = 0; p < rows.processes; p++) {
      for (let row = rows.first[p]!; row < rows.first[p + 1]!; row++) {
        const value = column[row]!;
        if (value < least) throw new Fault(`${rows.where(p, row)}: ${name} cannot be ${value}`);
        if (value > most) throw new Fault(`${rows.where(p, row)}: ${name} is too large`);
      }
    }
  }
  checkOrder(rows);
}

function within(column: Float64Array, rows: number, least: number, most: number): boolean {
  for (let row = 0; row < rows; row++) if (column[row]! < least || column[row]! > most) return false;
  return true;
}

/** Nothing ends before it starts. */
function checkOrder(rows: ProcessRows): void {
  const [start, end] = [rows.numbers.get('start'), rows.numbers.get('end')];
  if (start === undefined || end === undefined) return;
  const row = firstBelow(end, start, rows.threads);
  if (row < 0) return;
  let process = 0;
  while (rows.first[process + 1]! <= row) process++;
  throw new Fault(`${rows.where(process, row)}: end is before start (${end[row]}, ${start[row]})`);
}

/** The first row in which one column is less than another; −1: there is none. */
function firstBelow(column: Float64Array, other: Float64Array, rows: number): number {
  for (let row = 0; row < rows; row++) if (column[row]! < other[row]!) return row;
  return -1;
}
