import { type ChildProcess, spawn } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import * as path from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS, ownNodeEnvironment } from '../../base/own-node.ts';
import { stated } from '../../base/stated.ts';
import { MARK, type Opening, type Request, ROOM, type SourceMessage } from './talk.ts';

declare const TACHO_VERSION: string | undefined;

/** A release is one file, which is the reader too when it is started with the mark. */
function entry(): string {
  const here = fileURLToPath(import.meta.url);
  return typeof TACHO_VERSION === 'string' ? here : path.join(path.dirname(here), 'worker.ts');
}

/** One process that reads isolated sources. It never keeps the agent from ending, and ends with it. */
export class Child {
  readonly opening: Opening;
  ready = false;
  /** Since when it owes an answer, in milliseconds of a clock that nobody sets; 0: it waits. */
  busySince = performance.now();
  /** It was late once without being at any device: perhaps its answer is on the way. */
  doubted = false;
  /** The device at which it was given up. */
  hung: string | undefined;
  /** Tables that are not what they were in the process before it. */
  readonly strange = new Set<string>();
  /** The device that it said it is at. */
  at = '';
  cost = { cpu_us: 0, rss_bytes: 0 };
  retired = false;
  readonly gone: Promise<void>;
  private readonly process: ChildProcess;

  constructor(opening: Opening, hear: (message: SourceMessage) => void, died: (how: string) => void) {
    this.opening = opening;
    this.process = startReader();
    const gone = Promise.withResolvers<void>();
    this.gone = gone.promise;
    let isOver = false;
    const end = (how: string): void => {
      if (isOver) return;
      isOver = true;
      gone.resolve();
      died(how);
    };
    this.process.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
    this.process.once('error', (error) => end(error.message));
    hearLines(this.process, (line) => hear(JSON.parse(line) as SourceMessage));
    this.say(opening);
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  /** How many devices it has left out from the beginning. */
  get left(): number {
    return this.opening.skip.length;
  }

  ask(request: Request): void {
    this.busySince = performance.now();
    this.doubted = false;
    this.at = '';
    this.say(request);
  }

  private say(message: Opening | Request): void {
    this.process.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  /** Lets it end after what it is doing. */
  retire(): void {
    this.retired = true;
    this.process.stdin!.end();
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }
}

function startReader(): ChildProcess {
  const cache = getCompileCacheDir();
  const own = ownNodeEnvironment(process.env);
  const debug = process.env.TACHO_DEBUG === undefined ? 'ignore' : 'inherit';
  return spawn(process.execPath, [...NODE_FLAGS, '--max-semi-space-size=1', entry(), MARK, ROOM], {
    stdio: ['pipe', debug, debug, 'pipe'],
    env: {
      ...own,
      MALLOC_ARENA_MAX: own.MALLOC_ARENA_MAX ?? '1',
      // what V8 compiled once need not be compiled again
      ...stated({ NODE_COMPILE_CACHE: cache && path.dirname(cache) }),
    },
  });
}

function hearLines(child: ChildProcess, hear: (line: string) => void): void {
  const input = child.stdin!;
  const output = child.stdio[3] as Readable;
  let rest = '';
  // it may end while we write
  input.on('error', () => {});
  output.on('error', () => {});
  output.setEncoding('utf8');
  output.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) hear(line);
  });
  child.unref();
  for (const stream of [input, output]) (stream as unknown as Duplex & { unref?(): void }).unref?.();
}
