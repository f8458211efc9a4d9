import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Consumer, Message, MessagesStream } from '@platformatic/kafka';
import { inTime } from '../../base/in-time.ts';
import { made } from '../../base/made.ts';
import { clientOptions, type KafkaConnection, troubleOf } from '../../sinks/kafka/link.ts';

export type TextMessage = Message<string, string, string, string>;

export interface FollowOptions {
  readonly connection: KafkaConnection;
  /** The offsets are kept under this name. */
  readonly group: string;
  wanted(topic: string): boolean;
  /** Where to begin: behind what was done with, or (always) at the beginning. */
  readonly from: 'committed' | 'beginning';
  /** Does everything with the messages that is to be done. When it throws, they are given again. */
  take(messages: readonly TextMessage[]): void | Promise<void>;
  /** What keeps it from reading; undefined: nothing any more. */
  trouble(text: string | undefined): void;
}

export interface Following {
  close(): Promise<void>;
}

const EARLIEST = -2n;
const LOOK_MS = 3_000;
const COMMIT_MS = 1_000;
const RETRY_MS = 1_000;
const LAST_MS = 5_000;
const MOST_WAITING = 20_000;
const AT_ONCE = 5_000;

/** Reads topics, also those that are made later, through outages and restarts of brokers. Only what was committed. */
export function follow(options: FollowOptions): Following {
  const ending = new AbortController();
  const done = (async () => {
    while (!ending.signal.aborted) {
      try {
        await life(options, ending.signal);
      } catch (error) {
        options.trouble(troubleOf(error));
        if (!ending.signal.aborted) await sleep(RETRY_MS);
      }
    }
  })();
  return {
    async close() {
      ending.abort();
      // what was not committed is read again: brokers that are away need not be waited for
      await inTime(LAST_MS, done);
    },
  };
}

/** Until something fails, or there is a topic that was not there before. */
async function life(options: FollowOptions, ending: AbortSignal): Promise<void> {
  const kafka = await import('@platformatic/kafka');
  const base = await clientOptions(options.connection);
  const admin = new kafka.Admin(base);
  const topicsNow = async (): Promise<string[]> => (await admin.listTopics()).filter((topic) => options.wanted(topic));
  let consumer: Consumer<string, string, string, string> | undefined;
  try {
    let topics = await topicsNow();
    while (topics.length === 0) {
      options.trouble(undefined);
      await sleep(RETRY_MS);
      if (ending.aborted) return;
      topics = await topicsNow();
    }
    // as a member of the group under whose name offsets are kept we would have to wait until one that was killed is
    // given up; but there is nobody to share the work with
    consumer = new kafka.Consumer({
      ...base,
      groupId: `${options.group}.${randomUUID()}`,
      deserializers: kafka.stringDeserializers,
      isolationLevel: kafka.FetchIsolationLevels.READ_COMMITTED,
      autocommit: false,
      maxWaitTime: 500,
    });
    const offsets = await startAt(options, admin, consumer, topics);
    const stream = await consumer.consume({ topics, mode: 'manual', offsets, fallbackMode: 'earliest' });
    options.trouble(undefined);
    await readStream(options, admin, stream, ending, async () => {
      const now = await topicsNow();
      return now.some((topic) => !topics.includes(topic));
    });
  } finally {
    await inTime(LAST_MS, Promise.allSettled([consumer?.close(true), admin.close()]));
  }
}

/** Behind what was done with in each partition, or its beginning. */
async function startAt(
  options: FollowOptions,
  admin: Admin,
  consumer: Consumer<string, string, string, string>,
  topics: string[],
): Promise<{ topic: string; partition: number; offset: bigint }[]> {
  const beginnings = await consumer.listOffsets({ topics, timestamp: EARLIEST });
  const done = new Map<string, bigint>();
  if (options.from === 'committed') {
    const asked = topics.map((name) => ({ name, partitionIndexes: [...beginnings.get(name)!.keys()] }));
    const groups = await admin.listConsumerGroupOffsets({ groups: [{ groupId: options.group, topics: asked }] });
    for (const { name, partitions } of groups[0]?.topics ?? []) {
      for (const { partitionIndex, committedOffset } of partitions)
        if (committedOffset >= 0n) done.set(`${name} ${partitionIndex}`, committedOffset);
    }
  }
  return topics.flatMap((topic) =>
    beginnings.get(topic)!.map((beginning, partition) => {
      const behind = done.get(`${topic} ${partition}`);
      // what lies before the beginning was removed, for its age or its size
      return { topic, partition, offset: behind === undefined || behind < beginning ? beginning : behind };
    }),
  );
}

async function readStream(
  options: FollowOptions,
  admin: Admin,
  stream: MessagesStream<string, string, string, string>,
  ending: AbortSignal,
  hasNewTopics: () => Promise<boolean>,
): Promise<void> {
  const waiting: TextMessage[] = [];
  const offsets = new Map<string, Map<number, bigint>>();
  let failure: Error | undefined;
  let stopped = false;
  let wake = (): void => {};
  stream.on('data', (message) => {
    waiting.push(message);
    if (waiting.length > MOST_WAITING) stream.pause();
    wake();
  });
  stream.on('error', (error: Error) => {
    failure = error;
    wake();
  });
  stream.on('close', () => {
    stopped = true;
    wake();
  });
  ending.addEventListener('abort', () => wake(), { once: true });
  let looked = performance.now();
  let committed = performance.now();
  const commit = async (): Promise<void> => {
    committed = performance.now();
    if (options.from !== 'committed' || offsets.size === 0) return;
    const topics = [...offsets].map(([name, partitions]) => ({
      name,
      partitionOffsets: [...partitions].map(([partition, offset]) => ({ partition, offset })),
    }));
    offsets.clear();
    await admin.alterConsumerGroupOffsets({ groupId: options.group, topics });
  };
  while (!stopped && !ending.aborted && failure === undefined) {
    if (waiting.length > 0) {
      const some = waiting.slice(0, AT_ONCE);
      try {
        await options.take(some);
        options.trouble(undefined);
      } catch (error) {
        options.trouble(error instanceof Error ? error.message : String(error));
        await sleep(RETRY_MS);
        continue;
      }
      waiting.splice(0, some.length);
      for (const { topic, partition, offset } of some) {
        made(offsets, topic, () => new Map()).set(partition, offset + 1n);
      }
      if (waiting.length < MOST_WAITING / 2) stream.resume();
    } else {
      const woken = Promise.withResolvers<void>();
      wake = woken.resolve;
      await inTime(200, woken.promise);
    }
    if (performance.now() - committed > COMMIT_MS) await commit();
    if (performance.now() - looked > LOOK_MS) {
      looked = performance.now();
      if (await hasNewTopics()) break;
    }
  }
  if (failure !== undefined) throw failure;
  await commit();
}
