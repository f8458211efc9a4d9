import { isOlder, processInterval, recordingBegan } from '../../recording/read/process-part.ts';
import type { Material, NodeMaterial, ProcessSeries } from '../material.ts';
import type { SampledCpu } from '../processes/sampled-cpu.ts';
import { type Curve, through } from './curve.ts';

/**
 * CPU time of children that samples do not have: the kernel adds what a child used in all to what the process that waits for
 * its end has of its children. That less what samples say of these children is what they used after their last sample, or
 * all that those used that came and went between two. One curve for each process that waited.
 */
export function reapedCurves({ job }: Material, { agent }: NodeMaterial, sampled: readonly SampledCpu[]): Curve[] {
  const began = recordingBegan(agent, job);
  const gone = Map.groupBy(
    sampled.filter(({ isGone, parent }) => isGone === true && parent !== undefined),
    ({ parent }) => String(parent),
  );
  const interval = (agent === undefined ? 0 : processInterval(agent, job)) * 1e6 || 0;
  return sampled.flatMap(({ pid, start, times, children }): Curve[] => {
    if (children === undefined || !(children.at(-1)! > 0)) return [];
    const birth = Number(start) * 1000;
    const isOld = isOlder(birth, began);
    const ended = (gone.get(pid) ?? [])
      .filter((child) => Number(child.start) * 1000 >= birth && child.times.at(-1)! >= times[0]!)
      .toSorted((a, b) => a.times.at(-1)! - b.times.at(-1)!);
    const base = isOld ? children[0]! : 0;
    const begin = isOld ? times[0]! : Math.min(birth, times[0]!);
    let [sampledSoFar, next] = [0, 0];
    const beyond = times.map((time, i) => {
      for (; next < ended.length && ended[next]!.times.at(-1)! <= time; next++) sampledSoFar += usedInAll(ended[next]!);
      return children[i]! - base - sampledSoFar;
    });
    const all = Math.max(0, beyond.at(-1)!);
    if (all === 0) return [];
    const [moments, used]: [number[], number[]] = [[begin], [0]];
    beyond.forEach((value, i) => {
      const most = Math.min(all, Math.max(used.at(-1)!, value));
      const [time, before] = [times[i]!, moments.at(-1)!];
      // a row is written at the tick after something changed
      if (i > 0 && interval > 0 && time - interval > before) {
        moments.push(time - interval);
        used.push(used.at(-1)!);
      }
      moments.push(time);
      used.push(most);
    });
    return [through(moments, used)!];
  });
}

/** By itself and by children that it waited for, from its start on. */
const usedInAll = ({ used, children }: SampledCpu): number => used.at(-1)! + (children?.at(-1) ?? 0);

/** What statistics say of sampled processes: their first and their last row. */
export function sampledOfStatistics(all: readonly ProcessSeries[]): SampledCpu[] {
  return all.map(({ keys, start, end, texts, columns }): SampledCpu => {
    const at = (when: 'first' | 'last'): number =>
      ((columns.user_ms?.[when] ?? 0) + (columns.system_ms?.[when] ?? 0)) * 1000;
    const { children_user_ms: user, children_system_ms: system, ppid } = columns;
    const children = (when: 'first' | 'last'): number => ((user?.[when] ?? 0) + (system?.[when] ?? 0)) * 1000;
    return {
      pid: keys.pid ?? '',
      start: keys.start ?? '',
      times: [start, end],
      used: [at('first'), at('last')],
      ...(at('last') > 0 ? { inUser: ((columns.user_ms?.last ?? 0) * 1000) / at('last') } : {}),
      ...(ppid === undefined ? {} : { parent: ppid.last }),
      ...(user === undefined ? {} : { children: [children('first'), children('last')] }),
      ...(texts.state === 'X' ? { isGone: true } : {}),
    };
  });
}
