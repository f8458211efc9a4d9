import * as fs from 'node:fs';
import { enableCompileCache } from 'node:module';
import * as path from 'node:path';
import { beforeEach, run } from 'node:test';
import { inspect } from 'node:util';

/** Runs test files in one process, and reports to the runner (scripts/test.ts) over the channel that it was given. */

/** What the runner hears. */
export type Report =
  | { kind: 'begun'; file: string; name: string; line: number | undefined }
  | { kind: 'test'; file: string; name: string; state: 'passed' | 'failed' | 'skipped'; why?: string }
  | { kind: 'failure'; file: string; name: string; line: number | undefined; text: string }
  | { kind: 'diagnostic'; file: string; text: string }
  | { kind: 'used'; file: string; milliseconds: number; cpuSeconds: number }
  | { kind: 'over'; complete: boolean; cpuSeconds: number };

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE', 'SIGCHLD', 'SIGWINCH'];

/** What belongs to the whole process: a test that changes it puts it back, or its file has a process of its own. */
export function processState(): Record<string, unknown> {
  return {
    ...Object.fromEntries(Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value])),
    ...Object.fromEntries(SIGNALS.map((name) => [`listeners of ${name}`, process.listenerCount(name)])),
    'working directory': process.cwd(),
    umask: process.umask(),
    uid: process.geteuid!(),
    gid: process.getegid!(),
    'exit code': process.exitCode,
    'process.stdout.write': process.stdout.write,
    'process.stderr.write': process.stderr.write,
    Date,
    setTimeout,
    setInterval,
    fetch,
  };
}

/** The names of what differs. */
export function stateChanges(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => before[name] !== after[name]);
}

/** CPU time of a process and of those that it has waited for. */
export function cpuSeconds(pid: number | 'self' = 'self'): number {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ').slice(11, 15);
  return fields.reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
}

/**
 * Property tests try the same values in every run, so that a failure can be repeated. SEED=random tries others, and
 * RUNS=2000 more of them.
 */
async function setProperties(files: readonly string[]): Promise<void> {
  if (!files.some((file) => fs.readFileSync(file, 'utf8').includes("'fast-check'"))) return;
  const { default: fc } = await import('fast-check');
  const { SEED = '1', RUNS } = process.env;
  fc.configureGlobal({
    ...(SEED === 'random' ? {} : { seed: Number(SEED) }),
    ...(RUNS === undefined ? {} : { numRuns: Number(RUNS) }),
  });
}

function work(files: readonly string[]): void {
  const report = (message: Report): void => void process.send!(message);
  const own = new Map(files.map((file) => [path.resolve(file), file]));
  // a helper may declare tests for the file that calls it
  const fileOf = (file: string | undefined): string => own.get(file ?? '') ?? files[0]!;
  let used = cpuSeconds();
  const stream = run({ files: [...files], isolation: 'none', concurrency: false });

  if (files.length > 1) {
    let begin: Record<string, unknown> | undefined;
    beforeEach((t) => {
      const now = processState();
      const changes = stateChanges(begin ?? now, now);
      begin = now;
      if (changes.length > 0) throw new Error(`a test before "${t.name}" left its mark on the process: ${changes}`);
    });
  }
  stream.on('test:dequeue', ({ file, name, line }) => report({ kind: 'begun', file: fileOf(file), name, line }));
  for (const type of ['test:pass', 'test:fail'] as const) {
    stream.on(type, (event) => {
      const { name, line, nesting, details, skip, todo } = event;
      const file = fileOf(event.file);
      const { error, type: kind, duration_ms: milliseconds } = details as typeof details & { error?: Error };
      if (nesting === 0) {
        const now = cpuSeconds();
        report({ kind: 'used', file, milliseconds, cpuSeconds: now - used });
        used = now;
      }
      const { failureType, cause } = (error ?? {}) as { failureType?: string; cause?: unknown };
      const left = skip !== undefined || todo !== undefined;
      const failed = type === 'test:fail' && !left;
      // a suite fails because a test in it did: that one has been shown
      const shown = failed && failureType !== 'subtestsFailed';
      if (shown) report({ kind: 'failure', file, name, line, text: inspect(cause ?? error) });
      if (kind === 'suite' && !shown) return;
      const why = typeof skip === 'string' ? { why: skip } : {};
      report({ kind: 'test', file, name, state: left ? 'skipped' : failed ? 'failed' : 'passed', ...why });
    });
  }
  stream.on('test:diagnostic', ({ message, file, nesting }) => {
    if (nesting === 0 && file === undefined && message.startsWith('Error:'))
      report({ kind: 'diagnostic', file: fileOf(undefined), text: message });
  });
  stream.resume();
  // who ends the process before its time would hide the tests that follow
  let complete = false;
  stream.on('test:summary', () => {
    complete = true;
  });
  process.on('exit', () => report({ kind: 'over', complete, cpuSeconds: cpuSeconds() }));
  // the runner has ended: what was started here ends with us
  process.on('disconnect', () => process.exit(1));
  process.channel!.unref();
}

if (import.meta.main) {
  // for this process: what tests start has its own ways
  enableCompileCache(path.join(process.env.XDG_CACHE_HOME!, 'tacho-test'));
  const files = process.argv.slice(2);
  await setProperties(files);
  work(files);
}
