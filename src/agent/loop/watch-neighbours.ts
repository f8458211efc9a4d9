import { loadavgTable } from '../../sources/host/loadavg.ts';
import type { Host } from '../../sources/host.ts';
import { Neighbours } from '../../sources/process/neighbours.ts';
import type { Agent } from './agent.ts';

/** While the node is crowded somebody looks so often, … */
const LOOK_MICROSECONDS = 10e6;
/** … and so seldom that a look takes no more than this share of a CPU. */
const SHARE = 0.002;

/** Who else uses the CPUs is written into the agent's record, while more threads want to run than there are CPUs. */
export function watchNeighbours(agent: Agent, host: Host, isOwn: (pid: number) => boolean): void {
  const { facts } = agent.record;
  const cpus = facts.allowed_cpus ?? facts.cpus;
  const neighbours = new Neighbours(host, (pid) => pid === process.pid || isOwn(pid));
  let [next, last] = [0, 0];
  const look = (time: number): void => {
    const begin = performance.now();
    neighbours.look();
    last = time;
    next = time + Math.max(LOOK_MICROSECONDS, ((performance.now() - begin) * 1000) / SHARE);
    const { most } = neighbours;
    if (most.length > 0) agent.record.neighbours = most;
  };
  agent.onTick((time) => {
    if (time >= next && (neighbours.isWatching || isCrowded(agent, cpus))) look(time);
  }, cpus + 1);
  agent.onEnd(() => {
    const time = agent.record.last_sample ?? 0;
    if (neighbours.isWatching && time > last) look(time);
  });
}

/** Whether, this process apart, more threads want to run than there are CPUs. */
function isCrowded(agent: Agent, cpus: number): boolean {
  const frame = agent.newest().find(({ table }) => table.name === loadavgTable.name);
  return frame !== undefined && frame.rows > 0 && frame.numbers[loadavgTable.at.runnable]! - 1 > cpus;
}
