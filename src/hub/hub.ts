import * as fs from 'node:fs';
import type * as http from 'node:http';
import type * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { createSecureContext } from 'node:tls';
import { code, Fault, reason, usage } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import { stated } from '../base/stated.ts';
import { readJob } from '../recording/folder/open.ts';
import { isWatched, loadFlock } from '../recording/live/watching.ts';
import { type Gatekeeper, OPEN_DOOR } from '../trust/identity.ts';
import { parseListen, shownHost } from '../trust/listen-address.ts';
import { Caretaker, sweepEvery } from './keep/caretaker.ts';
import { Compressor } from './keep/compress.ts';
import { Finisher } from './keep/finish.ts';
import { IndexKeeper } from './keep/index-child.ts';
import type { SealMemory } from './keep/seal-child.ts';
import { ArchiveFolders } from './receive/archive-folder.ts';
import { Descriptors } from './receive/descriptors.ts';
import { Filing } from './receive/filing.ts';
import { lineServer } from './receive/lines.ts';
import { takeLock } from './receive/lock.ts';
import { ONE_OWNER, separateOwners } from './receive/owner.ts';
import { type BatchLimits, Pace } from './receive/pace.ts';
import { createServer } from './receive/server.ts';
import { Sessions } from './receive/sessions.ts';
import { Syncer } from './receive/sync.ts';

export interface HubOptions {
  /** HOST:PORT; anything but loopback needs a gatekeeper. */
  listen: string;
  archive: string;
  gatekeeper?: Gatekeeper;
  /** Users, too, may send recordings of their own jobs. */
  usersWrite?: boolean;
  tls?: https.ServerOptions;
  /** Recordings that ended longer ago than this (seconds) are removed; none: they stay. */
  keepAge?: number;
  /** The archive is kept below this (bytes). */
  keepSize?: number;
  /** Seconds without a word after which a recording is sealed although not all of its nodes said that they are done. */
  sealAfter?: number;
  /** Keep the index of the archive, for questions about many jobs. */
  index?: boolean;
  /** The time that sealing a small recording may take, in seconds. */
  sealSeconds?: number;
  /** What a sealing process may take of the memory. */
  sealMemory?: SealMemory;
  /** Seconds between looks at the whole archive. */
  sweepEvery?: number;
  /** Whether the recording in this folder must not be sealed yet: somebody still sends its samples on. */
  holds?(recording: string): boolean;
  /** How long agents collect samples before they send them. */
  batches?: BatchLimits;
  /** What administrators should know, one sentence. */
  tell?(text: string): void;
}

export interface Hub {
  /** `http://127.0.0.1:8471` */
  readonly address: string;
  readonly archive: string;
  /** Where other ways than the network bring samples to (src/hub/kafka/from-kafka.ts). */
  readonly filing: Filing;
  /** Each user's recordings are the user's own; else all are those of the hub's user. */
  readonly separate: boolean;
  /** Answers what is under way, closes everything, and ends. */
  close(): Promise<void>;
}

const SEAL_AFTER_S = 3_600;
/** The first look comes when agents have had time to come back. */
const FIRST_SWEEP_S = 15;
const SAVE_MS = 1_000;
const FORGET_MS = 60_000;
/** A stream that nobody writes to any more is forgotten; its agent can open it again. */
const IDLE_MS = 3_600_000;
/** One that is done is shown for a while. */
const DONE_MS = 600_000;
/** How long requests that are under way at the end may take. */
const LAST_ANSWERS_MS = 5_000;
const MOST_CONNECTIONS = 20_000;
const CONNECTIONS_PER_ADDRESS = 64;
/** Descriptors for everything else: libraries, folders on the way, pipes. */
const OTHER_DESCRIPTORS = 128;

function checkCertificate(tls: https.ServerOptions): void {
  try {
    createSecureContext(tls);
  } catch (error) {
    throw new Fault(`the certificate and its private key cannot be used: ${reason(error)}`, {
      hint: 'trust.certificate and trust.private_key name PEM files that belong together',
    });
  }
}

