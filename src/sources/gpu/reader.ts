import type { Frame } from '../../table/frame.ts';
import { enter } from '../host/device-host.ts';
import type { Host } from '../host.ts';
import type { Source } from '../source.ts';
import { type Card, CardLost, clearReading, type NumberName, newReading } from './card.ts';
import { borrowCards } from './cards.ts';
import { gpuTable, LOST_AT } from './gpu.ts';
import { mine } from './mine.ts';
import type { gpuProcessTable } from './process.ts';

/** The source of the table `gpu`. */
export function openGpu(table: typeof gpuTable, host: Host): Source {
  const borrowed = borrowCards(host);
  const reading = newReading();
  const lost = new Set<Card>();
  const shares = mine(borrowed.cards, process.env);
  const columns = table.columns.filter((c) => c.type !== 'text').map(({ name }) => name as NumberName);
  const columnIndexes = columns.map((name) => table.at[name]);
  const { gpu: GPU, vendor: VENDOR, model: MODEL, uuid: UUID, throttle_reasons: REASONS, mine: MINE } = table.at;
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
        for (let c = 0; c < columns.length; c++) frame.numbers[at + columnIndexes[c]!] = reading[columns[c]!];
        const to = row * frame.textWidth;
        frame.texts[to + GPU] = card.gpu;
        frame.texts[to + VENDOR] = card.vendor;
        frame.texts[to + MODEL] = card.model;
        frame.texts[to + UUID] = card.uuid;
        frame.texts[to + REASONS] = reading.throttle_reasons;
        frame.texts[to + MINE] = shares[i]!;
      }
    },
    close: () => borrowed.close(),
  };
}

function noteLoss(host: Host, card: Card, time: number, why: string): void {
  const moment = new Date(time / 1000).toISOString();
  host.note({
    table: gpuTable.name,
    what: `GPU ${card.gpu}`,
    why: `${LOST_AT}${moment}: ${why}`,
    hint: 'dmesg on the node says why (Xid); the node needs a reset',
  });
}

/** The source of the table `gpu_process`. */
export function openGpuProcess(table: typeof gpuProcessTable, host: Host): Source {
  const { at: AT } = table;
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
            frame.numbers[at + AT.memory_bytes] = process.memory_bytes;
            frame.numbers[at + AT.percent] = process.percent;
            frame.numbers[at + AT.memory_busy_percent] = process.memory_busy_percent;
            frame.numbers[at + AT.encoder_percent] = process.encoder_percent;
            frame.numbers[at + AT.decoder_percent] = process.decoder_percent;
            const to = row * frame.textWidth;
            frame.texts[to + AT.gpu] = card.gpu;
            frame.texts[to + AT.pid] = String(process.pid);
            frame.texts[to + AT.type] = process.type;
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
