import * as os from 'node:os';
import type { Worker } from 'node:worker_threads';

/** The first argument of a program that is started as a thread of itself. */
export const THREAD_MARK = '--thread';

/** Number of items that wait in the other thread, so that it need not wait for this one. */
const WAITING = 3;
/** Number of results that are kept until those before them are there. */
const AHEAD = 64;

let program: string | undefined;

/** The program says what it is started from: only then there is a second thread. */
export function allowThreads(file: string | undefined): void {
  program = file;
}

/**
 * What `work` makes of each item, in their order. Some of them are done by another thread at the same time, where `task`
 * names the same work (src/cli/thread.ts); what that cannot do is done here. Items and results are plain data. Items may be
 * found one by one: the other thread works while this one looks for more.
 */
export async function* inTwoThreads<I, O>(
  task: string,
  items: Iterable<I>,
  work: (item: I) => O | Promise<O>,
  isWorthIt = true,
): AsyncGenerator<O> {
  const thread = isWorthIt ? await Thread.start<I, O>(task) : undefined;
  const done = new Map<number, O>();
  const begun = new Map<number, I>();
  const more = items[Symbol.iterator]();
  let next = 0;
  let isMore = true;
  /** The place of one more item, if there is one. */
  const take = (): number | undefined => {
    const item = isMore ? more.next() : undefined;
    isMore = item !== undefined && item.done !== true;
    if (item === undefined || item.done === true) return undefined;
    begun.set(next, item.value);
    return next++;
  };
  try {
    for (let i = 0; i < next || isMore; ) {
      while (thread?.hasRoom === true && isMore) {
        const index = take();
        if (index !== undefined) thread.ask(index, begun.get(index)!);
      }
      const result = thread?.results.get(i) ?? done.get(i);
      const own = result === undefined && next - i < (thread === undefined ? 1 : AHEAD) ? take() : undefined;
      if (result !== undefined) {
        thread?.results.delete(i);
        begun.delete(i);
        done.delete(i++);
        yield result;
      } else if (own !== undefined) {
        done.set(own, await work(begun.get(own)!));
        // what the other one has done comes in between
        if (thread !== undefined) await new Promise(setImmediate);
      } else if (thread?.asked.has(i) === true) await thread.news();
      else if (begun.has(i)) done.set(i, await work(begun.get(i)!));
    }
  } finally {
    await thread?.worker.terminate();
  }
}

/** What the other thread answers: the place of an item, and what was made of it; without that, it could not do it. */
export type ThreadAnswer<O> = readonly [number, O?];

class Thread<I, O> {
  readonly worker: Worker;
  readonly asked = new Set<number>();
  readonly results = new Map<number, O>();
  private isGone = false;
  private notify = (): void => {};

  static async start<I, O>(task: string): Promise<Thread<I, O> | undefined> {
    if (program === undefined || os.availableParallelism() < 2) return undefined;
    const { Worker } = await import('node:worker_threads');
    return new Thread<I, O>(new Worker(program, { argv: [THREAD_MARK, task] }));
  }

  constructor(worker: Worker) {
    this.worker = worker;
    worker.on('message', ([i, result]: ThreadAnswer<O>) => {
      this.asked.delete(i);
      if (result !== undefined) this.results.set(i, result);
      this.notify();
    });
    const gone = (): void => {
      this.isGone = true;
      this.asked.clear();
      this.notify();
    };
    worker.on('error', gone).on('exit', gone);
  }

  get hasRoom(): boolean {
    return !this.isGone && this.asked.size < WAITING;
  }

  ask(i: number, item: I): void {
    this.asked.add(i);
    this.worker.postMessage([i, item]);
  }

  news(): Promise<void> {
    return new Promise((resolve) => {
      this.notify = resolve;
    });
  }
}
