import { cgroup } from './cgroup.ts';
import { cpu } from './cpu.ts';
import { disk } from './disk.ts';
import { gpu } from './gpu.ts';
import { gpuProcess } from './gpu-process.ts';
import { interrupts } from './interrupts.ts';
import { loadavg } from './loadavg.ts';
import { lustre } from './lustre.ts';
import { marker } from './marker.ts';
import { meminfo } from './meminfo.ts';
import { network } from './network.ts';
import { nfs } from './nfs.ts';
import { power } from './power.ts';
import { pressure } from './pressure.ts';
import { process } from './process.ts';
import { processMemory } from './process-memory.ts';
import { processEnd, processStart, threadEnd } from './process-records.ts';
import { processTotal } from './process-total.ts';
import type { SourceKind } from './source.ts';
import { vmstat } from './vmstat.ts';

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
