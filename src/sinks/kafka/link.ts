import type { Admin, MessageToProduce, Producer, ResponseError } from '@platformatic/kafka';
import { code } from '../../base/fault.ts';
import { type Advice, connectionText } from '../../trust/connection-text.ts';

/** Where the brokers are, and how they know us. */
export interface KafkaConnection {
  readonly brokers: readonly string[];
  /** TLS; `ca`: a file with the certificates to trust instead of the system's. */
  readonly tls?: { readonly ca?: string };
  readonly sasl?: { readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'; user: string; password: string };
}

export type KafkaMessage = MessageToProduce<string, string, string, string>;

/**
 * One life of a transactional producer. Opening it ends whatever an earlier one with the same name left undone; after
 * any failure it is thrown away and another one is opened.
 */
export interface KafkaSession {
  /** The number of the newest transaction that was committed under this name; 0: none. */
  readonly committed: number;
  /** Makes topics that are not there. */
  ensureTopics(topics: readonly { name: string; compact: boolean }[]): Promise<void>;
  /** Stores all of it, and the number, or nothing. */
  commit(number: number, batches: readonly KafkaMessage[][]): Promise<void>;
  close(): Promise<void>;
}

const CONNECT_SECONDS = 5;
const REQUEST_SECONDS = 20;
/** Open transactions of a producer that was killed hold up those who read; this bounds it. */
const TRANSACTION_SECONDS = 30;
/** Which version of AddPartitionsToTxn is the last for clients; later ones are for brokers among themselves. */
const ADD_PARTITIONS_VERSION = 3;

/** The client has tried for a second each time. */
const MOST_TRIES = 20;

/** Loads the client; nobody without Kafka pays for it. */
const load = () => import('@platformatic/kafka');

export async function clientOptions(connection: KafkaConnection) {
  const { brokers, tls, sasl } = connection;
  if (tls !== undefined) (await import('../../trust/extra-certificates.ts')).trustExtraCertificates();
  const ca = tls?.ca === undefined ? undefined : (await import('node:fs')).readFileSync(tls.ca);
  return {
    clientId: 'tacho',
    bootstrapBrokers: [...brokers],
    connectTimeout: CONNECT_SECONDS * 1000,
    requestTimeout: REQUEST_SECONDS * 1000,
    // brokers ask for patience while they end a transaction; what takes longer is tried again with a new session
    retries: 10,
    retryDelay: 100,
    ...(tls === undefined ? {} : { tls: ca === undefined ? {} : { ca } }),
    ...(sasl === undefined
      ? {}
      : { sasl: { mechanism: sasl.mechanism, username: sasl.user, password: sasl.password } }),
  };
}

/** `numbers`: a topic that exists, in whose name the number of the newest transaction is kept. */
export async function openSession(connection: KafkaConnection, name: string, numbers: string): Promise<KafkaSession> {
  const kafka = await load();
  const options = await clientOptions(connection);
  const admin = new kafka.Admin(options);
  let producer: Producer<string, string, string, string> | undefined;
  const made = new Set<string>();
  const close = async (): Promise<void> => {
    await Promise.allSettled([producer?.close(true), admin.close()]);
  };
  try {
    await ensureTopics(admin, made, [{ name: numbers, compact: true }]);
    producer = new kafka.Producer({
      ...options,
      idempotent: true,
      transactionalId: name,
      // a new life, whatever the one before it was known as; the client's own 0 means "producer 0", and is refused
      producerId: -1n,
      producerEpoch: -1,
      timeout: TRANSACTION_SECONDS * 1000,
      compression: 'zstd',
      serializers: kafka.stringSerializers,
      // the same partition as Java's clients choose for a key
      partitioner: kafka.compatibilityPartitioner,
    });
    await speakAsClient(producer);
    // a transaction that was begun, but to which nothing was added, is known to nobody but us
    await (await producer.beginTransaction()).cancel();
    const committed = await committedNumber(admin, name, numbers);
    const [coordinator] = await admin.findCoordinator({ keyType: GROUP, keys: [name] });
    const sending = producer;
    return {
      committed,
      ensureTopics: (topics) => ensureTopics(admin, made, topics),
      async commit(number, batches) {
        const transaction = await sending.beginTransaction();
        for (const messages of batches) await transaction.send({ messages });
        await transaction.addConsumer({ groupId: name } as never);
        const consumer = { groupId: name, generationId: -1, memberId: '', coordinatorId: coordinator!.nodeId };
        // what is stored is one more than the offset of the message that was "consumed"
        const offset = BigInt(number) - 1n;
        await transaction.addOffset({ topic: numbers, partition: 0, offset, metadata: { consumer } } as never);
        await transaction.commit();
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const GROUP = 0;

async function committedNumber(admin: Admin, group: string, topic: string): Promise<number> {
  const groupOffsets = await admin.listConsumerGroupOffsets({
    groups: [{ groupId: group, topics: [{ name: topic, partitionIndexes: [0] }] }],
    requireStable: true,
  });
  const offset = groupOffsets[0]?.topics[0]?.partitions[0]?.committedOffset ?? -1n;
  return Math.max(0, Number(offset));
}

async function ensureTopics(
  admin: Admin,
  made: Set<string>,
  topics: readonly { name: string; compact: boolean }[],
): Promise<void> {
  const missing = topics.filter(({ name }) => !made.has(name));
  if (missing.length === 0) return;
  const there = new Set(await admin.listTopics());
  for (const compact of [true, false]) {
    const names = missing.filter((each) => each.compact === compact && !there.has(each.name)).map(({ name }) => name);
    if (names.length === 0) continue;
    const configs = compact ? [{ name: 'cleanup.policy', value: 'compact' }] : [];
    // −1: as the brokers are configured
    await admin.createTopics({ topics: names, partitions: -1, replicas: -1, configs }).catch((error: unknown) => {
      // another agent was faster
      if (!says(error, 'TOPIC_ALREADY_EXISTS')) throw error;
    });
    await checkTopics(admin, names);
  }
  for (const { name } of missing) made.add(name);
}

/** A broker tells of a topic some time after it was made: on a loaded one in seconds. */
async function checkTopics(admin: Admin, topics: readonly string[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await admin.metadata({ topics: [...topics], forceUpdate: true });
      return;
    } catch (error) {
      if (tries === MOST_TRIES || !/^Unknown topic/.test((error as Error).message)) throw error;
    }
  }
}

/** Keeps the client from a version of a request that brokers with access lists allow to brokers only. */
async function speakAsClient(producer: Producer<string, string, string, string>): Promise<void> {
  const apis = await producer.listApis();
  for (const api of apis) {
    if (api.name === 'AddPartitionsToTxn') api.maxVersion = Math.min(api.maxVersion, ADD_PARTITIONS_VERSION);
  }
  const baseSymbol = Object.getOwnPropertySymbols(producer).find(
    ({ description }) => description === 'plt.kafka.base.apis',
  );
  if (baseSymbol === undefined) throw new Error('the client of Kafka keeps the versions of requests elsewhere');
  (producer as unknown as Record<symbol, unknown>)[baseSymbol] = apis;
}

function* within(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  if (error instanceof AggregateError || 'errors' in error) {
    for (const each of (error as AggregateError).errors ?? []) yield* within(each);
  }
  yield* within(error.cause);
}

/** Whether a broker answered with this error, however deep the client has wrapped it. */
export function says(error: unknown, apiId: string): boolean {
  return [...within(error)].some((each) => (each as Partial<ResponseError> & { apiId?: string }).apiId === apiId);
}

const ADVICE: Advice = {
  authority: 'kafka.ca names the file with those that are',
  noTls: 'kafka.brokers may name a port without, or kafka.tls is not wanted',
};
const CLOSED = 'the broker closed the connection: does it want TLS (kafka.tls) or to know who we are (kafka.user)?';
const NOT_ACCEPTED =
  'the broker does not accept who we say we are: are kafka.user, kafka.password_file and kafka.mechanism right?';

/** What went wrong, in the words that say most: those of the innermost error. */
export function troubleOf(error: unknown): string {
  const all = [...within(error)];
  if (all.some((each) => code(each) === 'PLT_KFK_AUTHENTICATION' || /^SASL_|_SASL_/.test(apiOf(each))))
    return NOT_ACCEPTED;
  const system = all.find((each) => 'syscall' in each && each.message !== '');
  const broker = all.find((each) => 'apiId' in each);
  const best = broker ?? system ?? all.at(-1);
  // that is all that brokers say to whoever does not log in
  if (/^Connection closed/.test(best?.message ?? '')) return CLOSED;
  return best === undefined ? String(error) : connectionText(best, false, ADVICE).replace(/\.$/, '');
}

const apiOf = (error: Error): string => (error as Error & { apiId?: string }).apiId ?? '';
