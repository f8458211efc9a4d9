import { count, figure } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { commandOf } from '../../query/processes/columns.ts';
import { sampleKey, sampleKeyAt } from '../../query/processes/sampled-cpu.ts';
import { processEndTable, processTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import type { Evidence } from '../report-schema.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { named, type RuleContext, rule } from './shared/rule.ts';

const { syscr, syscw, rchar, wchar, systemtime } = processEndTable.col;
const { read_calls, write_calls, read_chars, written_chars, system_ms } = processTable.col;

const thresholds = {
  /** Reads and writes of a process. */
  calls: 200_000,
  /** Mean bytes of a call, below which calls are small: half a page. */
  bytes: 2048,
  /** Share of system time in the CPU time of the process. */
  system: 0.2,
};

interface Small {
  node: string;
  who: string;
  calls: number;
  bytes: number;
  /** Seconds of CPU time in the kernel. */
  system: number;
  isRecorded: boolean;
}

export default rule({
  id: 'small-io',
  title: 'very small reads and writes',
  help: 'A process made 200,000 read and write calls or more, of less than 2 KiB on average. It spent a fifth of its CPU time or more in the kernel. Pipes and sockets are in these figures, too.',
  kind: 'trouble',
  order: 545,
  needs: [
    {
      what: 'reads and writes of processes',
      columns: [read_calls, write_calls, read_chars, written_chars],
      has: (facts) => facts.allProcesses() !== undefined,
      otherwise: { skipped: 'calls are judged for the whole job' },
    },
  ],
  thresholds,
  when(facts, limits) {
    const small = smallOf(facts, limits);
    return small.length === 0 ? [] : [small];
  },
  severity: 'advice',
  say(small) {
    const [{ who, node, calls, bytes }] = small as [Small];
    const others =
      small.length === 1 ? '' : `, and ${count(small.length - 1, 'other process', 'other processes')} did the same`;
    return `${who} on ${node} made ${figure(calls)} reads and writes of ${figure(Math.round(bytes))} bytes on average${others}`;
  },
  evidence: (small, _, { bytes: threshold }) =>
    shown(small).map(
      ({ node, who, calls, bytes, system, isRecorded }): Evidence => ({
        text: `${node}: ${who}: ${figure(calls)} calls, ${formatBytes(calls * bytes)} total, ${figure(system)} s of CPU time in the kernel`,
        from: isRecorded
          ? named(syscr, syscw, rchar, wchar)
          : named(read_calls, write_calls, read_chars, written_chars),
        node,
        value: bytes,
        threshold,
      }),
    ),
  advise:
    'Read and write through a buffer (stdio, BufferedReader, a larger block size), or gather small records into larger ones: each call costs as much as copying several KiB.',
  confidence: high('counted by the kernel'),
});

function smallOf(facts: RuleContext, { calls: fewest, bytes: most, system: share }: typeof thresholds): Small[] {
  const set = facts.allProcesses()!;
  const metric = ({ name }: TableColumn): Float64Array | undefined => set.metrics.get(name);
  const [reads, writes, read, written, kernel] = [syscr, syscw, rchar, wchar, systemtime].map(metric);
  // only those that made many calls are looked up among the samples
  const many = facts
    .statistics(read_calls)
    .concat(facts.statistics(write_calls))
    .filter(({ statistics }) => statistics.max >= fewest / 2);
  const sampled = new Set(many.map(({ node, keys }) => `${node} ${sampleKey(keys.pid, keys.start)}`));
  const small: Small[] = [];
  const add = (i: number, calls: number, bytes: number, system: number, isRecorded: boolean): void => {
    const cpu = set.cpu_time[i]! / 1e6;
    if (!(calls >= fewest) || bytes >= most * calls || !(system >= share * cpu)) return;
    const who = `${commandOf(set, i) || 'a process'} (pid ${set.pid[i]})`;
    small.push({ node: set.node[i]!, who, calls, bytes: bytes / calls, system, isRecorded });
  };
  for (let i = 0; i < set.length; i++) {
    const calls = (reads?.[i] ?? Number.NaN) + (writes?.[i] ?? Number.NaN);
    if (!Number.isNaN(calls)) {
      add(i, calls, read![i]! + written![i]!, kernel![i]! / 1e6, true);
      continue;
    }
    const key = `${set.node[i]} ${sampleKeyAt(set, i)}`;
    if (!sampled.has(key)) continue;
    const of = (column: TableColumn<'process', string, 'pid' | 'start'>): number => {
      const [lastStatistics] = facts
        .statistics(column, { pid: String(set.pid[i]) })
        .filter(({ node, keys }) => `${node} ${sampleKey(keys.pid, keys.start)}` === key);
      return lastStatistics?.statistics.last ?? Number.NaN;
    };
    add(i, of(read_calls) + of(write_calls), of(read_chars) + of(written_chars), of(system_ms) / 1000, false);
  }
  return small.sort((a, b) => b.calls - a.calls);
}
