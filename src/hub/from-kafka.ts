import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { AgentRecord } from '../recording/agent-record.ts';
import { isFleet } from '../sinks/fleet.ts';
import type { AppendReply, OpenReply } from '../sinks/hub-protocol.ts';
import type { NodeRecord } from '../sinks/kafka-batch.ts';
import type { KafkaConnection } from '../sinks/kafka-client.ts';
import { isOwnTopic, jobKey, runOf, topicHolds } from '../sinks/kafka-names.ts';
import type { Table } from '../table/table.ts';
import type { Identity } from '../trust/identity.ts';
import { Unwritable } from './archive-trouble.ts';
import { type FiledStream, type Filing, Forbidden } from './filing.ts';
import { type Following, follow, type TextMessage } from './kafka-follow.ts';
import { KafkaLines, type RowIdentity } from './kafka-lines.ts';
import { dayPart, filedPart, isTableName, nodePart, Unusable, userPart } from './names.ts';
import { candidates } from './namesakes.ts';
import { readReceived } from './received.ts';

export interface FromKafkaOptions extends KafkaConnection {
  readonly archive: string;
  readonly filing: Filing;
  readonly prefix?: string;
  /** Offsets are kept under this name; by default one for this host and archive. */
  readonly group?: string;
  tell?(text: string): void;
}

export interface FromKafka {
  /** What keeps it from reading or filing, in words. */
  readonly trouble: string | undefined;
  readonly rows: number;
  /** Rows that could not be filed for good. */
  readonly passedOver: number;
  close(): Promise<void>;
}

/** Definitions and records are stored together with the rows; other partitions may be read a little later. */
const PATIENCE_MS = 60_000;
/** What is missing for no longer than this is nothing to tell of. */
const USUAL_MS = 10_000;
/** Who may write to the topics was for the brokers to decide. */
const TRUSTED: Identity = { kind: 'anyone' };

class Later extends Error {}

/** The archive takes nothing just now. However long that lasts, nothing is given up. */
class Blocked extends Later {}

/**
 * Builds the archive that a hub builds, from the topics. A row carries its position in what its node wrote, and is turned
 * into the same bytes again: as when agents send them, what the archive has already is not written twice. So it does
 * not matter where reading begins again after a crash.
 */
export function startFromKafka(options: FromKafkaOptions): FromKafka {
  const prefix = options.prefix ?? 'tacho';
  const id = createHash('sha256').update(path.resolve(options.archive)).digest('hex').slice(0, 12);
  const group = options.group ?? `${prefix}.hub.${os.hostname()}.${id}`;
  const filer = new Filer(options.filing, prefix);
  const troubles = new Map<string, string>();
  const trouble = (who: string) => (text: string | undefined) => {
    if (troubles.get(who) === text) return;
    if (text === undefined) troubles.delete(who);
    else {
      // both read from the same brokers
      const said = [...troubles.values()].includes(text);
      troubles.set(who, text);
      if (!said) options.tell?.(`kafka: ${text}`);
    }
  };
  const { brokers, tls, sasl } = options;
  const connection = { brokers, ...(tls === undefined ? {} : { tls }), ...(sasl === undefined ? {} : { sasl }) };
  const isRecords = (topic: string): boolean => {
    const holds = topicHolds(prefix, topic);
    return holds === 'tables' || holds === 'nodes';
  };
  const followers: Following[] = [
    follow({
      connection,
      group: `${group}.records`,
      from: 'beginning',
      wanted: isRecords,
      take: (messages) => {
        for (const message of messages) {
          if (topicHolds(prefix, message.topic) === 'tables') filer.takeTable(message);
          else filer.takeNode(message);
        }
        filer.tryEnds();
      },
      trouble: trouble('records'),
    }),
    follow({
      connection,
      group,
      from: 'committed',
      wanted: (topic) => topicHolds(prefix, topic) === 'rows',
      take: (messages) => {
        filer.takeRows(messages);
        filer.tryEnds();
      },
      trouble: (text) => {
        if (text === undefined || !filer.isExpected(text)) trouble('rows')(text);
      },
    }),
  ];
  return {
    get trouble() {
      return [...troubles.values()][0];
    },
    get rows() {
      return filer.rows;
    },
    get passedOver() {
      return filer.passedOver;
    },
    async close() {
      await Promise.all(followers.map((each) => each.close()));
    },
  };
}

interface Known {
  record: NodeRecord;
  stream: number;
}

export class Filer {
  rows = 0;
  passedOver = 0;
  private readonly filing: Filing;
  private readonly prefix: string;
  private readonly tables = new Map<string, { table: Table; lines: KafkaLines }>();
  private readonly nodes = new Map<string, Known>();
  private readonly ends = new Set<string>();
  private readonly missed = new Map<string, number>();

