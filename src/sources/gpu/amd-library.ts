import type { Call, Library } from '../ffi.ts';
import { enter } from '../host/device-host.ts';
import type { Host } from '../host.ts';
import { Unavailable } from '../source.ts';
import { amdProcesses } from './amd-process.ts';
import { amdDriver, modelOf, openMetrics, uuidOf } from './amd-sysfs.ts';
import { type Card, CardLost, type Cards, type NumberName, noteLack, type Reading } from './card.ts';
import { amdPciDevices } from './present.ts';

/** One question to AMD's libraries: `ask` calls, `take` moves the answer to the reading. */
export interface Question {
  readonly column: NumberName;
  ask(out: Buffer): number;
  take(out: Buffer, reading: Reading): void;
}

export interface AmdCard {
  readonly gpu: string;
  readonly device: string;
  readonly address: string;
  readonly model: string;
  readonly uuid: string;
  readonly handle?: bigint;
  readonly questions: readonly Question[];
  statusText(status: number): string;
}

/** Status that both libraries give for "this card cannot". */
const NOT_SUPPORTED = 2;

/** A card that a library answers for; what it leaves open and the driver's gpu_metrics says is taken from there. */
export function amdCard(host: Host, card: AmdCard): Card & { close(): void } {
  const pci = amdPciDevices(host).find((device) => device.address === card.address);
  const metrics = pci && openMetrics(host, pci);
  const model = card.model || (pci === undefined ? 'AMD GPU' : modelOf(host, pci));
  const out = Buffer.alloc(8192);
  const lacking = new Set<Question>();
  const failed = new Map<Question, number>();
  let answered = false;
  return {
    gpu: card.gpu,
    device: card.device,
    ...(card.handle !== undefined && { handle: card.handle }),
    vendor: 'AMD',
    model,
    uuid: uuidOf(host, pci) || card.uuid,
    serial: (pci && host.text(`${pci.path}/serial_number`)) ?? '',
    driver: amdDriver(host),
    read(reading) {
      failed.clear();
      let answeredQuestions = 0;
      let status = 0;
      for (const question of card.questions) {
        if (lacking.has(question)) continue;
        const result = question.ask(out);
        if (result === 0) {
          question.take(out, reading);
          answeredQuestions++;
          continue;
        }
        status = result;
        failed.set(question, result);
        if (result === NOT_SUPPORTED) lacking.add(question);
      }
      if (answeredQuestions === 0 && answered) throw new CardLost(card.statusText(status));
      answered ||= answeredQuestions > 0;
      metrics?.fill(reading);
      for (const [question, result] of failed) {
        if (Number.isNaN(reading[question.column])) noteLack(host, model, question.column, card.statusText(result));
      }
    },
    processes: amdProcesses(host, card.address),
    close: () => metrics?.close(),
  };
}

/** '0000:c1:00.0' from the libraries' number: domain in the upper half, then bus, device, function. */
export function addressOf(id: bigint): string {
  const hex = (value: bigint, digits: number) => value.toString(16).padStart(digits, '0');
  const low = id & 0xffffn;
  return `${hex(id >> 32n, 4)}:${hex(low >> 8n, 2)}:${hex((low >> 3n) & 0x1fn, 2)}.${low & 7n}`;
}

/** Both libraries set every bit where there is no value, in 16, 32 or 64. */
export function u32(out: Buffer, at = 0): number {
  const value = out.readUInt32LE(at);
  return value === 0xffff_ffff || value === 0xffff ? Number.NaN : value;
}

export function u64(out: Buffer, at = 0): number {
  const value = out.readBigUInt64LE(at);
  return value === 0xffff_ffff_ffff_ffffn ? Number.NaN : Number(value);
}

/** (handle, u64 *count, float *microjoules a count, u64 *time) */
export function energyQuestion(call: Call | undefined, card: bigint | number): Question | undefined {
  if (call === undefined) return undefined;
  const resolution = Buffer.alloc(4);
  const time = Buffer.alloc(8);
  return {
    column: 'energy_mj',
    ask: (out) => call(card, out, resolution, time),
    take(out, reading) {
      const counts = u64(out);
      // a card that has no counter says 0
      if (counts > 0) reading.energy_mj = Math.round((counts * resolution.readFloatLE(0)) / 1000);
    },
  };
}

/** Starts a library, which may not return (`amd init`). `words`: what a status of it means. */
export function startLibrary(
  host: Host,
  name: string,
  library: Library,
  calls: { init: string; flags: number | bigint; status: string },
): (status: number) => string {
  const statusText = library.statusText(calls.status, 'argument');
  const init = library.call(calls.init, ['uint64_t']);
  if (init === undefined) throw new Unavailable('denied', `${library.path} has no ${calls.init}`);
  if (!enter(host, 'amd init')) throw new Unavailable('denied', `${name} does not answer`);
  const status = init(calls.flags);
  if (status !== 0) throw new Unavailable('denied', `${name} does not start: ${statusText(status)}`);
  return statusText;
}

/** The cards of a library, which is shut down with them. */
export function libraryCards(
  name: string,
  cards: (Card & { close(): void })[],
  library: Library,
  shutDown: string,
): Cards {
  if (cards.length === 0) throw new Unavailable('absent', `${name} sees no GPU`);
  const close = (): void => {
    for (const card of cards) card.close();
    library.call(shutDown, [])?.();
  };
  return { cards, close };
}
