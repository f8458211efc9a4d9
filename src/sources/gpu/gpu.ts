import { counter, defineTable, gauge, text } from '../../table/table.ts';
import { gpuKind } from './kind.ts';

/** How the note on a card begins that will not answer again. */
export const LOST_AT = 'lost at ';

export const gpuTable = defineTable({
  name: 'gpu',
  help: "The node's GPUs and their MIG instances, from NVML, AMD SMI, ROCm SMI or the amdgpu driver. What a card lacks is empty.",
  scope: 'node',
  keys: [
    {
      name: 'gpu',
      help: "The library's number of the card; 0:mig-1 is a MIG instance of card 0; amd-0 is AMD's first card beside NVIDIA's.",
    },
  ],
  columns: [
    gauge('utilization_percent', 'percent', 'Part of the last sampling period in which at least one kernel ran.'),
    gauge('memory_busy_percent', 'percent', 'Part of the last sampling period in which memory was read or written.'),
    gauge('memory_used_bytes', 'bytes', 'Device memory in use.'),
    gauge('memory_total_bytes', 'bytes', 'Device memory there is.'),
    gauge('power_watts', 'watts', 'Power drawn by the card.', 'float', 3),
    gauge('power_limit_watts', 'watts', 'Power that the card may draw.', 'float', 3),
    counter('energy_mj', 'millijoules', 'Energy used since the driver was loaded.'),
    gauge('temperature_celsius', 'celsius', 'Temperature of the GPU (edge).'),
    gauge('temperature_hotspot_celsius', 'celsius', 'Temperature of its hottest spot (junction).'),
    gauge('temperature_memory_celsius', 'celsius', 'Temperature of its memory.'),
    gauge('clock_mhz', 'megahertz', 'Clock of the compute units (SM, gfx).'),
    gauge('memory_clock_mhz', 'megahertz', 'Clock of the memory.'),
    gauge('fan_percent', 'percent', 'Speed of the fan.'),
    gauge('throttle', 'count', "Why the clocks are held down, as the library's own bit mask."),
    gauge('throttled_thermal', 'count', '1 while heat holds the clocks down.'),
    gauge('throttled_power', 'count', '1 while the power limit holds the clocks down.'),
    counter('ecc_corrected', 'count', 'Memory errors that were corrected.'),
    counter('ecc_uncorrected', 'count', 'Memory errors that could not be corrected.'),
    gauge('retired_pages', 'count', 'Pages of device memory that are not used any more.'),
    gauge('remapped_rows', 'count', 'Rows of device memory that spare rows stand in for.'),
    gauge('remap_failed', 'count', '1 when a row could not be remapped: the card has to be replaced (NVIDIA).'),
    counter('pcie_rx_bytes', 'bytes', 'Received over PCIe.'),
    counter('pcie_tx_bytes', 'bytes', 'Sent over PCIe.'),
    gauge(
      'pcie_rx_rate_bytes',
      'bytes',
      'Received over PCIe per second, measured over 20 ms, one card after the other.',
    ),
    gauge('pcie_tx_rate_bytes', 'bytes', 'Sent over PCIe per second, measured over 20 ms, one card after the other.'),
    gauge('pcie_generation', 'count', 'Generation that the PCIe link runs at; cards lower it while they are idle.'),
    gauge('pcie_generation_max', 'count', 'The highest generation that card and slot can both do.'),
    gauge('pcie_width', 'count', 'Lanes that the PCIe link runs with.'),
    gauge('pcie_width_max', 'count', 'The most lanes that card and slot can both do.'),
    counter('pcie_replays', 'count', 'PCIe packets that had to be sent again.'),
    counter('link_rx_bytes', 'bytes', 'Received over NVLink or xGMI, all links.'),
    counter('link_tx_bytes', 'bytes', 'Sent over NVLink or xGMI, all links.'),
    gauge('links_up', 'count', 'NVLink or xGMI links that work; read every tenth time.'),
    gauge('links', 'count', 'NVLink or xGMI links that the card has.'),
    gauge('encoder_percent', 'percent', 'Use of the video encoder.'),
    gauge('decoder_percent', 'percent', 'Use of the video decoder.'),
    gauge('performance_state', 'count', '0 is the fastest state, 15 the slowest (NVIDIA).'),
    text('vendor', 'NVIDIA or AMD.'),
    text('model', "The card's name."),
    text('uuid', 'Identifies the card or MIG instance wherever it is.'),
    text('throttle_reasons', 'The bits of throttle in words.'),
    text('mine', 'yes: given to the job. no: not. Empty: not known.'),
  ],
});

export const gpu = gpuKind(gpuTable, (reader, host) => reader.openGpu(gpuTable, host));
