import { defineTable, gauge, text } from '../../table/table.ts';
import { type IsolatedKind, type Source, Unavailable } from '../source.ts';
import { present } from './present.ts';

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

type Reader = typeof import('./reader.ts');
let reader: Reader | undefined;

export const gpuProcess: IsolatedKind = {
  table: gpuProcessTable,
  isolated: true,
  present,
  async load() {
    reader = await import('./reader.ts');
  },
  open(host): Source {
    if (!present(host)) throw new Unavailable('absent', 'there is no GPU that can be seen');
    return reader!.openGpuProcess(gpuProcessTable, host);
  },
};
