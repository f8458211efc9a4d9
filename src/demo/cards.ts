import { gpuTable } from '../sources/gpu/gpu.ts';
import type { Filler } from './host-tables.ts';
import { type Noise, noise } from './noise.ts';
import { pick } from './pick.ts';
import { follow, type Phase, type Story } from './story.ts';

/** The cards of the demo: eight AMD Instinct MI300X a node, say their numbers. */
export const CARD = {
  vendor: 'AMD',
  model: 'AMD Instinct MI300X',
  memory: 192 * 2 ** 30,
  powerLimit: 750,
  driver: '6.10.5',
};

const cardTable = pick(
  gpuTable,
  ['utilization_percent', 'memory_busy_percent', 'memory_used_bytes', 'power_watts', 'energy_mj'],
  ['temperature_celsius', 'temperature_hotspot_celsius', 'temperature_memory_celsius', 'clock_mhz', 'memory_clock_mhz'],
  ['throttled_thermal', 'throttled_power', 'pcie_rx_bytes', 'pcie_tx_bytes', 'link_tx_bytes'],
);

const BUSY: Record<Phase, number> = { load: 3, train: 96, checkpoint: 8, evaluate: 70 };
const MEMORY: Record<Phase, number> = { load: 1.2e9, train: 174.3e9, checkpoint: 174.3e9, evaluate: 147.1e9 };
/** Memory is handed out in pieces of 2 MiB. */
const PIECE = 2 ** 21;
const IDLE_MEMORY = 298_844_160;
const HOTTEST = 100;

/** A card, and what it is doing now. */
export interface Card {
  noise: Noise;
  /** Nobody uses it. */
  idle: boolean;
  busy: number;
  /** How much warmer than others this card runs. */
  bias: number;
  used: number;
  power: number;
  edge: number;
  hotspot: number;
  memory: number;
  energy: number;
  received: number;
  sent: number;
  linked: number;
}

/** The cards of one node. */
export function cardsOf(story: Story, seed: number, node: number, gpus: number): Card[] {
  const straggler = node === story.cast.straggler;
  return Array.from({ length: gpus }, (_, gpu): Card => {
    const own = noise(seed, 'gpu', node, gpu);
    const idle = node === story.cast.idle.node && gpu === story.cast.idle.gpu;
    return {
      noise: own,
      idle,
      busy: 0,
      bias: own.uniform() * 6 - 3 + (straggler ? 14 : 0),
      used: idle ? IDLE_MEMORY : MEMORY.load,
      power: 140,
      edge: 38,
      hotspot: 42,
      memory: 45,
      energy: Math.floor(own.uniform() * 1e12),
      received: 0,
      sent: 0,
      linked: 0,
    };
  });
}

/** What the cards of a node show, tick after tick: 15 values each. */
export function cardFiller(all: readonly Card[], story: Story, node: number, interval: number): Filler {
  const straggler = node === story.cast.straggler;
  const phaseAt = follow(story);
  const shown = new Float64Array(cardTable.columns.length);
  return {
    table: cardTable,
    fill(frame, second) {
      const phase = phaseAt(second);
      all.forEach((card, gpu) => {
        step(card, phase, straggler, interval, shown);
        const row = frame.row();
        frame.texts[row * frame.textWidth] = String(gpu);
        frame.numbers.set(shown, row * frame.numberWidth);
      });
    },
  };
}

const tenth = (value: number): number => Math.round(value * 10) / 10;
/** How far a value that drifts towards its goal by `share` a second gets in one interval. */
const drift = (share: number, seconds: number): number => 1 - (1 - share) ** seconds;

function step(card: Card, phase: Phase, straggler: boolean, seconds: number, shown: Float64Array): void {
  const { noise: n } = card;
  let busy = 0;
  if (!card.idle) {
    // now and then a step waits for its data
    const stall = phase === 'train' && n.uniform() < 0.03 ? 40 * n.uniform() : 0;
    busy = Math.round(
      BUSY[phase] + (phase === 'load' ? 0 : n.normal() * 3) + (straggler && phase === 'train' ? 3 : 0) - stall,
    );
    busy = Math.max(0, Math.min(100, busy));
  }
  const goal = card.idle ? IDLE_MEMORY : MEMORY[phase];
  if (Math.abs(card.used - goal) > 1e8) card.used += (goal - card.used) * drift(0.5, seconds);
  else if (!card.idle && n.uniform() < 0.02) card.used += Math.round(n.normal() * 8) * PIECE;
  card.used = Math.round(card.used / PIECE) * PIECE;

  const hot = card.hotspot + n.normal() * 0.3;
  const throttled = hot > HOTTEST;
  const target = 138 + busy * (throttled ? 4.1 : 5.6) + card.bias * 3 + n.normal() * (card.idle ? 1 : 14);
  card.power += (target - card.power) * drift(0.4, seconds);
  card.edge += (33 + card.power / 20 + card.bias - card.edge) * drift(0.02, seconds);
  card.hotspot += (38 + card.power / 13 + card.bias - card.hotspot) * drift(0.03, seconds);
  card.memory += (36 + card.power / 16 + card.bias - card.memory) * drift(0.015, seconds);
  card.energy += Math.round(card.power * 1e3 * seconds * (1 + n.normal() * 0.001));
  card.received += traffic(busy * 2.1e6 * seconds, 0.2, n);
  card.sent += traffic(busy * 1.3e6 * seconds, 0.2, n);
  card.linked += traffic(busy * 3.1e7 * seconds, 0.1, n);

  card.busy = busy;
  shown[0] = busy;
  shown[1] = Math.max(0, Math.round(busy * 0.55 + (card.idle ? 0 : n.normal() * 2)));
  shown[2] = card.used;
  shown[3] = tenth(card.power);
  shown[4] = card.energy;
  shown[5] = Math.round(card.edge + n.normal() * 0.2);
  shown[6] = Math.round(hot);
  shown[7] = Math.round(card.memory + n.normal() * 0.2);
  shown[8] =
    busy < 10 ? 132 : Math.round(2098 - Math.max(0, card.power - 560) * 0.9 - (throttled ? 420 : 0) + n.normal() * 15);
  shown[9] = busy < 5 ? 900 : 1300;
  shown[10] = throttled ? 1 : 0;
  shown[11] = card.power > CARD.powerLimit - 15 ? 1 : 0;
  shown[12] = card.received;
  shown[13] = card.sent;
  shown[14] = card.linked;
}

/** Whole bytes around a mean, with a spread in parts of it. */
function traffic(mean: number, spread: number, n: Noise): number {
  return Math.max(0, Math.round(mean * (1 + n.normal() * spread)));
}
