import type { SonarData, SonarSample } from './sample.ts';

/** A time in which a node was sampled without a gap, and its GPUs answered, or did not. */
export interface Stretch {
  node: string;
  cluster: string;
  samples: SonarSample[];
  failing: boolean;
}

/** Longer than so many intervals without a sample is a gap, as for Sonar. */
const GAP = 2;
const DAY_US = 86_400e6;

/** Seconds between samples, most of the time; NaN when there is only one. */
export function usualInterval(times: readonly number[]): number {
  const steps = times.flatMap((time, i) => (i === 0 ? [] : time - times[i - 1]!)).sort((a, b) => a - b);
  const middle = steps[(steps.length - 1) >> 1];
  // clocks of cron are a second or two off
  return middle === undefined ? Number.NaN : Math.round(middle / 10e6) * 10 || middle / 1e6;
}

/** Nodes by day (UTC), each day with the stretches of every node. */
export function stretchesOf(data: SonarData): Map<string, Stretch[][]> {
  const days = new Map<string, Stretch[][]>();
  const byNode = Map.groupBy(data.samples.values(), ({ cluster, node }) => `${cluster} ${node}`);
  for (const own of byNode.values()) {
    const samples = own.sort((a, b) => a.time - b.time);
    const interval = usualInterval(samples.map(({ time }) => time));
    const stretchesByDay = new Map<string, Stretch[]>();
    let current: Stretch | undefined;
    for (const sample of samples) {
      const { time, node, cluster, failing } = sample;
      const last = current?.samples.at(-1);
      const day = dayName(time);
      const isApart =
        last === undefined ||
        time - last.time > GAP * interval * 1e6 ||
        Math.floor(time / DAY_US) !== Math.floor(last.time / DAY_US);
      if (!isApart && current!.failing === failing) {
        current!.samples.push(sample);
        continue;
      }
      // the state of the GPUs lasts until the next sample
      if (!isApart) current!.samples.push(sample);
      current = { node, cluster, samples: [sample], failing };
      stretchesByDay.set(day, [...(stretchesByDay.get(day) ?? []), current]);
    }
    for (const [day, stretches] of stretchesByDay) days.set(day, [...(days.get(day) ?? []), stretches]);
  }
  return days;
}

const dayName = (time: number): string => new Date(time / 1000).toISOString().slice(0, 10);

/**
 * CPU seconds that the processes of a node have used since its first sample, by time: less than the node has, as short
 * processes and those of the system are not among them.
 */
export function processBusy(samples: readonly SonarSample[]): Map<number, number> {
  const busy = new Map<number, number>();
  let [all, before] = [0, Number.NaN];
  let last = new Map<string, number | undefined>();
  for (const { time, processes } of samples) {
    const now = new Map<string, number | undefined>();
    const elapsed = (time - before) / 1e6;
    for (const { job, pid, ppid, command, cpu_seconds, cpu_percent = 0 } of processes) {
      const key = `${job} ${pid === 0 ? `under ${ppid ?? 0}` : pid} ${command}`;
      if (now.has(key)) continue;
      now.set(key, cpu_seconds);
      if (!(elapsed > 0)) continue;
      const lastCpu = last.get(key);
      if (cpu_seconds !== undefined && lastCpu !== undefined) all += Math.max(0, cpu_seconds - lastCpu);
      // one that is new, and all until Sonar 0.6: by its mean use
      else all += Math.min((cpu_percent / 100) * elapsed, cpu_seconds ?? Number.POSITIVE_INFINITY);
    }
    busy.set(time, all);
    [last, before] = [now, time];
  }
  return busy;
}
