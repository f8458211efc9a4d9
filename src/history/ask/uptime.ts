import type { Engine } from './engine.ts';
import { isOneOf, where } from './where.ts';

export interface UptimeQuestion {
  from: number;
  to: number;
  nodes?: readonly string[];
  clusters?: readonly string[];
  /** A node of which nothing came for longer was silent, in seconds. */
  gap: number;
}

/** A time in which a node, or its GPUs, were in one state. */
export interface UptimeSpan {
  cluster: string;
  node: string;
  what: 'node' | 'GPUs';
  /** up: samples came. silent: none came, whether it was down or nobody recorded it. failed: GPUs did not answer. */
  state: 'up' | 'silent' | 'failed';
  /** Epoch microseconds. */
  start: number;
  end: number;
  /** Of GPUs: how many did not answer, of how many. */
  failed?: number;
  gpus?: number;
}

/** When nodes were up, in the words of their samples. A node that was first seen after the period is not there. */
export async function askUptime(engine: Engine, question: UptimeQuestion): Promise<UptimeSpan[]> {
  const { dialect: sql } = engine;
  const { from, to, nodes, clusters, gap } = question;
  const named = [
    ...(nodes === undefined ? [] : [isOneOf(sql, 'h.node', nodes)]),
    ...(clusters === undefined ? [] : [isOneOf(sql, 'h.cluster', clusters)]),
  ];
  const all = await engine.query(
    (table) =>
      `select h.cluster, h.node, min(h.first_time) as since from ${table('node_hours')} h ${where(named)}
        group by h.cluster, h.node order by h.cluster, h.node`,
  );
  const rows = await engine.query(
    (table) => `select h.cluster, h.node, h.first_time, h.last_time, h.gpus, h.gpus_failed
      from ${table('node_hours', { from, to })} h
      ${where([`h.last_time > ${from}`, `h.first_time < ${to}`, ...named])}
      order by h.cluster, h.node, h.first_time`,
  );
  // a node that is asked for by its name, and has never been seen, was silent all the time
  const recordedNodes = new Set(all.map(({ node }) => node));
  const unseen = (nodes ?? []).filter((name) => !/[*?]/.test(name) && !recordedNodes.has(name));
  const rowsOfNode = Map.groupBy(rows, (row) => JSON.stringify([row.cluster ?? '', row.node]));
  const there = all.filter(({ since }) => Number(since) < to);
  return [...there, ...(there.length === 0 ? [] : unseen.map((node) => ({ cluster: '', node })))].flatMap((row) => {
    const cluster = String(row.cluster ?? '');
    const node = String(row.node);
    const own = rowsOfNode.get(JSON.stringify([row.cluster ?? '', row.node])) ?? [];
    const of = { cluster, node };
    const spans: UptimeSpan[] = [];
    let at = from;
    for (const hour of own) {
      const begin = Math.max(from, Number(hour.first_time));
      const end = Math.min(to, Number(hour.last_time));
      const last = spans.at(-1);
      if (begin - at > gap * 1e6) spans.push({ ...of, what: 'node', state: 'silent', start: at, end: begin });
      else if (last?.state === 'up') {
        last.end = Math.max(last.end, end);
        at = Math.max(at, end);
        continue;
      }
      spans.push({
        ...of,
        what: 'node',
        state: 'up',
        start: spans.length === 0 && begin - at <= gap * 1e6 ? at : begin,
        end,
      });
      at = Math.max(at, end);
    }
    const last = spans.at(-1);
    if (to - at > gap * 1e6) spans.push({ ...of, what: 'node', state: 'silent', start: at, end: to });
    else if (last !== undefined) last.end = to;
    return [...spans, ...failedGpus(of, own, question)];
  });
}

/** Times in which GPUs did not answer: until samples came in which they did, or until none came for longer than the gap. */
function failedGpus(
  of: { cluster: string; node: string },
  rows: readonly Record<string, unknown>[],
  { from, to, gap }: UptimeQuestion,
): UptimeSpan[] {
  const spans: UptimeSpan[] = [];
  let open: UptimeSpan | undefined;
  for (const { first_time, last_time, gpus, gpus_failed } of rows) {
    // a recording without GPUs says nothing about them
    if (gpus_failed === null || gpus_failed === undefined) continue;
    const [start, end] = [Math.max(from, Number(first_time)), Math.min(to, Number(last_time))];
    const failed = Number(gpus_failed);
    // of two jobs at the same time one may not have the card that failed
    if (failed === 0 && open !== undefined && start < open.end) continue;
    if (open !== undefined && open.failed === failed && start - open.end <= gap * 1e6)
      open.end = Math.max(open.end, end);
    else {
      open =
        failed === 0 ? undefined : { ...of, what: 'GPUs', state: 'failed', start, end, failed, gpus: Number(gpus) };
      if (open !== undefined) spans.push(open);
    }
  }
  return spans;
}
