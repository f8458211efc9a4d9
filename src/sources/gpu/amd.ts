import { cString, HANDLE, type Library, loadLibrary, POINTER } from '../ffi.ts';
import { enter } from '../host/device-host.ts';
import type { Host } from '../host.ts';
import { Unavailable } from '../source.ts';
import {
  addressOf,
  amdCard,
  energyQuestion,
  libraryCards,
  type Question,
  startLibrary,
  u32,
  u64,
} from './amd-library.ts';
import { openRocmSmi } from './amd-rocm.ts';
import { openAmdSysfs } from './amd-sysfs.ts';
import type { Cards, NumberName, Reading } from './card.ts';
import { gpuTable } from './gpu.ts';

const AMD_SMI = [
  'libamd_smi.so',
  '/opt/rocm/lib/libamd_smi.so',
  'libamd_smi.so.26',
  'libamd_smi.so.25',
  'libamd_smi.so.24',
];

/** AMD's cards: through AMD SMI, else through ROCm SMI, else from the driver's own files. What was taken is said. */
export function openAmd(host: Host): Cards {
  const { TACHO_AMD_SMI: amd, TACHO_ROCM_SMI: rocm } = process.env;
  if (amd !== undefined) return openAmdSmi(host, amd);
  if (rocm !== undefined) return openRocmSmi(host, rocm);
  // a frozen machine has files, and no libraries of its own
  if (host.root !== '') return openAmdSysfs(host);
  const whys: string[] = [];
  for (const open of [() => openAmdSmi(host), () => openRocmSmi(host)]) {
    try {
      return open();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      whys.push(error.message);
    }
  }
  host.note({ table: gpuTable.name, what: "AMD's libraries", why: `${whys.join('; ')}; read from /sys instead` });
  return openAmdSysfs(host);
}

/** Layouts are those of amdsmi.h; the generation (24 = ROCm 6.0–6.3, 25 = 6.4, 26 = 7.x) says which. */
const OLDEST = 24;
const GPUS = 2n;
const CLOCK_GFX = 0;
const CLOCK_MEMORY = 4;
const LINK_XGMI = 2;

function openAmdSmi(host: Host, named?: string): Cards {
  const library = loadLibrary(AMD_SMI, named);
  const calls = { init: 'amdsmi_init', flags: GPUS, status: 'amdsmi_status_code_to_string' };
  const statusText = startLibrary(host, 'AMD SMI', library, calls);
  const generation = generationOf(library);
  if (generation < OLDEST) {
    library.call('amdsmi_shut_down', [])?.();
    throw new Unavailable('denied', `AMD SMI ${generation} is older than ROCm 6.0`);
  }
  const cards = handles(library).flatMap((handle, i) => {
    const device = `amd ${i}`;
    if (!enter(host, device)) return [];
    const out = Buffer.alloc(8192);
    const asked = (name: string) => library.call(name, [HANDLE, POINTER])?.(handle, out) === 0;
    const address = asked('amdsmi_get_gpu_bdf_id') ? addressOf(out.readBigUInt64LE(0)) : '';
    // the name is the struct's first member in every generation
    out.fill(0);
    const model = asked('amdsmi_get_gpu_asic_info') ? cString(out) : '';
    const uuid = uuidFrom(library, handle);
    const questions = ask(library, handle, generation);
    return [amdCard(host, { gpu: String(i), device, handle, address, model, uuid, questions, statusText })];
  });
  return libraryCards('AMD SMI', cards, library, 'amdsmi_shut_down');
}

/** amdsmi_version_t begins with the year of the release up to 24 and with the major version since, which is the same number. */
function generationOf(library: Library): number {
  const out = Buffer.alloc(64);
  return library.call('amdsmi_get_lib_version', [POINTER])?.(out) === 0 ? out.readUInt32LE(0) : 0;
}

function handles(library: Library): bigint[] {
  const list = (name: string, ...leading: [] | [bigint]): bigint[] => {
    const call = library.call(name, [...leading.map(() => HANDLE), POINTER, POINTER]);
    const count = Buffer.alloc(4);
    if (call === undefined || call(...leading, count, null) !== 0) return [];
    const room = Buffer.alloc(8 * count.readUInt32LE(0));
    if (room.length === 0 || call(...leading, count, room) !== 0) return [];
    return Array.from({ length: count.readUInt32LE(0) }, (_, i) => room.readBigUInt64LE(i * 8));
  };
  return list('amdsmi_get_socket_handles').flatMap((socket) => list('amdsmi_get_processor_handles', socket));
}

function uuidFrom(library: Library, handle: bigint): string {
  const length = Buffer.alloc(4);
  const text = Buffer.alloc(64);
  length.writeUInt32LE(text.length, 0);
  const call = library.call('amdsmi_get_gpu_device_uuid', [HANDLE, POINTER, POINTER]);
  return call?.(handle, length, text) === 0 ? cString(text) : '';
}

