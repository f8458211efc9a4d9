import { createHash } from 'node:crypto';
import * as os from 'node:os';
import * as path from 'node:path';
import { reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { isFleet } from '../../recording/folder/fleet.ts';
import type { Position } from '../../recording/live/position.ts';
import type { AppendReply } from '../../sinks/hub/protocol.ts';
import type { NodeRecord } from '../../sinks/kafka/body.ts';
import type { KafkaConnection } from '../../sinks/kafka/link.ts';
import { isOwnTopic, jobKey, runOf, topicHolds } from '../../sinks/kafka/names.ts';
import type { Table } from '../../table/table.ts';
import type { Identity } from '../../trust/identity.ts';
import { Unwritable } from '../keep/archive-trouble.ts';
import { type FiledStream, type Filing, Forbidden } from '../receive/filing.ts';
import { isTableName, Unusable } from '../receive/names.ts';
import { KafkaAside } from './aside.ts';
import { type Following, follow, type TextMessage } from './follow.ts';
import { identityOf, KafkaLines, type RowIdentity } from './lines.ts';

export interface FromKafkaOptions extends KafkaConnection {
  readonly archive: string;
  readonly filing: Filing;
  readonly prefix?: string;
  /** Offsets are kept under this name; by default one for this host and archive. */
  readonly group?: string;
  tell?(text: string): void;
}

/** Definitions and records are stored together with the rows; other partitions may be read a little later. */
const PATIENCE_MS = 60_000;
/** What is missing for no longer than this is nothing to tell of. */
const USUAL_MS = 10_000;
const MOST_MISSED = 10_000;
/** Who may write to the topics was for the brokers to decide. */
const TRUSTED: Identity = { kind: 'anyone' };

class Later extends Error {}

/** The archive takes nothing just now. However long that lasts, nothing is given up. */
class Blocked extends Later {}

/** One recording takes nothing just now: its rows wait by themselves. */
class Held extends Error {}

/** Rows of recordings that take none just now, in the archive. */
const ASIDE = '.kafka-aside';
const ASIDE_MS = 1_000;

/**
 * Builds the archive that a hub builds, from the topics. A row carries its position in what its node wrote, and is turned
 * into the same bytes again: as when agents send them, what the archive has already is not written twice. So it does
 * not matter where reading begins again after a crash.
 */
export function startFromKafka(options: FromKafkaOptions) {
  const prefix = options.prefix ?? 'tacho';
  const id = createHash('sha256').update(path.resolve(options.archive)).digest('hex').slice(0, 12);
  const group = options.group ?? `${prefix}.hub.${os.hostname()}.${id}`;
  const aside = new KafkaAside(path.join(options.archive, ASIDE), options.tell ?? (() => {}));
  const filer = new Filer(options.filing, aside, prefix);
  const troubles = new Map<string, string>();
  const trouble = (who: string) => (text: string | undefined) => {
    if (troubles.get(who) === text) return;
    if (text === undefined) troubles.delete(who);
    else {
      // both read from the same brokers
      const isReported = [...troubles.values()].includes(text);
      troubles.set(who, text);
      if (!isReported) options.tell?.(`kafka: ${text}`);
    }
  };
  const { brokers, tls, sasl } = options;
  const connection = { brokers, ...stated({ tls, sasl }) };
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
  const timer = setInterval(() => {
    filer.retryAside().catch((error: unknown) => trouble('aside')(reason(error)));
  }, ASIDE_MS);
  return {
    /** What keeps it from reading or filing, in words. */
    get trouble(): string | undefined {
      return [...troubles.values()][0];
    },
    get rows(): number {
      return filer.rows;
    },
    /** Rows that could not be filed for good. */
    get passedOver(): number {
      return filer.passedOver;
    },
    async close(): Promise<void> {
      clearInterval(timer);
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
  private readonly aside: KafkaAside;
  private readonly prefix: string;
  private readonly tables = new Map<string, { table: Table; lines: KafkaLines }>();
  private readonly nodes = new Map<string, Known>();
  private readonly ends = new Set<string>();
  /** Since when, by the steady clock: one that is set gives nothing up. */
  private readonly missed = new Map<string, number>();

  constructor(filing: Filing, aside: KafkaAside, prefix = 'tacho') {
    this.filing = filing;
    this.aside = aside;
    this.prefix = prefix;
  }

  takeTable({ value }: TextMessage): void {
    const definition = parse<Table & { version: string }>(value);
    if (definition === undefined || typeof definition.version !== 'string' || !isTableName(String(definition.name)))
      return;
    const { version, ...table } = definition;
    try {
      this.tables.set(`${table.name} ${version}`, { table, lines: new KafkaLines(table) });
    } catch {
      // no definition: whoever wrote it, it was not Tacho
    }
  }

  takeNode({ topic, value }: TextMessage): void {
    const nodeRecord = parse<NodeRecord>(value);
    if (
      typeof nodeRecord?.node !== 'string' ||
      nodeRecord.job === undefined ||
      !Array.isArray(nodeRecord.agent?.tables)
    )
      return;
    const record = { ...nodeRecord, job: ofTopic(this.prefix, topic, nodeRecord.job) };
    const key = streamKey(record.job, record.node, runOf(record.agent));
    const knownNode = this.nodes.get(key);
    this.nodes.set(key, { record, stream: knownNode?.stream ?? -1 });
    if (record.end === undefined) this.ends.delete(key);
    else this.ends.add(key);
    // nothing is made of it before a row comes: it may be of a recording that is long gone
    if (knownNode !== undefined && knownNode.stream >= 0) this.ends.add(key);
  }

  /** Tells the archive what is new about nodes, and which of them are done. */
  tryEnds(): void {
    for (const key of this.ends) {
      try {
        this.tryEnd(key);
      } catch (error) {
        // whoever wrote it, no recording can be made of it
        if (error instanceof Unusable || error instanceof Forbidden) this.ends.delete(key);
        // of one recording, or before what it needs has been read: it is tried again, the others go on
        else if (!(error instanceof Later || error instanceof Held || error instanceof Unwritable)) throw error;
      }
    }
  }

  private tryEnd(key: string): void {
    const knownNode = this.nodes.get(key)!;
    const { record } = knownNode;
    if (this.filing.streams.get(knownNode.stream) === undefined) {
      // rows may still come; but when they came before, while nobody read what was said at the end, this is all
      if (this.filing.isWaiting(isFleet(record.job) ? 'fleet' : 'job', record.job, record.node))
        this.openStream(knownNode);
      else return;
    }
    const described = { stream: knownNode.stream, agent: this.agentOf(record), job: record.job };
    if (described.agent === undefined) return;
    const reply = this.filing.record({ ...described, agent: described.agent, ...stated({ end: record.end }) }, TRUSTED);
    if (record.end === undefined || reply?.done === true) this.ends.delete(key);
  }

  /** Files rows, or keeps them aside where a recording takes none. Throws when all of that has to be tried again. */
  takeRows(messages: readonly TextMessage[]): void {
    const { recordings, missing, unusable } = this.sort(messages);
    const held: Rows[] = [];
    let passedOver = unusable;
    for (const rows of recordings.values()) {
      const given = this.aside.has(rows.recording) ? 'held' : this.file(rows, missing);
      if (given === 'held') held.push(rows);
      else passedOver += given;
    }
    const [later] = missing;
    // with all of the others filed: they are known again by their positions
    if (later !== undefined) throw new Later(later);
    for (const rows of held) {
      passedOver += this.orBlocked(() => this.aside.add(rows.recording, rows.whose, rows.messages));
    }
    this.passedOver += passedOver;
  }

  /** Files what was kept aside, where that is possible now. */
  retryAside(): Promise<void> {
    return this.aside.retry((messages) => {
      const { recordings, missing, unusable } = this.sort(messages);
      let passedOver = unusable;
      try {
        for (const rows of recordings.values()) {
          const given = this.file(rows, missing);
          if (given === 'held') return false;
          passedOver += given;
        }
      } catch (error) {
        if (error instanceof Blocked) return false;
        throw error;
      }
      if (missing.size > 0) return false;
      this.passedOver += passedOver;
      return true;
    });
  }

  private orBlocked<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw new Blocked(`cannot keep rows aside: ${reason(error)}`);
    }
  }

  /** Rows by recording. `missing`: what some of them need and may still come; `unusable`: how many are none. */
  private sort(messages: readonly TextMessage[]): {
    recordings: Map<string, Rows>;
    missing: Set<string>;
    unusable: number;
  } {
    const recordings = new Map<string, Rows>();
    const missing = new Set<string>();
    let unusable = 0;
    const of = (message: TextMessage, identity: RowIdentity): Rows => {
      const recording = streamKey(ofTopic(this.prefix, message.topic, jobOf(identity)), '', '');
      const { user, job } = identity;
      const rows = recordings.get(recording) ?? {
        recording,
        whose: { user, job },
        messages: [],
        rows: [],
        held: false,
      };
      recordings.set(recording, rows);
      rows.messages.push(message);
      return rows;
    };
    for (const message of messages) {
      try {
        const row = this.read(message);
        of(message, row.identity).rows.push(row);
      } catch (error) {
        if (error instanceof Later && !this.isTooLate(error.message)) {
          const identity = this.isOwn(message) ? identityOf(message.value) : undefined;
          if (identity === undefined) missing.add(error.message);
          else of(message, identity).held = true;
        } else if (error instanceof Later || error instanceof Unusable) unusable++;
        else throw error;
      }
    }
    return { recordings, missing, unusable };
  }

  /** What users write themselves makes nobody else wait. */
  private isOwn({ topic }: TextMessage): boolean {
    return isOwnTopic(this.prefix, topic);
  }

  private read(message: TextMessage): Row {
    const { topic, value } = message;
    const version = message.headers.get('table');
    const [filePart, end] = (message.headers.get('position') ?? '').split(':').map(Number) as [number, number];
    if (version === undefined || !(filePart > 0) || !(end > 0)) throw new Unusable(`a row in ${topic} has no position`);
    const name = tableName(topic);
    const definition = this.tables.get(`${name} ${version}`);
    if (definition === undefined) throw new Later(`no definition of ${name} ${version} in the topic of tables`);
    try {
      return { message, name, part: filePart, end, header: definition.lines.header, ...definition.lines.read(value) };
    } catch (error) {
      throw new Unusable(reason(error));
    }
  }

  /** Files rows of one recording, runs of them at once; says how many could not be used, or that it takes none just now. */
  private file({ rows, held }: Rows, missing: Set<string>): number | 'held' {
    if (held) return 'held';
    const runs = new Map<string, Run>();
    let passedOver = 0;
    try {
      for (const row of rows) {
        try {
          this.row(row, runs);
        } catch (error) {
          if (error instanceof Blocked) throw error;
          if (error instanceof Later && !this.isTooLate(error.message)) {
            if (this.isOwn(row.message)) return 'held';
            missing.add(error.message);
          } else if (error instanceof Later || error instanceof Unusable || error instanceof Forbidden) passedOver++;
          else throw error;
        }
      }
      for (const run of runs.values()) this.write(run);
      return passedOver;
    } catch (error) {
      if (error instanceof Held) return 'held';
      throw error;
    }
  }

  private row({ message, name, part: filePart, end, header, identity, line }: Row, runs: Map<string, Run>): void {
    const stream = this.streamOf(message.topic, identity, message.headers.get('run') ?? '');
    const bytes = Buffer.byteLength(line);
    const key = `${stream.id} ${name}`;
    let run = runs.get(key);
    if (run !== undefined && (run.part !== filePart || run.end !== end - bytes || run.header !== header)) {
      this.write(run);
      runs.delete(key);
      run = undefined;
    }
    if (run === undefined) {
      run = { stream, name, part: filePart, from: end - bytes, end, header, lines: [] };
      runs.set(key, run);
    }
    run.lines.push({ line, end });
    run.end = end;
  }

  private write(run: Run): void {
    const { stream, name, part: filePart, header } = run;
    if (stream.resting) throw new Held(`node ${stream.node} of ${stream.recording.key} is being sealed`);
    const table = () => stream.tables.get(name);
    const append = (from: number, text: string): void => {
      const bytes = Buffer.from(text);
      const reply = this.filing.append([[stream.id, name, filePart, from, bytes.length]], [bytes], TRUSTED);
      const { trouble, refused = [] } = JSON.parse(reply) as AppendReply;
      if (trouble !== undefined) throw new Blocked(trouble);
      for (const [, why] of refused) throw new Held(why);
    };
    const moveTo = (position: Position): void => orWait(() => this.filing.moveTo(stream, name, position));
    const here = table()?.position ?? { part: 1, bytes: 0 };
    // the archive has it: it was read before
    const fresh = run.lines.filter(({ end }) => filePart > here.part || (filePart === here.part && end > here.bytes));
    run.lines = [];
    if (fresh.length === 0) return;
    if (filePart > here.part || here.bytes === 0) {
      append(0, header);
      if (table()!.part !== filePart) {
        // parts before this one are not in the topic any more
        moveTo({ part: filePart, bytes: 0 });
        append(0, header);
      }
    }
    const text = fresh.map(({ line }) => line).join('');
    const { end } = fresh.at(-1)!;
    const from = end - Buffer.byteLength(text);
    if (from > table()!.bytes) moveTo({ part: filePart, bytes: from });
    const at = table()!.bytes;
    append(at, text);
    this.rows += fresh.length;
    // it was written in other words than ours: positions are those of its node
    if (at !== from) moveTo({ part: filePart, bytes: end });
  }

  private streamOf(topic: string, identity: RowIdentity, run: string): FiledStream {
    const key = streamKey(ofTopic(this.prefix, topic, jobOf(identity)), identity.node, run);
    const knownNode = this.nodes.get(key);
    if (knownNode === undefined) throw new Later(`no record of node ${identity.node} of job ${identity.job}`);
    return this.filing.streams.get(knownNode.stream) ?? this.openStream(knownNode);
  }

  private openStream(knownNode: Known): FiledStream {
    const { record } = knownNode;
    const agent = this.agentOf(record);
    if (agent === undefined) throw new Later(`no definitions of the tables of node ${record.node}`);
    const kind = isFleet(record.job) ? 'fleet' : 'job';
    const { node, job } = record;
    const reply = orWait(() => this.filing.open({ protocol: 1, node, kind, job, agent }, TRUSTED));
    knownNode.stream = reply.stream;
    return this.filing.streams.get(reply.stream)!;
  }

  private agentOf(record: NodeRecord): AgentRecord | undefined {
    const tables = record.agent.tables.map(({ name, version }) => this.tables.get(`${name} ${version}`)?.table);
    if (tables.includes(undefined)) return undefined;
    return { ...record.agent, tables: tables as Table[] };
  }

  /** What is missing may still come, for a while. */
  private isTooLate(what: string): boolean {
    const since = this.missed.get(what) ?? performance.now();
    this.missed.set(what, since);
    if (this.missed.size > MOST_MISSED) this.missed.delete(this.missed.keys().next().value!);
    return performance.now() - since > PATIENCE_MS;
  }

  /** It is missing only since a moment ago. */
  isExpected(what: string): boolean {
    return performance.now() - (this.missed.get(what) ?? Number.NaN) < USUAL_MS;
  }
}

/** What cannot be written now is tried again. */
function orWait<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Unwritable) throw error.whole ? new Blocked(error.message) : new Held(error.message);
    throw error;
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

function jobOf({ user, job: id, restart, cluster }: RowIdentity): KeyedJob {
  return {
    id,
    user,
    ...stated({ restart, cluster }),
  };
}

interface Row {
  message: TextMessage;
  name: string;
  part: number;
  end: number;
  header: string;
  identity: RowIdentity;
  line: string;
}

/** Rows of one recording, in the order in which they came. */
interface Rows {
  recording: string;
  whose: { user: string; job: string };
  messages: TextMessage[];
  rows: Row[];
  /** Something that it needs may still come. */
  held: boolean;
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
