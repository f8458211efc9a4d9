import * as fs from 'node:fs';
import * as path from 'node:path';
import { stated } from '../../base/stated.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { tableOf } from '../../recording/folder/describe.ts';
import type { Job } from '../../recording/folder/job.ts';
import { liveName } from '../../recording/folder/part-name.ts';
import { BEGINNING, type Position } from '../../recording/live/position.ts';
import { isOurs } from '../../recording/live/stream.ts';
import { type Lines, Tail } from '../../recording/live/tail.ts';
import type { Table } from '../../table/table.ts';
import { Visits } from '../hub/visits.ts';
import type { StreamState, Streams } from '../spool/streams.ts';
import { tableVersion } from '../table-version.ts';
import type { Reached } from './journal.ts';
import type { KafkaMessage } from './link.ts';
import { jobKey, type Naming, namingFor, type RecordTopic, recordTopic, rowTopic, runOf } from './names.ts';
import { KafkaRows } from './rows.ts';

/** What one transaction holds. */
export interface KafkaBatch {
  /** Sent one after the other: a request for each, none larger than brokers take. */
  batches: KafkaMessage[][];
  topics: Map<string, { name: string; compact: boolean }>;
  reached: Reached;
  rows: number;
  /** There was more than fits. */
  more: boolean;
  /** To be remembered once it is stored. */
  sent: [key: string, record: SentRecord][];
  /** Streams of which it says where they end. */
  ends: Followed[];
}

/** Brokers refuse requests beyond 1 MiB for a partition, as they are configured by default. */
const LARGEST_REQUEST = 700_000;
/** The client makes a dozen objects of each message: this bounds how many there are at once. */
const MOST_MESSAGES = 2000;
/** Rows that no broker takes are left out. */
const LARGEST_ROW = LARGEST_REQUEST;
/** What a message takes besides its value: key, headers, lengths. */
const ENVELOPE = 100;
/** CSV that is read of one table at once, and of all for one transaction. */
const READ_TABLE = 128 << 10;
const READ_ALL = 512 << 10;
/** How often the changing figures in agent.json (ticks, cost) are sent, in milliseconds. */
const AGENT_EVERY = 30_000;
/** A stream that has ended and brought nothing is looked at once in so many rounds. */
const ENDED_EVERY = 20;

interface Followed {
  tails: Map<string, { tail: Tail; rows: KafkaRows; agent: AgentRecord | undefined }>;
  quiet: number;
  /** With what records it was said where each table ends, and whether that is stored. */
  end?: { job: Job; agent: AgentRecord | undefined; stored: boolean } | undefined;
}

/** What was said under a key: as it was sent, and the object that it was made of, which is replaced when it changes. */
interface SentRecord {
  value: string;
  content: object;
}

/** How far everything is stored. */
export interface Stored {
  position(stream: string, table: string): Position | undefined;
  forget(stream: string, table: string): void;
}

/** Collects what the streams have behind the positions, as messages. */
export class KafkaCollector {
  private readonly root: string;
  private readonly naming: Naming;
  private readonly journal: Stored;
  private readonly followed = new Map<string, Followed>();
  private readonly sent = new Map<string, SentRecord>();
  private readonly agentSent = new Map<string, number>();
  private readonly visits: Visits;
  private round = 0;
  /** Lines that are no rows, and rows that are too long. */
  passedOver = 0;

  /** `streams`: those that are collected from. */
  constructor(root: string, naming: Naming, journal: Stored, streams: Streams) {
    this.visits = new Visits(streams);
    this.root = root;
    this.naming = naming;
    this.journal = journal;
  }

  key(stream: { folder: string }): string {
    return path.relative(this.root, stream.folder);
  }

