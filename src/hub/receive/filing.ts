import { randomInt } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import type { Job } from '../../recording/folder/job.ts';
import { bytesRead } from '../../recording/folder/record-file.ts';
import { comparePositions, type Position } from '../../recording/live/position.ts';
import type {
  AppendReply,
  OpenReply,
  OpenRequest,
  RecordReply,
  RecordRequest,
  TableBytes,
} from '../../sinks/hub/protocol.ts';
import { type Identity, mayActFor, mayWriteAs } from '../../trust/identity.ts';
import { ArchiveTrouble } from '../keep/archive-trouble.ts';
import {
  ArchiveFolderError,
  type ArchivePath,
  archiveFolderKey,
  below,
  readRecord,
  replaceRecord,
} from './archive-folder.ts';
import { checkedAgent, checkedJob, filedJob, isPosition } from './checked.ts';
import { saveJobRecord } from './job-record.ts';
import { mergeJobs } from './merge-job.ts';
import { dayPart, filedPart, isNobodys, isTableName, jobAsFiled, nodePart, Unusable, userPart } from './names.ts';
import { candidates, isNextRun, isSameJob } from './namesakes.ts';
import { MOST_FILES, nodeFiles } from './node-files.ts';
import type { Pace } from './pace.ts';
import { readReceived, writeReceived } from './received.ts';
import { Budget, type ShareLimits, Shares } from './shares.ts';
import { type Shelf, TableFile } from './table-file.ts';

/** The other end may not do this. */
export class Forbidden extends Error {}
/** There are too many already. */
export class Busy extends Error {}

/** A recording that somebody writes to, or did a moment ago. */
export interface FiledRecording {
  readonly key: string;
  readonly archivePath: ArchivePath;
  readonly kind: 'job' | 'fleet';
  readonly user: string;
  job: Job;
  /** job.json is not yet as `job` is. */
  unsaved: boolean;
  /** Then: it could not be written, and is tried again at this time of the steady clock, in milliseconds. */
  saveAgain: number;
  /** By node. */
  readonly streams: Map<string, FiledStream>;
  /** Latest end of an agent, epoch microseconds. */
  ended: number;
  /** Waits for being sealed, or is. */
  finishing: boolean;
  /** Somebody looks at it while it is written, as far as is known until then (steady clock, milliseconds). */
  watched: boolean;
  watchedUntil: number;
}

/** What one node writes of one recording. */
export interface FiledStream {
  readonly id: number;
  readonly node: string;
  readonly archivePath: ArchivePath;
  readonly recording: FiledRecording;
  readonly tables: Map<string, TableFile>;
  /** The node writes no more, and everything is there. */
  done: boolean;
  /** Its files are being sealed: nothing may be added. */
  resting: boolean;
  /** Last word from the node, by the steady clock in milliseconds. */
  heard: number;
  interval: number;
  /** Who was last found to be allowed to write to it. */
  allowed: Identity | undefined;
  /** It is a part of a user's share until then. */
  giveBack?: (() => void) | undefined;
}

export interface FilingOptions {
  /** A node is done: perhaps the recording is. */
  done?(recording: FiledRecording): void;
  mostStreams?: number;
  /** What each user may take of them. */
  shares?: Partial<ShareLimits>;
  /** What administrators should know, one sentence. */
  tell?(text: string): void;
  /** Users, too, may send recordings of their own jobs. */
  usersWrite?: boolean;
  /** How long agents shall collect samples; without it they send each tick. */
  pace?: Pick<Pace, 'seconds' | 'shortest'>;
  /** Whether somebody looks at the recording in this folder; without it nobody knows. */
  isWatched?(folder: string): boolean;
}

