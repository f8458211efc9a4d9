import { greatest } from '../../base/extremes.ts';
import type { Intervals } from '../../base/intervals.ts';
import { gpuTable } from '../../sources/tables.ts';
import { type Material, type NodeMaterial, wholeOf } from '../material.ts';
import { intervalsOf, sampledPart } from '../spans/select.ts';
import { DOORS, trafficOf } from './bytes.ts';
import { cpuCurve, userCurve } from './cpu.ts';
import { type BoundedUse, boundsIn, type Curve, over, sumOf, times, total, type Used } from './curve.ts';
import { cardMeters, metersOf } from './energy.ts';
import { countersOf } from './samples.ts';

/**
 * What a job uses up: seconds of CPUs and of GPUs, joules, and bytes through each door. Memory is a level, and has its own
 * question (memory.ts).
 */
export const RESOURCES = [
  ...(['CPU', 'CPU user', 'CPU system', 'GPU', 'energy'] as const),
  ...DOORS.flatMap(({ what }) => [`${what} in`, `${what} out`] as const),
];
export type Resource = (typeof RESOURCES)[number];

/** How much the job had used on a node up to a moment, and who counted that. */
export interface Use {
  curve: Curve;
  source: string;
}

/**
 * How the use of a resource grew on a node in all of the job, without what Tacho used itself. What any span used is the
 * difference of two points, so that spans add up. Without samples (a card of the whole job needs none) only the end is exact.
 *
 *     over(useOf(material, node, 'energy')!.curve, [[from, to]])
 */
export function useOf(material: Material, node: NodeMaterial, resource: Resource): Use | undefined {
  const whole = wholeOf(material);
  const use = (curve: Curve | undefined, source: string): Use | undefined => curve && { curve, source };
  switch (resource) {
    case 'CPU':
    case 'CPU user':
    case 'CPU system': {
      const all = cpuCurve(whole, node);
      const user = resource === 'CPU' ? undefined : userCurve(whole, node);
      const portion = resource === 'CPU' ? all?.curve : resource === 'CPU user' ? user : user && less(all!.curve, user);
      return all && use(portion && times(portion, 1e-6), all.whole.source);
    }
    case 'GPU': {
      const cards = countersOf(whole, node, gpuTable.col.utilization_percent).filter(
        ({ texts }) => texts.mine !== 'no',
      );
      const busy = sumOf(cards.flatMap(({ counter }) => counter()?.curve ?? []));
      return use(busy && times(busy, 1e-2), gpuTable.name);
    }
    case 'energy': {
      const meters = metersOf(whole, node);
      const all = meters[0]?.covers === 'node' ? meters : [...meters, ...cardMeters(whole, node)];
      return use(sumOf(all.map(({ curve }) => curve)), [...new Set(all.map(({ covers }) => covers))].join(', '));
    }
    default: {
      const door = DOORS.find(({ what }) => resource.startsWith(`${what} `))!;
      const way = resource.endsWith(' in') ? 'in' : 'out';
      const curves = trafficOf(whole, node, door).flatMap((traffic) => traffic[way] ?? []);
      return use(sumOf(curves), door[way].table);
    }
  }
}

/** What the job used of a resource in these spans, on all nodes that tell; undefined: none does. */
export function usedBetween(material: Material, resource: Resource, spans: Intervals): BoundedUse | undefined {
  const curves = material.nodes.flatMap((node) => useOf(material, node, resource)?.curve ?? []);
  const used = curves.flatMap((curve) => over(curve, spans) ?? []);
  if (used.length === 0) return undefined;
  const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0);
  const bounds = curves.map((curve) => boundsIn(curve, spans));
  return {
    amount: sum(used.map(({ amount }) => amount)),
    seconds: greatest(used.map(({ seconds }) => seconds)),
    low: sum(bounds.map(([low]) => low)),
    high: sum(bounds.map(([, high]) => high)),
  };
}

/** The same in each of so many equal steps of a span: amount a second; NaN where nobody knows. */
export function rateInSteps(
  material: Material,
  resource: Resource,
  [from, to]: Span,
  steps: number,
): number[] | undefined {
  const curves = material.nodes.flatMap((node) => useOf(material, node, resource)?.curve ?? []);
  if (curves.length === 0) return undefined;
  const step = (to - from) / steps;
  return Array.from({ length: steps }, (_, i) => {
    const used = curves.flatMap((curve) => over(curve, [[from + i * step, from + (i + 1) * step]]) ?? []);
    return used.length === 0 ? Number.NaN : used.reduce((sum, { amount, seconds }) => sum + amount / seconds, 0);
  });
}

type Span = readonly [from: number, to: number];

const less = (all: Curve, portion: Curve): Curve => ({
  ...all,
  at: (time) => all.at(time) - portion.at(time),
  bounds(time) {
    const [[low, high], [least, most]] = [all.bounds(time), portion.bounds(time)];
    return [Math.max(0, low - most), high - least];
  },
});

/** What was used in the part of the job that is looked at, or in all of it. undefined: nobody knows. */
export function usedIn({ range }: Material, curve: Curve): Used | undefined {
  if (range === undefined) return { amount: total(curve), seconds: (curve.to - curve.from) / 1e6 };
  return over(curve, intervalsOf(sampledPart(range)));
}
