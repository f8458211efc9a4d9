import * as fs from 'node:fs';
import * as path from 'node:path';
import { liveName, partName } from '../../recording/folder/part-name.ts';
import { partRows } from '../../recording/live/part-rows.ts';
import type { Sink } from '../sink.ts';
import { addDropped, type Dropped, readDropped } from './dropped.ts';
import type { StreamState } from './streams.ts';

export interface SpooledPart {
  state: StreamState;
  table: string;
  part: number;
  live: boolean;
  packed: boolean;
  /** The newest numbered part keeps its name: numbering goes on from it. */
  newest: boolean;
  file: string;
  size: number;
  /** Epoch milliseconds. */
  modified: number;
}

/** Every part in the spool, with its size. */
export function spoolParts(states: readonly StreamState[]): SpooledPart[] {
  const spooledParts: SpooledPart[] = [];
  for (const state of states) {
    for (const [table, { live, numbered, newest }] of state.parts) {
      const add = (name: string, filePart: number, kind: Pick<SpooledPart, 'live' | 'packed' | 'newest'>): void => {
        const file = path.join(state.folder, name);
        const stat = fs.statSync(file, { throwIfNoEntry: false });
        if (stat === undefined) return;
        spooledParts.push({ state, table, part: filePart, ...kind, file, size: stat.size, modified: stat.mtimeMs });
      };
      for (const { part, packed } of numbered) {
        const name = partName(table, part);
        add(packed ? `${name}.zst` : name, part, { live: false, packed, newest: part === newest });
      }
      if (live) add(liveName(table), newest + 1, { live: true, packed: false, newest: false });
    }
  }
  return spooledParts;
}

/**
 * Gives up the oldest finished parts until so many bytes are free: first those that every sink has stored, then others,
 * and notes what was lost to which sink. A part in the middle of which a sink stands stays: how much of it is over there
 * is known only when the sink says so. Returns how much is free, and how many rows some sink will never have.
 */
export function makeRoom(
  spooledParts: readonly SpooledPart[],
  bytes: number,
  sinks: readonly Sink[],
): { free: number; lost: number } {
  const finished = spooledParts.filter((each) => !each.live && each.size > 0).sort((a, b) => a.modified - b.modified);
  let free = 0;
  let lost = 0;
  for (const each of finished) {
    if (free >= bytes) return { free, lost };
    if (sinks.length === 0 || !sinks.every((sink) => holds(sink, each) === 'stored')) continue;
    free += remove(each);
  }
  for (const each of finished) {
    if (free >= bytes) return { free, lost };
    const held = sinks.map((sink) => holds(sink, each));
    if (held.includes('partly') || (sinks.length > 0 && held.every((how) => how === 'stored'))) continue;
    // first noted, then removed: whatever happens between, nothing is lost without a word
    const without = sinks.length === 0 ? [''] : sinks.filter((_, i) => held[i] === 'nothing').map(kindOf);
    lost += note(each, without);
    free += remove(each);
  }
  return { free, lost };
}

const kindOf = (sink: Sink): string => sink.name.split(' ', 1)[0]!;

function holds(sink: Sink, { state, table, part }: SpooledPart): 'stored' | 'partly' | 'nothing' {
  const stored = sink.stored(state, table);
  if (stored !== undefined && stored.part > part) return 'stored';
  const sent = sink.sent?.(state, table) ?? stored;
  return sent === undefined || sent.part < part || (sent.part === part && sent.bytes === 0) ? 'nothing' : 'partly';
}

/** Returns how many rows it has. */
function note({ state, table, part, file }: SpooledPart, sinks: readonly string[]): number {
  const knownDrops = readDropped(state.folder);
  const rows = partRows(file);
  const from = { part, bytes: 0 };
  const to = { part: part + 1, bytes: 0 };
  const more = sinks
    .filter((sink) => !knownDrops.some((each) => each.sink === sink && each.table === table && each.from.part === part))
    .map((sink): Dropped => ({ sink, table, from, to, ...rows }));
  addDropped(state.folder, more);
  return rows.rows;
}

function remove({ state, table, part, newest, file, packed, size }: SpooledPart): number {
  const plain = path.join(state.folder, partName(table, part));
  if (newest) {
    // empty, but there: its number is taken
    if (packed) {
      fs.writeFileSync(plain, '', { mode: 0o600 });
      fs.rmSync(file, { force: true });
    } else fs.truncateSync(plain, 0);
  } else {
    fs.rmSync(plain, { force: true });
    fs.rmSync(`${plain}.zst`, { force: true });
  }
  return size;
}
