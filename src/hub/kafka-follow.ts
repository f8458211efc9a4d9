import type { Consumer, Message, MessagesStream } from '@platformatic/kafka';
import { clientOptions, type KafkaConnection, troubleOf } from '../sinks/kafka-client.ts';

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

const LOOK_MS = 3_000;
const COMMIT_MS = 1_000;
const RETRY_MS = 1_000;
const MOST_WAITING = 20_000;
const AT_ONCE = 5_000;

const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Reads topics, also those that are made later, through outages and restarts of brokers. Only what was committed. */
export function follow(options: FollowOptions): Following {
  let closed = false;
  let stop: (() => void) | undefined;
  const done = (async () => {
    while (!closed) {
      try {
        await life(
          options,
          (end) => (stop = end),
          () => closed,
        );
      } catch (error) {
        options.trouble(troubleOf(error));
        if (!closed) await sleep(RETRY_MS);
      }
    }
  })();
  return {
    async close() {
      closed = true;
      stop?.();
      await done;
    },
  };
}

/** Until something fails, or there is a topic that was not there before. */
async function life(options: FollowOptions, onStop: (stop: () => void) => void, closed: () => boolean): Promise<void> {
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
      if (closed()) return;
      topics = await topicsNow();
    }
    consumer = new kafka.Consumer({
      ...base,
      groupId: options.group,
      deserializers: kafka.stringDeserializers,
      isolationLevel: kafka.FetchIsolationLevels.READ_COMMITTED,
      autocommit: false,
      maxWaitTime: 500,
    });
    const stream = await consumer.consume({
      topics,
      mode: options.from === 'committed' ? 'committed' : 'earliest',
      fallbackMode: 'earliest',
    });
    options.trouble(undefined);
    await readStream(options, consumer, stream, onStop, async () => {
      const now = await topicsNow();
      return now.some((topic) => !topics.includes(topic));
    });
  } finally {
    await Promise.allSettled([consumer?.close(true), admin.close()]);
  }
}

async function readStream(
  options: FollowOptions,
  consumer: Consumer<string, string, string, string>,
  stream: MessagesStream<string, string, string, string>,
  onStop: (stop: () => void) => void,
  hasNewTopics: () => Promise<boolean>,
): Promise<void> {
  const waiting: TextMessage[] = [];
  const offsets = new Map<string, { topic: string; partition: number; offset: bigint; leaderEpoch: number }>();
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
  onStop(() => {
    stopped = true;
    wake();
  });
  let looked = Date.now();
  let committed = Date.now();
  const commit = async (): Promise<void> => {
    committed = Date.now();
    if (options.from !== 'committed' || offsets.size === 0) return;
    const all = [...offsets.values()];
    offsets.clear();
    await consumer.commit({ offsets: all });
  };
  while (!stopped && failure === undefined) {
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
      for (const { topic, partition, offset } of some)
        offsets.set(`${topic} ${partition}`, { topic, partition, offset: offset + 1n, leaderEpoch: -1 });
      if (waiting.length < MOST_WAITING / 2) stream.resume();
    } else {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 200);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (Date.now() - committed > COMMIT_MS) await commit();
    if (Date.now() - looked > LOOK_MS) {
      looked = Date.now();
      if (await hasNewTopics()) break;
    }
  }
  if (failure !== undefined) throw failure;
  await commit();
}
