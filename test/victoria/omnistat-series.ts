/** Series as Omnistat pushes them, with values that can be worked out in the head. */

export const T0 = Date.UTC(2026, 2, 2, 8);
export const CARDS = [0, 1];
export const NODES = ['frontier01', 'frontier02'];
const GIB = 2 ** 30;

export interface OmnistatJobShape {
  id: string;
  user: string;
  /** Seconds since T0, both included. */
  from: number;
  to: number;
  nodes: readonly string[];
}

/** Two jobs one after the other on the same nodes, with nothing between them for ten seconds. */
export const JOBS: readonly OmnistatJobShape[] = [
  { id: '74129', user: 'ada', from: 0, to: 119, nodes: NODES },
  { id: '74130', user: 'bob', from: 130, to: 189, nodes: NODES.slice(0, 1) },
];

/** Lines of the Prometheus text format with times. */
export function omnistatLines(): string {
  const lines: string[] = [];
  for (const [n, instance] of NODES.entries()) {
    for (let second = 0; second < 190; second++) {
      const time = T0 + second * 1000 + ((second * 7) % 5);
      const job = JOBS.find((j) => second >= j.from && second <= j.to && j.nodes.includes(instance));
      const put = (name: string, value: number, labels: Record<string, string> = {}): void => {
        const own = name === 'rmsjob_info' ? labels : { ...labels, user: 'ada' };
        const text = Object.entries({ instance, ...own }).map(([key, word]) => `${key}="${word}"`);
        lines.push(`${name}{${text.join(',')}} ${value} ${time}`);
      };
      const step = job === undefined ? '' : job.id === '74129' && second >= 60 ? '1' : job.id === '74129' ? '0' : '-1';
      put('rmsjob_info', 1, {
        jobid: job?.id ?? '',
        user: job?.user ?? '',
        partition: job === undefined ? '' : 'batch',
        nodes: String(job?.nodes.length ?? ''),
        batchflag: '1',
        jobstep: step,
        type: job === undefined ? '' : 'slurm',
      });
      for (const card of CARDS) {
        const at = { card: String(card) };
        // card 1 of the second node does nothing
        const busy = n === 1 && card === 1 ? 0 : 80;
        put('rocm_utilization_percentage', busy, at);
        put('rocm_vram_used_percentage', busy === 0 ? 0 : 25, at);
        put('rocm_vram_total_bytes', 64 * GIB, at);
        put('rocm_average_socket_power_watts', busy === 0 ? 100 : 500, at);
        put('rocm_energy_joules', 1e6 + second * (busy === 0 ? 100 : 500), at);
        put('rocm_sclk_clock_mhz', 1700, at);
        put('rocm_temperature_celsius', 50 + card, { ...at, location: 'edge' });
        put('rocm_ras_umc_correctable_count', second >= 10 ? 2 : 0, at);
        put('rocm_ras_gfx_correctable_count', 1, at);
        put('omnistat_hardware_counter', second * 10, { ...at, source: 'gpu', name: 'SQ_WAVES' });
        put('rocm_version_info', 1, { ...at, driver_ver: '6.8', vbios: 'x', type: 'MI250X', serial: `S${n}${card}` });
      }
      put('rocm_num_gpus', CARDS.length);
      put('omnistat_host_mem_total_bytes', 512 * GIB);
      put('omnistat_host_mem_available_bytes', 384 * GIB);
      put('omnistat_host_cpu_num_logical_cores', 64);
      put('omnistat_host_cpu_aggregate_core_utilization', 16);
      put('omnistat_host_cpu_load1', 17);
      put('omnistat_network_rx_bytes', second * 1e6, { device_class: 'cxi', interface: 'hsn0' });
      put('omnistat_network_tx_bytes', second * 2e6, { device_class: 'cxi', interface: 'hsn0' });
      if (n === 0 && second >= 20 && second <= 50) {
        const begin = second === 50 ? 0 : (T0 + 20_000) / 1000;
        put('rmsjob_annotations', begin, { marker: 'warm up', jobid: '74129' });
      }
      if (n === 0 && second >= 30 && second < 60) put('omnistat_fom', second < 45 ? 11 : 12, { name: 'GFLOPS' });
    }
  }
  return `${lines.join('\n')}\n`;
}
