import { gpuTable, powerTable } from '../../sources/tables.ts';
import { type Material, type NodeMaterial, wholeOf } from '../material.ts';
import { type Curve, times, total } from './curve.ts';
import { type Counters, countersOf, type NodeSamples } from './samples.ts';

/** What one meter says: by its counter, or by its power at the ticks. */
export interface Meter {
  /** "node" alone, or what it is a part of: "CPUs", "memory", "GPUs". */
  covers: string;
  keys: Counters['keys'];
  isCounted: boolean;
  /** Joules. */
  curve: Curve;
}

/** Meters that see the whole node, the best first: what they measure includes the GPUs. */
const WHOLE: readonly { meter: string; domain: RegExp }[] = [
  { meter: 'pm_counters', domain: /^node$/ },
  { meter: 'hwmon', domain: /^system/ },
];

/** Parts that RAPL measures, beside each other and without the GPUs. */
const PARTS: readonly [string, RegExp][] = [
  ['platform', /^psys/],
  ['CPUs', /^package/],
  ['memory', /^dram/],
];

/** The meter of the node if there is one, else those of CPUs and memory; cards have their own. */
export function metersOf(material: Material, node: NodeMaterial): Meter[] {
  const all = countersOf(wholeOf(material), node, powerTable.col.energy_mj);
  for (const { meter, domain } of WHOLE) {
    const whole = all.find(({ keys, texts }) => texts.meter === meter && domain.test(keys.domain ?? ''));
    const wholeMeter = whole && meterOf(whole, 'node', powerTable.col);
    if (wholeMeter !== undefined) return [wholeMeter];
  }
  return all.flatMap((one): Meter[] => {
    const covers = PARTS.find(([, pattern]) => pattern.test(one.keys.domain ?? ''))?.[0];
    if (one.texts.meter !== 'rapl' || one.texts.within || covers === undefined) return [];
    return [meterOf(one, covers, powerTable.col) ?? []].flat();
  });
}

/** Where samples are at hand, the same meters serve all spans of a job. */
const madeOf = new WeakMap<NodeSamples, Meter[]>();

/** Those of cards, of the job or not. */
export function cardMeters(material: Material, node: NodeMaterial): readonly Meter[] {
  const whole = wholeOf(material);
  const samples = whole.samples?.get(node.node);
  const made = samples && madeOf.get(samples);
  if (made !== undefined) return made;
  const cards = countersOf(whole, node, gpuTable.col.energy_mj);
  const meters = cards.flatMap((card) => meterOf(card, 'GPUs', gpuTable.col) ?? []);
  if (samples !== undefined) madeOf.set(samples, meters);
  return meters;
}

/** A counter is exact; power at the ticks, added up, is the next best. */
function meterOf(
  { keys, counter }: Counters,
  covers: string,
  { energy_mj, power_watts }: typeof gpuTable.col | typeof powerTable.col,
): Meter | undefined {
  const counted = counter(energy_mj)?.curve;
  const integrated = counted !== undefined && total(counted) > 0 ? undefined : counter(power_watts)?.curve;
  // a counter that stands still does not count, unless its meter says that no power was drawn
  const isCounted = counted !== undefined && (total(counted) > 0 || (integrated && total(integrated)) === 0);
  const curve = isCounted ? times(counted, 1e-3) : integrated;
  return curve && { covers, keys, isCounted, curve };
}
