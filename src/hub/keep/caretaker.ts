import * as fs from 'node:fs';
import * as path from 'node:path';
import { formatDuration } from '../../base/duration.ts';
import { reason } from '../../base/fault.ts';
import { formatBytes } from '../../base/size.ts';
import { archiveFolderKey } from '../receive/archive-folder.ts';
import type { Filing } from '../receive/filing.ts';
import type { Finisher } from './finish.ts';
import { type Bounds, Holding, removeRecording, tooOld } from './retention.ts';
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

/** How long recordings of one user are removed in a look; the next one continues. */
const REMOVE_MS = 60_000;

/** Bytes of records of one user that are read in a look and wait to be sealed; the next one continues. */
const RECORD_BYTES = 16 << 20;
/** Share of the age to keep by which the clock may be set meanwhile. */
const CLOCK_SHARE = 0.01;

/** How often to look, in seconds, so that what is to be sealed after so long is. */
export const sweepEvery = (sealAfter: number): number => Math.max(OFTENEST, Math.min(USUAL, sealAfter));

/** Looks through the whole archive now and then: seals what was forgotten, removes what is too old or too much. */
export class Caretaker {
  private readonly filing: Filing;
  private readonly finisher: Finisher;
  private readonly log: (text: string) => void;
  private readonly options: CaretakerOptions;
  private looking: Promise<void> | undefined;
  private closed = false;
  /** How recordings that are not sealed were at the last look. */
  private lastStates = new Map<string, string>();
  /** Those that were found to be sealed, and how much of records each has. */
  private readonly waiting = new Map<string, number>();
  private readonly began = performance.now();
  private readonly beganDate = Date.now();
  private wasSet = false;

  constructor(filing: Filing, finisher: Finisher, log: (text: string) => void, options: CaretakerOptions) {
    this.filing = filing;
    this.finisher = finisher;
    this.log = log;
    this.options = options;
  }

  look(): Promise<void> {
    this.looking ??= this.once()
      .catch((error: unknown) => this.log(`cannot look through the archive: ${reason(error)}`))
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
    const { folders: archiveFolders } = this.filing.shelf;
    const silent = this.options.sealAfter * 1000;
    const holdings = new Map<string, Holding>();
    const read = this.stillWaiting();
    const states = new Map<string, string>();
    for await (const kept of keptRecordings(archiveFolders.root, archiveFolders.owners.separate, this.log)) {
      if (this.closed) return;
      const [shelf] = kept.archivePath.way as [string, string];
      const holding = holdings.get(shelf) ?? new Holding(kept.kind === 'fleet');
      holdings.set(shelf, holding);
      holding.add(kept, this.isLive(kept, silent));
      if (kept.unsealed) this.lookAt(kept, silent, read, states);
    }
    this.lastStates = states;
    // what a user has in the archive may take long: others do not wait for it
    const spent = new Map<string, number>();
    for (const { kept, why } of tooOld(holdings.values(), this.bounds(), Date.now())) {
      if (this.closed) return;
      const key = archiveFolderKey(kept.archivePath);
      if (this.isLive(kept, silent)) continue;
      const [shelf] = kept.archivePath.way as [string, string];
      const before = spent.get(shelf) ?? 0;
      if (before > REMOVE_MS) continue;
      const begun = performance.now();
      const isLong = (): boolean => this.closed || before + performance.now() - begun > REMOVE_MS;
      try {
        for (const stream of [...(this.filing.recordings.get(key)?.streams.values() ?? [])]) this.filing.forget(stream);
        const gone = await removeRecording(archiveFolders, kept.archivePath, isLong);
        spent.set(shelf, before + performance.now() - begun);
        if (!gone) continue;
        this.log(`removed ${key} (${formatBytes(kept.bytes)}): ${why}`);
        this.note(kept, key, why);
      } catch (error) {
        this.log(`cannot remove ${key}: ${reason(error)}`);
      }
    }
  }

  private note({ bytes, changed }: Kept, recording: string, why: string): void {
    const line = { removed: Date.now() * 1000, recording, bytes, changed: Math.round(changed * 1000), why };
    const file = path.join(this.filing.shelf.folders.root, REMOVED);
    fs.appendFileSync(file, `${JSON.stringify(line)}\n`, { mode: 0o600 });
  }

  /** By age only while the time can be relied on: a clock that is set wrong would make everything old. */
  private bounds(): Bounds {
    const { age, ...rest } = this.options;
    if (age === undefined) return rest;
    const set = (Date.now() - this.beganDate - (performance.now() - this.began)) / 1000;
    const isSet = Math.abs(set) > age * CLOCK_SHARE;
    if (isSet !== this.wasSet) {
      const by = `${formatDuration(Math.round(Math.abs(set)))} ${set < 0 ? 'back' : 'forward'}`;
      const why = `the clock was set ${by} since the hub began: nothing is removed by age; restart it when the time is right`;
      this.log(isSet ? why : 'the clock is right again: what is too old is removed');
    }
    this.wasSet = isSet;
    return isSet ? rest : this.options;
  }

  /** How much of records there is, by user, in recordings that were found at earlier looks and wait to be sealed. */
  private stillWaiting(): Map<string, number> {
    const read = new Map<string, number>();
    for (const [key, bytes] of this.waiting) {
      const recording = this.filing.recordings.get(key);
      const [shelf] = key.split('/', 1) as [string];
      if (recording !== undefined && this.finisher.hasWaiting(recording))
        read.set(shelf, (read.get(shelf) ?? 0) + bytes);
      else this.waiting.delete(key);
    }
    return read;
  }

  /** What nobody writes to just now and is as it was at the last look need not be read again until it has been silent for long. */
  private lookAt(kept: Kept, silent: number, read: Map<string, number>, states: Map<string, string>): void {
    const key = archiveFolderKey(kept.archivePath);
    if (this.finisher.isPaused(key)) return;
    const now = `${kept.changed} ${kept.bytes} ${this.isLive(kept, silent)}`;
    const isKnown = this.filing.recordings.has(key);
    if (this.lastStates.get(key) === now && !isKnown) return void states.set(key, now);
    const [shelf] = kept.archivePath.way as [string, string];
    const before = read.get(shelf) ?? 0;
    if (!isKnown && before > 0 && before + kept.records > RECORD_BYTES) return;
    try {
      if (!isKnown) read.set(shelf, before + kept.records);
      this.finish(kept, silent);
      states.set(key, now);
      const recording = this.filing.recordings.get(key);
      if (recording !== undefined && !isKnown) this.waiting.set(key, kept.records);
    } catch (error) {
      this.log(`cannot look at ${key}: ${reason(error)}`);
    }
  }

  private finish(kept: Kept, silent: number): void {
    const recording = this.filing.adopt(kept.archivePath, kept.kind, kept.user);
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
    const recording = this.filing.recordings.get(archiveFolderKey(kept.archivePath));
    if (recording === undefined) return false;
    if (recording.finishing) return true;
    return [...recording.streams.values()].some((stream) => !stream.done && stream.heard > since);
  }
}
