import { execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { freePort } from '../../src/base/free-port.ts';
import { eventually } from '../made/eventually.ts';
import { IN_MEMORY } from '../made/in-memory.ts';
import { started } from '../made/started.ts';

/** The newest of Debian's PostgreSQLs; undefined: there is none. */
function binaries(): string | undefined {
  const folders = fs.globSync('/usr/lib/postgresql/*/bin/postgres').map((file) => path.dirname(file));
  return folders.sort((a, b) => Number(a.split('/')[4]) - Number(b.split('/')[4])).at(-1);
}

/** PostgreSQL does not run as root: then it runs as this user. */
const OTHER = ['postgres', 'nobody'];

function runAs(): { uid: number; gid: number } | undefined {
  if (process.getuid!() !== 0) return undefined;
  for (const name of OTHER) {
    const entry = spawnSync('getent', ['passwd', name], { encoding: 'utf8' }).stdout?.split(':');
    if (entry !== undefined && entry.length > 3) return { uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  throw new Error('PostgreSQL does not run as root, and there is no other user');
}

/** Why there can be no PostgreSQL on this machine; false: there can. */
export function whyNoPostgres(): string | false {
  return binaries() === undefined ? "a PostgreSQL of Debian's (package postgresql)" : false;
}

/** A running PostgreSQL. */
export interface Server {
  /** The address of a new, empty database on it. */
  fresh(options?: string): string;
  /** The address of a database, for another user. */
  address(name: string, user?: string, password?: string): string;
  /** SQL as the administrator; what it printed. */
  sql(name: string, text: string): string;
  /** Stops it as an administrator would in a hurry; `start` brings it back with all that was committed. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes it. */
  remove(): Promise<void>;
}

/** A connection that a test has left open would keep its process going. */
const DISCONNECT = `select pg_terminate_backend(pid) from pg_stat_activity
  where backend_type = 'client backend' and pid <> pg_backend_pid()`;

let shared: Promise<Server> | undefined;

/**
 * The PostgreSQL of this process, which ends with it: test files that share a process share it (scripts/test.ts). Each
 * test has databases of its own (`fresh`); roles belong to the whole server. `remove` ends the connections to it.
 */
export async function sharedPostgres(): Promise<Server> {
  shared ??= startPostgres();
  const server = await shared;
  // a test that failed may have left it stopped
  await server.start();
  return { ...server, remove: async () => void server.sql('postgres', DISCONNECT) };
}

/**
 * Starts a PostgreSQL on a free port of the loopback interface; `settings` go into its postgresql.conf, `files` into its
 * folder.
 */
export async function startPostgres(
  settings: readonly string[] = [],
  files: Readonly<Record<string, string>> = {},
): Promise<Server> {
  const bin = binaries()!;
  const user = runAs();
  const folder = fs.mkdtempSync(path.join(IN_MEMORY, 'tacho-postgres-'));
  if (user !== undefined) fs.chownSync(folder, user.uid, user.gid);
  const data = path.join(folder, 'data');
  const environment = { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', TZ: 'UTC' };
  const options = { ...user, env: environment, cwd: folder };
  const initdb = ['-D', data, '-U', 'tacho', '--auth=trust', '--encoding=UTF8', '--no-sync', '--locale=C.UTF-8'];
  execFileSync(path.join(bin, 'initdb'), initdb, { ...options, stdio: 'pipe' });
  const port = await freePort();
  const lines = [
    `port = ${port}`,
    "listen_addresses = '127.0.0.1'",
    `unix_socket_directories = '${folder}'`,
    'max_connections = 30',
    ...settings,
  ];
  fs.appendFileSync(path.join(data, 'postgresql.conf'), `${lines.join('\n')}\n`);
  // users who are called after something must say a password
  const hba = 'host all guarded 127.0.0.1/32 scram-sha-256\n';
  const trusted = fs.readFileSync(path.join(data, 'pg_hba.conf'), 'utf8');
  fs.writeFileSync(path.join(data, 'pg_hba.conf'), hba + trusted);

  for (const [name, text] of Object.entries(files)) {
    const file = path.join(data, name);
    fs.writeFileSync(file, text);
    fs.chmodSync(file, 0o600);
    if (user !== undefined) fs.chownSync(file, user.uid, user.gid);
  }

  const psql = (name: string, text: string): string =>
    execFileSync(
      path.join(bin, 'psql'),
      ['-h', folder, '-p', String(port), '-U', 'tacho', '-d', name, '-XAtqc', text],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    ).trim();

  let running: ReturnType<typeof spawn> | undefined;
  let made = 0;
  const server: Server = {
    address: (name, who = 'tacho', password) =>
      `postgres://${who}${password === undefined ? '' : `:${password}`}@127.0.0.1:${port}/${name}`,
    fresh(more = '') {
      const name = `test_${++made}`;
      psql('postgres', `create database ${name} ${more}`);
      return server.address(name);
    },
    sql: psql,
    async start() {
      if (running !== undefined && running.exitCode === null && running.signalCode === null) return;
      const log = fs.openSync(path.join(folder, 'log'), 'a');
      running = spawn(path.join(bin, 'postgres'), ['-D', data], { ...options, stdio: ['ignore', log, log] });
      // who does not wait for its end goes on without: it ends with us
      running.unref();
      fs.closeSync(log);
      const outputText = (): string => fs.readFileSync(path.join(folder, 'log'), 'utf8');
      await eventually(
        () => `PostgreSQL, which said:\n${outputText()}`,
        () => {
          if (running!.exitCode !== null || running!.signalCode !== null)
            throw new Error(`PostgreSQL does not start:\n${outputText()}`);
          const ready = spawnSync(path.join(bin, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(port)]);
          return ready.status === 0;
        },
      );
    },
    async stop() {
      const child = running;
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.ref();
      child.kill('SIGINT');
      await ended;
      running = undefined;
    },
    async remove() {
      await server.stop();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
  // a test that ends badly leaves no server behind
  process.on('exit', () => {
    running?.kill('SIGQUIT');
    fs.rmSync(folder, { recursive: true, force: true });
  });
  return started(server);
}
