import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { syncFolder, writeSynced } from '../folder/synced.ts';
import type { Position } from './position.ts';
import type { Stream } from './stream.ts';

/**
 * How far a sink has come in every table of a spool, in one file that survives kill -9 and a power cut:
 *
 *     const positions = openPositions(path.join(spool, '.sinks/kafka.json'), spool);
 *     positions.set(stream, 'meminfo', lines.next);   // once it is acknowledged
 *     positions.save();
 */
export interface Positions {
  get(stream: Stream, table: string): Position | undefined;
  set(stream: Stream, table: string, position: Position): void;
  /** The recording is gone: nothing of it may be known any more, on the disk too, as another one may come by its name. */
  forget(stream: Stream): void;
  /** Brings what has changed to the disk. Throws when the disk refuses it. */
  save(): void;
}

type Saved = Record<string, Record<string, [part: number, bytes: number]>>;

/** Opens (or begins) the file; streams are known in it by their path below `spool`. */
export function openPositions(file: string, spool: string): Positions {
  const saved = load(file);
  let changed = false;
  // another recording may come by the name of one that has gone
  for (const name of Object.keys(saved)) {
    if (fs.existsSync(path.join(spool, name))) continue;
    delete saved[name];
    changed = true;
  }
  trySave();
  const key = (stream: Stream): string => path.relative(spool, stream.folder);
  return {
    get(stream, table) {
      const at = saved[key(stream)]?.[table];
      return at === undefined ? undefined : { part: at[0], bytes: at[1] };
    },
    set(stream, table, { part, bytes }) {
      const name = key(stream);
      saved[name] ??= {};
      const before = saved[name][table];
      if (before?.[0] === part && before[1] === bytes) return;
      saved[name][table] = [part, bytes];
      changed = true;
    },
    forget(stream) {
      const name = key(stream);
      if (saved[name] === undefined) return;
      delete saved[name];
      changed = true;
      trySave();
    },
    save,
  };

  function save(): void {
    if (!changed) return;
    makeFolder(path.dirname(file), 0o700);
    writeSynced(`${file}.tmp`, `${JSON.stringify(saved)}\n`);
    fs.renameSync(`${file}.tmp`, file);
    syncFolder(path.dirname(file));
    changed = false;
  }

  function trySave(): void {
    try {
      save();
    } catch {
      // a full disk: tried again with the next change
    }
  }
}

function load(file: string): Saved {
  try {
    const saved: unknown = JSON.parse(fs.readFileSync(file, 'utf8'));
    if (isSaved(saved)) return saved;
    throw new Error('it holds no positions');
  } catch (error) {
    if (code(error) === 'ENOENT') return {};
    throw new Fault(`cannot read ${file}: ${error instanceof SyntaxError ? 'it is damaged' : reason(error)}`, {
      hint: 'remove it to send everything that is still in the spool once more',
      cause: error,
    });
  }
}

function isSaved(value: unknown): value is Saved {
  const isObject = (each: unknown): each is object => typeof each === 'object' && each !== null && !Array.isArray(each);
  return (
    isObject(value) &&
    Object.values(value).every(
      (tables) =>
        isObject(tables) &&
        Object.values(tables).every((at) => Array.isArray(at) && at.length === 2 && at.every(Number.isSafeInteger)),
    )
  );
}
