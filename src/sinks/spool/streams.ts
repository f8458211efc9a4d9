import * as fs from 'node:fs';
import * as path from 'node:path';
import { stated } from '../../base/stated.ts';
import { AGENT_NEEDS, type AgentRecord } from '../../recording/folder/agent-record.ts';
import { isGone } from '../../recording/folder/alive.ts';
import { isFleet } from '../../recording/folder/fleet.ts';
import { JOB_NEEDS, type Job } from '../../recording/folder/job.ts';
import { nodeName } from '../../recording/folder/node-folder.ts';
import { liveName } from '../../recording/folder/part-name.ts';
import { MOST_BYTES } from '../../recording/folder/record-file.ts';
import { shaped } from '../../recording/folder/shape.ts';
import { withTables } from '../../recording/folder/tables-file.ts';
import { isWrittenHere } from '../../recording/folder/written-here.ts';
import { firstEntries, listParts, MOST_FILES, type TableParts } from '../../recording/live/file-parts.ts';
import { readOwned } from '../../recording/live/owned-file.ts';
import type { Stream } from '../../recording/live/stream.ts';

/** A stream and what its recording says of itself just now. Objects are replaced when something has changed. */
export interface StreamState extends Stream {
  readonly kind: 'job' | 'fleet';
  readonly job: Job;
  /** Missing until the agent has written it. */
  readonly agent: AgentRecord | undefined;
  /** Nobody writes to it any more: the job is over (or the day), or its agent is gone for good. */
  readonly ended: boolean;
  /** By table. */
  readonly parts: ReadonlyMap<string, TableParts>;
}

export interface Streams {
  /** What is in the spool now. Cheap: folders that have not changed are not read again. */
  list(): readonly StreamState[];
  /** The streams of one recording as it is in this moment. */
  of(recording: string): readonly StreamState[];
  /** When somebody may have written to it last, by the steady clock; undefined: nobody has. Without it: nobody knows. */
  readonly lastWrite?: LastWrite | undefined;
}

export type LastWrite = (state: StreamState) => number | undefined;

/**
 * Two clocks, in milliseconds: the one on the wall, which may be set, and one that only goes on. How long nothing was
 * written is told by the second; it stands still while a machine is suspended, and so do those who write.
 */
export interface Clocks {
  wall(): number;
  steady(): number;
}

const SYSTEM: Clocks = { wall: () => Date.now(), steady: () => performance.now() };
/** A file's time is no finer than this: what changed later than so long before a look may have changed after it. */
const COARSE_MS = 100;
/** Streams that have ended are looked at once in so many times: a service that was stopped may go on with them. */
const ENDED_EVERY = 10;
/** Recordings of an archive of which nothing has changed for so long are looked at once in so many times, in turn. */
const IDLE_MS = 60_000;
const IDLE_EVERY = 10;
/** How long nothing is written before a recording without an end counts as ended, in seconds; and so many intervals. */
const QUIET = { over: 120, gone: 600, forgotten: 86_400, intervals: 2 };
const QUIET_LOOK_MS = 30_000;

/** The streams of the recordings in a spool. */
export function spoolStreams(spool: string, clocks = SYSTEM): Streams {
  const root = new Folder(path.resolve(spool), clocks, true);
  return follow(clocks, () => {
    if (!root.changed()) return undefined;
    return root.names().flatMap((name) => (name.startsWith('.') ? [] : path.join(root.path, name)));
  });
}

/** A job as where it is filed says it; undefined: it does not belong there. */
export type AsFiled = (shelf: string, name: string, job: Job) => Job | undefined;

/**
 * The streams of the recordings in a hub's archive: user=<u>/job=<id> and fleet/day=<day>. Users own their folders there, and
 * can change all that is in them: only what belongs to them is read, and it counts as theirs whatever it says.
 */
