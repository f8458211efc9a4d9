import { defineTable, gauge, text } from '../../table/table.ts';
import { gpuKind } from './kind.ts';

export const gpuProcessTable = defineTable({
  name: 'gpu_process',
  help: 'The processes on each GPU that can be seen (NVML; on AMD the kernel driver).',
  scope: 'node',
  keys: [
    { name: 'gpu', help: 'The GPU or MIG instance, as in the table gpu.' },
    { name: 'pid', help: 'The process.' },
  ],
  columns: [
    gauge('memory_bytes', 'bytes', 'Device memory that the process uses.'),
    gauge('percent', 'percent', 'Use of the compute units by the process.'),
    gauge('memory_busy_percent', 'percent', 'Use of the memory interface by the process.'),
    gauge('encoder_percent', 'percent', 'Use of the video encoder by the process.'),
    gauge('decoder_percent', 'percent', 'Use of the video decoder by the process.'),
    text('type', 'compute or graphics.'),
  ],
});

export const gpuProcess = gpuKind(gpuProcessTable, (reader, host) => reader.openGpuProcess(gpuProcessTable, host));
