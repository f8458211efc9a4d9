import * as path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { formatDuration } from '../../base/duration.ts';
import { reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { nodeFolder, nodeName } from '../../recording/folder/node-folder.ts';
import { NOBODY_SAYS, NOTHING_MORE } from '../../recording/folder/silent-end.ts';
import { archiveFolderKey, below } from '../receive/archive-folder.ts';
import type { FiledRecording, FiledStream, Filing } from '../receive/filing.ts';
import { entriesIn, MOST_FILES, nodeFiles } from '../receive/node-files.ts';
import { readReceived } from '../receive/received.ts';
import type { Compressor } from './compress.ts';
import { type Sealing, type SealMemory, startSealing } from './seal-child.ts';

interface Task {
  recording: FiledRecording;
  /** Also nodes that have not said that they are done: nobody has heard from them for long. */
  all: boolean;
}

/** What a lane is at. */
interface Active {
  readonly key: string;
  readonly since: number;
  readonly done: Promise<void>;
  sealing: Sealing | undefined;
}

interface Failures {
  count: number;
  /** Not before: milliseconds of `performance.now`. */
  until: number;
}

export interface FinishOptions {
  tell(text: string): void;
  /** Whether a recording has to stay as it is for a while, because somebody still reads its files. */
  holds?(folder: string): boolean;
  /** The time that sealing a small recording may take, in seconds. */
  sealSeconds?: number;
  /** What a sealing process may take. */
  sealMemory?: SealMemory;
}

/** What is held is looked at again after so long, and so long for each lane: it takes reading users' files. */
const AGAIN_MS = 2000;
const ASK_MS = 50;
/** Folders of nodes are looked at for so long before others have their turn. */
const TURN_MS = 10;
/** Processes that seal users' recordings: so many at once, */
const AT_ONCE = 2;
/** and so many with those that take long: each user can stop the process that seals for them. */
const MOST_AT_ONCE = 8;
const LONG_MS = 30_000;
const SEAL_SECONDS = 120;
/** Large recordings take longer; a busy machine seals this much a second at least. */
const BYTES_PER_SECOND = 250_000;
const LONGEST_SECONDS = { job: 3_600, fleet: 6 * 3_600 };
/** After a failure it is tried again in so many times the limit, then in twice that. */
const PAUSE_LIMITS = 5;
const LONGEST_PAUSE_SECONDS = { recording: 86_400, lane: 3_600 };

/**
 * Seals recordings whose nodes are all done, while others are written to. Each user has a lane, and the fleet, whose days
 * take long, another: what happens in one delays no other.
 */
export class Finisher {
  private readonly filing: Filing;
  private readonly compressor: Compressor;
  private readonly options: FinishOptions;
  private readonly sealSeconds: number;
  private readonly waiting = new Map<string, Task>();
  private readonly active = new Map<string, Active>();
  private readonly failed = new Map<string, Failures>();
  private readonly slowLanes = new Map<string, Failures>();
  private closed = false;
  private again: NodeJS.Timeout | undefined;

  constructor(filing: Filing, compressor: Compressor, options: FinishOptions) {
    this.filing = filing;
    this.compressor = compressor;
    this.options = options;
    this.sealSeconds = options.sealSeconds ?? SEAL_SECONDS;
  }

  /** A node is done: if it was the last, which its lane finds out, the recording is sealed. */
  consider(recording: FiledRecording): void {
    for (const stream of recording.streams.values()) if (!stream.done) return;
    this.add({ recording, all: false });
  }

  /** Seals what is there of a recording that nobody writes to any more. */
  giveUpWaiting(recording: FiledRecording): void {
    this.add({ recording, all: true });
  }

  hasWaiting(recording: FiledRecording): boolean {
    return recording.finishing || this.waiting.has(recording.key);
  }

  /** It could not be sealed, and is not tried again yet. */
  isPaused(key: string): boolean {
    return isPaused(this.failed.get(key));
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.again);
    this.waiting.clear();
    const all = [...this.active.values()];
    // what they were at is done again, by the next hub; one that was stopped hears of nothing less
    for (const { sealing } of all) sealing?.child.kill('SIGKILL');
    await Promise.all(all.map(({ done }) => done));
  }

  private add(task: Task): void {
    const { key } = task.recording;
    if (this.closed || isPaused(this.failed.get(key))) return;
    this.waiting.set(key, { ...task, all: task.all || this.waiting.get(key)?.all === true });
    this.next();
  }

  /** Never throws: nobody waits for it who could do something about it. */
  private next(): void {
    if (this.closed) return;
    let later = false;
    /** How long it took to find out what is held, by lane. */
    const asked = new Map<string, number>();
    for (const [key, task] of [...this.waiting]) {
      const lane = laneOf(task.recording);
      if (this.active.has(lane)) continue;
      const spent = asked.get(lane) ?? 0;
      if (!this.hasRoom(lane) || isPaused(this.slowLanes.get(lane)) || spent > ASK_MS) {
        later = true;
        continue;
      }
      const since = performance.now();
      this.waiting.delete(key);
      const isHeld = this.isHeld(task);
      asked.set(lane, spent + performance.now() - since);
      if (isHeld === false) this.begin(lane, task);
      // the next time others are asked for first
      else if (isHeld) this.waiting.set(key, task);
      later ||= isHeld === true;
    }
    // what has to wait for time to pass
    if (later) {
      this.again ??= setTimeout(() => {
        this.again = undefined;
        this.next();
      }, AGAIN_MS).unref();
    }
  }

  /** Undefined: nobody can say. */
  private isHeld({ recording }: Task): boolean | undefined {
    const { root } = this.filing.shelf.folders;
    try {
      return this.options.holds?.(path.join(root, archiveFolderKey(recording.archivePath))) === true;
    } catch (error) {
      this.failedAt(recording.key, error);
      return undefined;
    }
  }

  private hasRoom(lane: string): boolean {
    if (lane === FLEET) return true;
    const users = [...this.active].flatMap(([name, active]) => (name === FLEET ? [] : active));
    const begun = performance.now() - LONG_MS;
    return users.length < MOST_AT_ONCE && users.filter(({ since }) => since > begun).length < AT_ONCE;
  }

  private begin(lane: string, task: Task): void {
    const { key } = task.recording;
    const active: Active = {
      key,
      since: performance.now(),
      sealing: undefined,
      // it begins in a moment: `active` is in its place then
      done: Promise.resolve()
        .then(() => this.seal(task, active))
        .then(
          () => this.succeeded(key, lane),
          (error: unknown) => this.failedAt(key, error),
        )
        .then(() => {
          this.active.delete(lane);
          this.next();
        }),
    };
    this.active.set(lane, active);
  }

  private succeeded(key: string, lane: string): void {
    this.failed.delete(key);
    this.slowLanes.delete(lane);
  }

  private failedAt(key: string, error: unknown): void {
    if (this.closed) return;
    const lane = key.split('/', 1)[0]!;
    if (error instanceof TooSlow) this.pause(this.slowLanes, lane, LONGEST_PAUSE_SECONDS.lane);
    const seconds = this.pause(this.failed, key, LONGEST_PAUSE_SECONDS.recording);
    const later = `it stays as it is and is tried again in ${formatDuration(seconds)} or later`;
    this.options.tell(`cannot seal ${key}: ${reason(error)}; ${later}`);
  }

  private pause(failures: Map<string, Failures>, key: string, longest: number): number {
    const count = (failures.get(key)?.count ?? 0) + 1;
    const seconds = Math.min(longest, this.sealSeconds * PAUSE_LIMITS * 2 ** Math.min(count - 1, 20));
    failures.set(key, { count, until: performance.now() + seconds * 1000 });
    return seconds;
  }

  private async seal({ recording, all }: Task, active: Active): Promise<void> {
    const { filing } = this;
    const { folders: archiveFolders } = filing.shelf;
    if (!all && !(await this.areDone(recording))) return;
    recording.finishing = true;
    const resting: FiledStream[] = [];
    try {
      for await (const node of inTurns(this.foldersOf(recording))) {
        const stream = recording.streams.get(node) ?? filing.adoptNode(recording, node);
        if (!all && !stream.done) continue;
        for (const table of stream.tables.values()) table.release();
        filing.note(stream, stream.done);
        stream.resting = true;
        resting.push(stream);
      }
      await this.compressor.leave(recording.archivePath);
      complete(recording, await this.areDone(recording));
      filing.saveJob(recording);
      if (this.closed) return;
      const folder = path.join(archiveFolders.root, archiveFolderKey(recording.archivePath));
      active.sealing = startSealing(
        folder,
        resting.map(({ node }) => node),
        recording.archivePath.owner,
        this.options.sealMemory,
      );
      const { error } = await this.withinLimit(active.sealing, this.limitOf(recording, resting));
      if (error !== undefined) throw new Error(error);
    } finally {
      recording.finishing = false;
      for (const stream of resting) {
        stream.resting = false;
        this.refresh(stream);
      }
    }
  }

  private limitOf({ kind }: FiledRecording, streams: readonly FiledStream[]): number {
    let bytes = 0;
    for (const { tables } of streams) for (const { stored } of tables.values()) bytes += stored;
    return Math.min(LONGEST_SECONDS[kind], this.sealSeconds + bytes / BYTES_PER_SECOND);
  }

  /** Ends what takes longer: it waits for something, or its owner has stopped it. */
  private async withinLimit(sealing: Sealing, seconds: number): Promise<{ error?: string }> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      sealing.child.kill('SIGKILL');
    }, seconds * 1000);
    const sealAnswer = await sealing.reply;
    clearTimeout(timer);
    if (isLate) throw new TooSlow(`sealing took longer than ${formatDuration(Math.round(seconds))} and was stopped`);
    return sealAnswer;
  }

  /** Its files are others now. */
  private refresh(stream: FiledStream): void {
    try {
      this.filing.shelf.folders.in(stream.archivePath, false, (folder) => {
        const { tables } = nodeFiles(folder, MOST_FILES);
        for (const table of stream.tables.values()) table.refresh(tables.get(table.name));
      });
    } catch {
      // its owner has closed the folder meanwhile: the stream is begun anew from what lies there when it is open again
      this.filing.forget(stream);
    }
  }

  private async areDone(recording: FiledRecording): Promise<boolean> {
    for await (const node of inTurns(this.nodesOf(recording))) if (!this.isDone(recording, node)) return false;
    return true;
  }

  private isDone(recording: FiledRecording, node: string): boolean {
    const stream = recording.streams.get(node);
    if (stream !== undefined) return stream.done;
    const archivePath = below(recording.archivePath, nodeFolder(node));
    return this.filing.shelf.folders.in(archivePath, false, (folder) => readReceived(folder).done === true) === true;
  }

  private nodesOf(recording: FiledRecording): Set<string> {
    return new Set([...recording.job.nodes, ...this.foldersOf(recording)]);
  }

  private foldersOf(recording: FiledRecording): string[] {
    const names = this.filing.shelf.folders.in(recording.archivePath, false, (folder) =>
      entriesIn(folder, MOST_FOLDERS).flatMap((entry) => (entry.isDirectory() ? entry.name : [])),
    );
    return (names ?? []).flatMap((name) => nodeName(name) ?? []);
  }
}

