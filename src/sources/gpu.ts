import type { Frame } from '../table/frame.ts';
import { counter, gauge, type Table, text } from '../table/table.ts';
import { enter } from './device-host.ts';
import { type Card, CardLost, clearReading, type NumberName, newReading } from './gpu-card.ts';
import { borrowCards, present } from './gpu-cards.ts';
import { mine } from './gpu-mine.ts';
import type { Host } from './host.ts';
import type { IsolatedKind } from './isolated-kind.ts';
import type { Source } from './source.ts';

const table: Table = {
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
    counter('pcie_rx_bytes', 'bytes', 'Received over PCIe.'),
    counter('pcie_tx_bytes', 'bytes', 'Sent over PCIe.'),
    gauge(
      'pcie_rx_rate_bytes',
      'bytes',
      'Received over PCIe per second, measured over 20 ms, one card after the other.',
    ),
    gauge('pcie_tx_rate_bytes', 'bytes', 'Sent over PCIe per second, measured over 20 ms, one card after the other.'),
    counter('pcie_replays', 'count', 'PCIe packets that had to be sent again.'),
    counter('link_rx_bytes', 'bytes', 'Received over NVLink or xGMI, all links.'),
    counter('link_tx_bytes', 'bytes', 'Sent over NVLink or xGMI, all links.'),
    gauge('encoder_percent', 'percent', 'Use of the video encoder.'),
    gauge('decoder_percent', 'percent', 'Use of the video decoder.'),
    gauge('performance_state', 'count', '0 is the fastest state, 15 the slowest (NVIDIA).'),
    text('vendor', 'NVIDIA or AMD.'),
    text('model', "The card's name."),
    text('uuid', 'Identifies the card or MIG instance wherever it is.'),
    text('throttle_reasons', 'The bits of throttle in words.'),
    text('mine', 'yes: given to the job. no: not. Empty: not known.'),
  ],
};

export { detectGpus } from './gpu-cards.ts';

export const gpu: IsolatedKind = { table, isolated: true, present, open: (host) => openGpu(host) };

function openGpu(host: Host): Source {
  const borrowed = borrowCards(host);
  const reading = newReading();
  const lost = new Set<Card>();
  const answers = mine(borrowed.cards, process.env);
  const numberNames = table.columns.filter((c) => c.type !== 'text').map((c) => c.name as NumberName);
  const [VENDOR, MODEL, UUID, REASONS, MINE] = [1, 2, 3, 4, 5];
  return {
    table,
    read(frame: Frame) {
      for (const [i, card] of borrowed.cards.entries()) {
        if (lost.has(card) || !enter(host, card.device)) continue;
        clearReading(reading);
        try {
          card.read(reading);
        } catch (error) {
          if (!(error instanceof CardLost)) throw error;
          lost.add(card);
          noteLoss(host, card, frame.time, error.message);
          continue;
        }
        const row = frame.row();
        const at = row * frame.numberWidth;
        for (let c = 0; c < numberNames.length; c++) frame.numbers[at + c] = reading[numberNames[c]!];
        const to = row * frame.textWidth;
        frame.texts[to] = card.gpu;
        frame.texts[to + VENDOR] = card.vendor;
        frame.texts[to + MODEL] = card.model;
        frame.texts[to + UUID] = card.uuid;
        frame.texts[to + REASONS] = reading.throttle_reasons;
        frame.texts[to + MINE] = answers[i]!;
      }
    },
    close: () => borrowed.close(),
  };
}

function noteLoss(host: Host, card: Card, time: number, why: string): void {
  const moment = new Date(time / 1000).toISOString();
  host.note({
    table: 'gpu',
    what: `GPU ${card.gpu}`,
    why: `lost at ${moment}: ${why}`,
    hint: 'dmesg on the node says why (Xid); the node needs a reset',
  });
}
