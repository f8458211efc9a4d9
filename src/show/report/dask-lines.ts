import { formatDuration } from '../../base/duration.ts';
import { count, figure, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import type { DaskReport, Report } from '../../judge/report-schema.ts';

/** Number of prefixes that are named. */
const MOST_NAMES = 3;

/** What a Dask cluster did: its amount of work, what went wrong, and what took most time. */
export function daskLines({ dask }: Pick<Report, 'dask'>): string[] {
  return dask === undefined ? [] : [workLine(dask), troubleLine(dask), timeLine(dask)].filter((text) => text !== '');
}

function workLine({ tasks, graphs, workers, threads, seconds, busy }: DaskReport): string {
  const submitted = graphs === 0 ? '' : ` of ${count(graphs, 'graph')}`;
  const on = workers === 0 ? '' : ` on ${count(workers, 'worker')}`;
  const ofThreads = threads === undefined || threads === workers ? '' : ` with ${count(threads, 'thread')}`;
  const share = busy === undefined ? '' : `; threads busy ${percent(busy)} of it`;
  return `${count(tasks, 'task')}${submitted}${on}${ofThreads} in ${formatDuration(seconds)}${share}`;
}

function troubleLine({ erred, lost, recomputed, spilled_peak_bytes: spilled = 0 }: DaskReport): string {
  return [
    ...(erred > 0 ? [`${figure(erred)} failed`] : []),
    ...(lost > 0 ? [`${figure(lost)} lost with ${lost === 1 ? 'its worker' : 'their workers'}`] : []),
    ...(recomputed > 0 ? [`${figure(recomputed)} computed again`] : []),
    ...(spilled > 0 ? [`up to ${formatBytes(spilled)} of a worker spilled to disk`] : []),
  ].join(', ');
}

function timeLine({ prefixes, more_prefixes = 0 }: DaskReport): string {
  const named = prefixes
    .slice(0, MOST_NAMES)
    .map(({ prefix, seconds, tasks }) => `${prefix} ${formatDuration(seconds)} (${count(tasks, 'task')})`);
  const rest = prefixes.length - named.length + more_prefixes;
  return `most time: ${named.join(', ')}${rest > 0 ? `; ${count(rest, 'more prefix', 'more prefixes')} (tacho dask tasks)` : ''}`;
}
