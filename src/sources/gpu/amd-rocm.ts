import { cString, type Library, loadLibrary, POINTER } from '../ffi.ts';
import { enter } from '../host/device-host.ts';
import type { Host } from '../host.ts';
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
import type { Cards, NumberName } from './card.ts';

const ROCM_SMI = [
  'librocm_smi64.so',
  '/opt/rocm/lib/librocm_smi64.so',
  ...[8, 7, 6, 5].map((n) => `librocm_smi64.so.${n}`),
];

/** UMC, SDMA, GFX, MMHUB, … : the blocks that count memory errors, as bits of rsmi_gpu_block_t. */
const BLOCKS = Array.from({ length: 14 }, (_, bit) => 1 << bit);

/** Cards through ROCm SMI: only calls with plain numbers, whose form has not changed between releases; clocks come from gpu_metrics. */
export function openRocmSmi(host: Host, named?: string): Cards {
  const library = loadLibrary(ROCM_SMI, named);
  const statusText = startLibrary(host, 'ROCm SMI', library, {
    init: 'rsmi_init',
    flags: 0,
    status: 'rsmi_status_string',
  });
  const count = Buffer.alloc(4);
  library.call('rsmi_num_monitor_devices', [POINTER])?.(count);
  const cards = Array.from({ length: count.readUInt32LE(0) }, (_, i) => i).flatMap((i) => {
    const device = `amd ${i}`;
    if (!enter(host, device)) return [];
    const out = Buffer.alloc(256);
    const id = (name: string) =>
      library.call(name, ['uint32_t', POINTER])?.(i, out) === 0 ? out.readBigUInt64LE(0) : undefined;
    const pci = id('rsmi_dev_pci_id_get');
    const unique = id('rsmi_dev_unique_id_get');
    const named = library.call('rsmi_dev_name_get', ['uint32_t', POINTER, 'size_t'])?.(i, out, out.length) === 0;
    return [
      amdCard(host, {
        gpu: String(i),
        device,
        address: pci === undefined ? '' : addressOf(pci),
        model: named ? cString(out) : '',
        uuid: unique === undefined ? '' : `GPU-${unique.toString(16).padStart(16, '0')}`,
        questions: ask(library, i),
        statusText,
      }),
    ];
  });
  return libraryCards('ROCm SMI', cards, library, 'rsmi_shut_down');
}

function ask(library: Library, card: number): Question[] {
  const questions: Question[] = [];
  const scalar = (
    column: NumberName,
    name: string,
    leading: readonly number[],
    value: (out: Buffer) => number,
  ): boolean => {
    const call = library.call(name, ['uint32_t', ...leading.map(() => 'uint32_t'), POINTER]);
    if (call === undefined) return false;
    const take: Question['take'] = (out, reading) => {
      reading[column] = value(out);
    };
    questions.push({ column, ask: (out) => call(card, ...leading, out), take });
    return true;
  };
  scalar('utilization_percent', 'rsmi_dev_busy_percent_get', [], u32);
  scalar('memory_busy_percent', 'rsmi_dev_memory_busy_percent_get', [], u32);
  scalar('memory_used_bytes', 'rsmi_dev_memory_usage_get', [0], u64);
  scalar('memory_total_bytes', 'rsmi_dev_memory_total_get', [0], u64);
  power(library, card, questions) || scalar('power_watts', 'rsmi_dev_power_ave_get', [0], (out) => u64(out) / 1e6);
  scalar('power_limit_watts', 'rsmi_dev_power_cap_get', [0], (out) => u64(out) / 1e6);
  const thousandths = (out: Buffer) => Math.round(Number(out.readBigInt64LE(0)) / 1000);
  const sensors = ['temperature_celsius', 'temperature_hotspot_celsius', 'temperature_memory_celsius'] as const;
  for (const [sensor, column] of sensors.entries())
    scalar(column, 'rsmi_dev_temp_metric_get', [sensor, 0], thousandths);
  scalar('fan_percent', 'rsmi_dev_fan_speed_get', [0], (out) => Math.round((u64(out) * 100) / 255));
  scalar('pcie_replays', 'rsmi_dev_pci_replay_counter_get', [], u64);
  errors(library, card, questions);
  const energy = energyQuestion(
    library.call('rsmi_dev_energy_count_get', ['uint32_t', POINTER, POINTER, POINTER]),
    card,
  );
  if (energy !== undefined) questions.push(energy);
  return questions;
}

/** (card, u64 *microwatts, int *kind): current power where the card has it, else the average; since ROCm 6.0. */
function power(library: Library, card: number, questions: Question[]): boolean {
  const call = library.call('rsmi_dev_power_get', ['uint32_t', POINTER, POINTER]);
  if (call === undefined) return false;
  const kind = Buffer.alloc(4);
  questions.push({
    column: 'power_watts',
    ask: (out) => call(card, out, kind),
    take(out, reading) {
      reading.power_watts = u64(out) / 1e6;
    },
  });
  return true;
}

/** rsmi_error_count_t: corrected u64, uncorrected u64 first; summed over the blocks that count. */
function errors(library: Library, card: number, questions: Question[]): void {
  const call = library.call('rsmi_dev_ecc_count_get', ['uint32_t', 'uint64_t', POINTER]);
  if (call === undefined) return;
  const count = Buffer.alloc(64);
  const counted = BLOCKS.filter((block) => call(card, block, count) === 0);
  const blocks = counted.length > 0 ? counted : BLOCKS.slice(0, 1);
  questions.push({
    column: 'ecc_corrected',
    ask(out) {
      let [corrected, uncorrected] = [0n, 0n];
      for (const block of blocks) {
        const status = call(card, block, count);
        if (status !== 0) return status;
        corrected += count.readBigUInt64LE(0);
        uncorrected += count.readBigUInt64LE(8);
      }
      out.writeBigUInt64LE(corrected, 0);
      out.writeBigUInt64LE(uncorrected, 8);
      return 0;
    },
    take(out, reading) {
      reading.ecc_corrected = u64(out, 0);
      reading.ecc_uncorrected = u64(out, 8);
    },
  });
}
