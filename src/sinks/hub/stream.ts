import * as fs from 'node:fs';
import * as path from 'node:path';
import { greatest, smallest } from '../../base/extremes.ts';
import { isUnwritable } from '../../base/fault.ts';
import { made } from '../../base/made.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import type { Job } from '../../recording/folder/job.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { BEGINNING, comparePositions, type Position } from '../../recording/live/position.ts';
import { type Run, Tail } from '../../recording/live/tail.ts';
import { Backoff } from '../backoff.ts';
import { type Dropped, readDropped, writeDropped } from '../spool/dropped.ts';
import type { StreamState } from '../spool/streams.ts';
import type { OpenReply, OpenRequest, RecordRequest } from './protocol.ts';
import { PROTOCOL } from './protocol.ts';
import { renumber } from './renumber.ts';

/** Only these change in an agent's record while nothing happens; they are sent now and then. */
const VOLATILE: readonly (keyof AgentRecord)[] = ['ticks', 'late_ticks', 'missed_ticks', 'last_sample', 'cost'];
const VOLATILE_SECONDS = 600;
/** Which hubs know this folder's streams, in the node's folder. */
const KNOWN = '.hubs';

/** One stream as one hub knows it. */
export class HubStream {
  state: StreamState;
  /** The hub's number for it; undefined: to be opened (again). */
  id: number | undefined;
  /** What the hub has. */
  readonly have = new Map<string, Position>();
  /** How far something was ever sent, answered or not. */
  readonly sent = new Map<string, Position>();
  /** The state with which the hub said that all is there. */
  private doneWith: StreamState | undefined;
  /** Not to be tried again before, and why: by the steady clock, in milliseconds. */
  blocked: { until: number; why: string } | undefined;
  /** Between attempts to store what the hub cannot store just now. */
  private readonly backoff = new Backoff();
  private readonly address: string;
  /** The hub has been told of what this folder has, and whether that is still to be noted there. */
  private isKnown = false;
  private unnoted = false;
  private readonly tails = new Map<string, Tail>();
  private saidAgent = '';
  private saidAgentAt = 0;
  private seenAgent: AgentRecord | undefined;
  private saidJob = '';
  private seenJob: Job | undefined;

  constructor(state: StreamState, address: string) {
    this.state = state;
    this.address = address;
  }

  /** The hub cannot take it for so long (seconds), or for a while: then it is opened again. */
  block(why: string, seconds = this.backoff.next()): void {
    this.id = undefined;
    this.blocked = { until: performance.now() + seconds * 1000, why };
  }

  /** The hub has stored something of it. */
  moved(): void {
    this.backoff.reset();
    if (this.unnoted) this.note();
  }

  /** On a spool that is full it is noted later: only sending makes room. */
  private note(): void {
    const { folder } = this.state;
    this.unnoted = !isWritten(() => replaceJson(path.join(folder, KNOWN), [...knownHubs(folder), this.address]));
  }

  get done(): boolean {
    const { doneWith, state } = this;
    return doneWith !== undefined && state.ended && doneWith.agent === state.agent && doneWith.job === state.job;
  }

  opening(agent: AgentRecord): OpenRequest {
    const { node, kind, job } = this.state;
    return { protocol: PROTOCOL, node, kind, job, agent: this.withDropped(agent) };
  }

  opened(reply: OpenReply, agent: AgentRecord): void {
    const { folder, job } = this.state;
    if (!this.isKnown && !knownHubs(folder).includes(this.address)) {
      if (Object.keys(reply.tables).length > 0) {
        this.closeTails();
        renumber(folder, reply.tables);
      }
      this.isKnown = true;
      this.unnoted = true;
      this.note();
    }
    this.id = reply.stream;
    this.adopt(reply.tables);
    this.agentSaid(agent);
    this.seenJob = job;
    this.saidJob = JSON.stringify(job);
  }

  /** What the hub says that it has is what counts. */
  adopt(tables: Readonly<Record<string, Position>>): void {
    this.have.clear();
    for (const [table, position] of Object.entries(tables)) this.have.set(table, position);
  }

  read(table: string, maxBytes: number): Run | undefined {
    const tail = made(this.tails, table, () => new Tail(this.state.folder, table));
    return tail.read(this.have.get(table) ?? BEGINNING, maxBytes, this.state.ended);
  }

