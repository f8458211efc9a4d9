/** The definitions of all tables, for those who read recordings. */

export { cgroupTable } from './cgroup/table.ts';
export { gpuTable } from './gpu/gpu.ts';
export { gpuProcessTable } from './gpu/process.ts';
export { cpuTable } from './host/cpu.ts';
export { cpuInterruptsTable } from './host/cpu-interrupts.ts';
export { diskTable } from './host/disk.ts';
export { interruptsTable } from './host/interrupts.ts';
export { loadavgTable } from './host/loadavg.ts';
export { lustreTable } from './host/lustre.ts';
export { meminfoTable } from './host/meminfo.ts';
export { networkTable } from './host/network.ts';
export { nfsTable } from './host/nfs.ts';
export { powerTable } from './host/power.ts';
export { pressureTable } from './host/pressure.ts';
export { vmstatTable } from './host/vmstat.ts';
export { agentTable } from './own/agent.ts';
export { daskGpuTable, daskGraphTable, daskMetricTable, daskTaskTable, daskWorkerTable } from './own/dask.ts';
export { markerTable } from './own/marker.ts';
export { processTotalTable } from './own/process-total.ts';
export { processMemoryTable } from './process/memory.ts';
export { processTable } from './process/table.ts';
export { processEndTable, processStartTable, threadEndTable } from './records/tables.ts';