  /** `all`: also those that seem to have ended long ago. */
  collect(streams: readonly StreamState[], all: boolean, steady = performance.now()): KafkaBatch {
    const now = Date.now();
    const batch: KafkaBatch = {
      batches: [[]],
      topics: new Map(),
      reached: {},
      rows: 0,
      more: false,
      sent: [],
      ends: [],
    };
    const sizes = new Map<string, number>();
    let read = 0;
    this.round++;
    this.visits.nextRound();
    this.forget(streams);
    // another one first in every round: a long one does not keep the others waiting
    for (let i = 0; i < streams.length; i++) {
      const stream = streams[(i + this.round) % streams.length]!;
      if (!all && !this.visits.isDue(stream)) continue;
      const key = this.key(stream);
      const followed: Followed = this.followed.get(key) ?? { tails: new Map(), quiet: 0 };
      this.followed.set(key, followed);
      if (!isEndOf(followed.end, stream)) followed.end = undefined;
      if (!all && followed.end !== undefined && followed.quiet > 2 && this.round % ENDED_EVERY !== 0) continue;
      if (read >= READ_ALL) {
        batch.more = true;
        break;
      }
      const before = read;
      const messages = countOf(batch);
      if (followed.end === undefined) this.records(stream, key, batch, sizes, steady);
      for (const table of stream.parts.keys()) read += this.rows(stream, key, followed, table, batch, sizes, now);
      followed.quiet = stream.ended && read === before ? followed.quiet + 1 : 0;
      const isAtRest = this.visits.visited(stream, steady, read === before && countOf(batch) === messages);
      if (isAtRest) for (const { tail } of followed.tails.values()) tail.close();
      if (!stream.ended) continue;
      if (followed.quiet === 0) {
        // the next round, which comes at once, finds nothing left and says where it ends
        batch.more = true;
        followed.end = undefined;
      }
      // nothing is left of it, and everything before was stored: those who file it may close the book
      else if (followed.end === undefined) this.end(stream, key, followed, batch, sizes);
    }
    if (batch.batches.at(-1)!.length === 0) batch.batches.pop();
    return batch;
  }

  /** It was stored: what was said need not be said again. */
  stored(batch: KafkaBatch): void {
    for (const [key, record] of batch.sent) this.sent.set(key, record);
    for (const { end } of batch.ends) if (end !== undefined) end.stored = true;
  }

  /** All of it is stored, and so is where it ends. */
  isDone(stream: StreamState): boolean {
    const end = this.followed.get(this.key(stream))?.end;
    return isEndOf(end, stream) && end?.stored === true;
  }

  /** It may not have been: what was said of the nodes is said again. */
  failed(): void {
    this.visits.forgetAll();
    this.agentSent.clear();
    for (const followed of this.followed.values()) if (followed.end?.stored === false) followed.end = undefined;
  }

  close(): void {
    for (const { tails } of this.followed.values()) for (const { tail } of tails.values()) tail.close();
  }

  private rows(
    stream: StreamState,
    key: string,
    followed: Followed,
    table: string,
    batch: KafkaBatch,
    sizes: Map<string, number>,
    now: number,
  ): number {
    let one = followed.tails.get(table);
    if (one === undefined || one.agent?.tables !== stream.agent?.tables) {
      const described = tableOf(nodeOf(stream), table);
      const rows = new KafkaRows(table, described, stream.node, stream.job);
      one = { tail: one?.tail ?? new Tail(stream.folder, table, stream.owner), rows, agent: stream.agent };
      followed.tails.set(table, one);
    }
    one.tail.listed = stream.owner === undefined ? undefined : stream.parts.get(table);
    let position = this.positionOf(stream, key, table);
    let read = 0;
    while (read < READ_TABLE) {
      const lines = one.tail.wholeLines(position, READ_TABLE - read, stream.ended);
      if (lines === undefined) {
        // of what has ended nothing more will come: its descriptor can go
        if (stream.ended) one.tail.close();
        return read;
      }
      position = lines.next;
      if (lines.bytes.length === 0) read = READ_TABLE;
      else this.lines(stream, one.rows, table, lines, batch, sizes, now);
      read += lines.bytes.length;
      batch.reached[key] = { ...batch.reached[key], [table]: [position.part, position.bytes] };
    }
    batch.more = true;
    return read;
  }