/** As many as a job may have nodes. */
const MOST_FOLDERS = 100_000;
const FLEET = 'fleet';

class TooSlow extends Error {}

/** One after the other, with time for others in between: users can make as many folders as they like. */
async function* inTurns<T>(all: Iterable<T>): AsyncGenerator<T> {
  let since = performance.now();
  for (const each of all) {
    yield each;
    if (performance.now() - since < TURN_MS) continue;
    await turn();
    since = performance.now();
  }
}

const laneOf = ({ archivePath }: FiledRecording): string => archivePath.way[0]!;
const isPaused = (failures: Failures | undefined): boolean =>
  failures !== undefined && performance.now() < failures.until;

/** What job.json does not say yet about the end. `whole`: every node has said that it is done. */
function complete(recording: FiledRecording, whole: boolean): void {
  const { job, kind } = recording;
  const end = job.end ?? (recording.ended > 0 ? recording.ended : undefined);
  const state = job.state === 'running' ? (kind === 'fleet' ? 'completed' : 'unknown') : job.state;
  if (end === job.end && state === job.state) return;
  const why = state === 'unknown' ? { reason: job.reason ?? (whole ? NOBODY_SAYS : NOTHING_MORE) } : {};
  recording.job = { ...job, ...stated({ end }), state, ...why };
  recording.unsaved = true;
}