  constructor(filing: Filing, prefix = 'tacho') {
    this.filing = filing;
    this.prefix = prefix;
  }

  takeTable({ value }: TextMessage): void {
    const said = parse<Table & { version: string }>(value);
    if (said === undefined || typeof said.version !== 'string' || !isTableName(String(said.name))) return;
    const { version, ...table } = said;
    try {
      this.tables.set(`${table.name} ${version}`, { table, lines: new KafkaLines(table) });
    } catch {
      // no definition: whoever wrote it, it was not Tacho
    }
  }

  takeNode({ topic, value }: TextMessage): void {
    const said = parse<NodeRecord>(value);
    if (typeof said?.node !== 'string' || said.job === undefined || !Array.isArray(said.agent?.tables)) return;
    const record = { ...said, job: ofTopic(this.prefix, topic, said.job) };
    const key = streamKey(record.job, record.node, runOf(record.agent));
    const known = this.nodes.get(key);
    this.nodes.set(key, { record, stream: known?.stream ?? -1 });
    if (record.end === undefined) this.ends.delete(key);
    else this.ends.add(key);
    // nothing is made of it before a row comes: it may be of a recording that is long gone
    if (known !== undefined && known.stream >= 0) this.ends.add(key);
  }

  /** Tells the archive what is new about nodes, and which of them are done. */
  tryEnds(): void {
    for (const key of this.ends) {
      try {
        this.tryEnd(key);
      } catch (error) {
        // of one recording, or before what it needs has been read: it is tried again, the others go on
        if (!(error instanceof Later || error instanceof Unwritable)) throw error;
      }
    }
  }

  private tryEnd(key: string): void {
    const known = this.nodes.get(key)!;
    const { record } = known;
    if (this.filing.streams.get(known.stream) === undefined) {
      // rows may still come; but when they came before, while nobody read what was said at the end, this is all
      if (this.isWaiting(record)) this.openStream(known);
      else return;
    }
    const said = { stream: known.stream, agent: this.agentOf(record), job: record.job };
    if (said.agent === undefined) return;
    const reply = this.filing.record(
      { ...said, agent: said.agent, ...(record.end === undefined ? {} : { end: record.end }) },
      TRUSTED,
    );
    if (record.end === undefined || reply?.done === true) this.ends.delete(key);
  }

  /** Files rows, runs of them at once. Throws when that has to be tried again. */
  takeRows(messages: readonly TextMessage[]): void {
    const runs = new Map<string, Run>();
    for (const message of messages) {
      try {
        this.row(message, runs);
      } catch (error) {
        if (error instanceof Blocked || (error instanceof Later && !this.isTooLate(error.message))) {
          for (const run of runs.values()) this.write(run);
          throw error;
        }
        if (!(error instanceof Later || error instanceof Unusable || error instanceof Forbidden)) throw error;
        this.passedOver++;
      }
    }
    for (const run of runs.values()) this.write(run);
  }

  private row(message: TextMessage, runs: Map<string, Run>): void {
    const { topic, value } = message;
    const version = message.headers.get('table');
    const [part, end] = (message.headers.get('position') ?? '').split(':').map(Number) as [number, number];
    if (version === undefined || !(part > 0) || !(end > 0)) throw new Unusable(`a row in ${topic} has no position`);
    const name = tableName(topic);
    const definition = this.tables.get(`${name} ${version}`);
    if (definition === undefined) throw new Later(`no definition of ${name} ${version} in the topic of tables`);
    let row: ReturnType<KafkaLines['read']>;
    try {
      row = definition.lines.read(value);
    } catch (error) {
      throw new Unusable(error instanceof Error ? error.message : String(error));
    }
    const { identity, line } = row;
    const stream = this.streamOf(topic, identity, message.headers.get('run') ?? '');
    const bytes = Buffer.byteLength(line);
    const key = `${stream.id} ${name}`;
    let run = runs.get(key);
    if (run !== undefined && (run.part !== part || run.end !== end - bytes || run.header !== definition.lines.header)) {
      this.write(run);
      runs.delete(key);
      run = undefined;
    }
    if (run === undefined) {
      run = { stream, name, part, from: end - bytes, end, header: definition.lines.header, lines: [] };
      runs.set(key, run);
    }
    run.lines.push({ line, end });
    run.end = end;
  }

