import type { SeriesStatistics } from '../recording/statistics.ts';
import type { GpuReport } from './gpus.ts';
import { known, type NodeMaterial, seriesOf } from './material.ts';

export type EnergySource = 'counter' | 'integrated power' | 'both';

/** Energy of one node while it was recorded, and what it includes. */
export interface Energy {
  joules: number;
  source: EnergySource;
  /** "node" alone, or the parts: "CPUs", "memory", "GPUs". */
  covers: string[];
}

interface Part {
  joules: number;
  counted: boolean;
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

/** The node's energy: its own meter if there is one, else those of CPUs and memory and the GPUs together. */
export function energyOf(node: NodeMaterial, gpus: readonly GpuReport[]): Energy | undefined {
  const all = seriesOf(node, 'power');
  for (const { meter, domain } of WHOLE) {
    const series = all.find((s) => s.texts.meter === meter && domain.test(s.keys.domain ?? ''));
    const part = series === undefined ? undefined : partOf(series);
    if (part !== undefined) return total([['node', part]]);
  }
  const parts = new Map<string, Part>();
  for (const series of all) {
    if (series.texts.meter !== 'rapl' || series.texts.within) continue;
    const what = PARTS.find(([, pattern]) => pattern.test(series.keys.domain ?? ''))?.[0];
    const part = partOf(series);
    if (what !== undefined && part !== undefined) add(parts, what, part);
  }
  for (const gpu of gpus) {
    if (gpu.node !== node.node || gpu.energy_joules === undefined) continue;
    add(parts, 'GPUs', { joules: gpu.energy_joules, counted: gpu.energy_source === 'counter' });
  }
  return parts.size === 0 ? undefined : total([...parts]);
}

/** A counter is exact; power at the ticks, added up, is the next best. */
function partOf(series: SeriesStatistics): Part | undefined {
  const counted = known(series.columns.energy_mj?.increase);
  if (counted !== undefined) return { joules: counted / 1000, counted: true };
  const integrated = known(series.columns.power_watts?.integral);
  return integrated === undefined ? undefined : { joules: integrated, counted: false };
}

function add(parts: Map<string, Part>, what: string, part: Part): void {
  const before = parts.get(what);
  parts.set(what, {
    joules: (before?.joules ?? 0) + part.joules,
    counted: (before?.counted ?? true) && part.counted,
  });
}

function total(parts: readonly [string, Part][]): Energy {
  const counted = parts.filter(([, part]) => part.counted).length;
  return {
    joules: parts.reduce((joules, [, part]) => joules + part.joules, 0),
    source: counted === parts.length ? 'counter' : counted === 0 ? 'integrated power' : 'both',
    covers: parts.map(([what]) => what),
  };
}
