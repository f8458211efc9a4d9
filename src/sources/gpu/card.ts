import type { NumberName as ColumnName, Table } from '../../table/table.ts';
import type { Host } from '../host.ts';
import { gpuTable } from './gpu.ts';
import { gpuProcessTable } from './process.ts';

export type NumberName = ColumnName<typeof gpuTable>;

/** What one card, or one MIG instance, says at one moment, by columns of the table `gpu`; NaN = it does not say. */
export type Reading = { [N in NumberName]: number } & { throttle_reasons: string };

/** No number of a table's row. */
const nothing = ({ columns }: Table) =>
  Object.fromEntries(columns.filter(({ type }) => type !== 'text').map(({ name }) => [name, Number.NaN]));
const NOTHING = { ...nothing(gpuTable), throttle_reasons: '' } as Reading;

export const newReading = (): Reading => ({ ...NOTHING });

export function clearReading(reading: Reading): void {
  Object.assign(reading, NOTHING);
}

/** One process on one card, by columns of the table `gpu_process`. */
export type ProcessReading = { [N in ColumnName<typeof gpuProcessTable>]: number } & { pid: number; type: string };

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
  host.note({ table: gpuTable.name, what: column, why: `${model}: ${reason}` });
}

export const newProcess = (): ProcessReading =>
  ({ pid: 0, ...nothing(gpuProcessTable), type: '' }) as unknown as ProcessReading;
