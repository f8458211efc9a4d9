import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS, ownNodeEnvironment } from '../../base/own-node.ts';
import { stated } from '../../base/stated.ts';
import { type RuleSettings, writtenRules } from '../../judge/rules/shared/settings.ts';
import { nodeName } from '../../recording/folder/node-folder.ts';
import type { Accounted } from './accounting-store.ts';
import { checkedEntry } from './checked-entry.ts';
import type { Entry } from './entry.ts';
import { summariseOne, type UnindexedRecording } from './summarise-one.ts';
import { SUMMARISE_MARK, type SummariseOrder } from './summarise-worker.ts';

declare const TACHO_VERSION: string | undefined;

/** A release is one file, which is the worker too when it is started with the mark. */
function entry(): string {
  const here = fileURLToPath(import.meta.url);
  return typeof TACHO_VERSION === 'string' ? here : path.join(path.dirname(here), 'summarise-worker.ts');
}

/** Fewer are summarised here: another process takes longer to start. */
const FEW = 16;
/** One that takes longer is left out, whatever it is. */
const PATIENCE_MS = 120_000;
/** What a worker may take of memory, in MiB: of JavaScript's objects, and of all data. */
const MEMORY = { heap: 1024, data: 4096 };
/** A worker has so many before it, so that it never waits. */
const AHEAD = 4;
const ROOT = 0;

/** Recordings of one owner. */
interface Lane {
  recordings: UnindexedRecording[];
  owner?: number;
  /** The folder of a user in an archive of a hub, and the user. */
  folder?: string;
  user?: string;
  rules?: RuleSettings;
}

export interface SummariseOptions {
  /** Number of processes at once. */
  workers?: number;
  /** The rules as the configuration has them. */
  rules?: RuleSettings;
  /** Told after each. */
  done?: () => void;
}

/** Summarises recordings on all cores; those of other users with their rights, in processes of their own. */
export async function summariseAll(
  archive: string,
  recordingsToIndex: readonly UnindexedRecording[],
  file: (entries: Entry[]) => Promise<void>,
  { workers = os.availableParallelism(), rules, done }: SummariseOptions = {},
): Promise<void> {
  const lanes = lanesOf(archive, recordingsToIndex);
  if (lanes.every(({ owner }) => owner === undefined) && recordingsToIndex.length <= FEW) {
    const entries = recordingsToIndex.map((one) => {
      const made = summariseOne(archive, one, rules);
      done?.();
      return made;
    });
    return file(entries);
  }
  const waiting = lanes.flatMap((lane) => splitLane(lane, Math.max(1, Math.floor(workers / lanes.length))));
  const filed = new Filer(file);
  const run = async (): Promise<void> => {
    for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift()) {
      await inWorker(archive, { ...lane, ...stated({ rules }) }, async (made) => {
        done?.();
        await filed.add(made);
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, waiting.length) }, run));
  await filed.end();
}

/** By owner, where root summarises what is not root's. */
function lanesOf(archive: string, recordingsToIndex: readonly UnindexedRecording[]): Lane[] {
  if (process.geteuid!() !== ROOT) return [{ recordings: [...recordingsToIndex] }];
  const lanes = new Map<string, Lane>();
  for (const one of recordingsToIndex) {
    const [first] = one.id.split('/', 1) as [string];
    const stat = fs.lstatSync(path.join(archive, one.id), { throwIfNoEntry: false });
    const uid = stat?.uid ?? ROOT;
    const isUsers = first.startsWith('user=') && first !== one.id;
    const key = `${uid} ${isUsers ? first : ''}`;
    let lane = lanes.get(key);
    if (lane === undefined) {
      const user = isUsers ? nodeName(`node=${first.slice('user='.length)}`) : undefined;
      lane = {
        recordings: [],
        ...(uid === ROOT ? {} : { owner: uid }),
        ...(isUsers ? { folder: first, ...stated({ user }) } : {}),
      };
      lanes.set(key, lane);
    }
    lane.recordings.push(one);
  }
  return [...lanes.values()];
}

/** Several workers share a long lane; an index of the owner's has one writer at a time anyhow. */
function splitLane(lane: Lane, workers: number): Lane[] {
  const each = Math.ceil(lane.recordings.length / workers);
  return Array.from({ length: Math.ceil(lane.recordings.length / each) }, (_, i) => ({
    ...lane,
    recordings: lane.recordings.slice(i * each, (i + 1) * each),
  }));
}

/** Entries go to the index many at a time, one change after the other. */
class Filer {
  private waiting: Entry[] = [];
  private last: Promise<void> = Promise.resolve();
  private readonly file: (entries: Entry[]) => Promise<void>;

