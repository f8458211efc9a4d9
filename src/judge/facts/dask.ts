import { greatest } from '../../base/extremes.ts';
import { stated } from '../../base/stated.ts';
import type { DaskRun } from '../../query/dask/dask-run.ts';
import type { Material } from '../../query/material.ts';
import type { DaskReport } from '../report-schema.ts';

const MOST_PREFIXES = 200;

/** undefined when no task of Dask was recorded, or only a part of the job is looked at. */
export function daskReport({ dask }: Material): DaskReport | undefined {
  const run = dask?.();
  return run === undefined ? undefined : reportOf(run);
}

function reportOf({ tasks, prefixes, workers, graphs, from, to }: DaskRun): DaskReport {
  const sum = (of: 'erred' | 'lost' | 'recomputed'): number => prefixes.reduce((all, each) => all + each[of], 0);
  const threads = workers.map(({ use }) => use.threads).filter((count) => !Number.isNaN(count));
  const had = workers.reduce((all, { threadSeconds }) => all + threadSeconds, 0);
  const busy = workers.reduce((all, { busySeconds }) => all + busySeconds, 0);
  const spilled = workers.flatMap(({ use }) => [...use.spilled].filter((bytes) => !Number.isNaN(bytes)));
  return {
    tasks,
    erred: sum('erred'),
    lost: sum('lost'),
    recomputed: sum('recomputed'),
    graphs: graphs.length,
    workers: workers.length,
    ...(threads.length > 0 && { threads: threads.reduce((all, count) => all + count, 0) }),
    seconds: (to - from) / 1e6,
    ...(had > 0 && { busy: Math.min(1, busy / had) }),
    ...(spilled.length > 0 && { spilled_peak_bytes: greatest(spilled) }),
    prefixes: prefixes.slice(0, MOST_PREFIXES),
    ...stated({ more_prefixes: prefixes.length > MOST_PREFIXES ? prefixes.length - MOST_PREFIXES : undefined }),
  };
}
