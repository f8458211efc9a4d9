import { usage } from '../../base/fault.ts';
import type { SettingKey, Values } from '../../config/settings.ts';
import { readSecret } from '../../trust/token.ts';
import type { KafkaConnection } from './link.ts';

export const KAFKA_SETTINGS = [
  'kafka.brokers',
  'kafka.prefix',
  'kafka.by_user',
  'kafka.every',
  'kafka.tls',
  'kafka.ca',
  'kafka.user',
  'kafka.password_file',
  'kafka.mechanism',
] as const satisfies readonly SettingKey[];

type KafkaValues = Pick<Values, (typeof KAFKA_SETTINGS)[number]>;

/** How to reach Kafka, and what topics are called, as it is configured. */
export function kafkaOptions(
  config: KafkaValues,
): KafkaConnection & { prefix: string; byUser: boolean; every: number } {
  const brokers = config['kafka.brokers'];
  for (const broker of brokers) {
    if (!/^(?:[^\s:/]+|\[[0-9a-fA-F:]+\]):\d{1,5}$/.test(broker))
      throw usage(`"${broker}" is no address of a broker of Kafka`, 'write it as HOST:PORT, such as kafka1:9092');
  }
  const prefix = config['kafka.prefix'];
  if (!/^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,3}$/.test(prefix))
    throw usage(`"${prefix}" cannot begin the name of a topic`, 'use letters, digits, - and _, with dots between');
  const ca = config['kafka.ca'];
  const user = config['kafka.user'];
  const tls = config['kafka.tls'] || ca !== undefined;
  return {
    brokers,
    prefix,
    byUser: config['kafka.by_user'],
    every: config['kafka.every'],
    ...(tls ? { tls: ca === undefined ? {} : { ca } } : {}),
    ...(user === undefined ? {} : { sasl: { mechanism: config['kafka.mechanism'], user, password: password(config) } }),
  };
}

function password(config: KafkaValues): string {
  const file = config['kafka.password_file'];
  if (file === undefined) throw usage('kafka.user needs kafka.password_file');
  return readSecret(file, 'the password', 'kafka.password_file names it').replace(/\r?\n$/, '');
}
