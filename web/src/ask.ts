import { useEffect, useState } from 'preact/hooks';
import type { Report } from '../../src/judge/report-schema.ts';
import type {
  ChartData,
  ChartFacts,
  DaskStreamData,
  JobList,
  JobNotes,
  JobSpans,
  NodeJob,
  NodeList,
  ProcessData,
  TableColumns,
  ThreadData,
} from '../../src/serve/api.ts';

import { BASE } from './base.ts';
import { fromFile, isJobFile } from './filed-job.ts';

export type {
  ChartData,
  ChartFacts,
  DaskStreamData,
  JobList,
  JobNotes,
  JobSpans,
  NodeJob,
  NodeList,
  ProcessData,
  Report,
  TableColumns,
  ThreadData,
};

/** What is known of an answer so far. */
export type Asked<T> =
  | { state: 'waiting'; last?: T }
  | { state: 'here'; value: T }
  | { state: 'failed'; why: string; last?: T };

export async function ask<T>(path: string, signal?: AbortSignal, body?: object): Promise<T> {
  if (isJobFile) return fromFile(path) as T;
  let answer: Response;
  const post =
    body === undefined
      ? {}
      : { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  try {
    answer = await fetch(BASE + path, { signal: signal ?? null, headers: { accept: 'application/json' }, ...post });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Error('the server does not answer: is tacho serve still running?');
  }
  if (answer.ok) return (await answer.json()) as T;
  const problem = (await answer.json().catch(() => ({}))) as { title?: string; detail?: string };
  throw new Error([problem.title ?? `status ${answer.status}`, problem.detail].filter(Boolean).join(': '));
}

/** Asks when the path changes; until the new answer is there the last one stays. */
export function useAnswer<T>(path: string | undefined, again: unknown = 0): Asked<T> {
  const [asked, set] = useState<Asked<T>>({ state: 'waiting' });
  useEffect(() => {
    if (path === undefined) return undefined;
    const stop = new AbortController();
    set((before) => ({ state: 'waiting', ...lastOf(before) }));
    ask<T>(path, stop.signal).then(
      (value) => set({ state: 'here', value }),
      (error: Error) => {
        if (!stop.signal.aborted) set((before) => ({ state: 'failed', why: error.message, ...lastOf(before) }));
      },
    );
    return () => stop.abort();
  }, [path, again]);
  return asked;
}

function lastOf<T>(before: Asked<T>): { last?: T } {
  if (before.state === 'here') return { last: before.value };
  return before.last === undefined ? {} : { last: before.last };
}

export const latest = <T>(asked: Asked<T>): T | undefined => (asked.state === 'here' ? asked.value : asked.last);
