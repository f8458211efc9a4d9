import { formatDuration } from '../../base/duration.ts';
import { count, figure, percent } from '../../base/readable.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { processEndTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { commandName, isLastImage, programOf, recordedEnds } from './shared/processes.ts';
import { named, rule } from './shared/rule.ts';

const thresholds = {
  /** Seconds of duration below which a process is short. */
  seconds: 1,
  /** Seconds of CPU time below which a process is short. */
  cpu_seconds: 0.05,
  /** Number of short processes. */
  processes: 1000,
  /** Share of the job’s CPU time, or of its duration, that they took together. */
  share: 0.15,
};

interface Short {
  processes: number;
  cpu: number;
  life: number;
  /** By program, the most numerous first. */
  programs: { name: string; processes: number; cpu: number; parent: string }[];
}

export default rule({
  id: 'short-processes',
  title: 'thousands of short processes',
  help: 'At least 1,000 processes ran for less than a second with less than 50 ms of CPU time. Together they took 15 % of the job’s CPU time, or, run one after the other, of its duration.',
  kind: 'trouble',
  order: 613,
  needs: [recordedEnds],
  thresholds,
  when(facts, limits) {
    const { cpu_seconds: all, wall_seconds: wall } = facts.summary;
    if (facts.records!.records < limits.processes) return [];
    const short = shortOf(facts.allProcesses()!, limits);
    if (short.processes < limits.processes) return [];
    const share = all === undefined || all === 0 ? 0 : Math.min(1, short.cpu / all);
    const busy = wall > 0 ? short.life / wall : 0;
    return share < limits.share && busy < limits.share ? [] : [{ ...short, share, busy }];
  },
  severity: 'advice',
  say: ({ processes, programs, share, cpu }) =>
    `${count(processes, 'short process', 'short processes')} used ${formatDuration(cpu)} of CPU time (${percent(share)}): ${programs[0]!.name} ${count(programs[0]!.processes, 'time')}`,
  evidence: ({ processes, programs, share, busy, life }, facts, limits) => [
    {
      text: `${count(processes, 'process', 'processes')} of less than ${formatDuration(limits.seconds)}, ${formatDuration(life / processes)} on average, ${figure(processes / facts.summary.wall_seconds)} a second`,
      from: named(processEndTable.col.usertime, processEndTable.col.systemtime),
      value: processes,
      threshold: limits.processes,
    },
    {
      text: `${percent(share)} of the job’s CPU time; one after the other they take ${percent(busy)} of its duration`,
      from: named(processEndTable.col.usertime, processEndTable.col.systemtime),
      value: Math.max(share, busy),
      threshold: limits.share,
    },
    ...shown(programs, 4).map(({ name, processes, cpu, parent }) => ({
      text: `${name}: ${count(processes, 'time')}, ${formatDuration(cpu)} of CPU time${parent === '' ? '' : `, started by ${parent}`}`,
      from: named(processEndTable.col.exename),
      value: processes,
    })),
  ],
  advise:
    'Starting a program costs more than a small task: do the work of many in one process (one call with many files, a loop inside awk, Python or the program itself, shell builtins instead of commands).',
  confidence: high('every process recorded its own start and end'),
});

function shortOf(set: ProcessSet, limits: typeof thresholds): Short {
  const programs = new Map<string, Short['programs'][number]>();
  const shortProcesses: Short = { processes: 0, cpu: 0, life: 0, programs: [] };
  const cpu = new Float64Array(set.length);
  for (let i = 0; i < set.length; i++) cpu[set.process[i]!]! += set.cpu_time[i]! / 1e6 || 0;
  for (let i = 0; i < set.length; i++) {
    const first = set.process[i]!;
    // what a process used before its first instruction is in its CPU time alone
    const life = Math.max((set.end[i]! - set.start[first]!) / 1e6, cpu[first]!);
    if (!isLastImage(set, i) || !(life < limits.seconds) || cpu[first]! >= limits.cpu_seconds) continue;
    shortProcesses.processes++;
    shortProcesses.cpu += cpu[first]!;
    shortProcesses.life += life;
    const name = programOf(set, i);
    let program = programs.get(name);
    if (program === undefined) {
      const parent = set.parent[first]!;
      program = { name, processes: 0, cpu: 0, parent: parent < 0 ? '' : commandName(set, parent) };
      programs.set(name, program);
    }
    program.processes++;
    program.cpu += cpu[first]!;
  }
  shortProcesses.programs = [...programs.values()].sort((a, b) => b.processes - a.processes);
  return shortProcesses;
}
