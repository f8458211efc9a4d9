import type { ChartData, ThreadData } from '../../src/serve/api.ts';
import type { FiledChart, JobFileContents } from '../../src/serve/job-file/contents.ts';

/** What a file holds of its job; undefined: a server is asked. */
export const packedJob = (): string | undefined => document.getElementById('tacho-data')?.textContent ?? undefined;

/** Whether this page is a file, which no server stands behind. */
export const isJobFile = packedJob() !== undefined;

let contents: JobFileContents | undefined;

export async function fillJobFile(packed: string): Promise<void> {
  const bytes = Uint8Array.from(atob(packed.trim()), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  contents = (await new Response(unpacked).json()) as JobFileContents;
}

/** The part of the job that the file is about. */
export const filedRange = (): JobFileContents['range'] => contents?.range;

/** How far apart the values of charts are, seconds. */
export const filedStep = (): number =>
  Math.min(...Object.values(contents?.values ?? {}).map(({ lines }) => lines.step)) / 1e6;

/** What a server would answer, from the file. */
export function fromFile(path: string): unknown {
  const held = contents!;
  const { pathname, searchParams: query } = new URL(path, 'http://file/');
  const [, , , , topic = '', chart] = pathname.split('/');
  if (topic === '') return held.report;
  if (topic === 'charts' && chart !== undefined) return chartIn(held, decodeURIComponent(chart), query);
  if (topic === 'threads') return threadsIn(held, query.get('process'));
  if (topic === 'charts' || topic === 'spans' || topic === 'processes' || topic === 'dask' || topic === 'notes')
    return held[topic];
  // other columns and other jobs are not in it
  if (topic === 'columns') return [];
  throw new Error('this file does not have it: tacho serve shows all of the recording');
}

function chartIn({ values }: JobFileContents, id: string, query: URLSearchParams): ChartData {
  const filed = values[id];
  if (filed === undefined) throw new Error(`this file has no chart ${id}: tacho serve shows all of the recording`);
  const data = query.get('as') === 'heat' ? heatOf(filed) : focused(filed, query.get('focus'), query.get('focus_key'));
  const [from, to] = [query.get('from'), query.get('to')];
  return from === null || to === null ? data : cutOut(data, Number(from), Number(to));
}

function heatOf({ lines, heat }: FiledChart): ChartData {
  if (heat !== undefined) return heat;
  if (lines.count === 1) return lines;
  if (lines.as === 'band') throw new Error(`this file has no heat map of ${lines.count} series: tacho serve draws it`);
  return { ...lines, as: 'heat', series: lines.series.map(({ min: _, max: __, ...one }) => one) };
}

/** Number of series that are drawn in front of the others. */
const MOST_FOCUSED = 8;

function focused({ lines, heat }: FiledChart, node: string | null, key: string | null): ChartData {
  if (node === null) return lines;
  const series = (lines.as === 'band' ? heat?.series : lines.series) ?? [];
  const wanted = series.filter((one) => one.node === node && (key === null || one.key === key)).slice(0, MOST_FOCUSED);
  if (wanted.length === 0) return lines;
  // the steps of both must be the same
  const same = lines.as === 'band' ? { ...heat!, as: 'band' as const, series: [] } : lines;
  return { ...same, focus: wanted };
}

type Values = (number | null)[];

/** The steps of a part of the time. */
function cutOut(data: ChartData, from: number, to: number): ChartData {
  const steps = (data.series[0]?.mean ?? data.band?.mean ?? []).length;
  const first = Math.min(Math.max(0, Math.floor((from - data.from) / data.step)), Math.max(0, steps - 1));
  const last = Math.max(first + 1, Math.ceil((to - data.from) / data.step));
  const cut = (values: Values): Values => values.slice(first, last);
  const cutSeries = (all: ChartData['series']): ChartData['series'] =>
    all.map((one) => ({
      ...one,
      mean: cut(one.mean),
      ...(one.min === undefined ? {} : { min: cut(one.min) }),
      ...(one.max === undefined ? {} : { max: cut(one.max) }),
    }));
  const { band, focus } = data;
  return {
    ...data,
    from: data.from + first * data.step,
    series: cutSeries(data.series),
    ...(focus === undefined ? {} : { focus: cutSeries(focus) }),
    ...(band === undefined
      ? {}
      : { band: { min: cut(band.min), mean: cut(band.mean), max: cut(band.max), sum: cut(band.sum) } }),
  };
}

/** Threads of a process are told of only where the file has those of all. */
function threadsIn({ threads, processes }: JobFileContents, process: string | null): ThreadData {
  if ((processes.left_out ?? 0) > 0)
    throw new Error('this file has no threads, because the job had very many processes: tacho serve shows them');
  if (process === null) return threads;
  if (threads.left_out > 0)
    throw new Error(`this file has only the ${threads.length} busiest threads of the job: tacho serve shows all`);
  const rows = threads.process.flatMap((each, i) => (each === Number(process) ? [i] : []));
  const of = <T>(column: readonly T[]): T[] => rows.map((row) => column[row]!);
  return {
    length: rows.length,
    process: of(threads.process),
    tid: of(threads.tid),
    start: of(threads.start),
    end: of(threads.end),
    cpu: of(threads.cpu),
    waiting: of(threads.waiting),
    left_out: 0,
  };
}
