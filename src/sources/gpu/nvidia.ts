import { type Call, cString, loadLibrary, POINTER } from '../ffi.ts';
import { enter } from '../host/device-host.ts';
import type { Host } from '../host.ts';
import { Unavailable } from '../source.ts';
import { type Card, CardLost, type Cards, type NumberName, noteLack, type Reading } from './card.ts';
import { gpuTable } from './gpu.ts';
import {
  bind,
  FINAL,
  hintFor,
  hintNote,
  INSUFFICIENT_SIZE,
  LOST,
  MISSING_HINT,
  NOT_SUPPORTED,
  type Nvml,
} from './nvidia-calls.ts';
import { processReader } from './nvidia-process.ts';
import { gpuProcessTable } from './process.ts';

const FIELD_MEMORY_TEMPERATURE = 82;
const FIELD_LINKS = 91;
const FIELD_LINK_DATA_TX = 138;
const FIELD_LINK_DATA_RX = 139;
const FIELD_PCIE_TX_BYTES = 197;
const FIELD_PCIE_RX_BYTES = 198;
/** nvmlFieldValue_t: fieldId u32, scopeId u32, timestamp i64, latencyUsec i64, valueType u32, nvmlReturn u32, value (8 bytes). */
const FIELD_SIZE = 40;
const ALL_LINKS = 0xffffffff;

/** Bits of nvmlClocksEventReasons that people should hear about; "idle" and settings of the user are no throttling. */
const REASONS: readonly [bit: number, word: string, group: 'thermal' | 'power' | ''][] = [
  [0x04, 'sw_power_cap', 'power'],
  [0x08, 'hw_slowdown', ''],
  [0x10, 'sync_boost', ''],
  [0x20, 'sw_thermal', 'thermal'],
  [0x40, 'hw_thermal', 'thermal'],
  [0x80, 'hw_power_brake', 'power'],
];
const maskOf = (group: string) => REASONS.reduce((mask, [bit, , of]) => (of === group ? mask | bit : mask), 0);
const THERMAL = maskOf('thermal');
const POWER = maskOf('power');
const reasonWords = new Map<number, string>();

/** The node's cards through NVML (libnvidia-ml.so.1, or the library that TACHO_NVML names). */
export function openNvidia(host: Host): Cards {
  const library = loadLibrary(['libnvidia-ml.so.1', 'libnvidia-ml.so'], process.env.TACHO_NVML, MISSING_HINT);
  const statusText = library.statusText('nvmlErrorString', 'result');
  const init = library.call('nvmlInit_v2', []) ?? library.call('nvmlInit', []);
  if (init === undefined)
    throw new Unavailable('denied', `${library.path} has no nvmlInit: it is not NVIDIA's library`);
  if (!enter(host, 'nvidia init')) throw new Unavailable('denied', 'NVML does not answer');
  const status = init();
  if (status !== 0) throw new Unavailable('denied', `NVML does not start: ${statusText(status)}`, hintFor(status));

  const nvml = bind(library);
  const count = Buffer.alloc(4);
  if (nvml.count(count) !== 0) throw new Unavailable('denied', 'NVML does not say how many GPUs there are');
  const text = Buffer.alloc(256);
  const driver = nvml.driver?.(text, text.length) === 0 ? cString(text) : '';
  const cards: Card[] = [];
  const total = count.readUInt32LE(0);
  for (let i = 0; i < total; i++) {
    const device = `nvidia ${i}`;
    if (!enter(host, device)) continue;
    const handle = Buffer.alloc(8);
    const status = nvml.handle(i, handle);
    if (status !== 0) {
      host.note({ table: gpuTable.name, what: `GPU ${i}`, why: `NVML: ${statusText(status)}`, ...hintNote(status) });
      continue;
    }
    const physical = openCard(host, nvml, statusText, handle.readBigUInt64LE(0), {
      gpu: String(i),
      device,
      driver,
      index: i,
      total,
    });
    const instances = openInstances(host, nvml, statusText, physical);
    // the processes of a divided card are listed with their instances
    cards.push(instances.length === 0 ? physical : { ...physical, processes: () => {} }, ...instances);
  }
  return { cards, close: () => void library.call('nvmlShutdown', [])?.() };
}