/** Owns what is nobody's, where recordings belong to their users. */
const ROOT = { uid: 0, gid: 0 };
const MOST_TABLES = 256;
/** Number of files reserved for what the agent writes, whatever else is in the folder. */
const AGENTS_TABLES = 64;
const MOST_NODES = 100_000;
/** A job of a thousand nodes, all of whose agents come at once, is filed within minutes. */
const USERS_SHARE = { streams: 1_000, opens: 300, opensPerSecond: 5 };
/** Bytes of records in a user's folders that a request may read without more ado, and at most; */
const USUAL_RECORDS = 128 << 10;
const MOST_RECORDS = 8 << 20;
/** what is more than usual is limited for each user, at once and a second. */
const USERS_RECORDS = { most: 16 << 20, perSecond: 1 << 20 };
/** What could not be saved is tried again after so long. */
const SAVE_AGAIN_MS = 10_000;
/** Streams are numbered from somewhere else after each start: a number from before means nothing to this hub. */
const NUMBERS = 2 ** 44;
/** Whether somebody watches a recording is looked up so often; a question about it counts for longer. */
const WATCH_LOOK_MS = 5_000;
const ASKED_MS = 10_000;

/** Turns what agents send into recordings. */
export class Filing {
  readonly shelf: Shelf;
  readonly recordings = new Map<string, FiledRecording>();
  readonly streams = new Map<number, FiledStream>();
  private readonly options: FilingOptions;
  private readonly mostStreams: number;
  private readonly trouble: ArchiveTrouble;
  private readonly shares: Shares;
  private readonly records = new Budget(USERS_RECORDS.most, USERS_RECORDS.perSecond);
  private next = randomInt(NUMBERS);

  constructor(shelf: Shelf, options: FilingOptions = {}) {
    this.shelf = shelf;
    this.options = options;
    this.mostStreams = options.mostStreams ?? 100_000;
    this.shares = new Shares({ ...USERS_SHARE, allStreams: this.mostStreams / 2, ...options.shares });
    this.trouble = new ArchiveTrouble(shelf.folders.root, shelf.folders.owners, options.tell ?? (() => {}));
  }

  open(request: OpenRequest, identity: Identity): OpenReply {
    return this.guarded(() => this.openStream(request, identity));
  }

