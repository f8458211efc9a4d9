import { createHash } from 'node:crypto';
import * as os from 'node:os';
import * as path from 'node:path';
import { inTime } from '../../base/in-time.ts';
import type { Position } from '../../recording/live/position.ts';
import type { Stream } from '../../recording/live/stream.ts';
import { type Round, Rounds, type Sent } from '../rounds.ts';
import type { Sink } from '../sink.ts';
import type { StreamState, Streams } from '../spool/streams.ts';
import { type KafkaBatch, KafkaCollector } from './body.ts';
import { KafkaJournal } from './journal.ts';
import { type KafkaConnection, type KafkaSession, openSession, says, troubleOf } from './link.ts';
import { type Naming, recordTopic } from './names.ts';

export interface KafkaSinkOptions extends KafkaConnection, Partial<Naming> {
  /** The spool or archive that is followed. */
  readonly folder: string;
  /** What is in it (`spoolStreams(folder)`, `archiveStreams(folder)`). */
  readonly streams: Streams;
  /** Which transaction holds what: `<folder>/.sinks/kafka.jsonl` by default. */
  readonly positionsFile?: string;
  /** Seconds between transactions (default 1): what is written meanwhile goes together. */
  readonly every?: number;
}

/** Positions of recordings that are gone are forgotten once in so many rounds. */
const FORGET_EVERY = 1000;

/**
 * Sends every row of a spool to Kafka, once. All that is new goes in one transaction, together with the transaction's
 * number; what a number stands for is on the disk before it is sent. After a crash, on whatever side, Kafka is asked
 * for the newest number that it has.
 */
export class KafkaSink implements Sink, Round {
  readonly name: string;
  private readonly options: KafkaSinkOptions;
  private readonly naming: Naming;
  private readonly producer: string;
  private readonly journal: KafkaJournal;
  private readonly collector: KafkaCollector;
  private readonly rounds = new Rounds(this);
  private session: KafkaSession | undefined;
  private begun = 0;
  private count = 0;

  constructor(options: KafkaSinkOptions) {
    const { brokers, prefix = 'tacho', byUser = false } = options;
    const folder = path.resolve(options.folder);
    const file = path.resolve(options.positionsFile ?? path.join(options.folder, '.sinks/kafka.jsonl'));
    this.options = options;
    this.name = `kafka ${brokers.join(',')}`;
    this.naming = { prefix, byUser };
    this.producer = producerName(prefix, file);
    this.journal = new KafkaJournal(file);
    this.journal.keep(folder);
    this.collector = new KafkaCollector(folder, this.naming, this.journal, options.streams);
  }

  wake(): void {
    this.rounds.wake();
  }

  get trouble(): string | undefined {
    return this.rounds.trouble;
  }

  /** Lines that are no rows, and rows too long for a broker. */
  get passedOver(): number {
    return this.collector.passedOver;
  }

  stored(stream: Stream, table: string): Position | undefined {
    return this.journal.position(this.collector.key(stream), table);
  }

  done(stream: StreamState): boolean {
    return this.collector.isDone(stream);
  }

  forget(stream: Stream): void {
    const key = this.collector.key(stream);
    this.journal.forgetAll([key]);
    this.collector.drop(key);
  }

  async close(seconds: number): Promise<void> {
    const deadline = performance.now() + seconds * 1000;
    await this.rounds.close(seconds);
    await inTime(Math.max(deadline - performance.now(), 1000), this.session?.close());
    this.collector.close();
    await this.journal.close();
  }

  pause(): number {
    return this.begun + (this.options.every ?? 1) * 1000 - performance.now();
  }

  async send(ending: boolean): Promise<Sent> {
    this.begun = performance.now();
    const session = await this.opened();
    const streams = this.options.streams.list();
    if (++this.count % FORGET_EVERY === 0) this.journal.keep(path.resolve(this.options.folder));
    const batch = this.collector.collect(streams, ending);
    if (batch.batches.length > 0) await this.commit(session, batch);
    else if (Object.keys(batch.reached).length > 0) this.journal.done(await this.journal.begin(batch.reached));
    this.collector.stored(batch);
    return { more: batch.more };
  }

  async failed(error: unknown): Promise<string> {
    this.collector.failed();
    await this.session?.close();
    this.session = undefined;
    const isFenced = says(error, 'INVALID_PRODUCER_EPOCH') || says(error, 'PRODUCER_FENCED');
    return isFenced ? 'another agent sends under the same name' : troubleOf(error);
  }

  private async opened(): Promise<KafkaSession> {
    if (this.session !== undefined) return this.session;
    const session = await openSession(this.options, this.producer, recordTopic(this.naming, '', 'tables'));
    this.journal.settle(session.committed);
    this.session = session;
    return session;
  }

  private async commit(session: KafkaSession, batch: KafkaBatch): Promise<void> {
    await session.ensureTopics([...batch.topics.values()]);
    const number = await this.journal.begin(batch.reached);
    await session.commit(number, batch.batches);
    this.journal.done(number);
  }
}

/** Two sinks must not have the same name: the younger one would end the older one's transactions. */
function producerName(prefix: string, file: string): string {
  const id = createHash('sha256').update(file).digest('hex').slice(0, 12);
  return `${prefix}.sink.${os.hostname()}.${id}`;
}
