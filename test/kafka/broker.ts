import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { freePort } from '../../src/base/free-port.ts';
import { issue, makeAuthority, whyNoCertificates } from '../hub/certificates.ts';
import { eventually } from '../made/eventually.ts';

/** One Apache Kafka node (KRaft: broker and controller in one) on loopback, in a folder of its own. */
export interface Broker {
  /** host:port for clients. */
  readonly address: string;
  /** For those who prove who they are, where it was started with `access`: TLS alone, SASL within TLS, SASL without. */
  readonly secure: Readonly<Record<Secure, string>>;
  /** Ends it as an administrator would, or (`SIGKILL`) as a power cut does. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts it again with what it had stored, on the same port. */
  start(): Promise<void>;
  /** Stops it and removes everything. */
  remove(): Promise<void>;
}

const SECURE = ['SSL', 'SASL_SSL', 'SASL_PLAINTEXT'] as const;
type Secure = (typeof SECURE)[number];

/** Who may connect, and what the broker shows them. */
export interface Access {
  user: string;
  password: string;
  /** PEM files. */
  certificate: string;
  key: string;
}

export interface SharedBroker extends Broker {
  /** Who may use its secure addresses, and the file of the authority that it shows a certificate of. */
  readonly access?: { user: string; password: string; ca: string };
}

const HERE = import.meta.dirname;
const POM = path.join(HERE, 'pom.xml');
const CACHE = path.join(
  HERE,
  '../../.cache/kafka',
  createHash('sha256').update(fs.readFileSync(POM)).digest('hex').slice(0, 12),
);
const START_SECONDS = 240;

let looked: string | false | undefined;

/** Why there can be no broker here, for `skip`; false when there can. Fetches the jars when they are not here yet. */
export function whyNoKafka(): string | false {
  looked ??= look();
  return looked;
}

export function whyNoKcat(): string | false {
  return spawnSync('kcat', ['-V']).error === undefined ? false : 'no kcat';
}

function look(): string | false {
  if (spawnSync('java', ['-version']).error !== undefined) return 'no Java: the tests with a real Apache Kafka';
  if (fs.existsSync(path.join(CACHE, 'complete'))) return false;
  if (spawnSync('mvn', ['-v']).error !== undefined) return 'no Maven: the tests with a real Apache Kafka';
  fs.mkdirSync(path.dirname(CACHE), { recursive: true });
  // two test files may fetch at once: each into a folder of its own, and one of them wins
  const jars = fs.mkdtempSync(`${CACHE}-`);
  const done = spawnSync(
    'mvn',
    ['-q', '-B', '-f', POM, 'dependency:copy-dependencies', `-DoutputDirectory=${jars}`, '-DincludeScope=runtime'],
    { encoding: 'utf8', timeout: 300_000 },
  );
  if (done.status !== 0) {
    fs.rmSync(jars, { recursive: true, force: true });
    return 'the registry of Maven is out of reach: the tests with a real Apache Kafka';
  }
  fs.writeFileSync(path.join(jars, 'complete'), '');
  try {
    fs.renameSync(jars, CACHE);
  } catch {
    fs.rmSync(jars, { recursive: true, force: true });
  }
  return false;
}

/** Kafka's classes as a Java that has ended left them: with them a start takes a third of the CPU time. */
const CLASSES = path.join(CACHE, 'classes.jsa');

const java = (...more: string[]): string[] => [
  ...['-Xmx256m', '-Xms64m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', path.join(CACHE, '*')],
  ...(fs.existsSync(CLASSES) ? [`-XX:SharedArchiveFile=${CLASSES}`] : []),
  ...more,
];

let shared: Promise<SharedBroker> | undefined;

/**
 * The broker of this process, which ends with it: test files that share a process share it (scripts/test.ts). Each has
 * prefixes of its own.
 */
export async function sharedBroker(): Promise<SharedBroker> {
  shared ??= startShared();
  const broker = await shared;
  // a test that failed may have left it stopped
  await broker.start();
  return broker;
}

async function startShared(): Promise<SharedBroker> {
  if (whyNoCertificates() !== false) return startBroker();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-access-'));
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  const ca = makeAuthority(folder, 'site');
  const who = { user: 'tacho', password: 'p-s§ wörd' };
  const broker = await startBroker({ ...who, ...issue(folder, 'site', 'IP:127.0.0.1') });
  return { ...broker, access: { ...who, ca } };
}