interface Place {
  gpu: string;
  device: string;
  driver: string;
  index: number;
  total: number;
}

type NvidiaCard = Card & { readonly handle: bigint; readonly cardPlace: Place };

/** A column and how to get it: the function is called with the handle, its leading arguments and a buffer. */
interface Scalar {
  column: NumberName;
  call: Call | undefined;
  leading: number[];
  take(out: Buffer): number;
}

const u32 = (out: Buffer) => out.readUInt32LE(0);
const u64 = (out: Buffer) => Number(out.readBigUInt64LE(0));

function scalars(nvml: Nvml): Scalar[] {
  const one = (column: NumberName, name: string, take: (out: Buffer) => number, ...leading: number[]): Scalar => ({
    column,
    call: nvml.device(name, ...leading.map(() => 'uint32_t'), POINTER),
    leading,
    take,
  });
  const period = Buffer.alloc(4);
  const engine = (column: NumberName, name: string): Scalar => {
    const call = nvml.device(name, POINTER, POINTER);
    return { column, call: call && ((handle, out) => call(handle!, out!, period)), leading: [], take: u32 };
  };
  const remapped = nvml.device('nvmlDeviceGetRemappedRows', POINTER, POINTER, POINTER, POINTER);
  // does not change while the driver is loaded: asked once
  const fixed = (column: NumberName, name: string): Scalar => {
    const call = nvml.device(name, POINTER);
    let value: number | undefined;
    const take = (out: Buffer): number => {
      value ??= u32(out);
      return value;
    };
    return {
      column,
      call: call && ((handle, out) => (value === undefined ? call(handle!, out!) : 0)),
      leading: [],
      take,
    };
  };
  const rows = [Buffer.alloc(4), Buffer.alloc(4), Buffer.alloc(4)] as const;
  return [
    one('power_watts', 'nvmlDeviceGetPowerUsage', (out) => u32(out) / 1000),
    one('power_limit_watts', 'nvmlDeviceGetEnforcedPowerLimit', (out) => u32(out) / 1000),
    one('energy_mj', 'nvmlDeviceGetTotalEnergyConsumption', u64),
    one('temperature_celsius', 'nvmlDeviceGetTemperature', u32, 0),
    one('clock_mhz', 'nvmlDeviceGetClockInfo', u32, 1),
    one('memory_clock_mhz', 'nvmlDeviceGetClockInfo', u32, 2),
    one('fan_percent', 'nvmlDeviceGetFanSpeed', u32),
    one('ecc_corrected', 'nvmlDeviceGetTotalEccErrors', u64, 0, 0),
    one('ecc_uncorrected', 'nvmlDeviceGetTotalEccErrors', u64, 1, 0),
    one('pcie_generation', 'nvmlDeviceGetCurrPcieLinkGeneration', u32),
    fixed('pcie_generation_max', 'nvmlDeviceGetMaxPcieLinkGeneration'),
    one('pcie_width', 'nvmlDeviceGetCurrPcieLinkWidth', u32),
    fixed('pcie_width_max', 'nvmlDeviceGetMaxPcieLinkWidth'),
    one('pcie_replays', 'nvmlDeviceGetPcieReplayCounter', u32),
    one('performance_state', 'nvmlDeviceGetPerformanceState', u32),
    engine('encoder_percent', 'nvmlDeviceGetEncoderUtilization'),
    engine('decoder_percent', 'nvmlDeviceGetDecoderUtilization'),
    {
      column: 'remapped_rows',
      call: remapped && ((handle, out) => remapped(handle!, out!, ...rows)),
      leading: [],
      // corrected rows are in the first buffer, uncorrected in the next
      take: (out) => u32(out) + rows[0].readUInt32LE(0),
    },
    {
      column: 'remap_failed',
      // the call before has filled it
      call: remapped && (() => 0),
      leading: [],
      take: () => rows[2].readUInt32LE(0),
    },
  ];
}

