import { formatDuration } from '../../base/duration.ts';
import { greatest, smallest } from '../../base/extremes.ts';
import { count } from '../../base/readable.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import type { ProcessMetric } from '../../sources/records/tables.ts';
import { processEndTable } from '../../sources/tables.ts';
import type { Evidence } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { allProcesses, processName } from './shared/processes.ts';
import { named, rule } from './shared/rule.ts';
import { cpuOf, cpuTimes, lifeOf, middle, SIMILAR, similarProcesses } from './shared/similar-processes.ts';

const thresholds = {
  ...SIMILAR,
  /** The smallest number of similar processes that are compared. */
  group: 4,
  /** Its duration, as a multiple of the median of the others. */
  slower: 1.5,
  /** Its duration, as a multiple of the longest of the others. */
  beyond: 1.25,
  /** Its CPU time, as a multiple of the median of the others; above, it had more work. */
  work: 1.3,
  /** Share of their duration that the others ran or waited for a CPU. */
  works: 0.2,
  /** Share of the additional time that a reason explains, from which the reason is named. */
  explained: 0.5,
};

interface Slow {
  set: ProcessSet;
  slow: number;
  others: number[];
  /** Seconds that it took longer than the median of the others. */
  longer: number;
  waited: number;
  forDisk: number;
}

export default rule({
  id: 'slow-worker',
  title: 'one of many similar processes that is slow',
  help: 'Of at least four similar processes that ran side by side, one took 1.5 times the median duration of the others, with no more CPU time: something held it up. Ranks of MPI are compared separately.',
  kind: 'trouble',
  order: 443,
  needs: [allProcesses],
  thresholds,
  when(facts, limits) {
    const { wall_seconds: wall } = facts.summary;
    if (wall < limits.seconds) return [];
    return similarProcesses(facts.allProcesses()!, wall, limits)
      .flatMap((like): Slow[] => {
        const { set, members } = like;
        const [slow, ...others] = members as [number, ...number[]];
        const lifetimes = others.map((i) => lifeOf(set, i));
        const [life, usual] = [lifeOf(set, slow), middle(lifetimes)];
        if (life < limits.slower * usual || life < limits.beyond * greatest(lifetimes)) return [];
        const cpu = cpuTimes(like);
        if (cpu === undefined || cpu[0]! > limits.work * middle(cpu.slice(1))) return [];
        // processes that hardly work wait for somebody, each for its own
        const ready = set.metrics.get(processEndTable.col.time_waiting.name);
        const wanted = (i: number): number => (cpuOf(set, i) + ((ready?.[i] ?? 0) / 1e9 || 0)) / lifeOf(set, i);
        if (smallest(others.map(wanted)) < limits.works) return [];
        const more = (name: ProcessMetric, factor: number): number => {
          const own = set.metrics.get(name);
          return own === undefined ? 0 : Math.max(0, (own[slow]! - middle(others.map((i) => own[i]!))) * factor || 0);
        };
        const [waited, forDisk] = [more('time_waiting', 1e-9), more('delayacct_blkio_time', 1e-2)];
        return [{ set, slow, others, longer: life - usual, waited, forDisk }];
      })
      .sort((a, b) => b.longer - a.longer)
      .slice(0, 1);
  },
  severity: 'advice',
  say: ({ set, slow, others }) =>
    `${processName(set, slow)} took ${formatDuration(lifeOf(set, slow))}; ${count(others.length, 'similar process', 'similar processes')} took ${formatDuration(middle(others.map((i) => lifeOf(set, i))))} for as much work`,
  evidence: (hit, _, limits) => [
    ...shown([hit.slow, ...hit.others], 4).map((i) => ({
      text: `${processName(hit.set, i)}: ${formatDuration(lifeOf(hit.set, i))}, of that ${formatDuration(cpuOf(hit.set, i))} on a CPU`,
      from: named(processEndTable.col.usertime),
      node: hit.set.node[i]!,
      value: lifeOf(hit.set, i),
    })),
    ...causes(hit, limits),
  ],
  advise(hit, _, limits) {
    if (hit.waited >= limits.explained * hit.longer)
      return 'It shares its CPU with other work: see where it may run (taskset, cpuset, --cpu-bind), its priority (nice), and what else ran there.';
    if (hit.forDisk >= limits.explained * hit.longer)
      return 'It waited for storage: see what it reads and writes that the others do not, and where that lies.';
    return 'It slept, neither on a CPU nor waiting for one: see what it waits for that the others do not (a lock, the network, another program, a signal that stopped it).';
  },
  confidence: ({ set, slow, others }) =>
    [slow, ...others].every((i) => set.source[i] === 'record')
      ? high('every process recorded its own start, end and CPU time')
      : medium('some of the processes were only sampled'),
});

function causes({ set, slow, longer, waited, forDisk }: Slow, { explained }: typeof thresholds): Evidence[] {
  const cause = (text: string, value: number, metric: ProcessMetric): Evidence => ({
    text: `${text} ${formatDuration(value)} longer than the others, of ${formatDuration(longer)} that it took longer`,
    from: named(processEndTable.col[metric]),
    node: set.node[slow]!,
    value,
    threshold: explained * longer,
  });
  const all = [
    cause('it waited for a CPU', waited, 'time_waiting'),
    cause('it waited for storage', forDisk, 'delayacct_blkio_time'),
  ];
  return all.filter(({ value, threshold }) => value! >= threshold!);
}
