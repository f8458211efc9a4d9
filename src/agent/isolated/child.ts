import { spawn } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import * as path from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS, ownNodeEnvironment } from '../../base/own-node.ts';
import { type Answer, MARK, type Opening, type Request, ROOM } from './talk.ts';

declare const TACHO_VERSION: string | undefined;

/** A release is one file, which is the reader too when it is started with the mark. */
function entry(): string {
  const here = fileURLToPath(import.meta.url);
  return typeof TACHO_VERSION === 'string' ? here : path.join(path.dirname(here), 'worker.ts');
}

/** One process that reads isolated sources. */
export interface Child {
  readonly pid: number;
  readonly opening: Opening;
  /** How many devices it has left out from the beginning. */
  readonly left: number;
  readonly complete: boolean;
  ready: boolean;
  /** Since when it owes an answer, in milliseconds of a clock that nobody sets; 0: it waits. */
  busySince: number;
  /** It was late once without being at any device: perhaps its answer is on the way. */
  doubted: boolean;
  /** The device at which it was given up. */
  hung: string | undefined;
  /** Tables that are not what they were in the process before it. */
  readonly strange: Set<string>;
  /** The device that it said it is at. */
  at: string;
  cost: { cpu_us: number; rss_bytes: number };
  readonly retired: boolean;
  readonly gone: Promise<void>;
  ask(request: Request): void;
  /** Lets it end after what it is doing. */
  retire(): void;
  kill(): void;
}

/** Starts a reader. It never keeps the agent from ending, and ends with it. */
export function startChild(opening: Opening, hear: (answer: Answer) => void, died: (how: string) => void): Child {
  const cache = getCompileCacheDir();
  const own = ownNodeEnvironment(process.env);
  const debug = process.env.TACHO_DEBUG === undefined ? 'ignore' : 'inherit';
  const child = spawn(process.execPath, [...NODE_FLAGS, '--max-semi-space-size=1', entry(), MARK, ROOM], {
    stdio: ['pipe', debug, debug, 'pipe'],
    env: {
      ...own,
      MALLOC_ARENA_MAX: own.MALLOC_ARENA_MAX ?? '1',
      // what V8 compiled once need not be compiled again
      ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: path.dirname(cache) }),
    },
  });
  const input = child.stdin!;
  const output = child.stdio[3] as Readable;
  let rest = '';
  let retired = false;
  let over: () => void = () => {};
  const gone = new Promise<void>((resolve) => {
    over = resolve;
  });
  let isOver = false;
  const end = (how: string): void => {
    if (isOver) return;
    isOver = true;
    over();
    died(how);
  };
  child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
  child.once('error', (error) => end(error.message));
  // it may end while we write
  input.on('error', () => {});
  output.on('error', () => {});
  output.setEncoding('utf8');
  output.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) hear(JSON.parse(line) as Answer);
  });
  child.unref();
  for (const stream of [input, output]) (stream as unknown as Duplex & { unref?(): void }).unref?.();
  input.write(`${JSON.stringify(opening)}\n`);

  return {
    pid: child.pid ?? 0,
    opening,
    left: opening.skip.length,
    complete: opening.skip.length === 0,
    ready: false,
    busySince: performance.now(),
    doubted: false,
    hung: undefined,
    strange: new Set(),
    at: '',
    cost: { cpu_us: 0, rss_bytes: 0 },
    get retired() {
      return retired;
    },
    gone,
    ask(request) {
      this.busySince = performance.now();
      this.doubted = false;
      this.at = '';
      input.write(`${JSON.stringify(request)}\n`);
    },
    retire() {
      retired = true;
      input.end();
    },
    kill: () => void child.kill('SIGKILL'),
  };
}