  /** What cannot be done in one recording is told as such: it concerns nobody else. */
  private guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw error instanceof ArchiveFolderError ? this.trouble.failed(error.archivePath, error) : error;
    }
  }

  private openStream(request: OpenRequest, identity: Identity): OpenReply {
    const { node, kind } = request;
    // a name that no folder can have is refused first
    nodePart(node);
    this.allowSender(identity);
    const job = asSentBy(identity, checkedJob(request.job));
    const agent = checkedAgent(request.agent, node);
    if (!mayWriteAs(identity, node)) throw new Forbidden(`you may not write as node ${node}`);
    this.shares.open(identity);
    const [recording, stream] = this.withinBudget(kind, job, () => {
      const filedRecording = this.recordingOf(kind, job, node, identity);
      return [
        filedRecording,
        filedRecording.streams.get(node) ?? this.newStream(filedRecording, node, agent, identity),
      ] as const;
    });
    stream.heard = performance.now();
    stream.allowed = identity;
    if (this.takeAgent(stream, agent)) this.takeJob(recording, job, node);
    const reply: OpenReply = { stream: stream.id, tables: positions(stream) };
    return stream.done ? { ...reply, done: true } : reply;
  }

  /** Users may have put anything into their folders: what it takes to read that holds up nobody but them. */
  private withinBudget<T>(kind: unknown, job: Job, work: () => T): T {
    if (kind === 'fleet') return work();
    const shelf = userPart(job);
    if (this.records.left(shelf) <= 0)
      throw tooLong({ way: [shelf, filedPart(job)], owner: undefined }, 'read again for every request');
    const before = bytesRead();
    try {
      return work();
    } finally {
      const more = bytesRead() - before - USUAL_RECORDS;
      if (more > 0) this.records.spend(shelf, more);
    }
  }

  private newStream(recording: FiledRecording, node: string, agent: AgentRecord, identity: Identity): FiledStream {
    let giveBack: (() => void) | undefined;
    try {
      this.makeRoom();
      giveBack = this.shares.take(identity);
      const stream = this.adoptNode(recording, node, agent);
      stream.giveBack = giveBack;
      return stream;
    } catch (error) {
      giveBack?.();
      // nobody writes to it: it is not remembered, and what is said of it is not saved
      if (recording.streams.size === 0 && !recording.finishing) this.recordings.delete(recording.key);
      throw error;
    }
  }

  /** The reply as text: this is asked for most. */
  append(tableRuns: readonly TableBytes[], bytes: readonly Buffer[], identity: Identity): string {
    const now = Date.now();
    const heard = performance.now();
    const unknown: number[] = [];
    const refused = new Map<number, string>();
    let trouble: string | undefined;
    let have = '';
    const { pace } = this.options;
    let batch = pace?.seconds ?? 0;
    for (let i = 0; i < tableRuns.length; i++) {
      const [id, name, filePart, from] = tableRuns[i]!;
      const stream = this.streams.get(id);
      if (stream === undefined) {
        if (!unknown.includes(id)) unknown.push(id);
        continue;
      }
      if (stream.allowed !== identity) this.allow(stream, identity);
      stream.heard = heard;
      if (pace !== undefined && batch > pace.shortest && this.isWatched(stream.recording, heard)) batch = pace.shortest;
      let table: TableFile | undefined;
      try {
        table = stream.tables.get(name) ?? this.newTable(stream, name);
        if (stream.resting) refused.set(id, 'it is being sealed');
        else {
          if (stream.done) this.again(stream);
          table.append(filePart, from, bytes[i]!, now);
          this.trouble.wrote(stream.archivePath);
        }
      } catch (error) {
        const failure = this.trouble.failed(stream.archivePath, error);
        if (failure.whole) trouble = failure.message;
        else refused.set(id, failure.message);
      }
      if (table !== undefined) have += `${have === '' ? '' : ','}[${id},"${name}",${table.part},${table.bytes}]`;
    }
    if (trouble === undefined) this.trouble.right();
    const rest: Omit<AppendReply, 'have'> = {};
    if (unknown.length > 0) rest.unknown = unknown;
    if (refused.size > 0) rest.refused = [...refused];
    if (trouble !== undefined) rest.trouble = trouble;
    if (batch > 0) rest.batch = batch;
    if (Object.keys(rest).length === 0) return `{"have":[${have}]}`;
    return `{"have":[${have}],${JSON.stringify(rest).slice(1)}`;
  }

  /** Somebody asks about it: its nodes shall send often for a while. */
  asked(recording: FiledRecording): void {
    recording.watched = true;
    recording.watchedUntil = performance.now() + ASKED_MS;
  }

  private isWatched(recording: FiledRecording, now: number): boolean {
    if (now >= recording.watchedUntil) {
      const isWatched = this.options.isWatched ?? (() => false);
      recording.watchedUntil = now + WATCH_LOOK_MS;
      try {
        recording.watched = this.shelf.folders.in(recording.archivePath, false, isWatched) === true;
      } catch {
        // what cannot be entered is told of when it is written
        recording.watched = false;
      }
    }
    return recording.watched;
  }

  /** Undefined: the stream is not known (any more). */
  record(request: RecordRequest, identity: Identity): RecordReply | undefined {
    return this.guarded(() => this.takeRecord(request, identity));
  }

  private takeRecord(request: RecordRequest, identity: Identity): RecordReply | undefined {
    const stream = this.streams.get(request.stream);
    if (stream === undefined) return undefined;
    this.allow(stream, identity);
    const { recording } = stream;
    stream.heard = performance.now();
    const { agent } = request;
    const isNew = agent === undefined || this.takeAgent(stream, checkedAgent(agent, stream.node));
    if (isNew && request.job !== undefined)
      this.takeJob(recording, asSentBy(identity, checkedJob(request.job)), stream.node);
    if (request.dropped !== undefined && !stream.resting) this.skip(stream, request.dropped);
    const { end } = request;
    if (end === undefined) return request.dropped === undefined ? {} : { tables: positions(stream) };
    for (const [name, position] of Object.entries(end)) {
      if (!isPosition(position)) throw new Unusable(`the end of ${name} is no position`);
      const have = stream.tables.get(name)?.position ?? { part: 1, bytes: 0 };
      if (comparePositions(have, position) < 0) return { done: false, tables: positions(stream) };
    }
    // the agent forgets what it is told is there: job.json too
    if (recording.unsaved) this.saveJob(recording);
    if (recording.unsaved) return { done: false, tables: positions(stream) };
    // said again, as agents do when the scheduler has more to say: it is sealed, or about to be
    if (stream.done) return { done: true };
    this.note(stream, true);
    stream.done = true;
    this.options.done?.(recording);
    return { done: true };
  }

  /** What comes next of a table is not what follows: the rest before it was lost, or was written otherwise. */
  moveTo(stream: FiledStream, table: string, position: Position): void {
    this.guarded(() => stream.tables.get(table)!.moveTo(position));
  }

  /** Forgets a stream; when its agent writes again, it is opened again. */
  forget(stream: FiledStream): void {
    stream.giveBack?.();
    for (const table of stream.tables.values()) table.release();
    this.streams.delete(stream.id);
    const { recording } = stream;
    recording.streams.delete(stream.node);
    if (recording.streams.size === 0 && !recording.unsaved && !recording.finishing) {
      this.recordings.delete(recording.key);
    }
  }

  /** Writes job.json where it has changed; what cannot be written now is tried again the next time. */
  saveJobs(): void {
    const now = performance.now();
    for (const recording of this.recordings.values()) {
      if (recording.unsaved && now >= recording.saveAgain) this.saveJob(recording);
    }
  }

  saveJob(recording: FiledRecording): void {
    try {
      const saved = this.shelf.folders.in(recording.archivePath, true, (folder) =>
        saveJobRecord(folder, recording.job),
      );
      if (saved !== undefined) {
        recording.job = saved;
        recording.unsaved = false;
      }
    } catch (error) {
      recording.saveAgain = performance.now() + SAVE_AGAIN_MS;
      // agents hear of it with their samples
      this.trouble.failed(recording.archivePath, error);
    }
  }

  /** A recording of which only the folder is known. */
  adopt(archivePath: ArchivePath, kind: 'job' | 'fleet', user: string): FiledRecording | undefined {
    const key = archiveFolderKey(archivePath);
    const filed = this.recordings.get(key);
    if (filed !== undefined) return filed;
    const storedJob = this.shelf.folders.in(archivePath, false, (folder) =>
      readRecord<Job>(path.join(folder, 'job.json')),
    );
    if (storedJob === undefined) return undefined;
    const job = filedJob(storedJob);
    const [shelf, name] = archivePath.way as [string, string];
    const recording = this.newRecording(archivePath, kind, user, jobAsFiled(shelf, name, job) ?? job);
    recording.unsaved = false;
    return recording;
  }

  /** A node of a recording as its folder shows it. `agent`: what its agent says of itself, if it has. */
  adoptNode(recording: FiledRecording, node: string, agent?: AgentRecord): FiledStream {
    const stream: FiledStream = {
      id: this.next++,
      node,
      archivePath: below(recording.archivePath, nodePart(node)),
      recording,
      tables: new Map(),
      done: false,
      resting: false,
      heard: 0,
      interval: Number.NaN,
      allowed: undefined,
    };
    this.load(stream, agent);
    recording.streams.set(node, stream);
    this.streams.set(stream.id, stream);
    return stream;
  }

  /** Notes where every table stands, and whether the node is done. */
  note(stream: FiledStream, done: boolean): void {
    this.shelf.folders.in(stream.archivePath, true, (folder) => {
      const received = readReceived(folder);
      for (const table of stream.tables.values()) {
        received.tables[table.name] = table.noted(folder, received.tables[table.name]);
      }
      delete received.done;
      writeReceived(folder, done ? { ...received, done } : received);
    });
  }

  /** Those that are done can be opened again; the others are somebody's. */
  private makeRoom(): void {
    if (this.streams.size < this.mostStreams) return;
    for (const stream of this.streams.values()) {
      if (stream.done && !stream.resting) this.forget(stream);
      if (this.streams.size < this.mostStreams * 0.9) return;
    }
    if (this.streams.size >= this.mostStreams) throw new Busy(`${this.streams.size} recordings are open already`);
  }

  private recordingOf(kind: unknown, job: Job, node: string, identity: Identity): FiledRecording {
    if (kind === 'fleet') {
      if (identity.kind === 'user' || identity.kind === 'administrator')
        throw new Forbidden('only the agent of a node writes what the fleet records');
      const archivePath = { way: ['fleet', dayPart(job.id)], owner: undefined };
      return this.recordings.get(archiveFolderKey(archivePath)) ?? this.findRecording(archivePath, 'fleet', '', job);
    }
    if (kind !== 'job') throw new Unusable('a recording is of a job or of the fleet');
    if (!mayActFor(identity, job.user)) throw new Forbidden(`you may not write for user ${job.user}`);
    // a token has a name alone; the number must then be the one that the system has for it
    if (identity.kind === 'user' && identity.uid >= 0 && identity.uid !== job.uid)
      throw new Forbidden(`you are user number ${identity.uid}, not ${job.uid}`);
    for (const archivePath of this.placesOf(job)) {
      const filed =
        this.recordings.get(archiveFolderKey(archivePath)) ?? this.findRecording(archivePath, 'job', job.user, job);
      if (isSameJob(filed.job, job) && !isNextRun(this.agentOf(filed, node), job)) return filed;
      if (filed.streams.size === 0 && !filed.finishing && !filed.unsaved) this.recordings.delete(filed.key);
    }
    throw new Unusable(`job ${job.id} of user ${job.user} is there too often`);
  }

  /** Where a job may be filed, one after the other. What others write to comes first: nothing has to be read for that. */
  private *placesOf(job: Job): Generator<ArchivePath> {
    const user = userPart(job);
    const { owners } = this.shelf.folders;
    const owner = !isNobodys(job) ? owners.find(job.user, job.uid) : owners.separate ? ROOT : undefined;
    const all = [...candidates(filedPart(job), job.cluster)].map((name): ArchivePath => ({ way: [user, name], owner }));
    const isOpen = (archivePath: ArchivePath): boolean =>
      (this.recordings.get(archiveFolderKey(archivePath))?.streams.size ?? 0) > 0;
    const open = all.filter(isOpen);
    yield* open;
    const before = bytesRead();
    for (const archivePath of all) {
      if (open.includes(archivePath)) continue;
      if (bytesRead() - before > MOST_RECORDS) throw tooLong(all[0]!, 'read for one request');
      yield archivePath;
    }
  }

  /** The archive has something of the node, and does not know that there is no more. */
  isWaiting(kind: 'job' | 'fleet', job: Job, node: string): boolean {
    const { folders: archiveFolders } = this.shelf;
    const isWaiting = (): boolean => {
      const isThere = (archivePath: ArchivePath): boolean => archiveFolders.in(archivePath, false, () => true) === true;
      const waits = (archivePath: ArchivePath): boolean =>
        archiveFolders.in(below(archivePath, nodePart(node)), false, (folder) => readReceived(folder).done !== true) ===
        true;
      if (kind === 'fleet') return waits({ way: ['fleet', dayPart(job.id)], owner: undefined });
      for (const archivePath of this.placesOf(job)) {
        if (!isThere(archivePath)) return false;
        if (waits(archivePath)) return true;
      }
      return false;
    };
    return this.guarded(() => this.withinBudget(kind, job, isWaiting));
  }

  /** What a node has said of itself in a recording; undefined: nothing yet. */
  private agentOf(recording: FiledRecording, node: string): AgentRecord | undefined {
    const archivePath = below(recording.archivePath, nodePart(node));
    return this.shelf.folders.in(archivePath, false, (folder) =>
      readRecord<AgentRecord>(path.join(folder, 'agent.json')),
    );
  }

  private findRecording(archivePath: ArchivePath, kind: 'job' | 'fleet', user: string, job: Job): FiledRecording {
    return this.adopt(archivePath, kind, user) ?? this.newRecording(archivePath, kind, user, job);
  }

  private newRecording(archivePath: ArchivePath, kind: 'job' | 'fleet', user: string, job: Job): FiledRecording {
    const recording: FiledRecording = {
      key: archiveFolderKey(archivePath),
      archivePath,
      kind,
      user,
      job,
      unsaved: true,
      saveAgain: 0,
      streams: new Map(),
      ended: 0,
      finishing: false,
      watched: false,
      watchedUntil: 0,
    };
    this.recordings.set(recording.key, recording);
    return recording;
  }

  private load(stream: FiledStream, agent: AgentRecord | undefined): void {
    const { folders: archiveFolders } = this.shelf;
    archiveFolders.in(stream.archivePath, true, (folder) => {
      const received = readReceived(folder);
      const { tables, loose, temporary } = nodeFiles(folder, MOST_FILES);
      // whoever was writing these was stopped
      for (const name of temporary) {
        if (fs.lstatSync(path.join(folder, name)).isFile()) fs.rmSync(path.join(folder, name), { force: true });
      }
      const written = tableNames(agent ?? readRecord<AgentRecord>(path.join(folder, 'agent.json')));
      const others = MOST_TABLES - Math.max(written.length, AGENTS_TABLES);
      const there = new Set([...Object.keys(received.tables), ...tables.keys()]);
      // what its agent writes comes first: others may have put there what they like
      const more = [...there].filter((name) => isTableName(name) && !written.includes(name)).slice(0, others);
      for (const name of [...written.filter((each) => there.has(each)), ...more]) {
        const file = new TableFile(this.shelf, stream.archivePath, name, tables.get(name), received.tables[name]);
        stream.tables.set(name, file);
      }
      stream.done = received.done === true;
      for (const name of loose) this.shelf.rolled(stream.archivePath, name);
    });
  }

  private newTable(stream: FiledStream, name: string): TableFile {
    if (!isTableName(name)) throw new Unusable(`"${name.slice(0, 80)}" cannot be the name of a table`);
    if (stream.tables.size >= MOST_TABLES) throw new Unusable(`more than ${MOST_TABLES} tables`);
    const table = new TableFile(this.shelf, stream.archivePath, name, undefined, undefined);
    stream.tables.set(name, table);
    return table;
  }

  /** More comes from a node that was done. */
  private again(stream: FiledStream): void {
    this.note(stream, false);
    stream.done = false;
  }

  private skip(stream: FiledStream, dropped: NonNullable<RecordRequest['dropped']>): void {
    if (!Array.isArray(dropped) || dropped.length > MOST_TABLES * 16) throw new Unusable('what was dropped is no list');
    for (const { table: name, from, to } of dropped) {
      if (!isTableName(name) || !isPosition(from) || !isPosition(to))
        throw new Unusable('what was dropped has no table or no position');
      const table = stream.tables.get(name) ?? this.newTable(stream, name);
      const here = table.position;
      if (comparePositions(here, from) >= 0 && comparePositions(here, to) < 0) table.moveTo(to);
    }
    this.shelf.folders.in(stream.archivePath, true, (folder) => {
      const received = readReceived(folder);
      const knownDrops = new Set(
        (received.dropped ?? []).map((each) => JSON.stringify([each.table, each.from, each.to])),
      );
      const fresh = dropped.filter((each) => !knownDrops.has(JSON.stringify([each.table, each.from, each.to])));
      if (fresh.length > 0) writeReceived(folder, { ...received, dropped: [...(received.dropped ?? []), ...fresh] });
    });
  }

  /** Throws `Forbidden` when this one may send nothing, whatever it is. */
  allowSender(identity: Identity): void {
    if (identity.kind === 'user' && this.options.usersWrite !== true)
      throw new Forbidden('this hub takes recordings from the agents of nodes alone (trust.users_write)');
  }

  private allow(stream: FiledStream, identity: Identity): void {
    const { recording } = stream;
    this.allowSender(identity);
    // what agents sent of a user's job is not the user's to change
    const isSender = identity.kind !== 'user' || recording.job.recorded_by === 'user';
    const own = recording.kind === 'fleet' ? identity.kind !== 'user' : isSender && mayActFor(identity, recording.user);
    if (!own || !mayWriteAs(identity, stream.node)) throw new Forbidden('this recording is not yours');
    stream.allowed = identity;
  }

  /** False: it has said more by now. */
  private takeAgent(stream: FiledStream, agent: AgentRecord): boolean {
    const isNew = this.shelf.folders.in(stream.archivePath, true, (folder) => {
      const file = path.join(folder, 'agent.json');
      if (stream.done && isEarlier(agent, readRecord<AgentRecord>(file))) return false;
      replaceRecord(file, agent);
      return true;
    });
    if (isNew === false) return false;
    stream.interval = agent.interval_seconds;
    if (agent.end !== undefined) stream.recording.ended = Math.max(stream.recording.ended, agent.end);
    return true;
  }

  private takeJob(recording: FiledRecording, reportedJob: Job, node: string): void {
    const job = reportedJob.nodes.includes(node)
      ? reportedJob
      : { ...reportedJob, nodes: [...reportedJob.nodes, node] };
    if (new Set([...recording.job.nodes, ...job.nodes]).size > MOST_NODES)
      throw new Unusable('the job has too many nodes');
    const fresh = recording.unsaved && recording.streams.size <= 1;
    const merged = mergeJobs(recording.job, job);
    if (!fresh && JSON.stringify(merged) === JSON.stringify(recording.job)) return;
    recording.job = merged;
    recording.unsaved = true;
    // a recording is readable from its first moment; later changes may wait a second
    if (fresh) this.saveJob(recording);
  }
}

