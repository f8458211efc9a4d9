import { cgroup } from './cgroup/cgroup.ts';
import { gpu } from './gpu/gpu.ts';
import { gpuProcess } from './gpu/process.ts';
import { cpu } from './host/cpu.ts';
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
