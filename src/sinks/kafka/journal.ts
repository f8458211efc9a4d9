import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { writeSynced } from '../../recording/folder/synced.ts';
import type { Position } from '../../recording/live/position.ts';

/** Positions by stream (its folder below the spool) and table. */
export type Reached = Record<string, Record<string, [part: number, bytes: number]>>;

/**
 * What each transaction holds, written down before it is sent. Kafka itself remembers the number of the newest one that
 * was committed; with that and this file it is certain, after any crash, where to go on:
 *
 *     {"number":17,"after":16,"reached":{"job-4711/node=c1":{"meminfo":[1,4096]}}}
 *
 * `after` is the transaction before it that was committed: a line that no other one comes after, and that Kafka does not
 * know, came to nothing. `{"forget":["job-4711/node=c1"]}`: that recording has gone.
 */
interface Line {
  number: number;
  after: number;
  reached: Reached;
}

const LARGEST = 4 << 20;

export class KafkaJournal {
  private readonly file: string;
  private readonly reached: Reached = {};
  private last: number;
  private pending: Line | undefined;
  private handle: fs.promises.FileHandle | undefined;
  private size = 0;
  private compactAt = LARGEST;

  constructor(file: string) {
    this.file = file;
    this.last = 0;
    this.load();
  }

  position(stream: string, table: string): Position | undefined {
    const at = this.reached[stream]?.[table];
    return at === undefined ? undefined : { part: at[0], bytes: at[1] };
  }

  /** The newest transaction that Kafka has is this one: the line that is in doubt happened, or did not. */
  settle(committed: number): void {
    if (this.pending !== undefined && this.pending.number === committed) this.apply(this.pending);
    this.pending = undefined;
    this.last = Math.max(this.last, committed);
  }

  /** Writes down what the next transaction will hold, on the disk; returns its number. */
  async begin(reached: Reached): Promise<number> {
    const line: Line = { number: this.last + 1, after: this.last, reached };
    await this.append(line);
    this.pending = line;
    return line.number;
  }

  /** It was committed. */
  done(number: number): void {
    if (this.pending?.number !== number) throw new Error(`transaction ${number} was not begun`);
    this.apply(this.pending);
    this.pending = undefined;
  }

  /** The table's files have begun anew. */
  forget(stream: string, table: string): void {
    delete this.reached[stream]?.[table];
    // the lines that are there still know it: the next one begins a new file
    this.size = Number.POSITIVE_INFINITY;
  }

  /** Forgets recordings that are not in the folder any more. */
  keep(folder: string): void {
    this.forgetAll(Object.keys(this.reached).filter((stream) => !fs.existsSync(path.join(folder, stream))));
  }

  /** Another recording may come by the name of one that has gone: on the disk, too, nothing may be left of that. */
  forgetAll(streams: readonly string[]): void {
    const reachedStreams = streams.filter((stream) => this.reached[stream] !== undefined);
    for (const stream of reachedStreams) delete this.reached[stream];
    if (reachedStreams.length === 0 || !fs.existsSync(this.file)) return;
    try {
      const fd = fs.openSync(this.file, 'a');
      try {
        // half a line may be before it
        fs.writeSync(fd, `\n${JSON.stringify({ forget: reachedStreams })}\n`);
        fs.fdatasyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
    } catch {
      // a full disk: the next one that starts looks which are gone
    }
  }

  async close(): Promise<void> {
    if (this.pending === undefined && this.last > 0) await this.rewrite().catch(() => {});
    await this.handle?.close();
    this.handle = undefined;
  }

  private apply(line: Line): void {
    for (const [stream, tables] of Object.entries(line.reached)) {
      this.reached[stream] = { ...this.reached[stream], ...tables };
    }
    this.last = line.number;
  }

  private async append(line: Line): Promise<void> {
    if (this.handle === undefined || this.size > this.compactAt) await this.rewrite();
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      await this.handle!.appendFile(bytes);
      await this.handle!.datasync();
      this.size += bytes.length;
    } catch (error) {
      // half a line may be in it: begin a new file with the next one
      await this.handle!.close().catch(() => {});
      this.handle = undefined;
      throw error;
    }
  }

  /** Everything that is certain, in one line. */
  private async rewrite(): Promise<void> {
    makeFolder(path.dirname(this.file), 0o700);
    const line: Line = { number: this.last, after: this.last, reached: this.reached };
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    writeSynced(`${this.file}.tmp`, bytes);
    fs.renameSync(`${this.file}.tmp`, this.file);
    await this.handle?.close();
    this.handle = await fs.promises.open(this.file, 'a');
    this.size = bytes.length;
    this.compactAt = Math.max(LARGEST, 8 * bytes.length);
  }

  private load(): void {
    let text: string;
    try {
      text = fs.readFileSync(this.file, 'utf8');
    } catch (error) {
      if (code(error) === 'ENOENT') return;
      throw new Fault(`cannot read ${this.file}: ${reason(error)}`, { cause: error });
    }
    for (const each of text.split('\n')) {
      const gone = parseForget(each);
      for (const stream of gone) {
        delete this.reached[stream];
        delete this.pending?.reached[stream];
      }
      const line = gone.length > 0 ? undefined : parse(each);
      // a torn last line was never sent: it is on the disk before that
      if (line === undefined) continue;
      if (this.pending !== undefined && line.after >= this.pending.number) this.apply(this.pending);
      this.pending = undefined;
      if (line.number === line.after) this.apply(line);
      else this.pending = line;
      this.last = Math.max(this.last, line.after);
    }
  }
}

function parseForget(text: string): string[] {
  if (!text.startsWith('{"forget":')) return [];
  try {
    return (JSON.parse(text) as { forget: string[] }).forget;
  } catch {
    return [];
  }
}

function parse(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Line;
    return Number.isSafeInteger(line.number) && Number.isSafeInteger(line.after) ? line : undefined;
  } catch {
    return undefined;
  }
}