function openCard(
  host: Host,
  nvml: Nvml,
  statusText: (status: number) => string,
  handle: bigint,
  cardPlace: Place,
): NvidiaCard {
  const out = Buffer.alloc(64);
  const name = (fn: string): string => {
    const text = Buffer.alloc(128);
    return nvml.device(fn, POINTER, 'uint32_t')?.(handle, text, text.length) === 0 ? cString(text) : '';
  };
  const model = name('nvmlDeviceGetName');
  const lacking = new Set<string>();
  const lack = (column: string, status: number): void => {
    if (LOST.has(status)) throw new CardLost(statusText(status));
    noteLack(host, model, column, statusText(status));
    if (FINAL.has(status)) lacking.add(column);
  };

  const wanted = scalars(nvml);
  const utilization = nvml.device('nvmlDeviceGetUtilizationRates', POINTER);
  const readMemory = memoryReader(nvml);
  const reasons =
    nvml.device('nvmlDeviceGetCurrentClocksEventReasons', POINTER) ??
    nvml.device('nvmlDeviceGetCurrentClocksThrottleReasons', POINTER);
  const retired = nvml.device('nvmlDeviceGetRetiredPages', 'uint32_t', POINTER, POINTER);
  const fields = nvml.device('nvmlDeviceGetFieldValues', 'int', POINTER);
  const throughput = nvml.device('nvmlDeviceGetPcieThroughput', 'uint32_t', POINTER);
  const linkState = nvml.device('nvmlDeviceGetNvLinkState', 'uint32_t', POINTER);
  let linksUp = Number.NaN;
  let reads = 0;
  const fieldBytes = Buffer.alloc(FIELD_SIZE * FIELDS.length);
  const mig = cardPlace.gpu.includes(':');

  return {
    handle,
    cardPlace,
    gpu: cardPlace.gpu,
    device: cardPlace.device,
    vendor: 'NVIDIA',
    model,
    uuid: name('nvmlDeviceGetUUID'),
    serial: mig ? '' : name('nvmlDeviceGetSerial'),
    driver: cardPlace.driver,
    read(reading) {
      readMemory(handle, reading, lack);
      // an instance has memory of its own and nothing else
      if (mig) return;
      if (!lacking.has('utilization_percent')) {
        const status = utilization?.(handle, out) ?? NOT_SUPPORTED;
        if (status !== 0) lack('utilization_percent', status);
        else {
          reading.utilization_percent = out.readUInt32LE(0);
          reading.memory_busy_percent = out.readUInt32LE(4);
        }
      }
      for (const { column, call, leading, take } of wanted) {
        if (lacking.has(column)) continue;
        const status = call?.(handle, ...leading, out) ?? NOT_SUPPORTED;
        if (status === 0) reading[column] = take(out);
        else lack(column, status);
      }
      if (reasons !== undefined && !lacking.has('throttle')) {
        const status = reasons(handle, out);
        if (status === 0) setThrottle(reading, u64(out));
        else lack('throttle', status);
      }
      if (retired !== undefined && !lacking.has('retired_pages')) readRetired(handle, retired, out, reading, lack);
      if (fields !== undefined) readFields(handle, fields, fieldBytes, reading, lacking, lack);
      if (linkState !== undefined && reading.links > 0 && !lacking.has('links_up')) {
        if (reads % LINK_READS === 0) linksUp = countLinks(handle, linkState, reading.links, out, lack);
        reading.links_up = linksUp;
      }
      const counted = !Number.isNaN(reading.pcie_rx_bytes);
      // measuring takes 40 ms, so the cards take turns
      const turn = reads++ % cardPlace.total === cardPlace.index;
      if (!counted && turn && throughput !== undefined && !lacking.has('pcie_rx_rate_bytes')) {
        const status = throughput(handle, 1, out);
        if (status !== 0) lack('pcie_rx_rate_bytes', status);
        else {
          reading.pcie_rx_rate_bytes = u32(out) * 1000;
          if (throughput(handle, 0, out) === 0) reading.pcie_tx_rate_bytes = u32(out) * 1000;
        }
      }
    },
    processes: processReader(nvml, handle, statusText, (what, why) =>
      host.note({ table: gpuProcessTable.name, what, why: `${model}: ${why}` }),
    ),
  };
}

