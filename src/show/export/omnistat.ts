import type { Batch, TextColumn } from '../../recording/read/batch.ts';
import { gpuTable, networkTable } from '../../sources/tables.ts';
import { type Column, gauge, type KeyName, type NameIn, type Table, type TableColumn } from '../../table/table.ts';
import { filterRows, keysOf, type NodeBatch } from './node-batch.ts';

/**
 * The two files that Omnistat's query tool exports, so that programs written for them go on working.
 * Header rows, names, order of columns and the form of times are its own.
 */
export interface OmnistatFile {
  file: string;
  /** The table that it is made of, and the columns that are needed of it. */
  source: string;
  needs: readonly string[];
  table: Table;
  /** Header rows below the metric's name. */
  levels: readonly string[];
  convert(nodeBatch: NodeBatch, memory: ReadonlyMap<string, number>): NodeBatch;
}

const column = (name: string, decimals = 3): Column => gauge(name, 'count', '', 'float', decimals);

const rocm: Table = {
  name: 'rocm',
  help: '',
  scope: 'node',
  keys: [{ name: 'card', help: '' }],
  columns: [
    column('rocm_utilization_percentage'),
    column('rocm_vram_used_percentage', 4),
    column('rocm_temperature_celsius'),
    column('rocm_sclk_clock_mhz'),
    column('rocm_average_socket_power_watts'),
  ],
};

const network: Table = {
  name: 'network',
  help: '',
  scope: 'node',
  keys: [
    { name: 'device_class', help: '' },
    { name: 'interface', help: '' },
  ],
  columns: [column('omnistat_network_rx_bytes'), column('omnistat_network_tx_bytes')],
};

const GPU = gpuTable.col;
const PORT = networkTable.col;
const NOTHING = new Float64Array(0);

export const omnistatFiles: readonly OmnistatFile[] = [
  {
    file: 'omnistat-rocm.csv',
    source: gpuTable.name,
    needs: [
      ...(['utilization_percent', 'memory_used_bytes', 'memory_total_bytes'] satisfies NameIn<typeof gpuTable>[]),
      ...(['temperature_celsius', 'clock_mhz', 'power_watts'] satisfies NameIn<typeof gpuTable>[]),
    ],
    table: rocm,
    levels: ['instance', 'card'],
    convert(nodeBatch, memory) {
      const { batch } = nodeBatch;
      const own = (column: TableColumn<'gpu'>) => numbersOf(batch, column);
      const numbers = new Map([
        ['rocm_utilization_percentage', own(GPU.utilization_percent)],
        ['rocm_vram_used_percentage', memoryUsed(batch, memory)],
        ['rocm_temperature_celsius', own(GPU.temperature_celsius)],
        ['rocm_sclk_clock_mhz', own(GPU.clock_mhz)],
        ['rocm_average_socket_power_watts', own(GPU.power_watts)],
      ]);
      const texts = new Map([['card', batch.texts.get('gpu' satisfies KeyName<typeof gpuTable>)!]]);
      return { ...nodeBatch, batch: { ...batch, table: rocm, numbers, texts } };
    },
  },
  {
    file: 'omnistat-network.csv',
    source: networkTable.name,
    needs: ['class', 'received_bytes', 'sent_bytes'] satisfies NameIn<typeof networkTable>[],
    table: network,
    levels: ['instance', 'device_class', 'interface'],
    convert(nodeBatch) {
      const { batch } = nodeBatch;
      const { device_class, interface: port, keep } = ports(batch);
      const numbers = new Map([
        ['omnistat_network_rx_bytes', numbersOf(batch, PORT.received_bytes)],
        ['omnistat_network_tx_bytes', numbersOf(batch, PORT.sent_bytes)],
      ]);
      const texts = new Map([
        ['device_class', device_class],
        ['interface', port],
      ]);
      return { ...nodeBatch, batch: filterRows({ ...batch, table: network, numbers, texts }, (_, s) => keep[s]!) };
    },
  },
];

const numbersOf = ({ numbers, rows }: Batch, { name }: TableColumn): Float64Array =>
  numbers.get(name) ?? (rows === 0 ? NOTHING : new Float64Array(rows).fill(Number.NaN));

/** Percent of the card's memory; the card's size is in the table or, for want of it, among the facts of the node. */
function memoryUsed(batch: Batch, memory: ReadonlyMap<string, number>): Float64Array {
  const used = numbersOf(batch, GPU.memory_used_bytes);
  const total = batch.numbers.get(GPU.memory_total_bytes.name);
  const share = new Float64Array(batch.rows);
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const size = memory.get(keysOf(batch, s)[0]!) ?? Number.NaN;
    for (let r = batch.series[s]!; r < batch.series[s + 1]!; r++) {
      const whole = total === undefined || Number.isNaN(total[r]!) ? size : total[r]!;
      share[r] = Math.round((used[r]! / whole) * 1e6) / 1e4;
    }
  }
  return share;
}

/** Omnistat's words for what a port is; Ethernet over anything is `net`. */
const CLASSES: Record<string, string> = { infiniband: 'infiniband', roce: 'infiniband', cxi: 'cxi' };

/** Class and name of each row's port in Omnistat's words, and which series it would have (it leaves the loopback out). */
function ports(batch: Batch): { device_class: TextColumn; interface: TextColumn; keep: boolean[] } {
  const names = batch.texts.get('interface' satisfies KeyName<typeof networkTable>)!;
  const classes = batch.texts.get(PORT.class.name);
  const series = Array.from({ length: batch.series.length - 1 }, (_, s) => {
    const row = batch.series[s]!;
    const kind = classes === undefined ? '' : classes.values[classes.codes[row]!]!;
    return { name: names.values[names.codes[row]!]!, kind };
  });
  const device_class: TextColumn = {
    values: series.map(({ kind }) => CLASSES[kind] ?? 'net'),
    codes: new Uint32Array(batch.rows),
  };
  // an adapter with one port goes by the adapter's name
  const adapter = (name: string): string => name.replace(/:\d+$/, '');
  const alone = (name: string): boolean => series.filter((other) => adapter(other.name) === adapter(name)).length === 1;
  const port: TextColumn = {
    values: series.map(({ name }) => (alone(name) ? adapter(name) : name)),
    codes: device_class.codes,
  };
  series.forEach((_, s) => {
    device_class.codes.fill(s, batch.series[s]!, batch.series[s + 1]!);
  });
  return { device_class, interface: port, keep: series.map(({ name, kind }) => kind !== 'loopback' && name !== 'lo') };
}
