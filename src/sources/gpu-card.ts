import type { Host } from './host.ts';

/** What one card, or one MIG instance, says at one moment; NaN = it does not say. The names are columns of the table `gpu`. */
export interface Reading {
  utilization_percent: number;
  memory_busy_percent: number;
  memory_used_bytes: number;
  memory_total_bytes: number;
  power_watts: number;
  power_limit_watts: number;
  energy_mj: number;
  temperature_celsius: number;
  temperature_hotspot_celsius: number;
  temperature_memory_celsius: number;
  clock_mhz: number;
  memory_clock_mhz: number;
  fan_percent: number;
  throttle: number;
  throttled_thermal: number;
  throttled_power: number;
  ecc_corrected: number;
  ecc_uncorrected: number;
  retired_pages: number;
  remapped_rows: number;
  pcie_rx_bytes: number;
  pcie_tx_bytes: number;
  pcie_rx_rate_bytes: number;
  pcie_tx_rate_bytes: number;
  pcie_replays: number;
  link_rx_bytes: number;
  link_tx_bytes: number;
  encoder_percent: number;
  decoder_percent: number;
  performance_state: number;
  throttle_reasons: string;
}

export type NumberName = Exclude<keyof Reading, 'throttle_reasons'>;

const NOTHING: Reading = {
  utilization_percent: Number.NaN,
  memory_busy_percent: Number.NaN,
  memory_used_bytes: Number.NaN,
  memory_total_bytes: Number.NaN,
  power_watts: Number.NaN,
  power_limit_watts: Number.NaN,
  energy_mj: Number.NaN,
  temperature_celsius: Number.NaN,
  temperature_hotspot_celsius: Number.NaN,
  temperature_memory_celsius: Number.NaN,
  clock_mhz: Number.NaN,
  memory_clock_mhz: Number.NaN,
  fan_percent: Number.NaN,
  throttle: Number.NaN,
  throttled_thermal: Number.NaN,
  throttled_power: Number.NaN,
  ecc_corrected: Number.NaN,
  ecc_uncorrected: Number.NaN,
  retired_pages: Number.NaN,
  remapped_rows: Number.NaN,
  pcie_rx_bytes: Number.NaN,
  pcie_tx_bytes: Number.NaN,
  pcie_rx_rate_bytes: Number.NaN,
  pcie_tx_rate_bytes: Number.NaN,
  pcie_replays: Number.NaN,
  link_rx_bytes: Number.NaN,
  link_tx_bytes: Number.NaN,
  encoder_percent: Number.NaN,
  decoder_percent: Number.NaN,
  performance_state: Number.NaN,
  throttle_reasons: '',
};

export const newReading = (): Reading => ({ ...NOTHING });

export function clearReading(reading: Reading): void {
  Object.assign(reading, NOTHING);
}

/** One process on one card. */
export interface ProcessReading {
  pid: number;
  memory_bytes: number;
  percent: number;
  memory_busy_percent: number;
  encoder_percent: number;
  decoder_percent: number;
  type: string;
}

export interface Card {
  /** Key in the tables: the library's index, '0:mig-1' for a MIG instance. */
  readonly gpu: string;
  readonly vendor: 'NVIDIA' | 'AMD';
  readonly model: string;
  readonly uuid: string;
  readonly serial: string;
  readonly driver: string;
  /** What may hang: the physical card; its MIG instances share it. */
  readonly device: string;
  /** nvmlDevice_t or amdsmi_processor_handle, for a user's own source in the same process. */
  readonly handle?: bigint;
  /** Fills a cleared reading; throws `CardLost` when the card does not exist any more. */
  read(reading: Reading): void;
  /** Calls `add` for every process on the card; the object is reused. Throws `CardLost` like `read`. */
  processes(add: (process: ProcessReading) => void): void;
}

/** The cards of one library, opened. */
export interface Cards {
  readonly cards: readonly Card[];
  close(): void;
}

/** A card that fell off the bus: it is gone for the rest of the run. */
export class CardLost extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'CardLost';
  }
}

/** Says once for each kind of card that it lacks a column, with the library's own words. */
export function noteLack(host: Host, model: string, column: string, reason: string): void {
  host.note({ table: 'gpu', what: column, why: `${model}: ${reason}` });
}

export function newProcess(): ProcessReading {
  return {
    pid: 0,
    memory_bytes: Number.NaN,
    percent: Number.NaN,
    memory_busy_percent: Number.NaN,
    encoder_percent: Number.NaN,
    decoder_percent: Number.NaN,
    type: '',
  };
}
