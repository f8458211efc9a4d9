import { sampling } from '../../base/sampling.ts';
import type { ProcessRows, RestingProcesses } from '../source.ts';

/** What a look at one process' schedstat tells. */
export const IDLE = 0;
export const RAN = 1;
/** It was not looked at here. */
export const UNKNOWN = 2;
/** C has just read it, and written its row of this tick. */
export const DONE = 3;

/** As in native/node-sampling.processes.c: what C has to know of a process to read it by itself. */
export const FACT = { start: 0, name: 1, statusDue: 2, statusRss: 3, state: 4, allowed: 5 } as const;
const FACTS = 6;
/** Limits that both go by. */
export const LIMIT = { leapBytes: 0, leapPart: 1, largeBytes: 2, statusUs: 3 } as const;
/** Files of a process that C reads: stat, io and status. */
const READABLE = 3;
/** Words of a row before its numbers. */
const TEXT_BYTES = 192;

/** How the rows of all processes look. */
type RowForm = Pick<ProcessRows, 'positions' | 'decimals' | 'limits'>;

/**
 * Looks at schedstat of all processes at once: most of them did not run since the last tick, and nothing else is read of them.
 * Keeps their numbers where C has them, too.
 */
export class Schedules {
  private readonly native = sampling();
  private readonly form: RowForm;
  private readonly grown: () => void;
  private files = new Int32Array(64).fill(-1);
  private counts = new Float64Array(3 * 64);
  private results = new Uint8Array(64).fill(UNKNOWN);
  private readable = new Int32Array(READABLE * 64).fill(-1);
  private facts = new Float64Array(FACTS * 64);
  private texts = Buffer.alloc(TEXT_BYTES * 64);
  private numbers: Float64Array;
  private readonly free: number[] = [];
  private used = 0;
  private isLooked = false;
  private given: RestingProcesses | undefined;

  /** `grown`: the numbers lie elsewhere now. */
  constructor(form: RowForm, grown: () => void) {
    this.form = form;
    this.grown = grown;
    this.numbers = new Float64Array(64 * form.decimals.length);
  }

  /** A place for one more process. */
  take(): number {
    const slot = this.free.pop() ?? this.used++;
    if (slot === this.files.length) this.grow();
    this.numbersOf(slot).fill(Number.NaN);
    return slot;
  }

  /** The process that had this place has gone. */
  leave(slot: number): void {
    this.watch(slot, -1, 0, 0);
    this.readable.fill(-1, READABLE * slot, READABLE * (slot + 1));
    this.free.push(slot);
  }

  numbersOf(slot: number): Float64Array {
    const width = this.form.decimals.length;
    return this.numbers.subarray(slot * width, (slot + 1) * width);
  }

  /** From now on its schedstat is looked at; it has been found with these counts. −1: it is not. */
  watch(slot: number, file: number, ran: number, slices: number): void {
    this.files[slot] = file;
    this.counts[3 * slot] = ran;
    this.counts[3 * slot + 2] = slices;
    if (file < 0) this.results[slot] = UNKNOWN;
  }

  /** C may read these files of it by itself; −1: it may not. */
  allow(slot: number, stat: number, io: number, status: number): void {
    this.readable[READABLE * slot] = stat;
    this.readable[READABLE * slot + 1] = io;
    this.readable[READABLE * slot + 2] = status;
  }

  fact(slot: number, which: number): number {
    return this.facts[FACTS * slot + which]!;
  }

  setFact(slot: number, which: number, value: number): void {
    this.facts[FACTS * slot + which] = value;
  }

  /** What stands in its rows between the time and the letter of its state; false: there is no room for it. */
  setText(slot: number, text: Uint8Array): boolean {
    if (text.length >= TEXT_BYTES) return false;
    this.texts.set(text, TEXT_BYTES * slot);
    this.texts[TEXT_BYTES * slot + text.length] = 0;
    return true;
  }

  /** Looks at all, unless C has just done so. */
  look(): void {
    if (!this.isLooked) this.native?.lookAtSchedules(this.files, this.counts, this.results);
    this.isLooked = false;
  }

  /** For a look from C; undefined: not each of `processes` is looked at here. */
  resting(processes: number, pids: number): RestingProcesses | undefined {
    const { files, counts, results, readable, facts, numbers, texts } = this;
    let watched = 0;
    for (let slot = 0; slot < this.used; slot++) if (files[slot]! >= 0) watched++;
    if (watched !== processes || pids < 0) return undefined;
    if (this.given?.files !== files || this.given.pids !== pids) {
      const looked = (): void => {
        this.isLooked = true;
      };
      const rows = { readable, facts, numbers, texts, ...this.form };
      this.given = { pids, files, counts, results, rows, looked };
    }
    return this.given;
  }

  /** None of them ran. */
  get areIdle(): boolean {
    return this.results.every((result, slot) => result === IDLE || this.files[slot]! < 0);
  }

  result(slot: number): number {
    return this.results[slot]!;
  }

  /** Nanoseconds that it ran. */
  ran(slot: number): number {
    return this.counts[3 * slot]!;
  }

  /** Nanoseconds that it waited for a CPU. */
  waited(slot: number): number {
    return this.counts[3 * slot + 1]!;
  }

  /** How often it was given a CPU. */
  slices(slot: number): number {
    return this.counts[3 * slot + 2]!;
  }

  private grow(): void {
    const size = 2 * this.files.length;
    this.files = copied(this.files, new Int32Array(size).fill(-1));
    this.counts = copied(this.counts, new Float64Array(3 * size));
    this.results = copied(this.results, new Uint8Array(size).fill(UNKNOWN));
    this.readable = copied(this.readable, new Int32Array(READABLE * size).fill(-1));
    this.facts = copied(this.facts, new Float64Array(FACTS * size));
    this.texts = copied(this.texts, Buffer.alloc(TEXT_BYTES * size));
    this.numbers = copied(this.numbers, new Float64Array(size * this.form.decimals.length));
    this.grown();
  }
}

function copied<T extends Int32Array | Float64Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
