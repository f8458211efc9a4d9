import type { Frame } from '../table/frame.ts';
import { gauge, type Table, text } from '../table/table.ts';
import { enter } from './device-host.ts';
import { type Card, CardLost } from './gpu-card.ts';
import { borrowCards, present } from './gpu-cards.ts';
import type { Host } from './host.ts';
import type { IsolatedKind } from './isolated-kind.ts';
import type { Source } from './source.ts';

const table: Table = {
  name: 'gpu_process',
  help: 'The processes on each GPU that can be seen (NVML; on AMD the kernel driver).',
  scope: 'node',
  keys: [
    { name: 'gpu', help: 'The GPU or MIG instance, as in the table gpu.' },
    { name: 'pid', help: 'The process.' },
  ],
  columns: [
    gauge('memory_bytes', 'bytes', 'Device memory that the process uses.'),
    gauge('percent', 'percent', 'Use of the compute units by the process.'),
    gauge('memory_busy_percent', 'percent', 'Use of the memory interface by the process.'),
    gauge('encoder_percent', 'percent', 'Use of the video encoder by the process.'),
    gauge('decoder_percent', 'percent', 'Use of the video decoder by the process.'),
    text('type', 'compute or graphics.'),
  ],
};

export const gpuProcess: IsolatedKind = { table, isolated: true, present, open: (host) => openGpuProcess(host) };

function openGpuProcess(host: Host): Source {
  const borrowed = borrowCards(host);
  const lost = new Set<Card>();
  return {
    table,
    read(frame: Frame) {
      for (const card of borrowed.cards) {
        if (lost.has(card) || !enter(host, card.device)) continue;
        try {
          card.processes((process) => {
            const row = frame.row();
            const at = row * frame.numberWidth;
            frame.numbers[at] = process.memory_bytes;
            frame.numbers[at + 1] = process.percent;
            frame.numbers[at + 2] = process.memory_busy_percent;
            frame.numbers[at + 3] = process.encoder_percent;
            frame.numbers[at + 4] = process.decoder_percent;
            const to = row * frame.textWidth;
            frame.texts[to] = card.gpu;
            frame.texts[to + 1] = String(process.pid);
            frame.texts[to + 2] = process.type;
          });
        } catch (error) {
          // the table gpu says that the card is lost
          if (!(error instanceof CardLost)) throw error;
          lost.add(card);
        }
      }
    },
    close: () => borrowed.close(),
  };
}
