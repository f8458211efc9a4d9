import { formatDuration } from '../../base/duration.ts';
import { nodeList } from '../../base/node-list.ts';
import { count } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import type { ColumnSeries } from '../../query/series/series.ts';
import type { Figures } from '../../recording/sealed/statistics.ts';
import { processTable } from '../../sources/tables.ts';
import type { NodeReport, ProcessReport } from '../report-schema.ts';
import { medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { named, type RuleContext, rule } from './shared/rule.ts';

const thresholds = {
  /** Bytes of peak memory from which a process is judged. */
  bytes: 2 ** 30,
  /** Seconds that the process ran. */
  seconds: 600,
  /** Share of the limit in use, from which a shorter job is judged if it would soon reach the limit. */
  near: 0.5,
  /** Seconds that a process of such a job ran. */
  short_seconds: 60,
  /** How much of the variation a straight line explains (0 to 1): memory that comes and goes is no growth. */
  straight: 0.8,
  /** Mean distance of memory from its peak until then, as a share of its growth, up to which it never fell. */
  fell: 0.05,
};

const { rss_bytes, rss_peak_bytes } = processTable.col;

/** Number of steps into which the time is divided. */
const STEPS = 100;

export default rule({
  id: 'memory-growing',
  title: 'memory that only grows',
  help: 'The memory of a process of more than 1 GiB grew like a straight line for ten minutes or more, and was highest at the end. A job of a minute or more is also reported when half of its limit is in use, and the rest would be after the same time again. Where it fell in between, its samples must lie near such a line.',
  kind: 'trouble',
  order: 520,
  needs: [
    {
      what: 'ten minutes, or a minute where the limit is near',
      has: (facts) =>
        !(facts.summary.wall_seconds < thresholds.seconds) ||
        (facts.summary.wall_seconds >= thresholds.short_seconds && nearNodes(facts, thresholds.near).length > 0),
      otherwise: { skipped: 'the job was too short to tell growth from filling' },
    },
    {
      what: 'processes that were sampled',
      columns: [rss_bytes],
      has: ({ processes }) => processes.length > 0,
      otherwise: { unmeasurable: 'no processes of the job were sampled' },
    },
  ],
  overTime: [rss_bytes],
  thresholds,
  when(facts, { bytes, seconds, straight, fell, near, short_seconds }) {
    const { nodes, processes, summary } = facts;
    const full = nearNodes(facts, near);
    const isLong = (p: ProcessReport): boolean => p.seconds >= seconds && (p.rss_max_bytes ?? 0) >= bytes;
    const isNear = ({ node, rss_max_bytes: peak = 0, seconds: lifetime, rss_growth: rate }: ProcessReport): boolean => {
      const { memory_limit_bytes: limit = 0, memory_peak_bytes: used = 0 } = full.find((n) => n.node === node) ?? {};
      return peak >= near * limit && limit > 0 && lifetime >= short_seconds && (limit - used) / rate! <= lifetime;
    };
    const perhaps = processes
      .filter((p) => p.rss_growth !== undefined && (isLong(p) || isNear(p)))
      .sort((a, b) => b.rss_growth! - a.rss_growth!);
    const growing = perhaps.filter((p) => {
      if (neverFell(facts, p, fell)) return true;
      // statistics do not tell the order of values: samples do, and are read only now
      const own = facts.series(rss_bytes, { node: p.node, keys: { pid: p.pid }, points: STEPS });
      return own.length === 0 || own.some((series) => straightness(series) >= straight);
    });
    const [worst] = growing;
    if (worst === undefined) return [];
    const node = nodes.find((n) => n.node === worst.node);
    const bytesPerSecond = growing.filter((p) => p.node === worst.node).reduce((total, p) => total + p.rss_growth!, 0);
    const left = (node?.memory_limit_bytes ?? Number.NaN) - (node?.memory_peak_bytes ?? Number.NaN);
    const time = left > 0 ? left / bytesPerSecond : Number.POSITIVE_INFINITY;
    const isShort = summary.wall_seconds < seconds;
    return [{ growing, isShort, fullAfter: time < 2 * summary.wall_seconds ? time : undefined }];
  },
  severity: ({ isShort }) => (isShort ? 'advice' : 'warning'),
  say({ growing, fullAfter }) {
    const nodes = nodeList([...new Set(growing.map((p) => p.node))]);
    const note =
      fullAfter === undefined ? '' : `, and would have filled the node after ${formatDuration(fullAfter)} more`;
    return `Memory of ${count(growing.length, 'process', 'processes')} on ${nodes} grew until the end${note}`;
  },
  evidence: ({ growing }) =>
    shown(growing).map((p) => ({
      text: `${p.node} pid ${p.pid}: ${formatBytes(p.rss_growth! * 3600)} an hour, up to ${formatBytes(p.rss_max_bytes!)}${p.command === undefined ? '' : `, ${p.command}`}`,
      from: named(rss_bytes),
      node: p.node,
      value: p.rss_growth!,
    })),
  advise:
    'Look for what is kept for ever: lists of results, caches without a limit, tensors that hold their history. If it has to grow, ask for more memory for longer runs.',
  confidence: medium('a program that fills a data structure on purpose looks the same'),
});

/** Nodes on which the job has used so much of its limit. */
const nearNodes = ({ nodes }: RuleContext, near: number): NodeReport[] =>
  nodes.filter(
    (n) =>
      n.memory_limit_source !== 'machine' && (n.memory_peak_bytes ?? 0) >= near * (n.memory_limit_bytes ?? Infinity),
  );

/** Whether it had as much as ever at any time, as far as statistics tell. */
function neverFell({ statistics }: RuleContext, { node, pid }: ProcessReport, fell: number): boolean {
  const of = (column: typeof rss_bytes | typeof rss_peak_bytes): Figures | undefined =>
    statistics(column, { pid }).find((one) => one.node === node)?.statistics;
  const [rss, mark] = [of(rss_bytes), of(rss_peak_bytes)];
  return rss !== undefined && mark !== undefined && mark.mean - rss.mean <= fell * (rss.max - rss.min);
}

/** How much of the differences between its values a straight line over time explains, 0 to 1. */
function straightness({ time, mean }: ColumnSeries): number {
  const { length } = time;
  const middle = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / length;
  const [t, y] = [middle(time), middle(mean)];
  let [both, times, values] = [0, 0, 0];
  for (let i = 0; i < length; i++) {
    both += (time[i]! - t) * (mean[i]! - y);
    times += (time[i]! - t) ** 2;
    values += (mean[i]! - y) ** 2;
  }
  return both > 0 ? both ** 2 / (times * values) : 0;
}
