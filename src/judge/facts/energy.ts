import type { Material, NodeMaterial } from '../../query/material.ts';
import { metersOf } from '../../query/use/energy.ts';
import { usedIn } from '../../query/use/use.ts';
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

interface Metered {
  covers: string;
  joules: number;
  isCounted: boolean;
  seconds: number;
}

/** The node's energy: its own meter if there is one, else those of CPUs and memory and the GPUs together. */
export function energyOf(material: Material, node: NodeMaterial, gpus: readonly GpuReport[]): Energy | undefined {
  const meters = metersOf(material, node);
  const metered = meters.flatMap(({ covers, isCounted, curve }): Metered[] => {
    const used = usedIn(material, curve);
    return used === undefined ? [] : [{ covers, isCounted, joules: used.amount, seconds: used.seconds }];
  });
  for (const { node: name, energy_joules: joules, energy_source, recorded_seconds: seconds } of gpus)
    if (meters[0]?.covers !== 'node' && name === node.node && joules !== undefined)
      metered.push({ covers: 'GPUs', isCounted: energy_source === 'counter', joules, seconds });
  if (metered.length === 0) return undefined;
  const joules = metered.reduce((sum, meter) => sum + meter.joules, 0);
  // without any energy each counts the same
  const share = (meter: Metered): number => (joules > 0 ? meter.joules / joules : 1 / metered.length);
  const counted = metered.filter(({ isCounted }) => isCounted).length;
  return {
    joules,
    source: counted === metered.length ? 'counter' : counted === 0 ? 'integrated power' : 'both',
    covers: [...new Set(metered.map(({ covers }) => covers))],
    seconds: metered.reduce((sum, meter) => sum + meter.seconds * share(meter), 0),
  };
}