  /** A run that does not follow on what the hub has: what lies between is not there (any more), and it must be told. */
  gapBefore(table: string, run: Run): NonNullable<RecordRequest['dropped']>[number] | undefined {
    const have = this.have.get(table) ?? BEGINNING;
    if (run.part === have.part) return undefined;
    if (run.part === have.part + 1 && have.bytes > 0) return undefined;
    const to = { part: run.part, bytes: 0 };
    const all = readDropped(this.state.folder);
    const inside = all.filter(
      (each) =>
        each.sink === 'hub' &&
        each.table === table &&
        comparePositions(each.to, have) > 0 &&
        comparePositions(each.from, to) < 0,
    );
    const fresh = inside.filter((each) => each.missed === undefined);
    for (const each of fresh) each.missed = true;
    if (fresh.length > 0) isWritten(() => writeDropped(this.state.folder, all));
    return { table, from: have, to, ...total(inside) };
  }

  /** What has changed in agent.json and job.json since the hub was told. */
  news(): Pick<RecordRequest, 'agent' | 'job'> | undefined {
    const { agent, job } = this.state;
    const news: Pick<RecordRequest, 'agent' | 'job'> = {};
    if (agent !== undefined && agent !== this.seenAgent) {
      const old = performance.now() - this.saidAgentAt > VOLATILE_SECONDS * 1000;
      if (old || fingerprint(agent) !== this.saidAgent) news.agent = this.withDropped(agent);
      else this.seenAgent = agent;
    }
    if (job !== this.seenJob) {
      if (JSON.stringify(job) !== this.saidJob) news.job = job;
      else this.seenJob = job;
    }
    return news.agent === undefined && news.job === undefined ? undefined : news;
  }

  recordsSent(agent: AgentRecord | undefined, job: Job | undefined): void {
    if (agent !== undefined) this.agentSaid(agent);
    if (job === undefined) return;
    this.seenJob = job;
    this.saidJob = JSON.stringify(job);
  }

  /** The whole truth at the end. */
  ending(): Omit<RecordRequest, 'stream'> {
    const { agent, job } = this.state;
    return {
      ...(agent === undefined ? {} : { agent: this.withDropped(agent) }),
      job,
      end: Object.fromEntries(this.have),
    };
  }

  isDone(): void {
    this.doneWith = this.state;
    this.closeTails();
  }

  closeTails(): void {
    for (const tail of this.tails.values()) tail.close();
    this.tails.clear();
  }

  private agentSaid(agent: AgentRecord): void {
    this.seenAgent = agent;
    this.saidAgent = fingerprint(agent);
    this.saidAgentAt = performance.now();
  }

  /** What other sinks missed is no matter of the hub; nor is what it turned out to have. */
  private withDropped(agent: AgentRecord): AgentRecord {
    const { dropped: _, ...rest } = agent;
    const missed = readDropped(this.state.folder).filter(
      (each) =>
        each.sink === 'hub' &&
        (each.missed === true || comparePositions(each.to, this.have.get(each.table) ?? BEGINNING) > 0),
    );
    if (missed.length === 0) return rest;
    return { ...rest, dropped: missed.map(({ sink: _sink, missed: _missed, ...each }) => each) };
  }
}

/** False: the spool takes nothing just now. */
function isWritten(write: () => void): boolean {
  try {
    write();
    return true;
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    return false;
  }
}

function fingerprint(agent: AgentRecord): string {
  return JSON.stringify(agent, (key, value) => (VOLATILE.includes(key as keyof AgentRecord) ? undefined : value));
}

function total(dropped: readonly Dropped[]): { rows: number; first?: number; last?: number } {
  const times = (key: 'first' | 'last'): number[] =>
    dropped.flatMap((each) => (each[key] === undefined ? [] : [each[key]]));
  const first = times('first');
  const last = times('last');
  return {
    rows: dropped.reduce((sum, each) => sum + each.rows, 0),
    ...(first.length > 0 ? { first: smallest(first) } : {}),
    ...(last.length > 0 ? { last: greatest(last) } : {}),
  };
}

function knownHubs(folder: string): string[] {
  try {
    const hubs: unknown = JSON.parse(fs.readFileSync(path.join(folder, KNOWN), 'utf8'));
    return Array.isArray(hubs) ? hubs.filter((each) => typeof each === 'string') : [];
  } catch {
    // none yet
    return [];
  }
}