  /** Where to go on. What a hub files after a recording was sealed is in files that begin anew. */
  private positionOf(stream: StreamState, key: string, table: string): Position {
    const position = this.journal.position(key, table);
    if (position === undefined) return BEGINNING;
    const tableParts = stream.parts.get(table);
    if (tableParts === undefined || tableParts.numbered.length > 0) return position;
    const file = path.join(stream.folder, liveName(table));
    const size = fs.statSync(file, { throwIfNoEntry: false })?.size;
    if (size === undefined || (position.part === 1 && size >= position.bytes)) return position;
    if (!fs.existsSync(path.join(stream.folder, `${table}.parquet`))) return position;
    this.journal.forget(key, table);
    return BEGINNING;
  }

  private lines(
    stream: StreamState,
    reader: KafkaRows,
    table: string,
    lines: Lines,
    batch: KafkaBatch,
    sizes: Map<string, number>,
    now: number,
  ): void {
    const bad = reader.bad;
    const rows = reader.read(lines);
    this.passedOver += reader.bad - bad;
    if (rows.length === 0) return;
    const topic = rowTopic(namingFor(this.naming, stream.job), stream.job.user, table);
    const { version } = reader;
    const run = stream.agent === undefined ? {} : { run: runOf(stream.agent) };
    this.definition(reader.table!, stream.job, batch, sizes);
    batch.topics.set(topic, { name: topic, compact: false });
    for (const { value, time, position } of rows) {
      if (value.length > LARGEST_ROW) {
        this.passedOver++;
        continue;
      }
      this.add(batch, sizes, {
        topic,
        key: rowKey(stream),
        value,
        headers: { table: version, position: `${position.part}:${position.bytes}`, ...run },
        // brokers refuse what comes from the future
        timestamp: BigInt(Math.min(Math.floor(time / 1000), now)),
      });
      batch.rows++;
    }
  }

  /** job.json and agent.json, when they have changed. */
  private records(
    stream: StreamState,
    key: string,
    batch: KafkaBatch,
    sizes: Map<string, number>,
    steady: number,
  ): void {
    const { job, agent, node } = stream;
    this.record(batch, sizes, 'jobs', job, jobKey(job), job);
    if (agent === undefined) return;
    const which = `${key} ${runOf(agent)}`;
    const sent = this.agentSent.get(which) ?? 0;
    if (sent > 0 && agent.end === undefined && steady - sent < AGENT_EVERY) return;
    this.agentSent.set(which, steady);
    for (const table of agent.tables) this.definition(table, job, batch, sizes);
    this.record(batch, sizes, 'nodes', job, nodeKey(job, node, agent), nodeRecord(stream, agent));
  }

  /** The node writes no more, and this is where each table ends. */
  private end(
    stream: StreamState,
    key: string,
    followed: Followed,
    batch: KafkaBatch,
    sizes: Map<string, number>,
  ): void {
    followed.end = { job: stream.job, agent: stream.agent, stored: false };
    batch.ends.push(followed);
    if (stream.agent === undefined) return;
    const end: Record<string, Position> = {};
    // of what was sealed the parts are gone
    for (const table of new Set([...stream.parts.keys(), ...stream.agent.tables.map(({ name }) => name)])) {
      const position = this.journal.position(key, table);
      if (position !== undefined) end[table] = position;
    }
    const topicKey = nodeKey(stream.job, stream.node, stream.agent);
    batch.sent = batch.sent.filter(([sent]) => !sent.endsWith(` ${topicKey}`));
    const endRecord = { ...nodeRecord(stream, stream.agent), end };
    this.record(batch, sizes, 'nodes', stream.job, topicKey, endRecord);
  }

  private definition(table: Table, job: Job, batch: KafkaBatch, sizes: Map<string, number>): void {
    const version = tableVersion(table);
    this.record(batch, sizes, 'tables', job, `${table.name} ${version}`, { ...table, version });
  }

