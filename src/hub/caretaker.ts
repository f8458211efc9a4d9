import * as fs from 'node:fs';
import * as path from 'node:path';
import { reason } from '../base/fault.ts';
import { formatBytes } from '../base/size.ts';
import type { Filing } from './filing.ts';
import type { Finisher } from './finish.ts';
import { placeKey } from './place.ts';
import { type Bounds, removeRecording, tooOld } from './retention.ts';
import { type Kept, keptRecordings } from './sweep.ts';

/** What was removed, a line each, beside the recordings. */
const REMOVED = '.removed.jsonl';

export interface CaretakerOptions extends Bounds {
  /** Seconds. */
  sealAfter: number;
}

/** Seconds between two looks. */
const USUAL = 600;
const OFTENEST = 10;

/** So long is removed of one user's in a look; the next one goes on. */
const REMOVE_MS = 60_000;

/** How often to look, in seconds, so that what is to be sealed after so long is. */
export const sweepEvery = (sealAfter: number): number => Math.max(OFTENEST, Math.min(USUAL, sealAfter));

/** Looks through the whole archive now and then: seals what was forgotten, removes what is too old or too much. */
export class Caretaker {
  private readonly filing: Filing;
  private readonly finisher: Finisher;
  private readonly tell: (text: string) => void;
  private readonly options: CaretakerOptions;
  private looking: Promise<void> | undefined;
  private closed = false;
  /** How recordings that are not sealed were at the last look. */
  private seen = new Map<string, string>();
  private readonly began = performance.now();

  constructor(filing: Filing, finisher: Finisher, tell: (text: string) => void, options: CaretakerOptions) {
    this.filing = filing;
    this.finisher = finisher;
    this.tell = tell;
    this.options = options;
  }

  look(): Promise<void> {
    this.looking ??= this.once()
      .catch((error: unknown) => this.tell(`cannot look through the archive: ${reason(error)}`))
      .finally(() => {
        this.looking = undefined;
      });
    return this.looking;
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.looking;
  }

  private async once(): Promise<void> {
    const { places } = this.filing.shelf;
    const all: Kept[] = [];
    const silent = this.options.sealAfter * 1000;
    for await (const kept of keptRecordings(places.root, places.owners.separate)) {
      if (this.closed) return;
      all.push(kept);
      if (!kept.unsealed || !this.isWorthALook(kept, silent)) continue;
      try {
        this.finish(kept, silent);
      } catch (error) {
        this.seen.delete(placeKey(kept.place));
        this.tell(`cannot look at ${placeKey(kept.place)}: ${reason(error)}`);
      }
    }
    const there = new Set(all.map(({ place }) => placeKey(place)));
    for (const key of this.seen.keys()) if (!there.has(key)) this.seen.delete(key);
    // what a user has in the archive may take long: others do not wait for it
    const spent = new Map<string, number>();
    for (const { kept, why } of tooOld(all, this.options, Date.now(), (each) => this.isLive(each, silent))) {
      if (this.closed) return;
      const key = placeKey(kept.place);
      if (this.isLive(kept, silent)) continue;
      const [shelf] = kept.place.way as [string, string];
      const before = spent.get(shelf) ?? 0;
      if (before > REMOVE_MS) continue;
      const begun = performance.now();
      const isLong = (): boolean => this.closed || before + performance.now() - begun > REMOVE_MS;
      try {
        for (const stream of [...(this.filing.recordings.get(key)?.streams.values() ?? [])]) this.filing.forget(stream);
        const gone = await removeRecording(places, kept.place, isLong);
        spent.set(shelf, before + performance.now() - begun);
        if (!gone) continue;
        this.tell(`removed ${key} (${formatBytes(kept.bytes)}): ${why}`);
        this.note(kept, key, why);
      } catch (error) {
        this.tell(`cannot remove ${key}: ${reason(error)}`);
      }
    }
  }

  private note({ bytes, changed }: Kept, recording: string, why: string): void {
    const line = { removed: Date.now() * 1000, recording, bytes, changed: Math.round(changed * 1000), why };
    const file = path.join(this.filing.shelf.places.root, REMOVED);
    fs.appendFileSync(file, `${JSON.stringify(line)}\n`, { mode: 0o600 });
  }

  /** What nobody writes to just now and is as it was at the last look need not be read again until it has been silent for long. */
  private isWorthALook(kept: Kept, silent: number): boolean {
    const key = placeKey(kept.place);
    if (this.finisher.isPaused(key)) {
      this.seen.delete(key);
      return false;
    }
    const before = this.seen.get(key);
    const now = `${kept.changed} ${kept.bytes} ${this.isLive(kept, silent)}`;
    this.seen.set(key, now);
    return before !== now || this.filing.recordings.has(key);
  }

  private finish(kept: Kept, silent: number): void {
    const recording = this.filing.adopt(kept.place, kept.kind, kept.user);
    if (recording === undefined || recording.finishing) return;
    this.finisher.consider(recording);
    if (!this.isLive(kept, silent)) this.finisher.giveUpWaiting(recording);
    // whatever is not going to be sealed need not be remembered
    if (recording.streams.size === 0 && !this.finisher.hasWaiting(recording))
      this.filing.recordings.delete(recording.key);
  }

  /** Somebody has written to it lately, or is about to. */
  private isLive(kept: Kept, silent: number): boolean {
    const since = performance.now() - silent;
    // while no hub was here, nobody could be heard
    if (kept.unsealed && (this.began > since || kept.changed > Date.now() - silent)) return true;
    const recording = this.filing.recordings.get(placeKey(kept.place));
    if (recording === undefined) return false;
    if (recording.finishing) return true;
    return [...recording.streams.values()].some((stream) => !stream.done && stream.heard > since);
  }
}
