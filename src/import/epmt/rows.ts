import type { TextBytes } from '../../recording/read/batch.ts';
import { TextPool } from '../../recording/read/text-pool.ts';
import { cellMeanings } from './cell-text.ts';

/** Columns of a file that hold text, and those that describe the process, not its threads. */
export const TEXTS: readonly string[] = ['tags', 'hostname', 'exename', 'path', 'args'];
export const PROCESS_NUMBERS: readonly string[] = [
  'exitcode',
  'exitsignal',
  'pid',
  'generation',
  'ppid',
  'pgid',
  'sid',
  'numtids',
  'mpinumranks',
];
/** What a file must say of a process. Tags need no column: old versions of papiex wrote them as a comment. */
export const NEEDED: readonly string[] = [
  ...TEXTS.filter((column) => column !== 'tags'),
  'exitcode',
  'pid',
  'ppid',
  'pgid',
  'sid',
  'numtids',
  'start',
  'end',
  // without one of them a process would count for less than it used
  'usertime',
  'systemtime',
];

/** Cells as a CSV file holds them, each once; `values` says what they mean. */
export interface Texts {
  codes: Uint32Array;
  pool: TextPool;
}

/**
 * The processes of a job as they come out of its files, column by column. A row is a thread; the numbers of a process
 * stand in the row of its first one. NaN and '' are missing.
 */
export class ProcessRows {
  threads = 0;
  /** Numbers that a file has a column for and no value. */
  empty = 0;
  processes = 0;
  /** For each process, the row of its first thread; one more entry ends the last. */
  first = new Uint32Array(1025);
  /** For each process, the number of its file; for each thread, the line that it stood in. */
  file = new Uint32Array(1024);
  line = new Uint32Array(1024);
  readonly files: string[] = [];
  readonly numbers = new Map<string, Float64Array>();
  readonly texts = new Map<string, Texts>();
  private capacity = 1024;
  private readonly made = new Map<string, TextBytes>();

  constructor() {
    for (const name of TEXTS) {
      const pool = new TextPool();
      pool.codeOf('');
      this.texts.set(name, { codes: new Uint32Array(1024), pool });
    }
  }

  /** Makes room for more rows, for at least twice as many when there is none: then files add up. True: the columns moved. */
  room(rows = 1): boolean {
    if (this.threads + rows <= this.capacity) return false;
    this.reserve(Math.max(this.threads + rows, this.capacity * 2));
    return true;
  }

  private reserve(capacity: number): void {
    this.capacity = capacity;
    for (const [name, old] of this.numbers) this.numbers.set(name, grow(old, new Float64Array(capacity)));
    for (const text of this.texts.values()) text.codes = grow(text.codes, new Uint32Array(capacity));
    this.first = grow(this.first, new Uint32Array(capacity + 1));
    this.file = grow(this.file, new Uint32Array(capacity));
    this.line = grow(this.line, new Uint32Array(capacity));
  }

  /** The column of that name; rows of files without it are missing there. */
  column(name: string): Float64Array {
    let column = this.numbers.get(name);
    if (column === undefined) {
      column = new Float64Array(this.capacity).fill(Number.NaN, 0, this.threads);
      this.numbers.set(name, column);
    }
    return column;
  }

  /** Rows from `from` on are missing in the columns that their file does not have. */
  fillMissing(from: number, has: ReadonlySet<string>): void {
    for (const [name, column] of this.numbers) if (!has.has(name)) column.fill(Number.NaN, from, this.threads);
  }

  /** All texts of a column, by code; to be asked for when all files are read. */
  textBytes(name: string): TextBytes {
    let texts = this.made.get(name);
    if (texts === undefined) {
      texts = cellMeanings(this.texts.get(name)!.pool.packed());
      this.made.set(name, texts);
    }
    return texts;
  }

  /** The same as strings. */
  values(name: string): string[] {
    const { bytes, starts } = this.textBytes(name);
    return Array.from(starts.subarray(1), (end, i) => bytes.toString('utf8', starts[i], end));
  }

  /** "perftools.org-papiex-6477-0.csv, line 2" */
  where(process: number, row = this.first[process]!): string {
    return `${this.files[this.file[process]!]}, line ${this.line[row]}`;
  }
}

function grow<T extends Float64Array | Uint32Array>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
