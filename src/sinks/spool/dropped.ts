import * as fs from 'node:fs';
import * as path from 'node:path';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import type { Position } from '../../recording/live/position.ts';

/** What a full spool had to give up of one table before a sink had it. */
export interface Dropped {
  /** `hub`, `kafka`…; empty: there was no sink, and the samples were nowhere else. */
  sink: string;
  table: string;
  from: Position;
  to: Position;
  rows: number;
  /** Epoch microseconds of its first and last sample. */
  first?: number;
  last?: number;
  /** The sink has passed over it: it is certain that it was not there. */
  missed?: true;
}

const NAME = 'dropped.json';

/** What was given up of a node's stream. */
export function readDropped(folder: string): Dropped[] {
  try {
    const list: unknown = JSON.parse(fs.readFileSync(path.join(folder, NAME), 'utf8'));
    return Array.isArray(list) ? (list as Dropped[]) : [];
  } catch {
    // there is none
    return [];
  }
}

export function writeDropped(folder: string, dropped: readonly Dropped[]): void {
  replaceJson(path.join(folder, NAME), dropped);
}

export function addDropped(folder: string, more: readonly Dropped[]): void {
  if (more.length > 0) writeDropped(folder, [...readDropped(folder), ...more]);
}

/** The same as the agent's record has it: each span once, whichever sinks have missed it; undefined when there is none. */
export function droppedSamples(folder: string): AgentRecord['dropped'] {
  const spans = new Map(
    readDropped(folder).map(({ sink: _sink, missed: _missed, ...each }) => [`${each.table} ${each.from.part}`, each]),
  );
  return spans.size === 0 ? undefined : [...spans.values()];
}
