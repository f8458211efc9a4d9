import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { type Listed, shardOf } from './entry.ts';

/**
 * Which recordings the index has, and where: lines of JSON in 256 files by the hash of the recording's path, so that adding
 * one to a million reads little. The last line of a recording counts; one without days says that it is gone.
 */
const FOLDER = 'recordings';

/** A line that says that an entry is gone. */
export interface Gone {
  id: string;
  gone: true;
}

export class Catalogue {
  private readonly folder: string;
  private readonly shards = new Map<string, Map<string, Listed>>();

  constructor(index: string) {
    this.folder = path.join(index, FOLDER);
  }

  get(id: string): Listed | undefined {
    return this.shard(shardOf(id)).get(id);
  }

  /** All of them. */
  *all(): Generator<Listed> {
    for (const name of this.names()) yield* this.shard(name).values();
  }

  /** Remembers what is written with `append`. */
  set(lines: readonly (Listed | Gone)[]): void {
    for (const line of lines) {
      const shard = this.shard(shardOf(line.id));
      if ('gone' in line) shard.delete(line.id);
      else shard.set(line.id, line);
    }
  }

  /** Lines behind those that are there; twice the same does no harm. */
  append(lines: readonly (Listed | Gone)[]): void {
    makeFolder(this.folder, 0o700);
    for (const [shard, own] of Map.groupBy(lines, ({ id }) => shardOf(id))) {
      const text = own.map((line) => `${JSON.stringify(line)}\n`).join('');
      fs.appendFileSync(path.join(this.folder, `${shard}.jsonl`), text, { mode: 0o600 });
    }
  }

  /** Writes each file anew, with one line for each entry. */
  compact(): void {
    for (const name of this.names()) {
      const file = path.join(this.folder, `${name}.jsonl`);
      const text = [...this.shard(name).values()].map((line) => `${JSON.stringify(line)}\n`).join('');
      fs.writeFileSync(`${file}.tmp`, text, { mode: 0o600 });
      fs.renameSync(`${file}.tmp`, file);
    }
  }

  private names(): string[] {
    try {
      return fs.readdirSync(this.folder).flatMap((name) => /^([0-9a-f]{2})\.jsonl$/.exec(name)?.[1] ?? []);
    } catch (error) {
      if (code(error) === 'ENOENT') return [];
      throw error;
    }
  }

  private shard(name: string): Map<string, Listed> {
    const loadedShard = this.shards.get(name);
    if (loadedShard !== undefined) return loadedShard;
    const lines = new Map<string, Listed>();
    let text = '';
    try {
      text = fs.readFileSync(path.join(this.folder, `${name}.jsonl`), 'utf8');
    } catch (error) {
      if (code(error) !== 'ENOENT') throw error;
    }
    for (const line of text.split('\n')) {
      const listed = parsed(line);
      if (listed === undefined) continue;
      if ('gone' in listed) lines.delete(listed.id);
      else lines.set(listed.id, listed);
    }
    this.shards.set(name, lines);
    return lines;
  }
}

/** A torn line was never finished: what it would have said is done again. */
function parsed(line: string): Listed | Gone | undefined {
  if (line === '') return undefined;
  try {
    const listedOrGone = JSON.parse(line) as Listed | Gone;
    return typeof listedOrGone.id === 'string' ? listedOrGone : undefined;
  } catch {
    return undefined;
  }
}