export async function startBroker(access?: Access): Promise<Broker> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-'));
  const [port, controller, ...ports] = await Promise.all(Array.from({ length: 2 + SECURE.length }, freePort));
  const secure = Object.fromEntries(SECURE.map((kind, i) => [kind, `127.0.0.1:${ports[i]}`])) as Broker['secure'];
  const properties = path.join(folder, 'server.properties');
  const settings = configuration(folder, port!, controller!);
  if (access !== undefined) addAccess(settings, folder, access, secure);
  const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`);
  // Java reads such a file as Latin 1
  fs.writeFileSync(properties, lines.join(''), 'latin1');
  const cluster = randomBytes(16).toString('base64url');
  const format = ['format', `--cluster-id=${cluster}`, '-c', properties];
  const formatOptions =
    access === undefined ? [] : ['--add-scram', `SCRAM-SHA-512=[name=${access.user},password=${access.password}]`];
  execFileSync('java', java('kafka.tools.StorageTool', ...format, ...formatOptions), { stdio: 'pipe' });
  let child: ChildProcess | undefined;
  const address = `127.0.0.1:${port}`;

  const start = async (...flags: string[]): Promise<void> => {
    if (child !== undefined && child.exitCode === null && child.signalCode === null) return;
    const log = fs.openSync(path.join(folder, 'output.log'), 'a');
    const started = spawn('java', java(...flags, 'kafka.Kafka', properties), { stdio: ['ignore', log, log] });
    fs.closeSync(log);
    // who does not wait for its end goes on without: it ends with us
    started.unref();
    child = started;
    const outputText = (): string => fs.readFileSync(path.join(folder, 'output.log'), 'utf8').slice(-2000);
    await eventually(
      () => `Kafka, which said:\n${outputText()}`,
      () => {
        if (started.exitCode !== null || started.signalCode !== null)
          throw new Error(`Kafka did not start:\n${outputText()}`);
        return isAnswering(port!);
      },
      START_SECONDS,
    );
  };
  const stop = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.ref();
    running.kill(signal);
    const late = setTimeout(() => running.kill('SIGKILL'), 60_000);
    await ended;
    clearTimeout(late);
  };
  process.on('exit', () => {
    child?.kill('SIGKILL');
    fs.rmSync(folder, { recursive: true, force: true });
  });
  if (!fs.existsSync(CLASSES)) {
    const own = `${CLASSES}.${process.pid}`;
    await start(`-XX:ArchiveClassesAtExit=${own}`);
    await stop();
    if (fs.existsSync(own)) fs.renameSync(own, CLASSES);
  }
  await start();
  return {
    address,
    secure,
    start: () => start(),
    stop,
    async remove(): Promise<void> {
      await stop('SIGKILL');
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Settings = Record<string, string | number | boolean>;

/** One more listener for each way in; the passwords of PLAIN are in the configuration, those of SCRAM with the data. */
function addAccess(settings: Settings, folder: string, access: Access, secure: Broker['secure']): void {
  const { user, password, certificate, key } = access;
  const identity = path.join(folder, 'identity.pem');
  fs.writeFileSync(identity, fs.readFileSync(key, 'utf8') + fs.readFileSync(certificate, 'utf8'), { mode: 0o600 });
  for (const kind of SECURE) {
    for (const list of ['listeners', 'advertised.listeners']) settings[list] += `,${kind}://${secure[kind]}`;
    settings['listener.security.protocol.map'] += `,${kind}:${kind}`;
    const listener = `listener.name.${kind.toLowerCase()}`;
    const modules = 'org.apache.kafka.common.security';
    settings[`${listener}.plain.sasl.jaas.config`] =
      `${modules}.plain.PlainLoginModule required user_${user}="${password}";`;
    settings[`${listener}.scram-sha-512.sasl.jaas.config`] = `${modules}.scram.ScramLoginModule required;`;
  }
  settings['sasl.enabled.mechanisms'] = 'PLAIN,SCRAM-SHA-512';
  settings['ssl.keystore.type'] = 'PEM';
  settings['ssl.keystore.location'] = identity;
}

function configuration(folder: string, port: number, controller: number): Settings {
  return {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controller}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': path.join(folder, 'data'),
    'num.partitions': 3,
    'auto.create.topics.enable': false,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 3,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 3,
    'group.initial.rebalance.delay.ms': 0,
    'log.segment.bytes': 16 << 20,
    // half a minute after its start a broker removes what is older than a week, and rows of tests are of 2023
    'log.retention.ms': -1,
    'log.cleaner.dedupe.buffer.size': 4 << 20,
    // a broker that was killed may come back at once
    'broker.session.timeout.ms': 2000,
    'broker.heartbeat.interval.ms': 500,
  };
}

/** Whether the broker says which requests it understands: then it serves clients. */
function isAnswering(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    const done = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    socket.setTimeout(10_000, () => done(false));
    socket.once('error', () => done(false)).once('close', () => done(false));
    socket.once('data', () => done(true));
    // ApiVersions, version 0: length, key 18, version 0, correlation 1, no client
    socket.write(Buffer.from([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff]));
  });
}