  constructor(file: (entries: Entry[]) => Promise<void>) {
    this.file = file;
  }

  async add(made: Entry): Promise<void> {
    this.waiting.push(made);
    if (this.waiting.length < 5000) return;
    const entries = this.waiting;
    this.waiting = [];
    this.last = this.last.then(() => this.file(entries));
    await this.last;
  }

  async end(): Promise<void> {
    await this.last;
    await this.file(this.waiting);
  }
}

/** One process after the other until every recording of the lane has its answer: one that kills or hangs it is left out. */
async function inWorker(archive: string, lane: Lane, take: (made: Entry) => Promise<void>): Promise<void> {
  let left = lane.recordings;
  while (left.length > 0) {
    const { answered, why } = await oneWorker(archive, { ...lane, recordings: left }, take);
    left = left.slice(answered);
    const [guilty] = left;
    if (guilty === undefined) return;
    await take({ id: guilty.id, stamp: guilty.stamp, trouble: `cannot summarise ${guilty.id}: ${why}` });
    left = left.slice(1);
  }
}

const orderOf = (archive: string): SummariseOrder => ({
  parent: process.pid,
  archive: path.resolve(archive),
  dataBytes: MEMORY.data * 2 ** 20,
});

/** `ended` is why, in words. */
function startWorker(): { child: ChildProcessWithoutNullStreams; ended: Promise<string> } {
  const heap = `--max-old-space-size=${MEMORY.heap}`;
  const child = spawn(process.execPath, [...NODE_FLAGS, heap, entry(), SUMMARISE_MARK], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: ownNodeEnvironment(process.env),
  });
  let errorText = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (errorText.length < 20_000) errorText += text;
  });
  child.stdin.on('error', () => {});
  const ended = new Promise<string>((resolve) => {
    child.once('error', (problem) => resolve(problem.message));
    child.once('close', (_status, signal) => resolve(whyEnded(errorText, signal)));
  });
  return { child, ended };
}

async function oneWorker(
  archive: string,
  { recordings, owner, folder, user, rules }: Lane,
  take: (made: Entry) => Promise<void>,
): Promise<{ answered: number; why: string }> {
  const { child, ended } = startWorker();
  const order: SummariseOrder = {
    ...orderOf(archive),
    ...stated({ owner, ownIndex: owner === undefined ? undefined : folder, rules: rules && writtenRules(rules) }),
  };
  const send = (line: object): void => void child.stdin.write(`${JSON.stringify(line)}\n`);
  send(order);
  let [sent, answered] = [0, 0];
  const next = (): void => {
    if (sent < recordings.length) send(recordings[sent++]!);
    else child.stdin.end();
  };
  for (let i = 0; i < AHEAD; i++) next();
  let alarm = patience(child);
  for await (const line of readline.createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY })) {
    clearTimeout(alarm);
    if (answered >= recordings.length) break;
    const asked = recordings[answered++]!;
    next();
    await take(checkedEntry(parsed(line), asked, user));
    alarm = patience(child);
  }
  clearTimeout(alarm);
  return { answered, why: await ended };
}

/** Brings what accounting knows of a user's jobs into the index of that user. */
export async function toOwner(
  archive: string,
  { owner, folder }: { owner: number; folder: string },
  runs: readonly Accounted[],
): Promise<void> {
  const { child, ended } = startWorker();
  child.stdout.resume();
  const order: SummariseOrder = { ...orderOf(archive), owner, ownIndex: folder, accounting: true };
  const alarm = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  for (const line of [order, ...runs])
    if (!child.stdin.write(`${JSON.stringify(line)}\n`)) await Promise.race([once(child.stdin, 'drain'), ended]);
  child.stdin.end();
  await ended;
  clearTimeout(alarm);
}

const patience = (child: ChildProcess): NodeJS.Timeout => setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function whyEnded(errorText: string, signal: string | null): string {
  if (/out of memory|allocation failed|bad_alloc|cannot allocate memory/i.test(errorText))
    return `it takes more memory than it may (${MEMORY.heap} MiB for objects, ${MEMORY.data} MiB in all)`;
  if (signal === 'SIGKILL') return `it took longer than ${PATIENCE_MS / 60_000} minutes, or its process was killed`;
  const lines = errorText.split('\n').map((line) => line.trim());
  const thrown = lines.find((line) => /^(Uncaught )?[\w.]*(Error|Exception)\b.*: \S/.test(line));
  return thrown ?? (signal === null ? 'its process ended without an answer' : `its process was ended by ${signal}`);
}
