import { formatDuration } from '../../base/duration.ts';
import { greatest } from '../../base/extremes.ts';
import { count, percent } from '../../base/readable.ts';
import { processEndTable, processTable } from '../../sources/tables.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { allProcesses, processName, programOf } from './shared/processes.ts';
import { named, rule } from './shared/rule.ts';
import {
  cpuOf,
  cpuTimes,
  lifeOf,
  middle,
  SIMILAR,
  type SimilarProcesses,
  similarProcesses,
} from './shared/similar-processes.ts';

const thresholds = {
  ...SIMILAR,
  /** Share of the busiest process’s CPU time that the processes lack on average. */
  idle: 0.3,
  /** Share of its duration that the busiest process ran or waited for a CPU. */
  busy: 0.6,
};

interface Uneven extends SimilarProcesses {
  /** Seconds of CPU time, as members. */
  cpu: number[];
  idle: number;
}

const CPU_FROM = named(processEndTable.col.usertime, processTable.col.user_ms);

export default rule({
  id: 'process-imbalance',
  title: 'similar processes with unequal work',
  help: 'At least three processes of the same program that one parent started to work side by side used very different CPU time: on average 30 % less than the busiest, which worked most of its life. Ranks of MPI are compared separately.',
  kind: 'trouble',
  order: 444,
  needs: [allProcesses],
  thresholds,
  when(facts, limits) {
    const { wall_seconds: wall, cpu_seconds: all } = facts.summary;
    if (wall < limits.seconds || !((all ?? limits.seconds) >= limits.seconds * limits.busy)) return [];
    return similarProcesses(facts.allProcesses()!, wall, limits)
      .flatMap((like): Uneven[] => {
        const cpu = cpuTimes(like);
        if (cpu === undefined) return [];
        const most = greatest(cpu);
        const busiest = like.members[cpu.indexOf(most)]!;
        const waited = (like.set.metrics.get(processEndTable.col.time_waiting.name)?.[busiest] ?? 0) / 1e9 || 0;
        if (most + waited < limits.busy * lifeOf(like.set, busiest)) return [];
        if (most < limits.duration * limits.busy * wall - waited) return [];
        const idle = 1 - cpu.reduce((sum, one) => sum + one, 0) / cpu.length / most;
        return idle < limits.idle ? [] : [{ ...like, cpu, idle }];
      })
      .sort((a, b) => b.seconds * b.idle - a.seconds * a.idle)
      .slice(0, 1);
  },
  severity: 'advice',
  say({ set, members, cpu }) {
    const busiest = members[cpu.indexOf(greatest(cpu))]!;
    return `${count(members.length, 'similar process', 'similar processes')} (${programOf(set, busiest)}) had unequal work: ${formatDuration(greatest(cpu))} of CPU time in the busiest, ${formatDuration(middle(cpu))} in the median`;
  },
  evidence({ set, members, idle, seconds }, _, limits) {
    const byWork = members.toSorted((a, b) => cpuOf(set, b) - cpuOf(set, a));
    return [
      {
        text: `on average they had ${percent(1 - idle)} of the busiest one’s CPU time; together they ran for ${formatDuration(seconds)}`,
        from: CPU_FROM,
        node: set.node[members[0]!]!,
        value: idle,
        threshold: limits.idle,
      },
      ...shown([...byWork.slice(0, 3), ...byWork.slice(3).slice(-2)]).map((i) => ({
        text: `${processName(set, i)}: ${formatDuration(cpuOf(set, i))} of CPU time in ${formatDuration(lifeOf(set, i))}`,
        from: CPU_FROM,
        node: set.node[i]!,
        value: cpuOf(set, i),
      })),
    ];
  },
  advise:
    'The others wait for the busiest one. Divide the work into more and smaller parts that are handed out one by one (a queue, xargs -P, a pool with a small chunk size), the largest first.',
  confidence: ({ set, members }) =>
    members.every((i) => set.source[i] === 'record')
      ? high('every process recorded its own CPU time')
      : medium('some of the processes were only sampled'),
});