export function archiveStreams(
  archive: string,
  asFiled: AsFiled,
  clocks = SYSTEM,
  lastWrite: LastWrite | undefined = undefined,
  log: (text: string) => void = () => {},
): Streams {
  const warnedShelves = new Set<string>();
  const root = new Folder(path.resolve(archive), clocks, true);
  let shelves: Folder[] = [];
  const streams = follow(
    clocks,
    () => {
      let changed = root.changed();
      if (changed) {
        const names = root.names().filter((name) => name === 'fleet' || name.startsWith('user='));
        shelves = names.map((name) => {
          const shelf = path.join(root.path, name);
          return shelves.find((each) => each.path === shelf) ?? new Folder(shelf, clocks);
        });
      }
      for (const shelf of shelves) if (shelf.changed()) changed = true;
      if (!changed) return undefined;
      return shelves.flatMap((shelf) => {
        const names = shelf.names();
        if (names.length === MOST_FOLDERS && !warnedShelves.has(shelf.path)) {
          warnedShelves.add(shelf.path);
          log(`${path.basename(shelf.path)} has ${MOST_FOLDERS} recordings or more: what is beyond is not sent on`);
        }
        return names.flatMap((name) => (/^(job|day)=/.test(name) ? path.join(shelf.path, name) : []));
      });
    },
    asFiled,
  );
  return { ...streams, lastWrite };
}

/** `find` gives the folders of all recordings; undefined: they are the same as before. */
function follow(clocks: Clocks, find: () => string[] | undefined, asFiled?: AsFiled): Streams {
  const recordings = new Map<string, RecordingFolder>();
  let calls = 0;
  let made = 0;
  const isDue = (recording: RecordingFolder): boolean => {
    if (recording.ended) return calls % ENDED_EVERY === 0;
    return asFiled === undefined || !recording.isIdle() || (calls + recording.number) % IDLE_EVERY === 0;
  };
  return {
    of(recording) {
      const folder = recordings.get(recording);
      folder?.look();
      return folder?.streams ?? this.list().filter((state) => state.recording === recording);
    },
    list() {
      calls++;
      const folders = find();
      if (folders !== undefined) {
        const there = new Set(folders);
        for (const folder of recordings.keys()) if (!there.has(folder)) recordings.delete(folder);
        for (const folder of folders)
          if (!recordings.has(folder)) recordings.set(folder, new RecordingFolder(folder, made++, clocks, asFiled));
      }
      const knownStreams: StreamState[] = [];
      for (const recording of recordings.values()) {
        if (isDue(recording)) recording.look();
        for (const stream of recording.streams) knownStreams.push(stream);
      }
      return knownStreams;
    },
  };
}

/** As many as a job may have nodes. Of an archive no more are looked at: whoever owns a folder may put a million there. */
const MOST_FOLDERS = 100_000;

/** A folder whose names are read again only when it has changed. */
class Folder {
  readonly path: string;
  private readonly clocks: Clocks;
  private lastModified = Number.NaN;
  private looked = 0;

  private readonly links: boolean;

  /** `links`: it may be a link; in an archive that would lead where its user wants us to look. */
  constructor(folder: string, clocks: Clocks, links = false) {
    this.path = folder;
    this.clocks = clocks;
    this.links = links;
  }

  changed(): boolean {
    // its owner can set the other time, also to one that is to come
    const modified = this.stat()?.ctimeMs ?? 0;
    if (modified === this.lastModified && this.looked - modified > COARSE_MS) return false;
    this.lastModified = modified;
    this.looked = this.clocks.wall();
    return true;
  }

  /** What was seen counts for nothing: it is read again the next time. */
  lookAgain(): void {
    this.lastModified = Number.NaN;
  }

  /** Undefined: it is gone, or no folder. */
  private stat(): fs.Stats | undefined {
    if (this.links) return fs.statSync(this.path, { throwIfNoEntry: false });
    const stat = fs.lstatSync(this.path, { throwIfNoEntry: false });
    return stat?.isDirectory() === true ? stat : undefined;
  }

  names(): string[] {
    if (this.stat() === undefined) return [];
    const entries = firstEntries(this.path, this.links ? Number.POSITIVE_INFINITY : MOST_FOLDERS);
    return entries.map(({ name }) => name);
  }
}

