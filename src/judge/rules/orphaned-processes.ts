import { formatDuration } from '../../base/duration.ts';
import { count, listed } from '../../base/readable.ts';
import { signalName } from '../../base/signal-name.ts';
import { hasFailed, isExact, type ProcessSet } from '../../query/processes/set.ts';
import { processEndTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { isLastImage, processName, programOf, recordedEnds } from './shared/processes.ts';
import { named, rule } from './shared/rule.ts';

const thresholds = {
  /** Seconds that they ran on after their parent had failed. */
  seconds: 5,
  /** Seconds of CPU time that they used then; processes that sleep disturb nobody. */
  cpu_seconds: 1,
};

interface Orphans {
  set: ProcessSet;
  parent: number;
  orphans: { row: number; seconds: number }[];
}

export default rule({
  id: 'orphaned-processes',
  title: 'processes that went on after their parent had failed',
  help: 'A process crashed, was killed or ended with an error, and children that it had started went on for five seconds or more and used CPU time: nobody collects what they do. Children of a parent that ended well were left on purpose.',
  kind: 'trouble',
  order: 633,
  needs: [recordedEnds],
  thresholds,
  when(facts, limits) {
    if (facts.records!.failed + facts.records!.starts === 0) return [];
    const set = facts.allProcesses()!;
    const orphansByParent = new Map<number, Orphans>();
    for (let row = 0; row < set.length; row++) {
      const parent = lastImageOf(set, set.parent[set.process[row]!]!);
      if (parent < 0 || !isLastImage(set, row) || !isExact(set, parent) || !hasFailed(set, parent)) continue;
      const seconds = (set.end[row]! - set.end[parent]!) / 1e6;
      if (!(seconds >= limits.seconds) || !(set.cpu_time[row]! / 1e6 >= limits.cpu_seconds)) continue;
      const group = orphansByParent.get(parent) ?? { set, parent, orphans: [] };
      group.orphans.push({ row, seconds });
      orphansByParent.set(parent, group);
    }
    return [...orphansByParent.values()].slice(0, 3);
  },
  severity: 'warning',
  say: ({ set, parent, orphans }) =>
    `${count(orphans.length, 'process', 'processes')} (${listed([...new Set(orphans.map(({ row }) => programOf(set, row)))])}) went on after ${processName(set, parent)} had ${endOf(set, parent)}`,
  evidence: ({ set, parent, orphans }, _, limits) =>
    shown(orphans, 4).map(({ row, seconds }) => ({
      text: `${processName(set, row)}: ${formatDuration(seconds)} after its parent’s end, ${formatDuration(set.cpu_time[row]! / 1e6)} of CPU time (its parent: pid ${set.pid[parent]})`,
      from: named(processEndTable.col.ppid, processEndTable.col.exitsignal),
      node: set.node[row]!,
      value: seconds,
      threshold: limits.seconds,
    })),
  advise:
    'What they compute is lost, and they hold CPUs, memory and GPUs: end them with their parent (a process group that the script kills in a trap, prctl(PR_SET_PDEATHSIG), daemon=True in Python’s multiprocessing), and see why the parent failed.',
  confidence: high('both ends were reported'),
});

/** The program that a process ended as. */
function lastImageOf(set: ProcessSet, image: number): number {
  if (image < 0 || isLastImage(set, image)) return image;
  const first = set.process[image]!;
  for (let i = set.length - 1; i >= 0; i--) if (set.process[i] === first && isLastImage(set, i)) return i;
  return image;
}

const endOf = (set: ProcessSet, i: number): string =>
  set.exitsignal[i]! > 0
    ? `been ended by ${signalName(set.exitsignal[i]!)}`
    : `failed with exit code ${set.exitcode[i]}`;
