import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { makeFolder } from '../../base/folder.ts';
import type { TextMessage } from './follow.ts';

/** Whose rows they are. */
export interface Whose {
  readonly user: string;
  readonly job: string;
}

/** In bytes on the disk. */
export interface AsideLimits {
  readonly user: number;
  readonly all: number;
}

interface Kept extends Whose {
  readonly file: string;
  bytes: number;
  /** Up to here they were filed. */
  at: number;
  /** Rows for which there was no room. */
  givenUp: number;
  failures: number;
  /** By the steady clock. */
  again: number;
}

/** Whether rows could be filed, or their recording still takes none. */
export type FileRows = (messages: readonly TextMessage[]) => boolean;

const LIMITS: AsideLimits = { user: 2 ** 30, all: 2 ** 32 };
const AT_ONCE = 1 << 20;
const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
/** A file takes this much, however little is in it. */
const BLOCK = 4096;
const NEWLINE = 10;
/** No row is as long. */
const LONGEST_LINE = 4 << 20;

/**
 * Rows of recordings that take none just now (a quota, closed folders, sealing), in the hub's own folder until they do: a file
 * for each recording, so that nobody else waits. What was filed of it is known by its position: after a crash it is filed again.
 */
export class KafkaAside {
  private readonly folder: string;
  private readonly log: (text: string) => void;
  private readonly limits: AsideLimits;
  private readonly kept = new Map<string, Kept>();
  private filing: Promise<void> | undefined;

  constructor(folder: string, log: (text: string) => void, limits: AsideLimits = LIMITS) {
    this.folder = folder;
    this.log = log;
    this.limits = limits;
    if (!fs.existsSync(folder)) return;
    for (const name of fs.readdirSync(folder)) if (name.endsWith('.jsonl')) this.load(path.join(folder, name));
  }

  has(recording: string): boolean {
    return this.kept.has(recording);
  }

  /** Keeps rows behind those that are there; says how many could not be kept. Throws when the disk refuses it. */
  add(recording: string, whose: Whose, messages: readonly TextMessage[]): number {
    const kept = this.kept.get(recording) ?? this.begin(recording, whose);
    const lines = messages.map((message) => Buffer.from(line(message)));
    let room = this.roomFor(kept.user);
    let count = 0;
    for (const { length } of lines) {
      if (length > room) break;
      room -= length;
      count++;
    }
    this.append(kept, Buffer.concat(lines.slice(0, count)));
    const lost = messages.length - count;
    if (lost > 0 && kept.givenUp === 0)
      this.log(`rows of job ${kept.job} of user ${kept.user} are given up: too many wait for being filed already`);
    kept.givenUp += lost;
    return lost;
  }

  /** Files what can be filed, a little at a time. `now`: by the steady clock. */
  retry(file: FileRows, now = performance.now()): Promise<void> {
    this.filing ??= this.fileAll(file, now).finally(() => {
      this.filing = undefined;
    });
    return this.filing;
  }

  private async fileAll(file: FileRows, now: number): Promise<void> {
    for (const [recording, kept] of [...this.kept]) {
      if (now < kept.again) continue;
      while (this.some(recording, kept, file)) await turn();
    }
  }

  /** True: there is more, and it may be filed at once. */
  private some(recording: string, kept: Kept, file: FileRows): boolean {
    const { messages, next } = read(kept);
    if (!file(messages)) {
      kept.again = performance.now() + Math.min(LONGEST_MS, FIRST_MS * 2 ** kept.failures);
      kept.failures = Math.min(kept.failures + 1, 16);
      return false;
    }
    kept.failures = 0;
    kept.at = next;
    if (kept.at < kept.bytes) return true;
    fs.rmSync(kept.file, { force: true });
    this.kept.delete(recording);
    if (kept.givenUp > 0)
      this.log(`job ${kept.job} of user ${kept.user} is filed again; ${kept.givenUp} rows were given up`);
    return false;
  }

  private roomFor(user: string): number {
    let all = this.limits.all;
    let own = this.limits.user;
    for (const kept of this.kept.values()) {
      const bytes = Math.max(kept.bytes, BLOCK);
      all -= bytes;
      if (kept.user === user) own -= bytes;
    }
    return Math.min(all, own);
  }

  private begin(recording: string, { user, job }: Whose): Kept {
    makeFolder(this.folder, 0o700);
    const name = createHash('sha256').update(recording).digest('hex').slice(0, 32);
    const file = path.join(this.folder, `${name}.jsonl`);
    const kept: Kept = { user, job, file, bytes: 0, at: 0, givenUp: 0, failures: 0, again: 0 };
    const first = Buffer.from(`${JSON.stringify({ recording, user, job })}\n`);
    this.append(kept, first);
    kept.at = first.length;
    kept.again = performance.now() + FIRST_MS;
    this.kept.set(recording, kept);
    return kept;
  }

  private append(kept: Kept, bytes: Buffer): void {
    if (bytes.length === 0) return;
    const fd = fs.openSync(kept.file, 'a', 0o600);
    try {
      // half of what could not be written before goes
      fs.ftruncateSync(fd, kept.bytes);
      for (let from = 0; from < bytes.length; ) from += fs.writeSync(fd, bytes, from);
      // the offsets in Kafka are moved on behind it
      fs.fdatasyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    kept.bytes += bytes.length;
  }

  private load(file: string): void {
    const fd = fs.openSync(file, 'r');
    try {
      const { size } = fs.fstatSync(fd);
      const chunk = Buffer.alloc(Math.min(size, LONGEST_LINE));
      fs.readSync(fd, chunk, 0, chunk.length, 0);
      const at = chunk.indexOf(NEWLINE) + 1;
      if (at === 0) {
        fs.rmSync(file, { force: true });
        return;
      }
      const { recording, user, job } = JSON.parse(chunk.toString('utf8', 0, at)) as Whose & { recording: string };
      const from = size - chunk.length;
      fs.readSync(fd, chunk, 0, chunk.length, from);
      // a torn last line was not confirmed to Kafka: it comes again
      const bytes = Math.max(at, from + chunk.lastIndexOf(NEWLINE) + 1);
      this.kept.set(recording, { user, job, file, bytes, at, givenUp: 0, failures: 0, again: 0 });
    } finally {
      fs.closeSync(fd);
    }
  }
}

const HEADERS = ['table', 'position', 'run'] as const;

function line({ topic, value, headers }: TextMessage): string {
  return `${JSON.stringify([topic, value, ...HEADERS.map((name) => headers.get(name) ?? '')])}\n`;
}

/** The next rows of a file, and where to go on. */
function read({ file, at, bytes }: Kept): { messages: TextMessage[]; next: number } {
  if (at >= bytes) return { messages: [], next: bytes };
  const fd = fs.openSync(file, 'r');
  try {
    for (let size = AT_ONCE; ; size *= 2) {
      const some = Buffer.alloc(Math.min(size, bytes - at));
      fs.readSync(fd, some, 0, some.length, at);
      const end = some.lastIndexOf(NEWLINE) + 1;
      if (end === 0 && some.length === size) continue;
      const lines = some.toString('utf8', 0, end).split('\n').slice(0, -1);
      return { messages: lines.map(message), next: end === 0 ? bytes : at + end };
    }
  } finally {
    fs.closeSync(fd);
  }
}

function message(text: string): TextMessage {
  const [topic, value, ...rest] = JSON.parse(text) as string[];
  const headers = new Map(HEADERS.flatMap((name, i) => (rest[i] === '' ? [] : [[name, rest[i]!]])));
  return { topic, value, headers } as unknown as TextMessage;
}
