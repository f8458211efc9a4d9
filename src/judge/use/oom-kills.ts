import { columnOf, ifFinite, type Material, type NodeMaterial, seriesOf, wholeOf } from '../../query/material.ts';
import { isExact } from '../../query/processes/set.ts';
import { numberOf } from '../../query/spans/steps.ts';
import { cgroupOf } from '../../query/use/cpu-total.ts';
import { SAMPLE_CLOCK } from '../../sources/process/same-process.ts';
import { cgroupTable, processTable, vmstatTable } from '../../sources/tables.ts';

/** Processes that the kernel killed because memory ran out. */
export interface OomKills {
  kills: number;
  /** The job's, or anybody's on the node. */
  scope: 'job' | 'node';
  /** cgroup: the job's own counter. records: how its processes ended. vmstat: the node's counter. */
  source: 'cgroup' | 'records' | 'vmstat';
}

/** Signal 9, as numbers tell it and as shells pass it on. */
const KILL = 9;
const KILLED_BY_SHELL = 128 + KILL;

/** What is known of kills on one node; undefined: nobody counted them, or a counter was gone before it had the last ones. */
export function oomKillsOf(material: Material, node: NodeMaterial): OomKills | undefined {
  const own = ifFinite(cgroupOf(node, cgroupTable.col.oom_kills)?.increase);
  if (own !== undefined && own > 0) return { kills: own, scope: 'job', source: 'cgroup' };
  const counter = columnOf(node, vmstatTable.col.oom_kill);
  const everybody = ifFinite(counter?.increase);
  const { killed, unknown } = endsOf(material, node);
  if (everybody !== undefined && everybody > 0) {
    // of several kills only the time of the last is known
    const tick = (node.agent?.interval_seconds || material.job.interval_seconds || 1) * 1e6;
    const last = counter!.max_time;
    const then = killed.filter((end) => end > last - tick - SAMPLE_CLOCK && end < last + SAMPLE_CLOCK);
    const counted = own === undefined ? then : then.filter((end) => isUnread(node, end, tick));
    if (counted.length > 0) return { kills: Math.min(everybody, counted.length), scope: 'job', source: 'records' };
    const perhaps = unknown || (everybody > 1 && killed.length > 0);
    if (own === undefined) {
      if (!perhaps) return { kills: 0, scope: 'job', source: 'records' };
      return { kills: everybody, scope: 'node', source: 'vmstat' };
    }
    if (perhaps && isUnread(node, last, everybody > 1 ? Number.POSITIVE_INFINITY : tick)) return undefined;
  }
  // there was a kill that no counter had: it, or the agent, was gone before the next tick
  if (isToldOutOfMemory(material, node) || material.job.memory_kills !== undefined) return undefined;
  if (own !== undefined) return { kills: own, scope: 'job', source: 'cgroup' };
  return everybody === undefined ? undefined : { kills: everybody, scope: 'node', source: 'vmstat' };
}

/** Whether the scheduler says that the job, or a step of it on this node, was ended because memory ran out. */
function isToldOutOfMemory({ job, range }: Material, { node }: NodeMaterial): boolean {
  if (job.state === 'out_of_memory') return true;
  return (job.steps ?? []).some(
    (step) =>
      step.state === 'out_of_memory' &&
      (step.nodes === undefined || step.nodes.length === 0 || step.nodes.includes(node)) &&
      (range?.step === undefined || range.step.id === numberOf(step)),
  );
}

/** Whether a cgroup of the job had gone when a process in it could have died, before it was read again. */
function isUnread(node: NodeMaterial, death: number, tick: number): boolean {
  // version 2, which tells pressure, counts kills also in the cgroups above
  const isSecond = cgroupOf(node, cgroupTable.col.cpu_stalled_us) !== undefined;
  const counts = seriesOf(node, cgroupTable, isSecond ? { cgroup: '.' } : {});
  return counts.some(({ end }) => end < death && death - end < 2 * tick);
}

/** When processes of the job were ended by signal 9 on this node, and whether of some nobody knows how they ended. */
function endsOf(material: Material, node: NodeMaterial): { killed: number[]; unknown: boolean } {
  const { job, range } = material;
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = range ?? {};
  const set = wholeOf(material).processes;
  const killed: number[] = [];
  /** Of shells, which tell so of a child. */
  const passedOn: number[] = [];
  let unknown = 0;
  let unknownBelow = 0;
  for (let i = 0; i < (set?.length ?? 0); i++) {
    if (set!.node[i] !== node.node || set!.end[i]! < from || set!.start[i]! > to) continue;
    if (set!.exitsignal[i] === KILL) killed.push(set!.end[i]!);
    else if (set!.exitcode[i] === KILLED_BY_SHELL) passedOn.push(set!.end[i]!);
    else if (!isExact(set!, i) || (set!.ended[i] === 'signal' && Number.isNaN(set!.exitsignal[i]!))) {
      unknown++;
      if (set!.parent[i]! >= 0) unknownBelow++;
    }
  }
  if (set === undefined) {
    const { series_total: seriesTotal = 0 } = node.tables.get(processTable.name) ?? {};
    unknown = seriesTotal === 0 ? 2 : seriesTotal;
  }
  // how the command ended, who waited for it knows
  const isCommandKilled = job.signal === 'SIGKILL' || job.exit_code === KILLED_BY_SHELL;
  if (isCommandKilled && job.end !== undefined) passedOn.push(job.end);
  const isCommandKnown = job.usage !== undefined && job.usage.elsewhere !== true && job.exit_code !== undefined;
  return {
    killed: killed.length > 0 ? killed : passedOn,
    unknown: isCommandKnown ? unknown > 1 || unknownBelow > 0 : unknown > 0,
  };
}
