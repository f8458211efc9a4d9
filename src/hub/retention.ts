import * as fs from 'node:fs';
import * as path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Place, Places } from './place.ts';
import type { Kept } from './sweep.ts';

export interface Bounds {
  /** Seconds. */
  age?: number;
  bytes?: number;
}

export interface Old {
  kept: Kept;
  why: string;
}

/**
 * Which recordings go: those that ended too long ago, then, while the archive is too large, those that ended first.
 * `live` ones stay, whatever is full.
 */
export function tooOld(all: readonly Kept[], bounds: Bounds, now: number, live: (kept: Kept) => boolean): Old[] {
  const ended = all.filter((kept) => !live(kept)).sort((a, b) => a.changed - b.changed);
  let bytes = all.reduce((sum, kept) => sum + kept.bytes, 0);
  const gone: Old[] = [];
  for (const kept of ended) {
    const why =
      bounds.age !== undefined && now - kept.changed > bounds.age * 1000
        ? 'it is older than is kept'
        : bounds.bytes !== undefined && bytes > bounds.bytes
          ? 'the archive is larger than allowed'
          : undefined;
    if (why === undefined) continue;
    gone.push({ kept, why });
    bytes -= kept.bytes;
  }
  return gone;
}

/** Removes a recording with its owner's rights, a node at a time. */
export async function removeRecording(places: Places, place: Place): Promise<void> {
  const names = places.in(place, false, (folder) => fs.readdirSync(folder)) ?? [];
  // job.json last: a recording that is gone by half still says what it was
  names.sort((a, b) => Number(a.startsWith('job.json')) - Number(b.startsWith('job.json')));
  for (const name of names) {
    places.in(place, false, (folder) => fs.rmSync(path.join(folder, name), { recursive: true, force: true }));
    await turn();
  }
  const above: Place = { way: place.way.slice(0, -1), owner: place.owner };
  places.in(above, false, (folder) => fs.rmdirSync(path.join(folder, place.way.at(-1)!)));
}
