import { formatDuration } from '../../base/duration.ts';
import { figure, listed } from '../../base/words.ts';
import { median } from '../../query/material.ts';
import type { ColumnSeries } from '../../query/series/series.ts';
import { diskTable, nfsTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import type { Evidence } from '../report-schema.ts';
import { medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { FILE_WORK, hasNoIo } from './shared/file-work.ts';
import { named, type RuleContext, rule } from './shared/rule.ts';

const { reads, read_ms, read_bytes, writes, write_ms, written_bytes } = diskTable.col;
const { read_operations, read_rtt_ms, write_operations, write_rtt_ms } = nfsTable.col;
const { read_bytes: nfs_read, written_bytes: nfs_written } = nfsTable.col;

/** Requests of one kind, the time that they took and the bytes that they moved. */
const WAYS: readonly { what: string; count: TableColumn; time: TableColumn; bytes: TableColumn }[] = [
  { what: 'reads from', count: reads, time: read_ms, bytes: read_bytes },
  { what: 'writes to', count: writes, time: write_ms, bytes: written_bytes },
  { what: 'reads from', count: read_operations, time: read_rtt_ms, bytes: nfs_read },
  { what: 'writes to', count: write_operations, time: write_rtt_ms, bytes: nfs_written },
];
const COLUMNS = WAYS.flatMap(({ count, time, bytes }) => [count, time, bytes]);

const thresholds = {
  ...FILE_WORK,
  /** In the last third of the time requests took so many times as long as in the first third. */
  times: 4,
  /** And so many milliseconds. */
  milliseconds: 10,
  /** Fewer requests a second say nothing. */
  rate: 5,
  /** A job that asks for pieces of another size asks for something else. */
  alike: 2,
  seconds: 60,
};

/** So many steps of the time are looked at. */
const STEPS = 60;

interface Slower {
  node: string;
  /** The disk or mount. */
  where: string;
  what: string;
  time: TableColumn;
  /** Milliseconds a request, in the first and the last third. */
  before: number;
  after: number;
  /** When the last third began, epoch microseconds. */
  since: number;
}

export default rule({
  id: 'slow-file-system',
  title: 'a file system that became slower',
  help: 'Requests of like size to a disk or NFS mount took four times as long, and 10 ms or more, in the last third of the job as in its first third. Jobs whose own processes did next to no I/O are left out.',
  kind: 'trouble',
  order: 542,
  needs: [
    {
      what: 'requests to disks or NFS, and how long they took',
      columns: COLUMNS,
      has: (facts) => WAYS.some(({ time }) => facts.statistics(time).length > 0),
      otherwise: { skipped: 'neither disks nor NFS mounts were recorded' },
    },
  ],
  overTime: COLUMNS,
  thresholds,
  when(facts, limits) {
    if (!(facts.summary.wall_seconds >= limits.seconds))
      return { skipped: 'the job was too short to compare its parts' };
    const busy = facts.nodes.filter((n) => !hasNoIo(n, limits)).map((n) => n.node);
    const slower = WAYS.flatMap(({ what, count, time, bytes }) =>
      facts.statistics(time).flatMap(({ node, keys, statistics }): Slower[] => {
        // on average it must have been worth a look at samples
        const [all] = facts.statistics(count, keys).filter((one) => one.node === node);
        const requests = all?.statistics.increase ?? 0;
        const mean = (statistics.increase ?? 0) / requests;
        if (!busy.includes(node) || !(mean >= limits.milliseconds / limits.times)) return [];
        if (requests < limits.rate * limits.seconds) return [];
        const found = compared(facts, node, keys, { count, time, bytes }, limits);
        return found === undefined ? [] : [{ node, where: Object.values(keys).join(' '), what, time, ...found }];
      }),
    );
    return slower.length === 0 ? [] : [slower.sort((a, b) => b.after - a.after)];
  },
  severity: 'advice',
  say(slower) {
    const [{ what, where, before, after }] = slower as [Slower];
    const nodes = [...new Set(slower.map(({ node }) => node))];
    return `The file system became slower on ${listed(nodes)}: ${what} ${where} took ${figure(after)} ms instead of ${figure(before)} ms`;
  },
  evidence: (slower, { job }, { times }) =>
    shown(slower).map(
      ({ node, where, what, time, before, after, since }): Evidence => ({
        text: `${node}: ${what} ${where}: ${figure(before)} ms each in the first third of the job, ${figure(after)} ms from ${formatDuration((since - job.start) / 1e6)} after its start`,
        from: named(time),
        node,
        value: after,
        threshold: times * before,
      }),
    ),
  advise:
    'Others may use the same disks or servers: compare with the same job at another time, and tell the administrators if it stays so. Files that are used often belong on a local disk.',
  confidence: medium('measured for the whole node, also for others on it'),
});

function compared(
  facts: RuleContext,
  node: string,
  keys: Readonly<Record<string, string>>,
  { count, time, bytes }: { count: TableColumn; time: TableColumn; bytes: TableColumn },
  { times, milliseconds, rate, alike }: typeof thresholds,
): { before: number; after: number; since: number } | undefined {
  const [counts, spent, moved] = [count, time, bytes].map(
    (column) => facts.series(column, { node, keys, points: STEPS })[0],
  );
  if (counts === undefined || spent === undefined || moved === undefined) return undefined;
  const of = ({ time, mean }: ColumnSeries): Map<number, number> =>
    new Map([...time].map((moment, i) => [moment, mean[i]!]));
  const [took, carried] = [of(spent), of(moved)];
  const active = [...counts.time].flatMap((moment, i) => {
    const requests = counts.mean[i]!;
    return requests < rate
      ? []
      : [
          {
            moment,
            each: (took.get(moment) ?? Number.NaN) / requests,
            size: (carried.get(moment) ?? Number.NaN) / requests,
          },
        ];
  });
  const third = Math.floor(active.length / 3);
  if (third < 4) return undefined;
  const [first, last] = [active.slice(0, third), active.slice(-third)];
  const [before, after] = [first, last].map((part) => median(part.map(({ each }) => each)));
  const [small, large] = [first, last].map((part) => median(part.map(({ size }) => size))).sort((a, b) => a! - b!);
  if (before === undefined || after === undefined || !(large! <= alike * small!)) return undefined;
  return after >= milliseconds && after >= times * before ? { before, after, since: last[0]!.moment } : undefined;
}