class RecordingFolder {
  streams: StreamState[] = [];
  ended = false;
  readonly number: number;
  /** By the steady clock. */
  private changed: number;
  private readonly folder: Folder;
  private readonly jobFile: RecordFile<Job>;
  private readonly asFiled: AsFiled | undefined;
  private readonly owner: number | undefined;
  private read: Job | undefined;
  private job: Job | undefined;
  private nodes: NodeFolder[] = [];
  private readonly clocks: Clocks;

  constructor(folder: string, number: number, clocks: Clocks, asFiled: AsFiled | undefined) {
    this.number = number;
    this.clocks = clocks;
    this.changed = clocks.steady();
    this.folder = new Folder(folder, clocks);
    this.asFiled = asFiled;
    if (asFiled !== undefined)
      this.owner = fs.statSync(path.dirname(folder), { throwIfNoEntry: false })?.uid ?? NOBODYS;
    this.jobFile = new RecordFile(path.join(folder, 'job.json'), JOB_NEEDS, this.owner);
  }

  private newNode(folder: string, node: string): NodeFolder {
    return new NodeFolder(folder, node, this.clocks, this.owner);
  }

  private readJob(): Job | undefined {
    const job = this.jobFile.read();
    if (job === this.read) return this.job;
    this.read = job;
    const { path: folder } = this.folder;
    if (job === undefined || this.asFiled === undefined) return job;
    return this.asFiled(path.basename(path.dirname(folder)), path.basename(folder), job);
  }

  /** Nothing has changed for a while, but for rows that were added to its tables. */
  isIdle(): boolean {
    return this.clocks.steady() - this.changed > IDLE_MS;
  }

  /** Never throws: what is wrong with one recording concerns no other, and it stays as it was seen last. */
  look(): void {
    try {
      this.lookNow();
    } catch {
      this.nodes = [];
      this.folder.lookAgain();
    }
  }

  private lookNow(): void {
    const before = this.streams;
    if (this.folder.changed()) {
      this.job = this.readJob();
      const names = this.folder.names();
      const nodesByFolder = new Map(this.nodes.map((each) => [each.folder.path, each]));
      this.nodes = names.flatMap((name) => {
        const node = nodeName(name);
        const folder = path.join(this.folder.path, name);
        if (node === undefined || fs.lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
        return [nodesByFolder.get(folder) ?? this.newNode(folder, node)];
      });
    }
    const { job } = this;
    this.streams = job === undefined ? [] : this.nodes.map((node) => node.look(this.folder.path, job));
    this.ended = this.streams.length > 0 && this.streams.every((stream) => stream.ended);
    if (this.streams.length !== before.length || this.streams.some((stream, i) => stream !== before[i]))
      this.changed = this.clocks.steady();
  }
}

class NodeFolder {
  readonly folder: Folder;
  private readonly node: string;
  private readonly agentFile: RecordFile<AgentRecord>;
  private state: StreamState | undefined;
  private readonly clocks: Clocks;
  private nextQuiet = 0;
  /** When something was written last (steady), and the newest time of a file then. */
  private written = 0;
  private newest = Number.NaN;
  private looked = Number.NEGATIVE_INFINITY;
  private readonly owner: number | undefined;

  constructor(folder: string, node: string, clocks: Clocks, owner: number | undefined) {
    this.clocks = clocks;
    this.folder = new Folder(folder, clocks);
    this.node = node;
    this.owner = owner;
    this.agentFile = new RecordFile(path.join(folder, 'agent.json'), AGENT_NEEDS, owner);
  }

