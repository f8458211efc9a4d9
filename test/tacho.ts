import { type SpawnSyncOptionsWithStringEncoding, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { TestContext } from 'node:test';

/** The program as a user starts it: of this checkout, or the one that TACHO_UNDER_TEST names (`npm run test:release`). */
export const TACHO = process.env.TACHO_UNDER_TEST ?? path.join(import.meta.dirname, '..', 'tacho');
/** A release lies in one file, compiled beforehand; a checkout as it was written. */
export const IS_RELEASE = process.env.TACHO_UNDER_TEST !== undefined;
delete process.env.TACHO_UNDER_TEST;

export interface Answer {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

/** Runs `./tacho …` and waits for its end. */
export function tacho(args: readonly string[], options: Partial<SpawnSyncOptionsWithStringEncoding> = {}): Answer {
  const done = spawnSync(TACHO, args, { encoding: 'utf8', timeout: 300_000, ...options });
  return { code: done.status, signal: done.signal, out: done.stdout, err: done.stderr };
}

/** Why no terminal can be made here, or false. */
export const whyNoTerminal = spawnSync('script', ['--version']).error !== undefined && 'needs script(1)';

/** The lines that `tacho …`, as a shell reads it, prints on a terminal of that many columns. */
export function onTerminal(
  columns: number,
  verb: string,
  options: Partial<SpawnSyncOptionsWithStringEncoding> = {},
): string[] {
  const run = `stty cols ${columns} rows 40; exec '${TACHO}' ${verb}`;
  const given: SpawnSyncOptionsWithStringEncoding = { encoding: 'utf8', timeout: 300_000, ...options };
  return spawnSync('script', ['-qec', run, '/dev/null'], given).stdout.split('\r\n');
}

/** A folder of the test's own, removed at its end. */
export function temporaryFolder(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}