  private write(run: Run): void {
    const { stream, name, part, header } = run;
    if (stream.resting) throw new Blocked(`node ${stream.node} of ${stream.recording.key} is being sealed`);
    const table = () => stream.tables.get(name);
    const append = (from: number, text: string): void => {
      const bytes = Buffer.from(text);
      const reply = this.filing.append([[stream.id, name, part, from, bytes.length]], [bytes], TRUSTED);
      const { trouble, refused = [] } = JSON.parse(reply) as AppendReply;
      if (trouble !== undefined) throw new Blocked(trouble);
      for (const [, why] of refused) throw new Blocked(why);
    };
    const here = table()?.position ?? { part: 1, bytes: 0 };
    // the archive has it: it was read before
    const fresh = run.lines.filter(({ end }) => part > here.part || (part === here.part && end > here.bytes));
    this.rows += fresh.length;
    run.lines = [];
    if (fresh.length === 0) return;
    if (part > here.part || here.bytes === 0) {
      append(0, header);
      if (table()!.part !== part) {
        // parts before this one are not in the topic any more
        table()!.moveTo({ part, bytes: 0 });
        append(0, header);
      }
    }
    const text = fresh.map(({ line }) => line).join('');
    const { end } = fresh.at(-1)!;
    const from = end - Buffer.byteLength(text);
    if (from > table()!.bytes) table()!.moveTo({ part, bytes: from });
    const at = table()!.bytes;
    append(at, text);
    // it was written in other words than ours: positions are those of its node
    if (at !== from) table()!.moveTo({ part, bytes: end });
  }

  private streamOf(topic: string, identity: RowIdentity, run: string): FiledStream {
    const { user, job: id, restart, cluster, node } = identity;
    const job = {
      id,
      user,
      ...(restart === undefined ? {} : { restart }),
      ...(cluster === undefined ? {} : { cluster }),
    };
    const key = streamKey(ofTopic(this.prefix, topic, job), node, run);
    const known = this.nodes.get(key);
    if (known === undefined) throw new Later(`no record of node ${identity.node} of job ${identity.job}`);
    return this.filing.streams.get(known.stream) ?? this.openStream(known);
  }

  private openStream(known: Known): FiledStream {
    const { record } = known;
    const agent = this.agentOf(record);
    if (agent === undefined) throw new Later(`no definitions of the tables of node ${record.node}`);
    const kind = isFleet(record.job) ? 'fleet' : 'job';
    let reply: OpenReply;
    try {
      reply = this.filing.open({ protocol: 1, node: record.node, kind, job: record.job, agent }, TRUSTED);
    } catch (error) {
      if (error instanceof Unwritable) throw error.whole ? new Blocked(error.message) : new Later(error.message);
      throw error;
    }
    known.stream = reply.stream;
    return this.filing.streams.get(reply.stream)!;
  }

  /** The archive has something of the node, and does not know that there is no more. */
  private isWaiting({ node, job }: NodeRecord): boolean {
    try {
      const { root } = this.filing.shelf.places;
      const waits = (...way: string[]): boolean => {
        const folder = path.join(root, ...way, nodePart(node));
        return fs.existsSync(folder) && readReceived(folder).done !== true;
      };
      if (isFleet(job)) return waits('fleet', dayPart(job.id));
      const user = userPart(job);
      for (const name of candidates(filedPart(job), job.cluster)) {
        if (!fs.existsSync(path.join(root, user, name))) return false;
        if (waits(user, name)) return true;
      }
      return false;
    } catch (error) {
      if (error instanceof Unusable) return false;
      throw error;
    }
  }

  private agentOf(record: NodeRecord): AgentRecord | undefined {
    const tables = record.agent.tables.map(({ name, version }) => this.tables.get(`${name} ${version}`)?.table);
    if (tables.includes(undefined)) return undefined;
    return { ...record.agent, tables: tables as Table[] };
  }

  /** What is missing may still come, for a while. */
  private isTooLate(what: string): boolean {
    const since = this.missed.get(what) ?? Date.now();
    this.missed.set(what, since);
    return Date.now() - since > PATIENCE_MS;
  }

  /** It is missing only since a moment ago. */
  isExpected(what: string): boolean {
    return Date.now() - (this.missed.get(what) ?? Number.NaN) < USUAL_MS;
  }
}

type KeyedJob = Parameters<typeof jobKey>[0] & { recorded_by?: 'user' };

const streamKey = (job: KeyedJob, node: string, run: string): string =>
  `${job.recorded_by ?? ''}\n${jobKey(job)}\n${node}\n${run}`;

/** Whether its user recorded a job is for the topic to say: who may write to it was for the brokers to decide. */
function ofTopic<T extends KeyedJob>(prefix: string, topic: string, job: T): T {
  const { recorded_by: _, ...rest } = job;
  return { ...rest, ...(isOwnTopic(prefix, topic) ? { recorded_by: 'user' } : {}) } as T;
}

interface Run {
  stream: FiledStream;
  name: string;
  part: number;
  from: number;
  end: number;
  header: string;
  lines: { line: string; end: number }[];
}

/** The table whose rows a topic holds. */
function tableName(topic: string): string {
  const last = topic.slice(topic.lastIndexOf('.') + 1);
  return last.replace(/^(tables|jobs|nodes)-table$/, '$1');
}

function parse<T>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}
