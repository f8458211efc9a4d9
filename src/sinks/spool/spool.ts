import * as fs from 'node:fs';
import * as path from 'node:path';
import { reason } from '../../base/fault.ts';
import { count } from '../../base/figure.ts';
import { namesIn } from '../../base/folder.ts';
import { formatBytes } from '../../base/size.ts';
import { readJob } from '../../recording/folder/open.ts';
import { liveName, partName } from '../../recording/folder/part-name.ts';
import { compressPart } from '../../recording/live/append.ts';
import { isStored } from '../hub/is-stored.ts';
import type { Sink } from '../sink.ts';
import { makeRoom, type SpooledPart, spoolParts } from './spool-room.ts';
import { type StreamState, type Streams, spoolStreams } from './streams.ts';

export interface SpoolOptions {
  /** What may lie in it; beyond that the oldest samples are given up. */
  limitBytes: number;
  sinks: readonly Sink[];
  /** The same that the sinks follow, so that it is looked at once. */
  streams?: Streams;
  /** Ends the current part of everything that is being written, so that it is compressed. */
  roll?(): void;
  /** What an administrator should know. */
  tell?(text: string): void;
  /** Time between two looks at what can go (default 5). */
  checkSeconds?: number;
}

/** From this share of the limit on what is not compressed yet is compressed early. */
const EARLY = 0.8;
/** It must be worth it: so much of the limit has to be uncompressed. */
const WORTH = 0.1;
/** A part that still waits to be compressed after so long was left by an agent that was killed. */
const LEFT_SECONDS = 300;

/** What a recording is called while it is being removed. */
const LEAVING = '.leaving-';

/** Keeps a folder of recordings within its limit, and removes what has been stored elsewhere. Goes on with what was left. */
export class Spool {
  /** As it was at the last look. */
  bytes = 0;
  private readonly folder: string;
  private readonly options: SpoolOptions;
  private readonly sinks: readonly Sink[];
  private readonly streams: Streams;
  private next = 0;
  private compressing: Promise<void> = Promise.resolve();
  private busy = 0;
  private reportedProblem = '';
  /** Rows that were given up since there was room last. */
  private lost = 0;
  /** Streams of which nothing is missing in a sink that does not say so itself. */
  private readonly complete = new WeakMap<Sink, WeakSet<StreamState>>();
  /** Since when parts wait to be compressed, by the steady clock. */
  private readonly loose = new Map<string, number>();
  private looked = false;

  constructor(folder: string, options: SpoolOptions) {
    this.folder = folder;
    this.options = options;
    this.sinks = options.sinks;
    this.streams = options.streams ?? spoolStreams(folder);
    if (this.sinks.length > 0) removeHalves(folder);
  }

  /** A tick has been written; `atOnce`: it is sent without waiting for more. Returns at once. */
  wake(atOnce?: boolean): void {
    for (const sink of this.sinks) sink.wake(atOnce);
    if (performance.now() >= this.next) this.look();
  }

  /** Lets the sinks send what is left, for at most so long. */
  async close(seconds: number): Promise<void> {
    await Promise.all(this.sinks.map((sink) => sink.close(seconds)));
    await this.compressing;
    this.look();
    await this.compressing;
  }

  private isDone(sink: Sink, state: StreamState): boolean {
    if (sink.done !== undefined) return sink.done(state);
    const completeStreams = this.complete.get(sink) ?? new WeakSet();
    this.complete.set(sink, completeStreams);
    if (completeStreams.has(state)) return true;
    if (!isStored(sink, state)) return false;
    completeStreams.add(state);
    return true;
  }

  private removeDone(states: readonly StreamState[]): void {
    const recordings = Map.groupBy(states, (state) => state.recording);
    for (const [recording, all] of recordings) {
      if (!all.every((state) => state.ended && this.sinks.every((sink) => this.isDone(sink, state)))) continue;
      // at once, as far as anybody can see: one that is killed on the way leaves no half of it
      const leaving = path.join(this.folder, `${LEAVING}${path.basename(recording)}`);
      fs.rmSync(leaving, { recursive: true, force: true });
      fs.renameSync(recording, leaving);
      fs.rmSync(leaving, { recursive: true, force: true });
      for (const state of all) for (const sink of this.sinks) sink.forget?.(state);
    }
  }

  private removeStored(states: readonly StreamState[]): void {
    if (this.sinks.some((sink) => sink.keepsUntilDone === true)) return;
    for (const state of states) {
      for (const [table, { numbered, newest }] of state.parts) {
        for (const { part } of numbered) {
          if (part < newest && this.sinks.every((sink) => (sink.stored(state, table)?.part ?? 0) > part)) {
            const file = path.join(state.folder, partName(table, part));
            fs.rmSync(file, { force: true });
            fs.rmSync(`${file}.zst`, { force: true });
          }
        }
      }
    }
  }

