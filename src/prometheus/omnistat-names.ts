import { gpuTable } from '../sources/gpu/gpu.ts';
import type { NumberName, Table } from '../table/table.ts';

/** A GPU metric as Omnistat calls it, from columns of the table `gpu`. All of Omnistat's metrics are gauges. */
export interface OmnistatMetric {
  /** The name behind `rocm_`. */
  readonly stem: string;
  readonly help: string;
  /** One column, or two of which the first is a part of the second. */
  readonly columns: readonly NumberName<typeof gpuTable>[];
  /** Omnistat's value × this is the column's. */
  readonly factor?: number;
  /** The label `location`: which sensor. */
  readonly location?: string;
}

export const omnistatMetrics: readonly OmnistatMetric[] = [
  { stem: 'utilization_percentage', help: 'GPU use (%)', columns: ['utilization_percent'] },
  {
    stem: 'vram_used_percentage',
    help: 'Device memory in use (%)',
    columns: ['memory_used_bytes', 'memory_total_bytes'],
  },
  { stem: 'vram_busy_percentage', help: 'Memory controller in use (%)', columns: ['memory_busy_percent'] },
  { stem: 'vram_total_bytes', help: 'Device memory (bytes)', columns: ['memory_total_bytes'] },
  { stem: 'average_socket_power_watts', help: 'Power drawn (W)', columns: ['power_watts'] },
  { stem: 'power_cap_watts', help: 'Power limit (W)', columns: ['power_limit_watts'] },
  { stem: 'energy_joules', help: 'Energy used (J)', columns: ['energy_mj'], factor: 1000 },
  { stem: 'sclk_clock_mhz', help: 'Clock of the compute units (MHz)', columns: ['clock_mhz'] },
  { stem: 'mclk_clock_mhz', help: 'Clock of the memory (MHz)', columns: ['memory_clock_mhz'] },
  { stem: 'temperature_celsius', help: 'Temperature (C)', columns: ['temperature_celsius'], location: 'edge' },
  {
    stem: 'temperature_memory_celsius',
    help: 'Temperature of the memory (C)',
    columns: ['temperature_memory_celsius'],
    location: 'hbm',
  },
  { stem: 'average_decoder_utilization_percentage', help: 'Video decoder in use (%)', columns: ['decoder_percent'] },
  {
    stem: 'xgmi_total_read_kilobytes',
    help: 'Received over links between GPUs (kB)',
    columns: ['link_rx_bytes'],
    factor: 1024,
  },
  {
    stem: 'xgmi_total_write_kilobytes',
    help: 'Sent over links between GPUs (kB)',
    columns: ['link_tx_bytes'],
    factor: 1024,
  },
];

/** Omnistat's value, of the values of one column or two. */
export const omnistatValue = ({ columns, factor = 1 }: OmnistatMetric, first: number, second: number): number =>
  columns.length === 1 ? first / factor : Math.round((first / second) * 1e6) / 1e4;

/** Omnistat knows AMD's cards only; those of NVIDIA get its names with `nvidia_` in front. */
export function omnistatName(vendor: string, stem: string): string {
  return `${vendor === 'NVIDIA' ? 'nvidia' : 'rocm'}_${stem}`;
}

/** Whether Omnistat has names for columns of the table. */
export const hasOmnistatNames = (table: Table): boolean => table.name === gpuTable.name;
