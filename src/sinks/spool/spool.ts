import * as fs from 'node:fs';
import * as path from 'node:path';
import { reason } from '../../base/fault.ts';
import { count } from '../../base/figure.ts';
import { formatBytes } from '../../base/size.ts';
import { readJob } from '../../recording/folder/open.ts';
import { liveName, partName } from '../../recording/folder/part-name.ts';
import { compressPart } from '../../recording/live/append.ts';
import { isStored } from '../hub/is-stored.ts';
import type { Sink } from '../sink.ts';
import { type FoundPart, makeRoom, spoolParts } from './spool-room.ts';
import type { StreamState, Streams } from './streams.ts';
import { spoolStreams } from './streams.ts';

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

export interface Spool {
  /** A tick has been written. Returns at once. */
  wake(): void;
  /** Lets the sinks send what is left, for at most so long. */
  close(seconds: number): Promise<void>;
  /** As it was at the last look. */
  readonly bytes: number;
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
export function openSpool(folder: string, options: SpoolOptions): Spool {
  const { sinks, limitBytes } = options;
  const streams = options.streams ?? spoolStreams(folder);
  const checkMs = (options.checkSeconds ?? 5) * 1000;
  const tell = options.tell ?? (() => {});
  let next = 0;
  let bytes = 0;
  let compressing: Promise<void> = Promise.resolve();
  let busy = 0;
  let said = '';
  /** Rows that were given up since there was room last. */
  let lost = 0;
  /** Streams of which nothing is missing in a sink that does not say so itself. */
  const complete = new WeakMap<Sink, WeakSet<StreamState>>();

  if (sinks.length > 0) removeHalves(folder);

  const isDone = (sink: Sink, state: StreamState): boolean => {
    if (sink.done !== undefined) return sink.done(state);
    const known = complete.get(sink) ?? new WeakSet();
    complete.set(sink, known);
    if (known.has(state)) return true;
    if (!isStored(sink, state)) return false;
    known.add(state);
    return true;
  };

  const removeDone = (states: readonly StreamState[]): void => {
    const recordings = Map.groupBy(states, (state) => state.recording);
    for (const [recording, all] of recordings) {
      if (!all.every((state) => state.ended && sinks.every((sink) => isDone(sink, state)))) continue;
      // at once, as far as anybody can see: one that is killed on the way leaves no half of it
      const leaving = path.join(folder, `${LEAVING}${path.basename(recording)}`);
      fs.rmSync(leaving, { recursive: true, force: true });
      fs.renameSync(recording, leaving);
      fs.rmSync(leaving, { recursive: true, force: true });
      for (const state of all) for (const sink of sinks) sink.forget?.(state);
    }
  };

  const removeStored = (states: readonly StreamState[]): void => {
    if (sinks.some((sink) => sink.keepsUntilDone === true)) return;
    for (const state of states) {
      for (const [table, { numbered, newest }] of state.parts) {
        for (const { part } of numbered) {
          if (part < newest && sinks.every((sink) => (sink.stored(state, table)?.part ?? 0) > part)) {
            const file = path.join(state.folder, partName(table, part));
            fs.rmSync(file, { force: true });
            fs.rmSync(`${file}.zst`, { force: true });
          }
        }
      }
    }
  };

  /** Since when parts wait to be compressed, by the steady clock. */
  const loose = new Map<string, number>();
  let looked = false;

  const seeLoose = (parts: readonly FoundPart[]): void => {
    const there = new Map(
      parts.flatMap(({ packed, live, size, file, modified }) =>
        packed || live || size === 0 ? [] : [[file, modified]],
      ),
    );
    for (const file of loose.keys()) if (!there.has(file)) loose.delete(file);
    for (const [file, modified] of there) {
      // how long it lay there before anybody looked only the wall clock can tell
      const before = looked ? 0 : Math.max(0, Date.now() - modified);
      if (!loose.has(file)) loose.set(file, performance.now() - before);
    }
    looked = true;
  };

  const isLeft = (file: string): boolean =>
    performance.now() - (loose.get(file) ?? Number.POSITIVE_INFINITY) > LEFT_SECONDS * 1000;

  const compress = (file: string): void => {
    busy++;
    compressing = compressing
      .then(() => compressPart(file))
      .catch(() => {})
      .finally(() => busy--);
  };

  /** What was left by agents that were killed, and what nobody writes to any more. */
  const sealEarly = (parts: readonly FoundPart[], over: boolean): void => {
    for (const { state, table, part, live, file, packed, size } of parts) {
      if (packed || size === 0) continue;
      if (!live) {
        if (isLeft(file)) compress(file);
      } else if (over && state.ended) {
        const aside = path.join(state.folder, partName(table, part));
        fs.renameSync(path.join(state.folder, liveName(table)), aside);
        compress(aside);
      }
    }
  };

  const giveUp = (parts: readonly FoundPart[]): void => {
    const made = makeRoom(parts, bytes - limitBytes, sinks);
    bytes -= made.free;
    if (made.lost > 0 && lost === 0)
      tell(`${folder} is full (${formatBytes(limitBytes)}): its oldest samples are given up before they are stored`);
    lost += made.lost;
  };

  const tidy = (): void => {
    const states = streams.list();
    if (sinks.length > 0) {
      removeDone(states);
      removeStored(states);
    }
    const parts = spoolParts(states.filter((state) => fs.existsSync(state.folder)));
    bytes = parts.reduce((sum, each) => sum + each.size, 0);
    seeLoose(parts);
    const crowded = bytes > limitBytes * EARLY;
    if (busy === 0) sealEarly(parts, crowded);
    const plain = parts.reduce((sum, { packed, live, size }) => sum + (packed || !live ? 0 : size), 0);
    if (crowded && plain > limitBytes * WORTH) options.roll?.();
    // what is being compressed is about to become small: another look says whether that was enough
    const waiting = parts.some(({ packed, live, size, file }) => !packed && !live && size > 0 && !isLeft(file));
    if (bytes > limitBytes && busy === 0 && !waiting) giveUp(parts);
    if (bytes <= limitBytes * EARLY && lost > 0) {
      tell(`${folder} has room again; ${count(lost, 'row was', 'rows were')} given up`);
      lost = 0;
    }
    const words =
      bytes > limitBytes
        ? `${folder} holds ${formatBytes(bytes)}, more than ${formatBytes(limitBytes)}: nothing more of it can be given up`
        : '';
    if (words !== '' && said === '') tell(words);
    said = words;
  };

  const look = (): void => {
    next = performance.now() + checkMs;
    try {
      tidy();
    } catch (error) {
      const words = `${folder}: ${reason(error)}`;
      if (said !== words) tell(words);
      said = words;
    }
  };

  return {
    get bytes() {
      return bytes;
    },
    wake() {
      for (const sink of sinks) sink.wake();
      if (performance.now() >= next) look();
    },
    async close(seconds) {
      await Promise.all(sinks.map((sink) => sink.close(seconds)));
      await compressing;
      look();
      await compressing;
    },
  };
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

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}