/**
 * What an agent said before its last word, in a request that it gave up: after a cut in the network the kernel still
 * delivers it. An agent that goes on with the recording counts its ticks on.
 */
const isEarlier = (agent: AgentRecord, last: AgentRecord | undefined): boolean =>
  last !== undefined && agent.start === last.start && agent.ticks < last.ticks;

const tooLong = (archivePath: ArchivePath, what: string): ArchiveFolderError =>
  new ArchiveFolderError(
    archivePath,
    new Unusable(`records of this job number in the user's folder are too long to be ${what}`),
  );

/** The tables that an agent says it writes. */
function tableNames(agent: AgentRecord | undefined): string[] {
  const tables: unknown[] = Array.isArray(agent?.tables) ? agent.tables.slice(0, MOST_TABLES) : [];
  const names = tables.map((table) => String((table as { name?: unknown } | null)?.name));
  return [...new Set(names)].filter(isTableName);
}

/** A job says of itself that its user sent it only when that is so. */
function asSentBy(identity: Identity, job: Job): Job {
  const { recorded_by, ...rest } = job;
  if (identity.kind === 'user') return { ...rest, recorded_by: 'user' };
  // from Kafka, or a hub that asks nobody
  return identity.kind === 'anyone' && recorded_by === 'user' ? job : rest;
}

export function positions(stream: FiledStream): Record<string, Position> {
  return Object.fromEntries([...stream.tables].map(([name, table]) => [name, table.position]));
}
