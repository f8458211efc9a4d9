import { ifFinite, largest } from '../../query/material.ts';
import type { GpuReport, NodeReport } from '../report-schema.ts';

/** Means over nodes and cards that were not all seen for the same time: each counts for as long as it was. */

/** The time that a node's CPU time was gathered in. */
export const measuredSeconds = (n: NodeReport): number | undefined => n.cpu_window_seconds ?? n.recorded_seconds;

/** The mean of what is known, each value with its weight; undefined when nothing is. */
export function weightedMean(values: readonly (readonly [value: number | undefined, weight: number | undefined])[]) {
  const all = values.filter(([value]) => ifFinite(value) !== undefined) as [number, number | undefined][];
  const weights = all.reduce((sum, [, weight = 0]) => sum + weight, 0);
  if (all.length === 0) return undefined;
  // a single sample has no duration
  if (!(weights > 0)) return all.reduce((sum, [value]) => sum + value, 0) / all.length;
  const [first] = all[0]!;
  // equal values have that mean to the last digit
  if (all.every(([value]) => value === first)) return first;
  return all.reduce((sum, [value, weight = 0]) => sum + value * weight, 0) / weights;
}

/** The mean of cards, each counting for as long as it was seen. */
export const gpuMean = (
  gpus: readonly GpuReport[],
  what: 'utilization_mean' | 'power_mean_watts',
): number | undefined => weightedMean(gpus.map((g) => [g[what], g.recorded_seconds]));

/** Seen for less than this share of the longest, a share of the time cannot be held against the others'. */
const COMPARABLE = 0.9;

/** Those that were seen for about as long as the one that was seen longest. */
export function comparable<T>(all: readonly T[], seconds: (one: T) => number | undefined): T[] {
  const longest = largest(all.map(seconds)) ?? 0;
  return all.filter((one) => (seconds(one) ?? longest) >= COMPARABLE * longest);
}

/** Why nodes that were recorded for different times are not compared. */
export const UNLIKE_TIMES = 'the nodes were recorded for different times, and what each did when is not compared';
