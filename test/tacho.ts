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
/** The program that asks for forks of that release instead of starting it, and where (test/forked); undefined: none. */
const FORKED = process.env.FORKED_UNDER_TEST?.split(' ');
delete process.env.FORKED_UNDER_TEST;
/** What is asked of recordings and archives. What records, or goes on for long, is started. */
const FORKABLE = new Set(
  [
    'report show processes threads ranks timeline operations compare outliers model cause explore scale advise export',
    'list seal verify import annotate jobs history waste hogs load uptime nodes sql index policy db submit push token',
    'completion demo help --help --version',
  ].flatMap((names) => names.split(' ')),
);
/** What Node or the launcher of the release heeds, or what tells that a job runs here: with others a verb is started. */
const STARTED_WITH = /^(NODE_|OPENSSL_|LD_|MALLOC_|TACHO_RECORDING$|SLURM_JOB_ID$|PBS_JOBID$|FLUX_JOB_ID$)/;
/** Bundles of the release that this test file has started: each is at least once. */
const startedBundles = new Set<string>();

export interface Answer {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

/** Runs `./tacho …` and waits for its end. */
export function tacho(args: readonly string[], options: Partial<SpawnSyncOptionsWithStringEncoding> = {}): Answer {
  const [program, ...first] = FORKED !== undefined && mayFork(args, options) ? FORKED : [TACHO];
  const done = spawnSync(program!, [...first, ...args], { encoding: 'utf8', timeout: 300_000, ...options });
  return { code: done.status, signal: done.signal, out: done.stdout, err: done.stderr };
}

function mayFork(
  [verb = '', ...rest]: readonly string[],
  options: Partial<SpawnSyncOptionsWithStringEncoding>,
): boolean {
  const { uid, gid, argv0, shell, env = process.env } = options;
  const bundle = ['export', 'report'].includes(verb) ? verb : 'tacho';
  const isFirst = !startedBundles.has(bundle);
  startedBundles.add(bundle);
  if (isFirst || !FORKABLE.has(verb) || (verb === 'scale' && rest[0] === 'run')) return false;
  return (
    [uid, gid, argv0, shell].every((each) => each === undefined) &&
    !Object.keys(env).some((name) => STARTED_WITH.test(name) && env[name] !== process.env[name])
  );
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
export function temporaryFolder(t: TestContext, below = os.tmpdir()): string {
  const folder = fs.mkdtempSync(path.join(below, 'tacho-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}
