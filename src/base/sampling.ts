import { ours } from './ours.ts';

/** What an agent does at every tick, and what reading its files takes most time for, in C (native/node-sampling.c). */
export interface Sampling extends Ticks {
  /**
   * Reads the plain rows of a text file; `state` says from where to where, which row is next and how many there is room for,
   * and then where it stopped: at a row that is not plain, or at the end (native/node-sampling.rows.c).
   */
  readRows(
    bytes: Uint8Array,
    state: Float64Array,
    kinds: Uint8Array,
    arrays: readonly (Float64Array | Uint32Array | Int32Array | Uint8Array)[],
  ): number;
  /**
   * Reads the plain rows of a CSV file of papiex; `state` says from where, and where it stopped (native/node-sampling.cells.c).
   * New texts are added to those that are there: `sizes` says how many these are.
   */
  readCells(
    bytes: Uint8Array,
    state: Float64Array,
    kinds: Uint8Array,
    arrays: readonly (Float64Array | Uint32Array | Int32Array | Uint8Array)[],
    sizes: Uint32Array,
    first: Uint32Array,
    file: Uint32Array,
    line: Uint32Array,
  ): number;
  /** Reads a file from its beginning; `single`: 1 for one that the kernel gives in one piece. The length, or −errno. */
  readFile(fd: number, bytes: Uint8Array, single: 0 | 1): number;
  /** 1: the file has no name any more. */
  isRemoved(fd: number): number;
  /** How many bytes were written, or −errno. */
  writeFile(fd: number, bytes: Uint8Array, from: number, to: number): number;
  /** Takes the numbers of a file's lines, six integers a line (src/sources/fields.ts); 0: its lines are not those. */
  takeFields(lines: Int32Array, bytes: Uint8Array, end: number, numbers: Float64Array, at: number): number;
  /** Takes the numbers of a text that has this form (src/sources/form.ts); 0: it has another one. */
  takeNumbers(form: Float64Array, bytes: Uint8Array, end: number, numbers: Float64Array): number;
  /** Writes a comma and a number for each of `decimals`; where the text ends, or −1: it could not. */
  putNumbers(bytes: Uint8Array, at: number, numbers: Float64Array, from: number, decimals: Uint8Array): number;
  /**
   * Reads /proc/PID/schedstat of many: three numbers each in `counts`. Results: 0: it did not run since they were
   * counted, 1: it did, 2: it has to be looked at in another way.
   */
  lookAtSchedules(files: Int32Array, counts: Float64Array, results: Uint8Array): number;
  /** Gives back the memory that Node's program file takes: what is needed again comes back from the file by itself. */
  dropProgram(): number;
  /** Gives back what malloc keeps for later. */
  trimHeap(): number;
}

/**
 * Whole ticks in C (native/node-sampling.ticks.c), for one agent of this process. All return a number below 0 when they
 * could not do it.
 */
interface Ticks {
  /** Numbers that both sides share: what is to be done, what was done, and what each table was written. */
  beginTicks(
    settings: Float64Array,
    state: Float64Array,
    tallies: Float64Array,
    wake: (now: number, due: number) => void,
  ): number;
  /** A table whose rows are these numbers; `texts`: what stands between time and numbers of each row, ended by 0. */
  setTable(
    index: number,
    out: number,
    numbers: Float64Array,
    rows: number,
    decimals: Uint8Array,
    texts: Uint8Array,
  ): number;
  /** One more file of a table. */
  setFile(index: number, fd: number, single: 0 | 1, form: Float64Array): number;
  /** Where a table is written, −1: the agent's own, −2: that of processes. */
  setOutput(index: number, out: number): number;
  setOwn(
    statm: number,
    out: number,
    numbers: Float64Array,
    rows: number,
    decimals: Uint8Array,
    texts: Uint8Array,
    positions: Int32Array,
  ): number;
  /** Whose schedstat is looked at, and the file that has the newest process id; −1: nobody's. */
  setProcesses(pids: number, files: Int32Array, counts: Float64Array, results: Uint8Array): number;
  /** How C reads those of them that ran, and writes their rows (src/sources/process/schedules.ts). */
  setProcessRows(
    readable: Int32Array,
    facts: Float64Array,
    numbers: Float64Array,
    texts: Uint8Array,
    positions: Int32Array,
    decimals: Uint8Array,
    limits: Float64Array,
  ): number;
  dropTables(): number;
  /** Reads and writes all tables; how many it could not. */
  sampleTables(): number;
  /** Microseconds of the clock that never jumps. */
  steady(): number;
  armTicks(): number;
  disarmTicks(): number;
}

/** A module that an earlier version left, where there is no compiler any more, has not all of these. */
const NAMES = Object.keys({
  readFile: 0,
  isRemoved: 0,
  writeFile: 0,
  takeFields: 0,
  takeNumbers: 0,
  putNumbers: 0,
  lookAtSchedules: 0,
  dropProgram: 0,
  trimHeap: 0,
  readRows: 0,
  readCells: 0,
  beginTicks: 0,
  setTable: 0,
  setFile: 0,
  setOutput: 0,
  setOwn: 0,
  setProcesses: 0,
  setProcessRows: 0,
  dropTables: 0,
  sampleTables: 0,
  steady: 0,
  armTicks: 0,
  disarmTicks: 0,
} satisfies Record<keyof Sampling, 0>) as (keyof Sampling)[];

/** Whether a module has all that is asked of it. */
export const isWhole = (module: Partial<Sampling>): module is Sampling =>
  NAMES.every((name) => typeof module[name] === 'function');

let loaded: Sampling | null = null;
let isTried = false;

/** Null: it is not there (no C compiler when Tacho was set up); the same is then done in JavaScript. */
export function sampling(): Sampling | null {
  if (isTried) return loaded;
  isTried = true;
  try {
    const made: { exports: Partial<Sampling> } = { exports: {} };
    process.dlopen(made, ours('native/build/sampling.node'));
    loaded = isWhole(made.exports) ? made.exports : null;
  } catch {
    // it is only a saving
  }
  return loaded;
}
