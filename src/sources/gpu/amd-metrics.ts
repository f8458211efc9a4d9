import type { NumberName, Reading } from './card.ts';

/**
 * amdgpu's gpu_metrics: one binary struct with everything the firmware reports. Its header says which struct it is
 * (size u16, format u8, content u8); the layouts are those of kgd_pp_interface.h. Only what a known version is sure to
 * have at an offset is read; of versions newer than 1.8, and of APUs (format 2 and 3), nothing.
 */
export interface MetricsReader {
  /** Sets what the struct says and `reading` does not have yet. False: not a struct that is known. */
  fill(bytes: Buffer, length: number, reading: Reading): boolean;
}

/** A u16 that is all ones was not measured. */
const NOTHING_16 = 0xffff;
const NOTHING_32 = 0xffff_ffff;
const NOTHING_64 = 0xffff_ffff_ffff_ffffn;
/** The accumulator counts in 2⁻¹⁶ J. */
const MILLIJOULES = 1000 / 65536;
const LINKS = 8;

const POWER_BITS = 0x0000_0000_00ff_00ffn;
const THERMAL_BITS = 0x0000_ffff_0000_0000n;
/** ASIC-independent throttle bits (amdgpu_smu.h) that say which limit it was. */
const WORDS: readonly [bit: number, word: string][] = [
  [0, 'ppt0'],
  [1, 'ppt1'],
  [2, 'ppt2'],
  [3, 'ppt3'],
  [16, 'tdc_gfx'],
  [17, 'tdc_soc'],
  [18, 'tdc_mem'],
  [22, 'edc_gfx'],
  [32, 'temp_gpu'],
  [34, 'temp_mem'],
  [35, 'temp_edge'],
  [36, 'temp_hotspot'],
  [37, 'temp_soc'],
  [38, 'temp_vr_gfx'],
  [39, 'temp_vr_soc'],
  [40, 'temp_vr_mem'],
  [41, 'temp_vr_mem'],
  [42, 'temp_liquid'],
  [43, 'temp_liquid'],
  [44, 'vr_hot'],
  [45, 'vr_hot'],
  [46, 'prochot_cpu'],
  [47, 'prochot_gfx'],
];

/** Residency counters grow while a limit holds: the reader remembers the last ones, so each card has its own reader. */
export function metricsReader(): MetricsReader {
  const before = { power: Number.NaN, thermal: Number.NaN };

  const residency = (bytes: Buffer, reading: Reading): void => {
    // prochot, ppt, socket, voltage regulator, HBM
    const [prochot, ppt, socket, regulator, memory] = [36, 40, 44, 48, 52].map((at) => bytes.readUInt32LE(at));
    if (ppt === NOTHING_32) return;
    const thermal = prochot! + socket! + regulator! + memory!;
    if (!Number.isNaN(before.power)) {
      set(reading, 'throttled_power', ppt! > before.power ? 1 : 0);
      set(reading, 'throttled_thermal', thermal > before.thermal ? 1 : 0);
      if (reading.throttle_reasons === '') {
        const reasonTexts = [ppt! > before.power ? 'ppt' : '', thermal > before.thermal ? 'thermal' : ''];
        reading.throttle_reasons = reasonTexts.filter((word) => word !== '').join(' ');
      }
    }
    before.power = ppt!;
    before.thermal = thermal;
  };

  return {
    fill(bytes, length, reading) {
      if (length < 24 || bytes.readUInt16LE(0) > length || bytes[2] !== 1) return false;
      const content = bytes[3]!;
      if (content >= 1 && content <= 3 && length >= 96) {
        discrete(bytes, reading);
        if (content === 3 && length >= 120) independent(reading, bytes.readBigUInt64LE(112));
        return true;
      }
      if (content === 4 && length >= 284) {
        accelerator(bytes, reading, { energy: 24, replays: 88, links: 104, clock: 240, memoryClock: 280, vcn: 16 });
        return true;
      }
      if (content === 5 && length >= 356) {
        accelerator(bytes, reading, { energy: 88, replays: 152, links: 176, clock: 312, memoryClock: 352, vcn: 16 });
        return true;
      }
      if (content >= 6 && content <= 8 && length >= 60) {
        accelerator(bytes, reading, { energy: 16 });
        residency(bytes, reading);
        return true;
      }
      return false;
    },
  };
}