  private seeLoose(spooledParts: readonly SpooledPart[]): void {
    const there = new Map(
      spooledParts.flatMap(({ packed, live, size, file, modified }) =>
        packed || live || size === 0 ? [] : [[file, modified]],
      ),
    );
    for (const file of this.loose.keys()) if (!there.has(file)) this.loose.delete(file);
    for (const [file, modified] of there) {
      // how long it lay there before anybody looked only the wall clock can tell
      const before = this.looked ? 0 : Math.max(0, Date.now() - modified);
      if (!this.loose.has(file)) this.loose.set(file, performance.now() - before);
    }
    this.looked = true;
  }

  private isLeft(file: string): boolean {
    return performance.now() - (this.loose.get(file) ?? Number.POSITIVE_INFINITY) > LEFT_SECONDS * 1000;
  }

  private compress(file: string): void {
    this.busy++;
    this.compressing = this.compressing
      .then(() => compressPart(file))
      .catch(() => {})
      .finally(() => this.busy--);
  }

  /** What was left by agents that were killed, and what nobody writes to any more. */
  private sealEarly(spooledParts: readonly SpooledPart[], over: boolean): void {
    for (const { state, table, part, live, file, packed, size } of spooledParts) {
      if (packed || size === 0) continue;
      if (!live) {
        if (this.isLeft(file)) this.compress(file);
      } else if (over && state.ended) {
        const aside = path.join(state.folder, partName(table, part));
        fs.renameSync(path.join(state.folder, liveName(table)), aside);
        this.compress(aside);
      }
    }
  }

  private giveUp(spooledParts: readonly SpooledPart[]): void {
    const { limitBytes } = this.options;
    const made = makeRoom(spooledParts, this.bytes - limitBytes, this.sinks);
    this.bytes -= made.free;
    const full = `${this.folder} is full (${formatBytes(limitBytes)})`;
    if (made.lost > 0 && this.lost === 0)
      this.options.tell?.(`${full}: its oldest samples are given up before they are stored`);
    this.lost += made.lost;
  }

  private tidy(): void {
    const { limitBytes } = this.options;
    const states = this.streams.list();
    if (this.sinks.length > 0) {
      this.removeDone(states);
      this.removeStored(states);
    }
    const spooledParts = spoolParts(states.filter((state) => fs.existsSync(state.folder)));
    this.bytes = spooledParts.reduce((sum, each) => sum + each.size, 0);
    this.seeLoose(spooledParts);
    const crowded = this.bytes > limitBytes * EARLY;
    // what is collected for a batch goes before anything has to be given up
    if (crowded) for (const sink of this.sinks) sink.wake(true);
    if (this.busy === 0) this.sealEarly(spooledParts, crowded);
    const plain = spooledParts.reduce((sum, { packed, live, size }) => sum + (packed || !live ? 0 : size), 0);
    if (crowded && plain > limitBytes * WORTH) this.options.roll?.();
    // what is being compressed is about to become small: another look says whether that was enough
    const waiting = spooledParts.some(
      ({ packed, live, size, file }) => !packed && !live && size > 0 && !this.isLeft(file),
    );
    if (this.bytes > limitBytes && this.busy === 0 && !waiting) this.giveUp(spooledParts);
    if (this.bytes <= limitBytes * EARLY && this.lost > 0) {
      this.options.tell?.(`${this.folder} has room again; ${count(this.lost, 'row was', 'rows were')} given up`);
      this.lost = 0;
    }
    const sizes = `${formatBytes(this.bytes)}, more than ${formatBytes(limitBytes)}`;
    const problem = this.bytes > limitBytes ? `${this.folder} holds ${sizes}: nothing more of it can be given up` : '';
    if (problem !== '' && this.reportedProblem === '') this.options.tell?.(problem);
    this.reportedProblem = problem;
  }

  private look(): void {
    this.next = performance.now() + (this.options.checkSeconds ?? 5) * 1000;
    try {
      this.tidy();
    } catch (error) {
      const problem = `${this.folder}: ${reason(error)}`;
      if (this.reportedProblem !== problem) this.options.tell?.(problem);
      this.reportedProblem = problem;
    }
  }
}

/** What was being removed when an agent was killed, and what has ended and has no node any more. */
function removeHalves(spool: string): void {
  for (const name of namesIn(spool)) {
    const recording = path.join(spool, name);
    const isHalf = name.startsWith('job-') && isBare(recording) && readJob(recording)?.end !== undefined;
    if (!name.startsWith(LEAVING) && !isHalf) continue;
    try {
      fs.rmSync(recording, { recursive: true, force: true });
    } catch {
      // a disk that cannot be written: the next agent tries again
    }
  }
}

const isBare = (recording: string): boolean => {
  const names = namesIn(recording);
  return names.length > 0 && names.every((name) => name.startsWith('job.json'));
};
