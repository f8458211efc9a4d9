import type { Batch } from '../recording/batch.ts';

/** One program image: from its end record, else from its start record. */
export interface Image {
  pid: number;
  /** Epoch microseconds. */
  start: number;
  /** Rows of the two tables; −1 where there is none. */
  endRow: number;
  startRow: number;
}

/** One process of the kernel: its images one after the other, each executed the next. */
export interface Chain {
  /** The first sign of it: tells when it began and who its parent was. */
  first: Image;
  images: Image[];
}

/** Kernel ticks a second, on every Linux that there is. */
const TICK = 1e4;
/** The kernel's start of a process has a tick's precision, and clocks differ a little. */
const CLOSE = 50_000;
/** From exec to the first line of the new program, at most, where nothing else tells that they belong together. */
const LOADING = 10e6;

/** Counters go on counting when a process executes another program; other columns are each image's own. */
export function cumulative(batch: Batch | undefined): ReadonlySet<string> {
  return new Set(batch?.table.columns.filter((column) => column.kind === 'counter').map((column) => column.name));
}

export interface Images {
  chains: Chain[];
  /** When the machine started, as its records have it; NaN when they do not say. */
  boot: number;
}

/** The images that the tables `process_end` and `process_start` of a node tell of, by pid and start. */
export function imagesOf(ends: Batch | undefined, starts: Batch | undefined): Images {
  const images: Image[] = [];
  const ended = new Map<number, Map<number, Image>>();
  eachLast(ends, (pid, start, row) => {
    const image = { pid, start, endRow: row, startRow: -1 };
    images.push(image);
    let same = ended.get(pid);
    if (same === undefined) {
      same = new Map();
      ended.set(pid, same);
    }
    same.set(start, image);
  });
  eachLast(starts, (pid, start, row) => {
    const known = ended.get(pid)?.get(start);
    if (known !== undefined) known.startRow = row;
    else images.push({ pid, start, endRow: -1, startRow: row });
  });
  images.sort((a, b) => a.pid - b.pid || a.start - b.start);
  const starttime = ends?.numbers.get('starttime');
  const boot = bootOf(images, starttime);
  return { chains: chainsOf(images, { ends, starts, starttime, boot }), boot };
}

/** A program that failed to execute another has an end record too many: the last one of an image counts. */
function eachLast(batch: Batch | undefined, take: (pid: number, start: number, row: number) => void): void {
  if (batch === undefined) return;
  const pid = batch.texts.get('pid');
  const start = batch.texts.get('start');
  if (pid === undefined || start === undefined) return;
  const pids = Float64Array.from(pid.values, Number);
  const starts = Float64Array.from(start.values, Number);
  for (let s = 0; s + 1 < batch.series.length; s++) {
    const row = batch.series[s + 1]! - 1;
    take(pids[pid.codes[row]!]!, starts[start.codes[row]!]!, row);
  }
}

/** The first image of a process starts right after the process itself: most of them together tell when time began. */
function bootOf(images: readonly Image[], starttime: Float64Array | undefined): number {
  if (starttime === undefined) return Number.NaN;
  const found: number[] = [];
  let before: Image | undefined;
  for (const image of images) {
    if (image.endRow >= 0 && before?.pid !== image.pid) {
      const ticks = starttime[image.endRow]!;
      if (!Number.isNaN(ticks)) found.push(image.start - ticks * TICK);
    }
    before = image;
  }
  const sorted = Float64Array.from(found).sort();
  return sorted.length === 0 ? Number.NaN : sorted[sorted.length >> 1]!;
}

interface Facts {
  ends: Batch | undefined;
  starts: Batch | undefined;
  starttime: Float64Array | undefined;
  boot: number;
}

function chainsOf(images: readonly Image[], facts: Facts): Chain[] {
  const chains: Image[][] = [];
  for (const image of images) {
    const chain = chains.at(-1);
    if (chain !== undefined && chain[0]!.pid === image.pid && sameProcess(chain, image, facts)) chain.push(image);
    else chains.push([image]);
  }
  return chains.map((chain) => ({
    first: chain[0]!,
    images: chain.length > 1 && isCopy(chain[0]!, facts.starts) ? chain.slice(1) : chain,
  }));
}

/** A child that was forked only to execute another program ends without a record: it has nothing to tell of its own. */
function isCopy(image: Image, starts: Batch | undefined): boolean {
  const began = starts?.texts.get('began');
  return image.endRow < 0 && (began === undefined || began.values[began.codes[image.startRow]!] !== 'exec');
}

function sameProcess(chain: readonly Image[], image: Image, { ends, starts, starttime, boot }: Facts): boolean {
  const before = chain.at(-1)!;
  const ticks = (one: Image): number => (one.endRow < 0 ? Number.NaN : (starttime?.[one.endRow] ?? Number.NaN));
  const mine = ticks(image);
  if (!Number.isNaN(mine)) {
    const theirs = chain.map(ticks).find((value) => !Number.isNaN(value));
    if (theirs !== undefined) return theirs === mine;
    // the kernel started this process before the other image began: the pid cannot have been anybody else's
    return boot + mine * TICK <= before.start + CLOSE;
  }
  if (before.endRow >= 0) {
    const how = ends!.texts.get('ended');
    const exec = how !== undefined && how.values[how.codes[before.endRow]!] === 'exec';
    return exec && image.start - ends!.time[before.endRow]! < LOADING;
  }
  const ppid = starts?.numbers.get('ppid');
  const sameParent = image.startRow >= 0 && ppid?.[image.startRow] === ppid?.[before.startRow];
  return sameParent && image.start - before.start < LOADING;
}

/** When the kernel started the process, epoch microseconds. */
export function birthOf({ first, images }: Chain, starttime: Float64Array | undefined, boot: number): number {
  for (const { endRow } of images) {
    const ticks = endRow < 0 ? Number.NaN : (starttime?.[endRow] ?? Number.NaN);
    if (!Number.isNaN(ticks) && !Number.isNaN(boot)) return boot + ticks * TICK;
  }
  return first.start;
}
