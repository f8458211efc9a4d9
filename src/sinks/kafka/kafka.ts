import { createHash } from 'node:crypto';
import * as os from 'node:os';
import * as path from 'node:path';
import type { Sink } from '../sink.ts';
import type { Streams } from '../spool/streams.ts';
import { type KafkaBatch, KafkaCollector } from './batch.ts';
import { type KafkaConnection, type KafkaSession, openSession, says, troubleOf } from './client.ts';
import { KafkaJournal } from './journal.ts';
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

export interface KafkaSink extends Sink {
  /** Lines that are no rows, and rows too long for a broker. */
  readonly passedOver: number;
}

const RETRY_SECONDS = [1, 2, 5, 10];
/** Positions of recordings that are gone are forgotten once in so many rounds. */
const FORGET_EVERY = 1000;

/**
 * Sends every row of a spool to Kafka, once. All that is new goes in one transaction, together with the transaction's
 * number; what a number stands for is on the disk before it is sent. After a crash, on whatever side, Kafka is asked
 * for the newest number that it has.
 */
export function openKafkaSink(options: KafkaSinkOptions): KafkaSink {
  const naming: Naming = { prefix: options.prefix ?? 'tacho', byUser: options.byUser ?? false };
  const file = path.resolve(options.positionsFile ?? path.join(options.folder, '.sinks/kafka.jsonl'));
  const journal = new KafkaJournal(file);
  journal.keep(path.resolve(options.folder));
  const collector = new KafkaCollector(path.resolve(options.folder), naming, journal, options.streams);
  const producer = producerName(naming.prefix, file);
  const every = (options.every ?? 1) * 1000;
  let session: KafkaSession | undefined;
  let trouble: string | undefined;
  let failures = 0;
  let woken = false;
  let closing = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let last = 0;
  let rounds = 0;

  const send = async (all: boolean): Promise<boolean> => {
    if (session === undefined) {
      session = await openSession(options, producer, recordTopic(naming, '', 'tables'));
      journal.settle(session.committed);
    }
    const streams = options.streams.list();
    if (++rounds % FORGET_EVERY === 0) journal.keep(path.resolve(options.folder));
    const batch = collector.collect(streams, all);
    if (batch.batches.length === 0) {
      if (Object.keys(batch.reached).length > 0) journal.done(await journal.begin(batch.reached));
      collector.stored(batch);
      return batch.more;
    }
    await store(session, batch);
    return batch.more;
  };

  const store = async (to: KafkaSession, batch: KafkaBatch): Promise<void> => {
    await to.ensureTopics([...batch.topics.values()]);
    const number = await journal.begin(batch.reached);
    await to.commit(number, batch.batches);
    journal.done(number);
    collector.stored(batch);
  };

  const run = async (): Promise<void> => {
    while (woken && !closing) {
      woken = false;
      try {
        last = performance.now();
        if (await send(false)) woken = true;
        trouble = undefined;
        failures = 0;
        if (woken) await new Promise((resolve) => setImmediate(resolve));
      } catch (error) {
        await failed(error);
        return;
      }
    }
  };

  const failed = async (error: unknown): Promise<void> => {
    trouble =
      says(error, 'INVALID_PRODUCER_EPOCH') || says(error, 'PRODUCER_FENCED')
        ? 'another agent sends under the same name'
        : troubleOf(error);
    collector.failed();
    await session?.close();
    session = undefined;
    woken = true;
    failures++;
  };

  const wait = (): number => {
    if (failures > 0) return RETRY_SECONDS[Math.min(failures, RETRY_SECONDS.length) - 1]! * 1000;
    return Math.max(0, last + every - performance.now());
  };

  const schedule = (): void => {
    if (running !== undefined || timer !== undefined || closing || !woken) return;
    timer = setTimeout(() => {
      timer = undefined;
      running = run().finally(() => {
        running = undefined;
        schedule();
      });
    }, wait());
    timer.unref();
  };

  return {
    name: `kafka ${options.brokers.join(',')}`,
    wake() {
      woken = true;
      schedule();
    },
    forget(stream) {
      const key = collector.key(stream);
      journal.forgetAll([key]);
      collector.drop(key);
    },
    stored: (stream, table) => journal.position(collector.key(stream), table),
    done: (stream) => collector.isDone(stream),
    get trouble() {
      return trouble;
    },
    get passedOver() {
      return collector.passedOver;
    },
    async close(seconds) {
      closing = true;
      clearTimeout(timer);
      const deadline = performance.now() + seconds * 1000;
      const left = (): number => deadline - performance.now();
      await within(left(), running);
      for (let more = true; more && left() > 0; ) {
        try {
          const sent = await within(left(), send(true));
          if (sent !== undefined) trouble = undefined;
          more = sent === true;
        } catch (error) {
          await failed(error);
          await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(500, left()))));
        }
      }
      await within(Math.max(left(), 1000), session?.close());
      collector.close();
      await journal.close();
    },
  };
}

/** Two sinks must not have the same name: the younger one would end the older one's transactions. */
function producerName(prefix: string, file: string): string {
  const id = createHash('sha256').update(file).digest('hex').slice(0, 12);
  return `${prefix}.sink.${os.hostname()}.${id}`;
}

async function within<T>(milliseconds: number, work: Promise<T> | undefined): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, milliseconds));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
