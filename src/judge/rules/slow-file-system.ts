import { formatDuration } from '../../base/duration.ts';
import { count, figure, listed } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { median } from '../../query/material.ts';
import type { ColumnSeries } from '../../query/series/series.ts';
import { diskTable, nfsTable, processTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import type { Evidence } from '../report-schema.ts';
import { medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { FILE_WORK, hasNoIo } from './shared/file-work.ts';
import { named, type RuleContext, rule } from './shared/rule.ts';

const { reads, read_ms, read_bytes, writes, write_ms, written_bytes } = diskTable.col;
const { read_operations, read_rtt_ms, write_operations, write_rtt_ms } = nfsTable.col;
const { read_bytes: nfs_read, written_bytes: nfs_written } = nfsTable.col;

/** Requests of one kind, the time that they took and the bytes that they moved; and what a process asked for itself. */
interface Way {
  what: string;
  count: TableColumn;
  time: TableColumn;
  bytes: TableColumn;
  own: { calls: TableColumn; bytes: TableColumn };
}

const OWN = {
  read: { calls: processTable.col.read_calls, bytes: processTable.col.read_bytes },
  written: { calls: processTable.col.write_calls, bytes: processTable.col.written_bytes },
};
const WAYS: readonly Way[] = [
  { what: 'reads from', count: reads, time: read_ms, bytes: read_bytes, own: OWN.read },
  { what: 'writes to', count: writes, time: write_ms, bytes: written_bytes, own: OWN.written },
  { what: 'reads from', count: read_operations, time: read_rtt_ms, bytes: nfs_read, own: OWN.read },
  { what: 'writes to', count: write_operations, time: write_rtt_ms, bytes: nfs_written, own: OWN.written },
];
const OWN_COLUMNS = Object.values(OWN).flatMap(({ calls, bytes }) => [calls, bytes]);
const COLUMNS = WAYS.flatMap(({ count, time, bytes }) => [count, time, bytes]);

const thresholds = {
  ...FILE_WORK,
  /** Time of a request, as a multiple of the first third of the job or of earlier jobs. */
  times: 4,
  /** Time of a request in milliseconds. */
  milliseconds: 10,
  /** Requests per second; with fewer nothing is judged. */
  rate: 5,
  /** Factor by which the size of requests may differ in a comparison. */
  alike: 2,
  /** Share of the bytes that others moved, from which the job is judged by its own calls. */
  others: 0.5,
  /** Seconds of requests at that rate. */
  seconds: 60,
  /** Earlier jobs to compare with. */
  jobs: 3,
};

/** Number of steps into which the time is divided. */
const STEPS = 60;

interface Slower {
  node: string;
  /** The disk or mount. */
  where: string;
  what: string;
  time: TableColumn;
  /** Milliseconds a request, in the first and the last third, or in earlier jobs and this one. */
  before: number;
  after: number;
  /** When the last third began, epoch microseconds; not there when it was slow all the time. */
  since?: number;
  /** Bytes a second that others moved in the last third, where they moved most. */
  others?: number;
  /** How many earlier jobs tell what is usual. */
  jobs?: number;
}

export default rule({
  id: 'slow-file-system',
  title: 'a file system that became slower',
  help: 'Requests to a disk or NFS mount took four times as long, and 10 ms or more, in the last third of the job as in its first third: requests of similar size, or those of others while the job’s own calls stayed the same. Or they took four times as long as in at least three earlier jobs whose recordings are in the same folder. Jobs whose own processes did next to no I/O are left out.',
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
  overTime: [...COLUMNS, ...OWN_COLUMNS],
  thresholds,
  when(facts, limits) {
    if (!(facts.summary.wall_seconds >= limits.seconds))
      return { skipped: 'the job was too short to compare its parts' };
    const busy = facts.nodes.filter((n) => !hasNoIo(n, limits)).map((n) => n.node);
    const slower = WAYS.flatMap((way) => {
      const { what, time } = way;
      return facts.statistics(time).flatMap(({ node, keys, statistics }): Slower[] => {
        // on average it must have been worth a look at samples
        const [all] = facts.statistics(way.count, keys).filter((one) => one.node === node);
        const requests = all?.statistics.increase ?? 0;
        const mean = (statistics.increase ?? 0) / requests;
        if (!busy.includes(node) || !(mean >= limits.milliseconds / limits.times)) return [];
        if (requests < limits.rate * limits.seconds) return [];
        const slowdown = compared(facts, node, keys, way, limits) ?? againstPast(facts, node, keys, way, limits);
        return slowdown === undefined ? [] : [{ node, where: Object.values(keys).join(' '), what, time, ...slowdown }];
      });
    });
    return slower.length === 0 ? [] : [slower.sort((a, b) => b.after - a.after)];
  },
  severity: 'advice',
  say(slower) {
    const [{ what, where, before, after, jobs }] = slower as [Slower];
    const nodes = [...new Set(slower.map(({ node }) => node))];
    if (jobs !== undefined)
      return `The file system was slow on ${listed(nodes)}: ${what} ${where} took ${figure(after)} ms, in earlier jobs ${figure(before)} ms`;
    return `The file system became slower on ${listed(nodes)}: ${what} ${where} took ${figure(after)} ms instead of ${figure(before)} ms`;
  },
  evidence: (slower, { job }, { times }) =>
    shown(slower).map(
      ({ node, where, what, time, before, after, since, others, jobs }): Evidence => ({
        text: `${node}: ${what} ${where}: ${figure(before)} ms each in ${
          since === undefined
            ? `${count(jobs!, 'earlier job')} of the same folder, ${figure(after)} ms in this one`
            : `the first third of the job, ${figure(after)} ms from ${formatDuration((since - job.start) / 1e6)} after its start`
        }${others === undefined ? '' : `; others moved ${formatBytes(others)} a second there, the job’s own calls stayed as they were`}`,
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

type Compared = Omit<Slower, 'node' | 'where' | 'what' | 'time'>;

/** The last third of the job beside its first third. */
function compared(
  facts: RuleContext,
  node: string,
  keys: Readonly<Record<string, string>>,
  { count: requests, time, bytes, own }: Way,
  { times, milliseconds, rate, alike, others }: typeof thresholds,
): Compared | undefined {
  const [counts, spent, moved] = [requests, time, bytes].map(
    (column) => facts.series(column, { node, keys, points: STEPS })[0],
  );
  if (counts === undefined || spent === undefined || moved === undefined) return undefined;
  const [took, carried] = [meansOf([spent]), meansOf([moved])];
  const active = [...counts.time].flatMap((moment, i) => {
    const rateOf = counts.mean[i]!;
    const all = carried.get(moment) ?? Number.NaN;
    return rateOf < rate
      ? []
      : [{ moment, each: (took.get(moment) ?? Number.NaN) / rateOf, size: all / rateOf, bytes: all }];
  });
  const third = Math.floor(active.length / 3);
  if (third < 4) return undefined;
  const thirds = [active.slice(0, third), active.slice(-third)];
  const [before, after] = thirds.map((rowsOfThird) => median(rowsOfThird.map(({ each }) => each)));
  if (!(before! > 0) || !(after! >= milliseconds && after! >= times * before!)) return undefined;
  const slowdown = { before: before!, after: after!, since: thirds[1]![0]!.moment };
  const [small, large] = thirds
    .map((rowsOfThird) => median(rowsOfThird.map(({ size }) => size)))
    .sort((a, b) => a! - b!);
  if (large! <= alike * small!) return slowdown;
  // requests of another size are the job's own, unless others sent them
  const ofJob = (column: TableColumn): Map<number, number> =>
    meansOf(facts.series(column, { node, from: counts.time[0]!, to: counts.time.at(-1)!, points: STEPS }));
  const [written, calls] = [ofJob(own.bytes), ofJob(own.calls)];
  const [first, last] = thirds.map((rowsOfThird) => {
    const [from, to] = [rowsOfThird[0]!.moment, rowsOfThird.at(-1)!.moment];
    const within = [...written.keys()].filter((moment) => moment >= from && moment <= to);
    const mean = (of: Map<number, number>): number =>
      within.reduce((sum, moment) => sum + (of.get(moment) || 0), 0) / Math.max(1, within.length);
    return {
      bytes: mean(written),
      size: mean(written) / mean(calls),
      all: median(rowsOfThird.map((each) => each.bytes))!,
    };
  });
  const isSame = last!.bytes <= alike * first!.bytes && last!.size <= alike * first!.size && last!.bytes > 0;
  const ofOthers = last!.all - last!.bytes;
  return isSame && ofOthers >= others * last!.all ? { ...slowdown, others: ofOthers } : undefined;
}

/** The means of all series together, by the moment of the step. */
function meansOf(all: readonly ColumnSeries[]): Map<number, number> {
  const sums = new Map<number, number>();
  for (const { time, mean } of all)
    for (const [i, moment] of time.entries())
      if (!Number.isNaN(mean[i]!)) sums.set(moment, (sums.get(moment) ?? 0) + mean[i]!);
  return sums;
}

/** This job beside earlier ones: of a disk on the same node, of a mount on any. */
function againstPast(
  facts: RuleContext,
  node: string,
  keys: Readonly<Record<string, string>>,
  { count: requests, time, bytes }: Way,
  { times, milliseconds, rate, seconds, alike, jobs }: typeof thresholds,
): Compared | undefined {
  const of = (get: (column: TableColumn) => number | undefined) => {
    const [number = 0, spent = 0, moved = 0] = [requests, time, bytes].map(get);
    return { number, each: spent / number, size: moved / number };
  };
  const now = of((column) => facts.statistics(column, keys).find((one) => one.node === node)?.statistics.increase);
  if (!(now.each >= milliseconds)) return undefined;
  const isHere = Object.keys(keys).includes(diskTable.keys[0]!.name);
  const past = facts
    .past(requests, time, bytes)
    .filter((one) => (!isHere || one.node === node) && Object.entries(keys).every(([k, v]) => one.series.keys[k] === v))
    .map(({ job, series }) => ({ job, ...of(({ name }) => series.columns[name]?.increase) }))
    .filter(({ number, size }) => number >= rate * seconds && size <= alike * now.size && now.size <= alike * size);
  const earlier = new Set(past.map(({ job }) => job)).size;
  const usual = median(past.map(({ each }) => each));
  if (earlier < jobs || usual === undefined || !(usual > 0 && now.each >= times * usual)) return undefined;
  return { before: usual, after: now.each, jobs: earlier };
}