function set(reading: Reading, column: NumberName, value: number): void {
  if (Number.isNaN(reading[column])) reading[column] = value;
}

function u16(bytes: Buffer, at: number, reading: Reading, column: NumberName): void {
  const value = bytes.readUInt16LE(at);
  if (value !== NOTHING_16) set(reading, column, value);
}

function energy(bytes: Buffer, at: number, reading: Reading): void {
  const value = bytes.readBigUInt64LE(at);
  if (value !== NOTHING_64 && value !== 0n) set(reading, 'energy_mj', Math.round(Number(value) * MILLIJOULES));
}

/** Versions 1.1 to 1.3: Radeon, MI100, MI200. */
function discrete(bytes: Buffer, reading: Reading): void {
  u16(bytes, 4, reading, 'temperature_celsius');
  u16(bytes, 6, reading, 'temperature_hotspot_celsius');
  u16(bytes, 8, reading, 'temperature_memory_celsius');
  u16(bytes, 16, reading, 'utilization_percent');
  u16(bytes, 18, reading, 'memory_busy_percent');
  u16(bytes, 20, reading, 'decoder_percent');
  u16(bytes, 22, reading, 'power_watts');
  energy(bytes, 24, reading);
  u16(bytes, 54, reading, 'clock_mhz');
  u16(bytes, 58, reading, 'memory_clock_mhz');
}

interface Offsets {
  energy: number;
  replays?: number;
  links?: number;
  clock?: number;
  memoryClock?: number;
  vcn?: number;
}

/** Versions 1.4 and later: MI300 and its successors. */
function accelerator(bytes: Buffer, reading: Reading, at: Offsets): void {
  u16(bytes, 4, reading, 'temperature_hotspot_celsius');
  u16(bytes, 6, reading, 'temperature_memory_celsius');
  u16(bytes, 10, reading, 'power_watts');
  u16(bytes, 12, reading, 'utilization_percent');
  u16(bytes, 14, reading, 'memory_busy_percent');
  energy(bytes, at.energy, reading);
  if (at.vcn !== undefined) u16(bytes, at.vcn, reading, 'decoder_percent');
  if (at.clock !== undefined) u16(bytes, at.clock, reading, 'clock_mhz');
  if (at.memoryClock !== undefined) u16(bytes, at.memoryClock, reading, 'memory_clock_mhz');
  if (at.replays !== undefined) {
    const replays = bytes.readBigUInt64LE(at.replays);
    if (replays !== NOTHING_64) set(reading, 'pcie_replays', Number(replays));
  }
  if (at.links === undefined) return;
  let read = 0n;
  let written = 0n;
  let links = 0;
  for (let i = 0; i < LINKS; i++) {
    const r = bytes.readBigUInt64LE(at.links + i * 8);
    const w = bytes.readBigUInt64LE(at.links + (LINKS + i) * 8);
    if (r === NOTHING_64 || w === NOTHING_64) continue;
    links++;
    read += r;
    written += w;
  }
  // counted in kilobytes
  if (links > 0) {
    set(reading, 'link_rx_bytes', Number(read) * 1024);
    set(reading, 'link_tx_bytes', Number(written) * 1024);
  }
}

function independent(reading: Reading, mask: bigint): void {
  if (mask === NOTHING_64) return;
  set(reading, 'throttle', Number(mask));
  set(reading, 'throttled_power', (mask & POWER_BITS) === 0n ? 0 : 1);
  set(reading, 'throttled_thermal', (mask & THERMAL_BITS) === 0n ? 0 : 1);
  const reasonTexts = WORDS.filter(([bit]) => (mask >> BigInt(bit)) & 1n).map(([, word]) => word);
  reading.throttle_reasons = [...new Set(reasonTexts)].join(' ');
}