  look(recording: string, job: Job): StreamState {
    const changed = this.folder.changed();
    const agent = changed ? withTables(this.agentFile.read(), this.folder.path) : this.state?.agent;
    const most = this.owner === undefined ? undefined : MOST_FILES;
    const tableParts = changed || this.state === undefined ? listParts(this.folder.path, most) : this.state.parts;
    const ended = this.hasEnded(job, agent, tableParts);
    const before = this.state;
    if (!changed && before !== undefined && before.job === job && before.ended === ended) return before;
    this.state = {
      recording,
      folder: this.folder.path,
      node: this.node,
      ...stated({ owner: this.owner }),
      kind: isFleet(job) ? 'fleet' : 'job',
      job,
      agent,
      ended,
      parts: tableParts,
    };
    return this.state;
  }

  private hasEnded(job: Job, agent: AgentRecord | undefined, tableParts: ReadonlyMap<string, TableParts>): boolean {
    const fleet = isFleet(job);
    const over = fleet ? this.clocks.wall() > dayEnd(job.id) : job.end !== undefined;
    if (over && agent?.end !== undefined) return true;
    // one that samples seldom is quiet for as long
    const quiet = this.quiet(tableParts) - QUIET.intervals * (agent?.interval_seconds ?? 0);
    // a service that is restarted goes on with the job, or the day
    if (agent?.end !== undefined) return quiet > (fleet ? QUIET.forgotten : QUIET.over);
    if (over && quiet > QUIET.over) return true;
    if (quiet > QUIET.gone && !fleet && agent !== undefined && this.isOver(agent)) return true;
    return quiet > QUIET.forgotten;
  }

  /** For how many seconds nothing has been written; looked up now and then. */
  private quiet(tableParts: ReadonlyMap<string, TableParts>): number {
    const now = this.clocks.steady();
    if (now >= this.nextQuiet) {
      this.nextQuiet = now + QUIET_LOOK_MS;
      const newest = this.newestTime(tableParts);
      if (newest !== this.newest) {
        // how long ago only the wall clock can tell, but since the last look it was
        const ago = Math.max(0, this.clocks.wall() - newest);
        this.written = Math.max(now - ago, this.looked);
        this.newest = newest;
      }
      this.looked = now;
    }
    return (now - this.written) / 1e3;
  }

  private newestTime(tableParts: ReadonlyMap<string, TableParts>): number {
    const { path: folder } = this.folder;
    let newest = fs.lstatSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    for (const [table, { live }] of tableParts) {
      if (!live) continue;
      newest = Math.max(
        newest,
        fs.lstatSync(path.join(folder, liveName(table)), { throwIfNoEntry: false })?.mtimeMs ?? 0,
      );
    }
    return newest;
  }

  /** The agent's process is gone; in a container the next one may have the same number. */
  private isOver(agent: AgentRecord): boolean {
    return agent.pid === process.pid ? !isWrittenHere(this.folder.path) : isGone(agent);
  }
}

/** Epoch milliseconds. */
const dayEnd = (fleet: string): number => Date.parse(`${fleet.slice('fleet-'.length)}T00:00:00Z`) + 86_400e3;

/** The folder has gone: nothing is read of what comes in its place. */
const NOBODYS = -1;

/** job.json or agent.json, read again only when it was replaced. */
class RecordFile<T extends object> {
  private readonly file: string;
  private readonly needs: object;
  private readonly owner: number | undefined;
  private inode = -1;
  private modified = Number.NaN;
  private value: T | undefined;

  constructor(file: string, needs: object, owner: number | undefined) {
    this.file = file;
    this.needs = needs;
    this.owner = owner;
  }

  /** Undefined while it is missing; what it was before while it is damaged. */
  read(): T | undefined {
    try {
      const stat = fs.lstatSync(this.file, { throwIfNoEntry: false });
      if (stat === undefined) return undefined;
      if (stat.ino === this.inode && stat.mtimeMs === this.modified) return this.value;
      const record: unknown = JSON.parse(readOwned(this.file, this.owner, MOST_BYTES.job).toString());
      if (typeof record !== 'object' || record === null) return this.value;
      this.value = shaped<T>(record, this.needs, []);
      this.inode = stat.ino;
      this.modified = stat.mtimeMs;
    } catch {
      // damaged, or just being replaced: the next look sees it
    }
    return this.value;
  }
}
