import { omnistatMetrics, omnistatName } from '../../prometheus/omnistat-names.ts';
import { diskTable, gpuTable, loadavgTable, meminfoTable, networkTable, powerTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';

/** A metric of Omnistat's as a column of Tacho's; all of its metrics are gauges, also those that count. */
export interface Mapped {
  column: TableColumn;
  /** The table's key, from a label, or the same for all. */
  key?: { name: string; label?: string; value?: string };
  /** value in Tacho's unit = value × factor */
  factor?: number;
}

const CARD = { name: 'gpu', label: 'card' } as const;
const card = (column: TableColumn<'gpu', string, typeof CARD.name>, factor = 1): Mapped => ({
  column,
  key: CARD,
  factor,
});
const PORT = { name: 'interface', label: 'interface' } as const;
const port = (column: TableColumn<'network', string, typeof PORT.name>): Mapped => ({ column, key: PORT });
const meter = (domain: string, column: TableColumn<'power', string, 'domain'>, factor = 1): Mapped => ({
  column,
  key: { name: 'domain', value: domain },
  factor,
});
const DISKS = { name: 'disk', value: 'all' } as const;
const disks = (column: TableColumn<'disk', string, typeof DISKS.name>): Mapped => ({ column, key: DISKS });

const MILLI = 1000;

const GPU = Object.fromEntries(
  omnistatMetrics
    .filter(({ columns }) => columns.length === 1)
    .map(({ stem, columns: [column], factor }) => [omnistatName('AMD', stem), card(gpuTable.col[column!], factor)]),
);

/** What has the same meaning in both; the rest is worked out (src/import/omnistat/tables.ts) or kept under its own name. */
export const MAPPED: Readonly<Record<string, Mapped>> = {
  ...GPU,
  omnistat_network_rx_bytes: port(networkTable.col.received_bytes),
  omnistat_network_tx_bytes: port(networkTable.col.sent_bytes),
  omnistat_network_rx_packets: port(networkTable.col.received_packets),
  omnistat_network_tx_packets: port(networkTable.col.sent_packets),
  omnistat_network_rx_discarded_packets: port(networkTable.col.receive_drops),
  omnistat_network_tx_discarded_packets: port(networkTable.col.send_drops),
  omnistat_network_rx_out_of_sequence_packets: port(networkTable.col.out_of_sequence),
  omnistat_network_tx_retransmitted_packets: port(networkTable.col.retransmissions),
  omnistat_network_rx_ecn_marked_packets: port(networkTable.col.congestion_marks),
  omnistat_network_rx_cnp_packets: port(networkTable.col.congestion_notices),
  omnistat_host_mem_total_bytes: { column: meminfoTable.col.MemTotal_bytes },
  omnistat_host_mem_free_bytes: { column: meminfoTable.col.MemFree_bytes },
  omnistat_host_mem_available_bytes: { column: meminfoTable.col.MemAvailable_bytes },
  omnistat_host_cpu_load1: { column: loadavgTable.col.load1 },
  omnistat_host_io_read_local_total_bytes: disks(diskTable.col.read_bytes),
  omnistat_host_io_write_local_total_bytes: disks(diskTable.col.written_bytes),
  omnistat_vendor_energy_joules: meter('node', powerTable.col.energy_mj, MILLI),
  omnistat_vendor_power_watts: meter('node', powerTable.col.power_watts),
  omnistat_vendor_cpu_energy_joules: meter('cpu', powerTable.col.energy_mj, MILLI),
  omnistat_vendor_cpu_power_watts: meter('cpu', powerTable.col.power_watts),
  omnistat_vendor_memory_energy_joules: meter('memory', powerTable.col.energy_mj, MILLI),
  omnistat_vendor_memory_power_watts: meter('memory', powerTable.col.power_watts),
};

/** Errors of one block of a card; Tacho has the sum of all blocks. */
export const RAS = /^rocm_ras_.+_(correctable|uncorrectable)_count$/;

/** What a network device is: Omnistat's word → Tacho's. */
export const CLASSES: Readonly<Record<string, string>> = {
  net: 'ethernet',
  infiniband: 'infiniband',
  cxi: 'cxi',
  ionic: 'roce',
  bnxt_re: 'roce',
};

/** Said by facts of the node or the job, not by a table. */
export const FACTS = new Set([
  'rmsjob_info',
  'rmsjob_annotations',
  'omnistat_fom',
  'rocm_num_gpus',
  'rocm_version_info',
  'omnistat_info',
  'omnistat_host_boot_time_seconds',
  'omnistat_host_cpu_num_physical_cores',
  'omnistat_host_cpu_num_logical_cores',
]);
