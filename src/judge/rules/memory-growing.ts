import { formatDuration } from '../../base/duration.ts';
import { nodeList } from '../../base/node-list.ts';
import { formatBytes } from '../../base/size.ts';
import { count } from '../../base/words.ts';
import { processTable } from '../../sources/tables.ts';
import { medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { named, rule } from './shared/rule.ts';

/** Smaller processes, and shorter jobs, may grow without anybody minding. */
const thresholds = { bytes: 2 ** 30, seconds: 600 };

export default rule({
  id: 'memory-growing',
  title: 'memory that only grows',
  help: 'The memory of a process of more than 1 GiB grew like a straight line for ten minutes or more, and was highest at the end.',
  kind: 'trouble',
  order: 520,
  needs: [
    {
      what: 'ten minutes',
      has: ({ summary }) => !(summary.wall_seconds < thresholds.seconds),
      otherwise: { skipped: 'the job was too short to tell growth from filling' },
    },
    {
      what: 'processes that were sampled',
      columns: [processTable.col.rss_bytes],
      has: ({ processes }) => processes.length > 0,
      otherwise: { unmeasurable: 'no processes of the job were seen' },
    },
  ],
  thresholds,
  when({ nodes, processes, summary }, { bytes, seconds }) {
    const growing = processes
      .filter((p) => p.rss_growth !== undefined && (p.rss_max_bytes ?? 0) >= bytes && p.seconds >= seconds)
      .sort((a, b) => b.rss_growth! - a.rss_growth!);
    const [worst] = growing;
    if (worst === undefined) return [];
    const node = nodes.find((n) => n.node === worst.node);
    const bytesPerSecond = growing.filter((p) => p.node === worst.node).reduce((total, p) => total + p.rss_growth!, 0);
    const left = (node?.memory_limit_bytes ?? Number.NaN) - (node?.memory_peak_bytes ?? Number.NaN);
    const time = left > 0 ? left / bytesPerSecond : Number.POSITIVE_INFINITY;
    return [{ growing, fullAfter: time < 2 * summary.wall_seconds ? time : undefined }];
  },
  severity: 'warning',
  say({ growing, fullAfter }) {
    const nodes = nodeList([...new Set(growing.map((p) => p.node))]);
    const note =
      fullAfter === undefined ? '' : `, and would have filled the node after ${formatDuration(fullAfter)} more`;
    return `Memory of ${count(growing.length, 'process', 'processes')} on ${nodes} grew until the end${note}`;
  },
  evidence: ({ growing }) =>
    shown(growing).map((p) => ({
      text: `${p.node} pid ${p.pid}: ${formatBytes(p.rss_growth! * 3600)} an hour, up to ${formatBytes(p.rss_max_bytes!)}`,
      from: named(processTable.col.rss_bytes),
      node: p.node,
      value: p.rss_growth!,
    })),
  advise:
    'Look for what is kept for ever: lists of results, caches without a limit, tensors that hold their history. If it has to grow, ask for more memory for longer runs.',
  confidence: medium('a program that fills a data structure on purpose looks the same'),
});