  private record(
    batch: KafkaBatch,
    sizes: Map<string, number>,
    what: RecordTopic,
    job: Job,
    key: string,
    content: object,
  ): void {
    const topic = recordTopic(namingFor(this.naming, job), job.user, what);
    const id = `${topic} ${key}`;
    const sent = this.sent.get(id);
    // a definition never changes under its key; of a job with many nodes each of them says the same
    if (sent !== undefined && (what === 'tables' || sent.content === content)) return;
    if (batch.sent.some(([other]) => other === id)) return;
    const value = JSON.stringify(content);
    if (sent?.value === value) {
      sent.content = content;
      return;
    }
    if (value.length > LARGEST_ROW) {
      this.passedOver++;
      this.sent.set(id, { value, content });
      return;
    }
    batch.topics.set(topic, { name: topic, compact: true });
    batch.sent.push([id, { value: what === 'tables' ? '' : value, content: what === 'tables' ? NOTHING : content }]);
    this.add(batch, sizes, { topic, key, value, headers: {}, timestamp: BigInt(Date.now()) });
  }

  private add(batch: KafkaBatch, sizes: Map<string, number>, message: KafkaMessage): void {
    const { topic } = message;
    const size = Buffer.byteLength(message.value ?? '') + ENVELOPE;
    if ((sizes.get(topic) ?? 0) + size > LARGEST_REQUEST || batch.batches.at(-1)!.length === MOST_MESSAGES) {
      batch.batches.push([]);
      sizes.clear();
    }
    sizes.set(topic, (sizes.get(topic) ?? 0) + size);
    batch.batches.at(-1)!.push(message);
  }

  private forget(streams: readonly StreamState[]): void {
    if (this.followed.size <= streams.length) return;
    const there = new Set(streams.map((stream) => this.key(stream)));
    for (const key of this.followed.keys()) if (!there.has(key)) this.drop(key);
  }

  /** The recording has gone. */
  drop(key: string): void {
    const followed = this.followed.get(key);
    for (const { tail } of followed?.tails.values() ?? []) tail.close();
    this.followed.delete(key);
    if (followed?.end !== undefined) this.forgetTold(followed.end);
    for (const which of this.agentSent.keys()) if (which.startsWith(`${key} `)) this.agentSent.delete(which);
  }

  private forgetTold({ job, agent }: { job: Job; agent: AgentRecord | undefined }): void {
    const naming = namingFor(this.naming, job);
    this.sent.delete(`${recordTopic(naming, job.user, 'jobs')} ${jobKey(job)}`);
    if (agent === undefined) return;
    this.sent.delete(`${recordTopic(naming, job.user, 'nodes')} ${nodeKey(job, agent.node, agent)}`);
  }
}

/** Definitions are not kept: there is one under each key. */
const NOTHING = {};

/** The value in the topic of nodes: job.json and agent.json; definitions of tables are in a topic of their own. */
export interface NodeRecord {
  node: string;
  job: Job;
  agent: Omit<AgentRecord, 'tables'> & { tables: { name: string; version: string }[] };
  /** The node writes no more, and this is where each table ends. */
  end?: Record<string, Position>;
}

/** All rows of a node are in one partition; a user's word for a node is not the node's. */
const rowKey = (stream: StreamState): string => {
  const { job, node } = stream;
  return job.recorded_by === undefined && isOurs(stream) ? node : `${job.user}/${node}`;
};

const nodeKey = (job: Job, node: string, agent: AgentRecord): string => `${jobKey(job)} ${node} ${runOf(agent)}`;

function nodeRecord({ node, job }: StreamState, agent: AgentRecord): NodeRecord {
  const tables = agent.tables.map((table) => ({ name: table.name, version: tableVersion(table) }));
  return { node, job, agent: { ...agent, tables } };
}

/** Nothing has changed since it was said. */
const isEndOf = (end: Followed['end'], stream: StreamState): boolean =>
  stream.ended && end?.job === stream.job && end.agent === stream.agent;

const countOf = ({ batches }: KafkaBatch): number => batches.reduce((sum, each) => sum + each.length, 0);

/** As readers of a recording see it. */
const nodeOf = (stream: StreamState) => ({
  name: stream.node,
  folder: stream.folder,
  tables: new Map(),
  ...stated({ agent: stream.agent }),
});
