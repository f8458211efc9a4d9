import type { Call } from '../ffi.ts';
import { POINTER } from '../ffi.ts';
import { type Card, CardLost, newProcess, type ProcessReading } from './card.ts';
import { INSUFFICIENT_SIZE, LOST, NOT_FOUND, type Nvml } from './nvidia-calls.ts';

/** nvmlProcessInfo_v2_t: pid u32, usedGpuMemory u64, gpuInstanceId u32, computeInstanceId u32. The layout behind _v3 changed between drivers. */
const PROCESS_SIZE = 24;
/** nvmlProcessUtilizationSample_t: pid u32, timeStamp u64, smUtil, memUtil, encUtil, decUtil u32. */
const SAMPLE_SIZE = 32;
const UNKNOWN_MEMORY = 0xffff_ffff_ffff_ffffn;

export function processReader(
  nvml: Pick<Nvml, 'device'>,
  handle: bigint,
  statusText: (status: number) => string,
  lack: (what: string, why: string) => void,
): Card['processes'] {
  const kinds = [
    { type: 'compute', call: nvml.device('nvmlDeviceGetComputeRunningProcesses_v2', POINTER, POINTER) },
    { type: 'graphics', call: nvml.device('nvmlDeviceGetGraphicsRunningProcesses_v2', POINTER, POINTER) },
  ];
  const usage = nvml.device('nvmlDeviceGetProcessUtilization', POINTER, POINTER, 'uint64_t');
  const count = Buffer.alloc(4);
  let bytes = Buffer.alloc(PROCESS_SIZE * 64);
  let samples = Buffer.alloc(SAMPLE_SIZE * 128);
  let lastTimestamp = 0n;
  const process = newProcess();
  const newest = new Map<number, number>();
  const usageByPid = new Map<number, { memory: number; type: string }>();

  const list = (call: Call): number => {
    for (;;) {
      count.writeUInt32LE(bytes.length / PROCESS_SIZE, 0);
      const status = call(handle, count, bytes);
      if (status === 0) return count.readUInt32LE(0);
      if (LOST.has(status)) throw new CardLost(statusText(status));
      if (status !== INSUFFICIENT_SIZE || bytes.length > 1 << 20) {
        lack('processes', statusText(status));
        return 0;
      }
      bytes = Buffer.alloc(bytes.length * 2);
    }
  };

  /** The newest sample of each process since the last call, by its place in `samples`. */
  const sampleUse = (): void => {
    newest.clear();
    if (usage === undefined) return;
    count.writeUInt32LE(samples.length / SAMPLE_SIZE, 0);
    let status = usage(handle, samples, count, lastTimestamp);
    if (status === INSUFFICIENT_SIZE && count.readUInt32LE(0) < 1 << 16) {
      samples = Buffer.alloc(SAMPLE_SIZE * count.readUInt32LE(0));
      status = usage(handle, samples, count, lastTimestamp);
    }
    if (LOST.has(status)) throw new CardLost(statusText(status));
    // not found: nothing ran since the last look
    if (status !== 0 && status !== NOT_FOUND) lack('percent', statusText(status));
    if (status !== 0) return;
    for (let i = 0; i < count.readUInt32LE(0); i++) {
      const at = i * SAMPLE_SIZE;
      const time = samples.readBigUInt64LE(at + 8);
      const pid = samples.readUInt32LE(at);
      const before = newest.get(pid);
      if (before === undefined || samples.readBigUInt64LE(before + 8) < time) newest.set(pid, at);
      if (time > lastTimestamp) lastTimestamp = time;
    }
  };

  return (add: (process: ProcessReading) => void): void => {
    sampleUse();
    usageByPid.clear();
    for (const { type, call } of kinds) {
      if (call === undefined) continue;
      const n = list(call);
      for (let i = 0; i < n; i++) {
        const pid = bytes.readUInt32LE(i * PROCESS_SIZE);
        const memory = bytes.readBigUInt64LE(i * PROCESS_SIZE + 8);
        const before = usageByPid.get(pid);
        if (before === undefined)
          usageByPid.set(pid, { memory: memory === UNKNOWN_MEMORY ? Number.NaN : Number(memory), type });
        else before.type = 'compute+graphics';
      }
    }
    for (const [pid, { memory, type }] of usageByPid) {
      const use = newest.get(pid);
      const percent = (at: number) => (use === undefined ? Number.NaN : samples.readUInt32LE(use + at));
      process.pid = pid;
      process.memory_bytes = memory;
      process.type = type;
      process.percent = percent(16);
      process.memory_busy_percent = percent(20);
      process.encoder_percent = percent(24);
      process.decoder_percent = percent(28);
      add(process);
    }
  };
}
