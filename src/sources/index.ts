import { cgroup } from './cgroup/cgroup.ts';
import { gpu } from './gpu/gpu.ts';
import { gpuProcess } from './gpu/process.ts';
import { cpu } from './host/cpu.ts';
import { cpuInterrupts } from './host/cpu-interrupts.ts';
import { disk } from './host/disk.ts';
import { interrupts } from './host/interrupts.ts';
import { loadavg } from './host/loadavg.ts';
import { lustre } from './host/lustre.ts';
import { meminfo } from './host/meminfo.ts';
import { network } from './host/network.ts';
import { nfs } from './host/nfs.ts';
import { power } from './host/power.ts';
import { pressure } from './host/pressure.ts';
import { vmstat } from './host/vmstat.ts';
import { marker } from './own/marker.ts';
import { processTotal } from './own/process-total.ts';
import { processMemory } from './process/memory.ts';
import { process } from './process/process.ts';
import { processEnd, processStart, threadEnd } from './records/records.ts';
import type { SourceKind } from './source.ts';

/** Every source there is, by the order of its table in the reference. A line here, and one for its table in tables.ts, is all it takes to add one. */
export const sources: readonly SourceKind[] = [
  loadavg,
  meminfo,
  vmstat,
  cpu,
  interrupts,
  cpuInterrupts,
  disk,
  network,
  nfs,
  lustre,
  pressure,
  power,
  cgroup,
  gpu,
  gpuProcess,
  process,
  processMemory,
  processTotal,
  processStart,
  processEnd,
  threadEnd,
  marker,
];

/** What somebody wants to be recorded: these alone, all but those, and what is recorded only when it is named. */
export interface ChosenTables {
  only: readonly string[];
  without: readonly string[];
  also: readonly string[];
}

const OPTIONAL = new Set(sources.filter(({ optional }) => optional === true).map(({ table }) => table.name));

/** Whether a table is to be recorded. */
export function isChosen(name: string, { only, without, also }: ChosenTables): boolean {
  if (without.includes(name)) return false;
  if (also.includes(name) || only.includes(name)) return true;
  return only.length === 0 && !OPTIONAL.has(name);
}
