import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Position } from '../../recording/live/position.ts';
import type { RecordRequest } from '../../sinks/hub/protocol.ts';
import { readRecord, replaceRecord } from './archive-folder.ts';
import { isDropped } from './checked.ts';
import { isTableName } from './names.ts';

/** How far a table had come, where its files alone would not say it: it was sealed, or something before was given up. */
export interface ReceivedTable extends Position {
  /** How long the live file was then; what it has grown since was received since. */
  live: number;
  /** The live part's first line: a live file that begins in the middle of a part gets it, too. */
  header: string;
}

/** node=<n>/received.json.zst: the headers of all tables are in it, most of a short job if they were not compressed. */
export interface Received {
  format: 1;
  /** The node has said that it writes no more, and everything was there. */
  done?: boolean;
  tables: Record<string, ReceivedTable>;
  dropped?: NonNullable<RecordRequest['dropped']>;
}

const NAME = 'received.json.zst';
/** As an earlier version wrote it. */
const PLAIN_NAME = 'received.json';
/** What agents had to give up, in as many entries; more are not told apart. */
const MOST_DROPPED = 1000;

export function readReceived(folder: string): Received {
  const receivedFile = [NAME, PLAIN_NAME]
    .map((name) => readRecord<Partial<Received>>(path.join(folder, name)))
    .find((each) => each !== undefined);
  const tables: Record<string, ReceivedTable> = {};
  for (const [name, each] of Object.entries(receivedFile?.tables ?? {})) {
    if (![each?.part, each?.bytes, each?.live].every((n) => Number.isSafeInteger(n) && n >= 0)) continue;
    const { part, bytes, live, header } = each;
    if (isTableName(name)) tables[name] = { part, bytes, live, header: typeof header === 'string' ? header : '' };
  }
  // its user may have written it
  const given: unknown = receivedFile?.dropped;
  const dropped = Array.isArray(given) ? { dropped: given.slice(-MOST_DROPPED).filter(isDropped) } : {};
  return { format: 1, ...(receivedFile?.done === true ? { done: true } : {}), tables, ...dropped };
}

export function writeReceived(folder: string, received: Received): void {
  replaceRecord(path.join(folder, NAME), received);
  fs.rmSync(path.join(folder, PLAIN_NAME), { force: true });
}

/**
 * How much of a table there is: from its live file (its length; undefined: none), the number of its newest finished part
 * (0: none) and what was noted before.
 */
export function positionOf(live: number | undefined, newest: number, noted: ReceivedTable | undefined): Position {
  if (noted === undefined || newest >= noted.part) return { part: newest + 1, bytes: live ?? 0 };
  if (live === undefined) return { part: noted.part, bytes: noted.bytes };
  // a live file that was begun again has our header first, perhaps only a part of it
  if (live < noted.live && live <= Buffer.byteLength(noted.header)) return { part: noted.part, bytes: noted.bytes };
  return { part: noted.part, bytes: Math.max(0, noted.bytes + live - noted.live) };
}
