import { known, type NodeMaterial, type ReportSeries, seriesOf } from '../../query/material.ts';
import { type Selection, secondsIn } from '../../query/spans/select.ts';
import { type gpuTable, powerTable } from '../../sources/tables.ts';
import type { EnergySource, GpuReport } from '../report-schema.ts';

/** Energy of one node while it was recorded, and what it includes. */
export interface Energy {
  joules: number;
  source: EnergySource;
  /** "node" alone, or the parts: "CPUs", "memory", "GPUs". */
  covers: string[];
  /** The time that was metered; of several parts the mean, by their energy. */
  seconds: number;
}

/** What one meter says: by its counter, or by its power at the ticks. */
export interface Metered {
  joules: number;
  counted: boolean;
  seconds: number;
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
export function energyOf(node: NodeMaterial, gpus: readonly GpuReport[], range?: Selection): Energy | undefined {
  const all = seriesOf(node, powerTable);
  for (const { meter, domain } of WHOLE) {
    const series = all.find((s) => s.texts.meter === meter && domain.test(s.keys.domain ?? ''));
    const part = series === undefined ? undefined : meteredBy(series, range);
    if (part !== undefined) return total([['node', part]]);
  }
  const parts = new Map<string, Metered>();
  for (const series of all) {
    if (series.texts.meter !== 'rapl' || series.texts.within) continue;
    const what = PARTS.find(([, pattern]) => pattern.test(series.keys.domain ?? ''))?.[0];
    const part = meteredBy(series, range);
    if (what !== undefined && part !== undefined) add(parts, what, part);
  }
  for (const gpu of gpus) {
    if (gpu.node !== node.node || gpu.energy_joules === undefined) continue;
    const counted = gpu.energy_source === 'counter';
    add(parts, 'GPUs', { joules: gpu.energy_joules, counted, seconds: gpu.recorded_seconds });
  }
  return parts.size === 0 ? undefined : total([...parts]);
}

/** A counter is exact; power at the ticks, added up, is the next best. */
export function meteredBy(
  series: ReportSeries<typeof gpuTable> | ReportSeries<typeof powerTable>,
  range: Selection | undefined,
): Metered | undefined {
  const seconds = secondsIn(range, series.start, series.end);
  const counted = known(series.columns.energy_mj?.increase);
  const integrated = known(series.columns.power_watts?.integral);
  // a counter that stands still does not count, unless its meter says that no power was drawn
  if (counted !== undefined && (counted > 0 || integrated === 0))
    return { joules: counted / 1000, counted: true, seconds };
  return integrated === undefined ? undefined : { joules: integrated, counted: false, seconds };
}

function add(parts: Map<string, Metered>, what: string, part: Metered): void {
  const before = parts.get(what);
  parts.set(what, before === undefined ? part : together([before, part]));
}

function together(parts: readonly Metered[]): Metered {
  const joules = parts.reduce((sum, part) => sum + part.joules, 0);
  // without any energy each counts the same
  const share = (part: Metered): number => (joules > 0 ? part.joules / joules : 1 / parts.length);
  return {
    joules,
    counted: parts.every(({ counted }) => counted),
    seconds: parts.reduce((sum, part) => sum + part.seconds * share(part), 0),
  };
}

function total(parts: readonly [string, Metered][]): Energy {
  const { joules, seconds } = together(parts.map(([, part]) => part));
  const counted = parts.filter(([, part]) => part.counted).length;
  return {
    joules,
    source: counted === parts.length ? 'counter' : counted === 0 ? 'integrated power' : 'both',
    covers: parts.map(([what]) => what),
    seconds,
  };
}
