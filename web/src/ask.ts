import { useEffect, useRef, useState } from 'preact/hooks';
import { BASE } from './base.ts';
import { fromFile, isJobFile } from './filed-job.ts';

export type { Report } from '../../src/judge/report-schema.ts';
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
  TableColumns,
  ThreadData,
} from '../../src/serve/api.ts';

/** What is known of an answer so far; `why` there was none the last time. */
export type Asked<T> =
  | { state: 'waiting'; last?: T; why?: string }
  | { state: 'here'; value: T }
  | { state: 'failed'; why: string; last?: T };

export async function ask<T>(path: string, signal?: AbortSignal, body?: object): Promise<T> {
  if (isJobFile) return fromFile(path) as T;
  let response: Response;
  const post =
    body === undefined
      ? {}
      : { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  try {
    response = await fetch(BASE + path, { signal: signal ?? null, headers: { accept: 'application/json' }, ...post });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Error('the server does not answer: is tacho serve still running?');
  }
  if (response.ok) return (await response.json()) as T;
  const problem = (await response.json().catch(() => ({}))) as { title?: string; detail?: string };
  throw new Error([problem.title ?? `status ${response.status}`, problem.detail].filter(Boolean).join(': '));
}

/**
 * Asks when the path or `again` changes; until the new answer is there the last one stays. While an answer is under way it is
 * not asked for again, but once after it: samples that come faster than answers would else keep all of them from being shown.
 */
export function useAnswer<T>(path: string | undefined, again: unknown = 0): Asked<T> {
  const [asked, set] = useState<Asked<T>>({ state: 'waiting' });
  const asking = useRef<{ again: unknown; next(): void }>(undefined);
  useEffect(() => {
    if (path === undefined) return undefined;
    const stop = new AbortController();
    let [isUnderWay, isDue] = [false, false];
    const next = (): void => {
      isDue = isUnderWay;
      if (isUnderWay) return;
      isUnderWay = true;
      set((before) => ({ state: 'waiting', ...lastOf(before), ...whyOf(before) }));
      ask<T>(path, stop.signal)
        .then(
          (value): Asked<T> => ({ state: 'here', value }),
          (error: Error): Asked<T> => ({ state: 'failed', why: error.message }),
        )
        .then((reply) => {
          isUnderWay = false;
          if (stop.signal.aborted) return;
          set((before) => (reply.state === 'here' ? reply : { ...reply, ...lastOf(before) }));
          if (isDue) next();
        });
    };
    asking.current = { again, next };
    next();
    return () => {
      stop.abort();
      asking.current = undefined;
    };
  }, [path]);
  useEffect(() => {
    const now = asking.current;
    if (now === undefined || now.again === again) return;
    now.again = again;
    now.next();
  }, [again]);
  return asked;
}

function lastOf<T>(before: Asked<T>): { last?: T } {
  if (before.state === 'here') return { last: before.value };
  return before.last === undefined ? {} : { last: before.last };
}

const whyOf = (before: Asked<unknown>): { why?: string } =>
  before.state === 'here' || before.why === undefined ? {} : { why: before.why };

export const latest = <T>(asked: Asked<T>): T | undefined => (asked.state === 'here' ? asked.value : asked.last);
