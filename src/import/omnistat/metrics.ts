/** A metric of Omnistat's as a column of Tacho's; all of its metrics are gauges, also those that count. */
export interface Mapped {
  table: string;
  column: string;
  /** The table's key, from a label, or the same for all. */
  key?: { name: string; label?: string; value?: string };
  /** value in Tacho's unit = value × factor */
  factor?: number;
}

const CARD = { name: 'gpu', label: 'card' };
const card = (column: string, factor = 1): Mapped => ({ table: 'gpu', column, key: CARD, factor });
const PORT = { name: 'interface', label: 'interface' };
const port = (column: string): Mapped => ({ table: 'network', column, key: PORT });
const meter = (domain: string, column: string, factor = 1): Mapped => ({
  table: 'power',
  column,
  key: { name: 'domain', value: domain },
  factor,
});
const memory = (column: string): Mapped => ({ table: 'meminfo', column });
const disks = (column: string): Mapped => ({ table: 'disk', column, key: { name: 'disk', value: 'all' } });

const MILLI = 1000;

/** What has the same meaning in both; the rest is worked out (src/import/omnistat/tables.ts) or kept under its own name. */
export const MAPPED: Readonly<Record<string, Mapped>> = {
  rocm_utilization_percentage: card('utilization_percent'),
  rocm_vram_busy_percentage: card('memory_busy_percent'),
  rocm_vram_total_bytes: card('memory_total_bytes'),
  rocm_average_socket_power_watts: card('power_watts'),
  rocm_power_cap_watts: card('power_limit_watts'),
  rocm_energy_joules: card('energy_mj', MILLI),
  rocm_temperature_celsius: card('temperature_celsius'),
  rocm_temperature_memory_celsius: card('temperature_memory_celsius'),
  rocm_sclk_clock_mhz: card('clock_mhz'),
  rocm_mclk_clock_mhz: card('memory_clock_mhz'),
  rocm_average_decoder_utilization_percentage: card('decoder_percent'),
  rocm_xgmi_total_read_kilobytes: card('link_rx_bytes', 1024),
  rocm_xgmi_total_write_kilobytes: card('link_tx_bytes', 1024),
  omnistat_network_rx_bytes: port('received_bytes'),
  omnistat_network_tx_bytes: port('sent_bytes'),
  omnistat_network_rx_packets: port('received_packets'),
  omnistat_network_tx_packets: port('sent_packets'),
  omnistat_network_rx_discarded_packets: port('receive_drops'),
  omnistat_network_tx_discarded_packets: port('send_drops'),
  omnistat_network_rx_out_of_sequence_packets: port('out_of_sequence'),
  omnistat_network_tx_retransmitted_packets: port('retransmissions'),
  omnistat_network_rx_ecn_marked_packets: port('congestion_marks'),
  omnistat_network_rx_cnp_packets: port('congestion_notices'),
  omnistat_host_mem_total_bytes: memory('MemTotal_bytes'),
  omnistat_host_mem_free_bytes: memory('MemFree_bytes'),
  omnistat_host_mem_available_bytes: memory('MemAvailable_bytes'),
  omnistat_host_cpu_load1: { table: 'loadavg', column: 'load1' },
  omnistat_host_io_read_local_total_bytes: disks('read_bytes'),
  omnistat_host_io_write_local_total_bytes: disks('written_bytes'),
  omnistat_vendor_energy_joules: meter('node', 'energy_mj', MILLI),
  omnistat_vendor_power_watts: meter('node', 'power_watts'),
  omnistat_vendor_cpu_energy_joules: meter('cpu', 'energy_mj', MILLI),
  omnistat_vendor_cpu_power_watts: meter('cpu', 'power_watts'),
  omnistat_vendor_memory_energy_joules: meter('memory', 'energy_mj', MILLI),
  omnistat_vendor_memory_power_watts: meter('memory', 'power_watts'),
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
