import { sampling } from '../../base/sampling.ts';
import type { RestingProcesses } from '../source.ts';

/** What a look at one process' schedstat tells. */
export const IDLE = 0;
export const RAN = 1;
/** It was not looked at here. */
export const UNKNOWN = 2;

/** Looks at schedstat of all processes at once: most of them did not run since the last tick, and nothing else is read of them. */
export class Schedules {
  private readonly native = sampling();
  private files = new Int32Array(64).fill(-1);
  private counts = new Float64Array(3 * 64);
  private results = new Uint8Array(64).fill(UNKNOWN);
  private readonly free: number[] = [];
  private used = 0;
  private isLooked = false;
  private given: RestingProcesses | undefined;

  /** A place for one more process. */
  take(): number {
    const place = this.free.pop() ?? this.used++;
    if (place === this.files.length) this.grow();
    return place;
  }

  /** The process that had this place has gone. */
  leave(place: number): void {
    this.files[place] = -1;
    this.results[place] = UNKNOWN;
    this.free.push(place);
  }

  /** From now on its schedstat is looked at; it has been found with these counts. −1: it is not. */
  watch(place: number, file: number, ran: number, slices: number): void {
    this.files[place] = file;
    this.counts[3 * place] = ran;
    this.counts[3 * place + 2] = slices;
    if (file < 0) this.results[place] = UNKNOWN;
  }

  /** Looks at all, unless C has just done so. */
  look(): void {
    if (!this.isLooked) this.native?.lookAtSchedules(this.files, this.counts, this.results);
    this.isLooked = false;
  }

  /** For a look from C; undefined: not each of `processes` is looked at here. */
  resting(processes: number, pids: number): RestingProcesses | undefined {
    const { files, counts, results } = this;
    let watched = 0;
    for (let place = 0; place < this.used; place++) if (files[place]! >= 0) watched++;
    if (watched !== processes || pids < 0) return undefined;
    if (this.given?.files !== files || this.given.pids !== pids) {
      const looked = (): void => {
        this.isLooked = true;
      };
      this.given = { pids, files, counts, results, looked };
    }
    return this.given;
  }

  /** None of them ran. */
  get areIdle(): boolean {
    return this.results.every((result, place) => result === IDLE || this.files[place]! < 0);
  }

  result(place: number): number {
    return this.results[place]!;
  }

  /** Nanoseconds that it ran. */
  ran(place: number): number {
    return this.counts[3 * place]!;
  }

  /** Nanoseconds that it waited for a CPU. */
  waited(place: number): number {
    return this.counts[3 * place + 1]!;
  }

  /** How often it was given a CPU. */
  slices(place: number): number {
    return this.counts[3 * place + 2]!;
  }

  private grow(): void {
    const size = this.files.length;
    const files = new Int32Array(2 * size).fill(-1);
    const counts = new Float64Array(6 * size);
    const results = new Uint8Array(2 * size).fill(UNKNOWN);
    files.set(this.files);
    counts.set(this.counts);
    results.set(this.results);
    [this.files, this.counts, this.results] = [files, counts, results];
  }
}