function ask(library: Library, handle: bigint, generation: number): Question[] {
  const questions: Question[] = [];
  const add = (
    column: NumberName,
    name: string,
    leading: readonly number[],
    take: (out: Buffer, reading: Reading) => void,
  ): void => {
    const call = library.call(name, [HANDLE, ...leading.map(() => 'uint32_t'), POINTER]);
    if (call !== undefined) questions.push({ column, ask: (out) => call(handle, ...leading, out), take });
  };
  const scalar = (column: NumberName, name: string, leading: readonly number[], value: (out: Buffer) => number): void =>
    add(column, name, leading, (out, reading) => {
      reading[column] = value(out);
    });

  // amdsmi_engine_usage_t: gfx, memory controller, multimedia
  add('utilization_percent', 'amdsmi_get_gpu_activity', [], (out, reading) => {
    reading.utilization_percent = u32(out, 0);
    reading.memory_busy_percent = u32(out, 4);
    reading.decoder_percent = u32(out, 8);
  });
  scalar('memory_used_bytes', 'amdsmi_get_gpu_memory_usage', [0], u64);
  scalar('memory_total_bytes', 'amdsmi_get_gpu_memory_total', [0], u64);
  // amdsmi_power_info_t: current and average power; since 25 after a u64
  const power = generation >= 25 ? 8 : 0;
  scalar('power_watts', 'amdsmi_get_power_info', [], (out) => positive(u32(out, power)) ?? u32(out, power + 4));
  // watts in some releases, microwatts in others: no card takes 10 kW
  scalar('power_limit_watts', 'amdsmi_get_power_cap_info', [0], (out) =>
    u64(out) > 10_000 ? u64(out) / 1e6 : u64(out),
  );
  temperatures(scalar);
  scalar('clock_mhz', 'amdsmi_get_clock_info', [CLOCK_GFX], u32);
  scalar('memory_clock_mhz', 'amdsmi_get_clock_info', [CLOCK_MEMORY], u32);
  scalar('fan_percent', 'amdsmi_get_gpu_fan_speed', [0], (out) => Math.round((u64(out) * 100) / 255));
  add('ecc_corrected', 'amdsmi_get_gpu_total_ecc_count', [], (out, reading) => {
    reading.ecc_corrected = u64(out, 0);
    reading.ecc_uncorrected = u64(out, 8);
  });
  scalar('pcie_replays', 'amdsmi_get_gpu_pci_replay_counter', [], u64);
  add('pcie_width', 'amdsmi_get_pcie_info', [], takePcie);
  add('links_up', 'amdsmi_get_gpu_xgmi_link_status', [], takeLinkStates);
  if (generation >= 26) add('link_rx_bytes', 'amdsmi_get_link_metrics', [], takeLinks);
  const energy = energyQuestion(library.call('amdsmi_get_energy_count', [HANDLE, POINTER, POINTER, POINTER]), handle);
  return energy === undefined ? questions : [...questions, energy];
}

const positive = (value: number): number | undefined => (value > 0 ? value : undefined);

/** Degrees since generation 24; releases before gave thousandths. */
function temperatures(
  scalar: (column: NumberName, name: string, leading: readonly number[], value: (out: Buffer) => number) => void,
): void {
  const degrees = (out: Buffer) => {
    const value = Number(out.readBigInt64LE(0));
    return value > 1000 ? Math.round(value / 1000) : value;
  };
  const sensors = ['temperature_celsius', 'temperature_hotspot_celsius', 'temperature_memory_celsius'] as const;
  for (const [sensor, column] of sensors.entries()) scalar(column, 'amdsmi_get_temp_metric', [sensor, 0], degrees);
}

/** amdsmi_link_metrics_t of generation 26: links of 48 bytes with their type at 16, kilobytes read at 24 and written at 32. */
function takeLinks(out: Buffer, reading: Reading): void {
  const links = Math.min(out.readUInt32LE(0), 64);
  let [read, written, linkCount] = [0, 0, 0];
  for (let i = 0; i < links; i++) {
    const at = 8 + i * 48;
    if (out.readUInt32LE(at + 16) !== LINK_XGMI) continue;
    linkCount++;
    read += u64(out, at + 24);
    written += u64(out, at + 32);
  }
  if (linkCount === 0) return;
  reading.link_rx_bytes = read * 1024;
  reading.link_tx_bytes = written * 1024;
}

/** Millions of transfers a second of each generation of PCIe. */
const PCIE_MEGATRANSFERS = [2500, 5000, 8000, 16_000, 32_000, 64_000];

/** amdsmi_pcie_info_t: lanes u16 and speed u32 at most, in a struct of 96 bytes, then as they are now. */
function takePcie(out: Buffer, reading: Reading): void {
  const lanes = (at: number): number => out.readUInt16LE(at) || Number.NaN;
  const generation = (at: number): number => PCIE_MEGATRANSFERS.indexOf(out.readUInt32LE(at)) + 1 || Number.NaN;
  reading.pcie_width = notSet(lanes(96));
  reading.pcie_width_max = notSet(lanes(0));
  reading.pcie_generation = generation(100);
  reading.pcie_generation_max = generation(4);
}

const notSet = (value: number): number => (value === 0xffff ? Number.NaN : value);

/** amdsmi_xgmi_link_status_t: how many there are, then the state of each: 0 down, 1 up, 2 disabled. */
function takeLinkStates(out: Buffer, reading: Reading): void {
  const states = Array.from({ length: Math.min(out.readUInt32LE(0), 8) }, (_, i) => out.readUInt32LE(4 + i * 4));
  const wired = states.filter((state) => state !== 2);
  if (wired.length === 0) return;
  reading.links = wired.length;
  reading.links_up = wired.filter((state) => state === 1).length;
}
