import { formatDuration } from '../../../base/duration.ts';
import { processEndTable, processTable } from '../../../sources/tables.ts';
import type { Evidence } from '../../report-schema.ts';
import { commandName, isLastImage } from './processes.ts';
import { named, type RuleContext } from './rule.ts';

/** Number of processes that are shown per node. */
const MOST = 3;

/** The processes of a node that used most CPU time, with the CPUs that each may run on and how long it waited for them. */
export function boundEvidence(facts: RuleContext, node: string, most = MOST): Evidence[] {
  const set = facts.allProcesses();
  if (set === undefined) return [];
  const own: number[] = [];
  for (let i = 0; i < set.length; i++)
    if (set.node[i] === node && isLastImage(set, i) && set.cpu_time[i]! > 0) own.push(i);
  const busiest = own.sort((a, b) => set.cpu_time[b]! - set.cpu_time[a]!).slice(0, most);
  return busiest.flatMap((i): Evidence[] => {
    const lists = facts.texts(processTable.col.allowed_cpus, { pid: String(set.pid[i]) });
    const list = lists.find((one) => one.node === node)?.text;
    if (list === undefined) return [];
    const threads = set.threads[i]! > 1 ? `, ${set.threads[i]} threads` : '';
    const waited = (set.metrics.get(processEndTable.col.time_waiting.name)?.[i] ?? Number.NaN) / 1e9;
    const time = Number.isNaN(waited) ? '' : `, waited ${formatDuration(waited)} for a CPU`;
    return [
      {
        text: `${node}: ${commandName(set, i)} (pid ${set.pid[i]}${threads}) may run on CPU ${list}, ran for ${formatDuration(set.cpu_time[i]! / 1e6)}${time}`,
        from: named(processTable.col.allowed_cpus),
        node,
        value: set.pid[i]!,
      },
    ];
  });
}
