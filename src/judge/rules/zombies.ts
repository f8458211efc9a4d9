import { formatDuration } from '../../base/duration.ts';
import { count, listed } from '../../base/readable.ts';
import { sampleKey, sampleKeyAt } from '../../query/processes/sampled-cpu.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { processTable } from '../../sources/tables.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { allProcesses, isLastImage, processName, programOf } from './shared/processes.ts';
import { named, type RuleContext, rule } from './shared/rule.ts';

const thresholds = {
  /** Processes that ended and that no parent waited for. */
  processes: 10,
  /** Seconds that each of them stayed. */
  seconds: 3,
};

interface Zombies {
  set: ProcessSet;
  parent: number;
  dead: { row: number; seconds: number }[];
}

export default rule({
  id: 'zombies',
  title: 'ended processes that nobody waits for',
  help: 'At least ten processes of one parent had ended and stayed in the table of processes for three seconds or more, because their parent does not wait for them. Each counts against the limit of processes.',
  kind: 'trouble',
  order: 623,
  needs: [allProcesses],
  thresholds,
  when(facts, limits) {
    const dead = deadOf(facts, limits.seconds);
    if (dead.length < limits.processes) return [];
    const set = facts.allProcesses()!;
    return [...Map.groupBy(dead, ({ row }) => set.parent[set.process[row]!]!)]
      .filter(([, all]) => all.length >= limits.processes)
      .map(([parent, all]): Zombies => ({ set, parent, dead: all }));
  },
  severity: 'advice',
  say: ({ set, parent, dead }) =>
    `${count(dead.length, 'ended process', 'ended processes')} stayed as zombies${parent < 0 ? '' : `: ${processName(set, parent)} does not wait for its children`}`,
  evidence: ({ set, parent, dead }, _, limits) => [
    {
      text: `${count(dead.length, 'process', 'processes')} (${listed([...new Set(dead.map(({ row }) => programOf(set, row)))])}), up to ${formatDuration(Math.max(...dead.map(({ seconds }) => seconds)))} each`,
      from: named(processTable.col.state),
      ...(parent < 0 ? {} : { node: set.node[parent]! }),
      value: dead.length,
      threshold: limits.processes,
    },
    ...shown(
      dead.toSorted((a, b) => b.seconds - a.seconds),
      3,
    ).map(({ row, seconds }) => ({
      text: `${processName(set, row)}: a zombie for ${formatDuration(seconds)}`,
      from: named(processTable.col.state),
      node: set.node[row]!,
      value: seconds,
      threshold: limits.seconds,
    })),
  ],
  advise:
    'Let the program wait for its children: waitpid() in C, wait in shells, Popen.wait(), poll() or a context manager in Python. Otherwise no process can be started once the limit is reached.',
  confidence: high('the kernel’s state of each process'),
});

/** Processes that were still in the table after their end, and for how long, as far as sampling saw it. */
function deadOf(facts: RuleContext, least: number): Zombies['dead'] {
  const states = facts.texts(processTable.col.state).filter(({ text }) => text === 'Z' || text === 'X');
  if (states.length === 0) return [];
  const set = facts.allProcesses()!;
  const rows = new Map<string, number>();
  for (let i = 0; i < set.length; i++) if (isLastImage(set, i)) rows.set(`${set.node[i]} ${sampleKeyAt(set, i)}`, i);
  const lastTick = new Map(facts.nodes.map(({ node, last_sample }) => [node, last_sample]));
  return states.flatMap(({ node, keys, text, end }) => {
    const row = rows.get(`${node} ${sampleKey(keys.pid, keys.start)}`);
    if (row === undefined) return [];
    // Z: it still was one at the last tick. X: it had gone then, and told of its end itself
    const since = set.source[row] === 'record' ? set.end[row]! : text === 'Z' ? end : Number.NaN;
    const seconds = ((text === 'Z' ? (lastTick.get(node) ?? end) : end) - since) / 1e6;
    return seconds >= least ? [{ row, seconds }] : [];
  });
}
