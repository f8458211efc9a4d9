import { ifFinite } from '../../query/material.ts';
import type { Recording } from '../../recording/folder/open.ts';
import { gather } from '../facts/gather.ts';
import { report } from '../report.ts';
import type { Report } from '../report-schema.ts';

/** What the report card has measured of a job, as features: jobs can be compared by them without any process record. */
export const measuredFeatures = (recording: Recording, made?: Report): Map<string, number> =>
  isSampled(recording) ? reportFeatures(made ?? report(gather(recording))) : new Map();

/** Whether there is anything beside the records of processes and threads. */
export const isSampled = ({ nodes }: Recording): boolean =>
  nodes.some(({ tables }) => [...tables.keys()].some((name) => !/^(process_start|process_end|thread_end)$/.test(name)));

/** The same of a report that is at hand. */
export function reportFeatures({ summary, flows }: Pick<Report, 'summary' | 'flows'>): Map<string, number> {
  const features = new Map<string, number>();
  const set = (name: string, value: number | undefined): void => {
    if (ifFinite(value) !== undefined) features.set(name, value!);
  };
  set('cpu_time', summary.cpu_seconds === undefined ? undefined : summary.cpu_seconds * 1e6);
  set('duration', summary.wall_seconds * 1e6);
  set('processes', summary.processes);
  set('memory_peak', summary.memory_peak_bytes);
  set('energy', summary.energy_joules);
  set('gpu_utilization', summary.gpu_utilization);
  set('gpu_memory_peak', summary.gpu_memory_peak_bytes);
  set('gpu_power', summary.gpu_power_mean_watts);
  const own = flows.find(({ scope }) => scope === 'job');
  set('disk_read', own?.in_bytes);
  set('disk_written', own?.out_bytes);
  return features;
}