/** Number of reads between two looks at the state of all links, which are up to 18 calls. */
const LINK_READS = 10;

/** How many links are active; NaN: the card does not say. */
function countLinks(
  handle: bigint,
  state: Call,
  links: number,
  out: Buffer,
  lack: (column: string, status: number) => void,
): number {
  let up = 0;
  for (let link = 0; link < links; link++) {
    const status = state(handle, link, out);
    if (status !== 0) {
      lack('links_up', status);
      return Number.NaN;
    }
    if (u32(out) === 1) up++;
  }
  return up;
}

/** nvmlMemory_t: total, free, used; nvmlMemory_v2_t: version, total, reserved, free, used, where used leaves out what the driver keeps. */
function memoryReader(nvml: Nvml) {
  const second = nvml.device('nvmlDeviceGetMemoryInfo_v2', POINTER);
  const first = nvml.device('nvmlDeviceGetMemoryInfo', POINTER);
  const out = Buffer.alloc(40);
  return (handle: bigint, reading: Reading, lack: (column: string, status: number) => void): void => {
    if (second !== undefined) {
      out.writeUInt32LE(out.length | (2 << 24), 0);
      if (second(handle, out) === 0) {
        reading.memory_total_bytes = Number(out.readBigUInt64LE(8));
        reading.memory_used_bytes = Number(out.readBigUInt64LE(32));
        return;
      }
    }
    const status = first?.(handle, out) ?? NOT_SUPPORTED;
    if (status !== 0) {
      lack('memory_used_bytes', status);
      return;
    }
    reading.memory_total_bytes = Number(out.readBigUInt64LE(0));
    reading.memory_used_bytes = Number(out.readBigUInt64LE(16));
  };
}

function setThrottle(reading: Reading, mask: number): void {
  reading.throttle = mask;
  reading.throttled_thermal = (mask & THERMAL) === 0 ? 0 : 1;
  reading.throttled_power = (mask & POWER) === 0 ? 0 : 1;
  let reasonsText = reasonWords.get(mask);
  if (reasonsText === undefined) {
    reasonsText = REASONS.filter(([bit]) => (mask & bit) !== 0)
      .map(([, word]) => word)
      .join(' ');
    reasonWords.set(mask, reasonsText);
  }
  reading.throttle_reasons = reasonsText;
}

/** Pages retired because of single-bit (cause 0) and double-bit errors (cause 1); asked for with no room, it answers how many. */
function readRetired(
  handle: bigint,
  retired: Call,
  out: Buffer,
  reading: Reading,
  lack: (column: string, status: number) => void,
): void {
  let pages = 0;
  for (const cause of [0, 1]) {
    out.writeUInt32LE(0, 0);
    const status = retired(handle, cause, out, null);
    if (status !== 0 && status !== INSUFFICIENT_SIZE) {
      lack('retired_pages', status);
      return;
    }
    pages += out.readUInt32LE(0);
  }
  reading.retired_pages = pages;
}

