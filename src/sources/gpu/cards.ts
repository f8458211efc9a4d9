import { made } from '../../base/made.ts';
import type { NodeFacts } from '../host/facts.ts';
import type { Host } from '../host.ts';
import { Unavailable } from '../source.ts';
import { openAmd } from './amd.ts';
import { type Card, type Cards, clearReading, newReading } from './card.ts';
import { gpuTable } from './gpu.ts';
import { openNvidia } from './nvidia.ts';
import { hasAmd, hasNvidia } from './present.ts';

interface Opened extends Cards {
  borrowers: number;
}

/** `gpu` and `gpu_process` share the open libraries of a host. */
const opened = new WeakMap<Host, Opened>();

export function borrowCards(host: Host): Cards {
  const shared = made(opened, host, () => openAll(host));
  shared.borrowers++;
  return {
    cards: shared.cards,
    close() {
      if (--shared.borrowers > 0) return;
      opened.delete(host);
      shared.close();
    },
  };
}

/** A vendor that cannot be opened does not keep the other from being read. */
function openAll(host: Host): Opened {
  const all: Cards[] = [];
  let denied: Unavailable | undefined;
  for (const [there, open] of [
    [hasNvidia, openNvidia],
    [hasAmd, openAmd],
  ] as const) {
    if (!there(host)) continue;
    try {
      all.push(open(host));
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      if (error.why === 'absent') continue;
      denied ??= error;
      host.note({
        table: gpuTable.name,
        what: 'gpu',
        why: error.message,
        ...(error.hint !== undefined && { hint: error.hint }),
      });
    }
  }
  const [first, ...others] = all.filter((library) => library.cards.length > 0);
  // both vendors count from 0: on a node with both, AMD's cards are amd-0, amd-1, …
  const renamed = others.flatMap((library) => library.cards.map((card) => ({ ...card, gpu: `amd-${card.gpu}` })));
  const cards = [...(first?.cards ?? []), ...renamed];
  if (cards.length === 0) throw denied ?? new Unavailable('absent', 'there is no GPU that can be seen');
  return { cards, borrowers: 0, close: () => all.forEach((library) => void library.close()) };
}

/** What agent.json says of open cards. */
export function describe(cards: readonly Card[]): NodeFacts['gpus'] {
  const reading = newReading();
  return cards.map((card) => {
    clearReading(reading);
    try {
      card.read(reading);
    } catch {
      // its series will say that it is lost
    }
    const memory = reading.memory_total_bytes;
    return {
      gpu: card.gpu,
      vendor: card.vendor,
      ...(card.model !== '' && { model: card.model }),
      ...(card.uuid !== '' && { uuid: card.uuid }),
      ...(Number.isFinite(memory) && { memory_bytes: memory }),
      ...(card.serial !== '' && { serial: card.serial }),
      ...(card.driver !== '' && { driver: card.driver }),
    };
  });
}
