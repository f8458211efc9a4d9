import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { ours } from '../../src/base/ours.ts';
import { RecordLines } from '../../src/sources/records/lines.ts';
import { recordTables } from '../../src/sources/records/tables.ts';
import type { Frame } from '../../src/table/frame.ts';

export const LIBRARY = ours('native/build/libtacho-record.so');

/** Why these tests cannot be run here; false: they can. */
export const skip: string | false = !has('cc')
  ? 'needs a C compiler'
  : !fs.existsSync(LIBRARY) && 'needs native/build/libtacho-record.so';

export function has(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
}

/** A row by the names of its columns: numbers, and texts. */
// biome-ignore lint/suspicious/noExplicitAny: tests name the columns that they mean
export type Row = Record<string, any>;

export interface Recorded {
  starts: Row[];
  ends: Row[];
  threads: Row[];
  torn: number;
  status: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
  /** The file as it was written. */
  lines: string[];
}

/** A folder for programs and files of one test file; the caller removes it. */
export function workshop(): string {
  return fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-native-'));
}

/** Compiles test/native/NAME.c. */
export function build(folder: string, name: string, compiler: string, ...flags: string[]): string {
  const program = path.join(folder, `${name}-${compiler}${flags.join('')}`.replaceAll(/[^\w.-]/g, ''));
  execFileSync(compiler, ['-O1', '-w', '-o', program, path.join(import.meta.dirname, `${name}.c`), ...flags]);
  return program;
}

/**
 * Runs a command with the library, and says what it has recorded once all of its processes have ended; `ends`: so many of
 * them say so, also those that it does not wait for.
 */
export function recorded(
  command: readonly string[],
  env: Record<string, string | undefined> = {},
  options: { ends?: number; cwd?: string; library?: string } = {},
): Recorded {
  const folder = fs.mkdtempSync(path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'tacho-test-'));
  try {
    const file = path.join(folder, 'events');
    const done = spawnSync(command[0]!, command.slice(1), {
      env: { ...clean(), LD_PRELOAD: options.library ?? LIBRARY, TACHO_RECORD: file, ...env },
      encoding: 'utf8',
      timeout: 240_000,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    const written = (): Buffer => (fs.existsSync(file) ? fs.readFileSync(file) : Buffer.alloc(0));
    for (let tries = 0; tries < 1200 && rowsOf(written()).ends.length < (options.ends ?? 0); tries++) {
      spawnSync('sleep', ['0.05']);
    }
    const bytes = written();
    return {
      ...rowsOf(bytes, (env.TACHO_RECORD_EVENTS ?? '').split(',')),
      status: done.status,
      signal: done.signal,
      out: done.stdout,
      err: done.stderr,
      lines: bytes.toString('latin1').split('\n').filter(Boolean),
    };
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

function clean(): Record<string, string | undefined> {
  const env = { ...process.env };
  for (const name of Object.keys(env))
    if (/^(TACHO_|PAPIEX_|LD_PRELOAD|SLURM_|PMIX_|OMPI_)/.test(name)) delete env[name];
  return env;
}

export function rowsOf(
  bytes: Buffer,
  events: readonly string[] = [],
): Pick<Recorded, 'starts' | 'ends' | 'threads' | 'torn'> {
  const lines = new RecordLines(recordTables(events));
  for (let from = 0, end = bytes.indexOf(10); end >= 0; from = end + 1, end = bytes.indexOf(10, from)) {
    if (end > from) lines.take(bytes, from, end);
  }
  lines.release(true);
  const { start, end, thread } = lines.frames;
  return {
    starts: rows(start),
    ends: rows(end),
    threads: rows(thread),
    torn: lines.trouble.torn + lines.trouble.unknown,
  };
}

export function rows(frame: Frame): Row[] {
  return Array.from({ length: frame.rows }, (_, r) => {
    const row: Row = { time: frame.times![r] };
    frame.table.keys.forEach((key, k) => {
      row[key.name] = frame.texts[r * frame.textWidth + k]!;
    });
    frame.table.columns.forEach((column, c) => {
      const at = frame.indexes[c]!;
      row[column.name] =
        at >= 0 ? frame.numbers[r * frame.numberWidth + at]! : frame.texts[r * frame.textWidth - 1 - at]!;
    });
    return row;
  });
}