const FIELDS: readonly { id: number; scope: number; column: NumberName; factor: number; wide: boolean }[] = [
  { id: FIELD_MEMORY_TEMPERATURE, scope: 0, column: 'temperature_memory_celsius', factor: 1, wide: false },
  { id: FIELD_LINKS, scope: 0, column: 'links', factor: 1, wide: false },
  { id: FIELD_LINK_DATA_RX, scope: ALL_LINKS, column: 'link_rx_bytes', factor: 1024, wide: true },
  { id: FIELD_LINK_DATA_TX, scope: ALL_LINKS, column: 'link_tx_bytes', factor: 1024, wide: true },
  { id: FIELD_PCIE_RX_BYTES, scope: 0, column: 'pcie_rx_bytes', factor: 1, wide: true },
  { id: FIELD_PCIE_TX_BYTES, scope: 0, column: 'pcie_tx_bytes', factor: 1, wide: true },
];

function readFields(
  handle: bigint,
  call: Call,
  bytes: Buffer,
  reading: Reading,
  lacking: ReadonlySet<string>,
  lack: (column: string, status: number) => void,
): void {
  let n = 0;
  const asked: (typeof FIELDS)[number][] = [];
  for (const field of FIELDS) {
    if (lacking.has(field.column)) continue;
    asked.push(field);
    bytes.fill(0, n, n + FIELD_SIZE);
    bytes.writeUInt32LE(field.id, n);
    bytes.writeUInt32LE(field.scope, n + 4);
    n += FIELD_SIZE;
  }
  if (asked.length === 0) return;
  const status = call(handle, asked.length, bytes);
  if (status !== 0) {
    for (const { column } of asked) lack(column, status);
    return;
  }
  for (const [i, { column, factor, wide }] of asked.entries()) {
    const at = i * FIELD_SIZE;
    const status = bytes.readUInt32LE(at + 28);
    const type = bytes.readUInt32LE(at + 24);
    if (status !== 0) lack(column, status);
    // a byte counter of 32 bits wraps several times a second on a busy card: it says nothing
    else if (wide && type === 1) lack(column, NOT_SUPPORTED);
    else reading[column] = fieldValue(bytes, at + 32, type) * factor;
  }
}

/** nvmlValue_t by nvmlValueType_t: double, unsigned int, unsigned long, unsigned long long, signed long long, int. */
function fieldValue(bytes: Buffer, at: number, type: number): number {
  if (type === 0) return bytes.readDoubleLE(at);
  if (type === 1) return bytes.readUInt32LE(at);
  if (type === 5) return bytes.readInt32LE(at);
  return type === 4 ? Number(bytes.readBigInt64LE(at)) : Number(bytes.readBigUInt64LE(at));
}

/** MIG instances, each a card of its own under the name that nvidia-smi -L gives it. */
function openInstances(host: Host, nvml: Nvml, statusText: (status: number) => string, parent: NvidiaCard): Card[] {
  const mode = nvml.device('nvmlDeviceGetMigMode', POINTER, POINTER);
  const most = nvml.device('nvmlDeviceGetMaxMigDeviceCount', POINTER);
  const handleOf = nvml.device('nvmlDeviceGetMigDeviceHandleByIndex', 'uint32_t', POINTER);
  const current = Buffer.alloc(4);
  const out = Buffer.alloc(8);
  if (mode === undefined || most === undefined || handleOf === undefined) return [];
  if (mode(parent.handle, current, out) !== 0 || current.readUInt32LE(0) !== 1) return [];
  if (most(parent.handle, out) !== 0) return [];
  const instances: Card[] = [];
  const instanceCount = out.readUInt32LE(0);
  for (let i = 0; i < instanceCount; i++) {
    if (handleOf(parent.handle, i, out) !== 0) continue;
    const instancePlace = { ...parent.cardPlace, gpu: `${parent.gpu}:mig-${i}` };
    instances.push(openCard(host, nvml, statusText, out.readBigUInt64LE(0), instancePlace));
  }
  return instances;
}
