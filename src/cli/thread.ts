import { parentPort } from 'node:worker_threads';
import type { ThreadAnswer } from '../base/two-threads.ts';

/** What a second thread can do, by name; `inTwoThreads` says what with. */
const TASKS = {
  report: async () => (await import('./report.ts')).reportOf,
  card: async () => (await import('./report.ts')).cardOfFound,
  list: async () => (await import('../recording/folder/list.ts')).describeAll,
  summarise: async () => (await import('../query/summarise.ts')).summariseAsked,
} as const;

export type ThreadTask = keyof typeof TASKS;

/** Does what the program asks of its second thread. */
export async function runThread(task: ThreadTask): Promise<void> {
  const port = parentPort!;
  const work = (await TASKS[task]()) as (item: unknown) => unknown;
  port.on('message', async ([i, item]: [number, unknown]) => {
    try {
      port.postMessage([i, await work(item)] satisfies ThreadAnswer<unknown>);
    } catch {
      // whoever asked tries it again, and says what is wrong
      port.postMessage([i]);
    }
  });
}