/** Begins to receive. Throws a Fault when it cannot. */
export async function startHub(options: HubOptions): Promise<Hub> {
  const gatekeeper = options.gatekeeper ?? OPEN_DOOR;
  const log = options.tell ?? (() => {});
  const listen = parseListen(options.listen);
  if (!listen.loopback && gatekeeper.method === 'none') {
    throw usage(
      `anybody could write to and read from a hub on ${shownHost(listen.host)}:${listen.port}: it needs to know who is there`,
      'give --trust munge or --trust token, or listen on 127.0.0.1 (--listen HOST:PORT)',
    );
  }
  if (options.tls !== undefined) checkCertificate(options.tls);
  const archive = prepareArchive(options.archive);
  const unlock = await takeLock(archive);
  const owners = process.getuid?.() === 0 ? await separateOwners() : ONE_OWNER;
  const archiveFolders = new ArchiveFolders(archive, owners);
  const room = descriptorLimit() - OTHER_DESCRIPTORS;
  const connections = Math.min(MOST_CONNECTIONS, Math.max(16, Math.floor(room / 3)));
  const descriptors = new Descriptors(Math.max(16, room - connections));
  const compressor = new Compressor(archiveFolders);
  const pace = new Pace(options.batches);
  const flock = await loadFlock();
  const filing = new Filing(
    { folders: archiveFolders, descriptors, rolled: (node, file) => compressor.add(node, file) },
    {
      done: (recording) => finisher.consider(recording),
      tell: log,
      usersWrite: options.usersWrite === true,
      pace,
      isWatched: (folder) => isWatched(`${folder}/.`, flock),
    },
  );
  const finisher = new Finisher(filing, compressor, {
    tell: log,
    ...stated({ holds: options.holds, sealSeconds: options.sealSeconds, sealMemory: options.sealMemory }),
  });
  const caretaker = new Caretaker(filing, finisher, log, {
    sealAfter: options.sealAfter ?? SEAL_AFTER_S,
    ...stated({ age: options.keepAge, bytes: options.keepSize }),
  });
  const indexKeeper = options.index === true ? new IndexKeeper(archive, log) : undefined;
  const look = async (): Promise<void> => {
    await caretaker.look();
    if (!closed) await indexKeeper?.look();
  };
  let closed = false;
  const syncer = new Syncer(archive, descriptors);
  const started = Date.now() * 1000;
  const server = createServer({
    filing,
    sessions: new Sessions(),
    gatekeeper,
    ...stated({ tls: options.tls }),
    nodes: lineServer(filing, started, pace),
    tell: log,
    connections,
    connectionsPerAddress: CONNECTIONS_PER_ADDRESS,
  });
  try {
    await listening(server, listen.host, listen.port, options.listen);
  } catch (error) {
    unlock();
    throw error;
  }
  const sweepMs = (options.sweepEvery ?? sweepEvery(options.sealAfter ?? SEAL_AFTER_S)) * 1000;
  const timers = [
    setInterval(() => filing.saveJobs(), SAVE_MS),
    setInterval(() => pace.look(), SAVE_MS),
    setInterval(() => forgetIdle(filing), FORGET_MS),
    setInterval(() => void look(), sweepMs),
    setTimeout(() => void look(), Math.min(FIRST_SWEEP_S * 1000, sweepMs)),
  ];
  // later, when it is asked to identify somebody, it may well be there
  void gatekeeper.trouble?.().then((why) => {
    if (why !== undefined) log(`nobody can prove who they are, so all are refused: ${why}`);
  });
  const scheme = options.tls === undefined ? 'http' : 'https';
  const { port } = server.address() as AddressInfo;
  return {
    address: `${scheme}://${shownHost(listen.host)}:${port}`,
    archive,
    filing,
    separate: owners.separate,
    async close() {
      for (const timer of timers) clearInterval(timer);
      await lastAnswers(server);
      filing.saveJobs();
      closed = true;
      await caretaker.close();
      await indexKeeper?.close();
      await finisher.close();
      await compressor.close();
      syncer.close();
      descriptors.closeAll();
      archiveFolders.close();
      unlock();
    },
  };
}

function prepareArchive(folder: string): string {
  const archive = path.resolve(folder);
  try {
    if (fs.statSync(archive, { throwIfNoEntry: false })?.isDirectory() === false)
      throw usage(`${archive} is a file: an archive is a folder`, 'give --archive FOLDER');
    const around = recordingAround(archive);
    if (around !== undefined) {
      const hint = 'an archive holds recordings: choose a folder outside';
      throw usage(`${archive} cannot be an archive: ${around === archive ? 'it' : around} is a recording`, hint);
    }
    makeFolder(archive, 0o755);
    fs.accessSync(archive, fs.constants.W_OK | fs.constants.X_OK);
    const { uid, mode } = fs.statSync(archive);
    const me = process.getuid?.() ?? 0;
    if (uid !== me && uid !== 0) {
      throw new Fault(`${archive} belongs to another user (number ${uid})`, {
        hint: 'an archive belongs to whoever runs the hub: choose another folder, or chown it',
      });
    }
    if ((mode & 0o022) !== 0) {
      throw new Fault(`others can write to ${archive}: they could take the place of a user's folder`, {
        hint: `chmod go-w ${archive}`,
      });
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(`cannot use ${archive} as archive: ${reason(error)}`, { cause: error });
  }
  return archive;
}

/** The recording that this folder is, or lies in. */
function recordingAround(folder: string): string | undefined {
  if (readJob(folder) !== undefined) return folder;
  const parent = path.dirname(folder);
  return parent === folder ? undefined : recordingAround(parent);
}

function listening(server: http.Server, host: string, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const hint =
        code(error) === 'EADDRINUSE' ? 'another program listens there: choose another port with --listen' : undefined;
      const why = code(error) === 'EADDRINUSE' ? 'it is taken' : reason(error);
      reject(new Fault(`cannot listen on ${address}: ${why}`, hint === undefined ? {} : { hint }));
    });
    server.listen({ host, port, backlog: 4096 }, () => {
      server.removeAllListeners('error');
      server.on('error', () => {});
      resolve();
    });
  });
}

function lastAnswers(server: http.Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

function forgetIdle(filing: Filing): void {
  const now = performance.now();
  for (const stream of filing.streams.values()) {
    const idle = now - stream.heard > (stream.done ? DONE_MS : IDLE_MS);
    if (idle && !stream.recording.finishing) filing.forget(stream);
  }
}

/** Node raises the soft limit to the hard one when it starts. */
function descriptorLimit(): number {
  try {
    const limit = /^Max open files +(\d+)/m.exec(fs.readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return limit === undefined ? 1024 : Number(limit);
  } catch {
    return 1024;
  }
}
