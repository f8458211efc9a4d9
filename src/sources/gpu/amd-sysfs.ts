import { decimal, number } from '../digits.ts';
import { enter } from '../host/device-host.ts';
import type { Host, KeptFile } from '../host.ts';
import { Unavailable } from '../source.ts';
import { type MetricsReader, metricsReader } from './amd-metrics.ts';
import { amdProcesses } from './amd-process.ts';
import { type Card, CardLost, type Cards, type NumberName, newReading, noteLack, type Reading } from './card.ts';
import { amdPciDevices, type PciDevice } from './present.ts';

export function modelOf(host: Host, pci: PciDevice): string {
  return host.text(`${pci.path}/product_name`) || `AMD ${host.text(`${pci.path}/device`) ?? 'GPU'}`;
}

/** The form that ROCR_VISIBLE_DEVICES uses. */
export function uuidOf(host: Host, pci: PciDevice | undefined): string {
  const unique = pci && host.text(`${pci.path}/unique_id`);
  return unique ? `GPU-${unique}` : '';
}

export const amdDriver = (host: Host): string => host.text('/sys/module/amdgpu/version') ?? '';

/** The node's cards through amdgpu's files in /sys: no library needed. `pcie_bw` is left alone, each read of it sleeps 1 s. */
export function openAmdSysfs(host: Host): Cards {
  const open: (() => void)[] = [];
  const cards: Card[] = [];
  for (const [i, pci] of amdPciDevices(host).entries()) {
    const device = `amd ${i}`;
    if (!enter(host, device)) continue;
    const files = openFiles(host, pci);
    open.push(files.close);
    const model = modelOf(host, pci);
    cards.push({
      gpu: String(i),
      vendor: 'AMD',
      model,
      uuid: uuidOf(host, pci),
      serial: host.text(`${pci.path}/serial_number`) ?? '',
      driver: amdDriver(host),
      device,
      read: files.read,
      processes: amdProcesses(host, pci.address),
    });
    for (const column of files.lacking) noteLack(host, model, column, 'amdgpu has no such file for this card');
  }
  if (cards.length === 0) throw new Unavailable('absent', 'no AMD GPU in /sys/class/drm');
  return { cards, close: () => open.forEach((close) => void close()) };
}

/** A file with one number, its column, and what to multiply it by. */
type NumberFile = readonly [name: string, column: NumberName, factor: number];

const DEVICE_FILES: readonly NumberFile[] = [
  ['gpu_busy_percent', 'utilization_percent', 1],
  ['mem_busy_percent', 'memory_busy_percent', 1],
  ['mem_info_vram_used', 'memory_used_bytes', 1],
  ['mem_info_vram_total', 'memory_total_bytes', 1],
  ['pcie_replay_count', 'pcie_replays', 1],
];

/** Of two files for one column the first that is there counts. */
const HWMON_FILES: readonly NumberFile[] = [
  ['power1_average', 'power_watts', 1e-6],
  ['power1_input', 'power_watts', 1e-6],
  ['power1_cap', 'power_limit_watts', 1e-6],
  ['energy1_input', 'energy_mj', 1e-3],
  ['freq1_input', 'clock_mhz', 1e-6],
  ['freq2_input', 'memory_clock_mhz', 1e-6],
  ['pwm1', 'fan_percent', 100 / 255],
];

const TEMPERATURES: Record<string, NumberName> = {
  edge: 'temperature_celsius',
  junction: 'temperature_hotspot_celsius',
  mem: 'temperature_memory_celsius',
};

/** Asking the firmware for its error counts is slow: they are read once in so many reads. */
const ERRORS_EVERY = 10;

function openFiles(host: Host, pci: PciDevice) {
  const files: { file: KeptFile; column: NumberName; factor: number }[] = [];
  const keep = (path: string, column: NumberName, factor: number): void => {
    if (files.some((kept) => kept.column === column)) return;
    const file = host.tryKeep(path, true);
    if (file !== undefined) files.push({ file, column, factor });
  };
  for (const [name, column, factor] of DEVICE_FILES) keep(`${pci.path}/${name}`, column, factor);
  for (const monitor of host.list(`${pci.path}/hwmon`)) {
    const at = `${pci.path}/hwmon/${monitor}`;
    for (const [name, column, factor] of HWMON_FILES) keep(`${at}/${name}`, column, factor);
    for (const i of [1, 2, 3]) {
      const column = TEMPERATURES[host.text(`${at}/temp${i}_label`) ?? ''];
      if (column !== undefined) keep(`${at}/temp${i}_input`, column, 1e-3);
    }
  }
  const errors = host
    .list(`${pci.path}/ras`)
    .filter((name) => name.endsWith('_err_count'))
    .map((name) => host.tryKeep(`${pci.path}/ras/${name}`, true))
    .filter((file) => file !== undefined);
  const metrics = openMetrics(host, pci);
  let reads = 0;
  let corrected = Number.NaN;
  let uncorrected = Number.NaN;

  const readErrors = (): void => {
    corrected = 0;
    uncorrected = 0;
    for (const file of errors) {
      const end = file.read();
      if (end < 0) continue;
      // 'ue: 0\nce: 3'
      const text = file.bytes.toString('latin1', 0, end);
      uncorrected += Number(/ue:\s*(\d+)/.exec(text)?.[1] ?? 0);
      corrected += Number(/ce:\s*(\d+)/.exec(text)?.[1] ?? 0);
    }
  };

  const lacking = [...DEVICE_FILES, ...HWMON_FILES].map(([, column]) => column).concat(Object.values(TEMPERATURES));
  const columnsOfMetrics = newColumns(metrics);
  return {
    lacking: [...new Set(lacking)].filter(
      (column) => !files.some((kept) => kept.column === column) && !columnsOfMetrics.has(column),
    ),
    read(reading: Reading): void {
      let gone = files.length > 0;
      for (const { file, column, factor } of files) {
        const end = file.read();
        if (end < 0) continue;
        gone = false;
        const value = factor === 1 ? number(file.bytes, 0, end) : decimal(file.bytes, 0, end) * factor;
        reading[column] = column.endsWith('_watts') ? value : Math.round(value);
      }
      if (gone) throw new CardLost(`${pci.address} is gone from the bus`);
      if (errors.length > 0 && reads++ % ERRORS_EVERY === 0) readErrors();
      reading.ecc_corrected = corrected;
      reading.ecc_uncorrected = uncorrected;
      metrics?.fill(reading);
    },
    close(): void {
      for (const { file } of files) file.close();
      for (const file of errors) file.close();
      metrics?.close();
    },
  };
}

/** The columns that a first look at gpu_metrics shows. */
function newColumns(metrics: OpenMetrics | undefined): Set<string> {
  const probe = newReading();
  metrics?.fill(probe);
  return new Set(Object.entries(probe).flatMap(([column, value]) => (Number.isNaN(value) ? [] : [column])));
}

export interface OpenMetrics {
  fill(reading: Reading): void;
  close(): void;
}

/** gpu_metrics of one card; undefined when it has none. */
export function openMetrics(host: Host, pci: PciDevice): OpenMetrics | undefined {
  const file = host.tryKeep(`${pci.path}/gpu_metrics`);
  if (file === undefined) return undefined;
  const reader: MetricsReader = metricsReader();
  return {
    fill(reading) {
      const length = file.read();
      if (length > 0) reader.fill(file.bytes, length, reading);
    },
    close: () => file.close(),
  };
}
