import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { freePort } from '../src/base/free-port.ts';
import type { AgentRecord } from '../src/recording/folder/agent-record.ts';
import { BEGINNING, type Position } from '../src/recording/live/position.ts';
import { Tail } from '../src/recording/live/tail.ts';
import { eventually } from './made/eventually.ts';
import type { WriterOrders } from './no-loss-writer.ts';
import { TACHO, temporaryFolder } from './tacho.ts';

const TABLES = ['first', 'second'];
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** So long agents collect samples: the first tests with each tick at once, the same and all others in batches. */
const BATCHES = { idle: '0.2s', busy: '0.4s' };

/** A real hub in a process of its own, which asks agents for batches unless it is told otherwise. */
class HubProcess {
  readonly archive: string;
  readonly port: number;
  private child: ChildProcess | undefined;

  private readonly batches: string[];

  constructor(t: TestContext, archive: string, port: number, batches = BATCHES) {
    this.batches = ['--batch', batches.idle, '--busy-batch', batches.busy];
    this.archive = archive;
    this.port = port;
    t.after(() => this.kill());
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const where = ['--listen', `127.0.0.1:${this.port}`, '--archive', this.archive];
    const child = spawn(TACHO, ['hub', ...where, ...this.batches], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    let output = '';
    child.stderr!.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout! }).once('line', () => resolve());
      child.once('exit', (code) => reject(new Error(`the hub ended with ${code}: ${output}`)));
    });
  }

  async kill(): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  /** The node's folder in its archive. */
  get folder(): string {
    const [user] = fs.readdirSync(this.archive).filter((name) => name.startsWith('user='));
    return path.join(this.archive, user ?? 'user=', 'job=4711/node=c1');
  }
}

const startedHub = async (t: TestContext, archive: string, batches = BATCHES): Promise<HubProcess> => {
  const hub = new HubProcess(t, archive, await freePort(), batches);
  await hub.start();
  return hub;
};

/** The agent's process; `written` is what it has surely written of each table. */
class Writer {
  written: number;
  allThere = false;
  readonly ended: Promise<void>;
  private readonly child: ChildProcess;

  constructor(t: TestContext, orders: WriterOrders) {
    this.written = orders.first;
    const program = path.join(import.meta.dirname, 'no-loss-writer.ts');
    const child = spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.child = child;
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line === 'all there') this.allThere = true;
      else this.written = Number(line);
    });
    this.ended = new Promise((resolve) => child.once('close', () => resolve()));
    t.after(() => child.kill('SIGKILL'));
  }

  async reach(rows: number): Promise<void> {
    await eventually(`${rows} rows`, () => this.written >= rows || this.child.exitCode !== null);
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}

const ORDERS: Omit<WriterOrders, 'spool' | 'hubs'> = {
  first: 0,
  rows: 3000,
  rowsPerTick: 5,
  tickMs: 5,
  rollBytes: 20_000,
  limitBytes: 1e9,
  finish: true,
};

/** The numbers of all rows of a table that lie in a node's folder of an archive, in the order in which they lie there. */
function rowsIn(folder: string, table: string): number[] {
  if (fs.existsSync(path.join(folder, `${table}.parquet`))) return sealedRows(folder, table);
  const numbers: number[] = [];
  const tail = new Tail(folder, table);
  let at: Position = BEGINNING;
  for (let lines = tail.wholeLines(at, 1 << 20, true); lines; lines = tail.wholeLines(at, 1 << 20, true)) {
    assert.equal(lines.header, 'time,who,n,label');
    for (const [, n] of lines.bytes.toString().matchAll(/^\d+,c1,(\d+),(?:row \1|"two\nlines")$/gm))
      numbers.push(Number(n));
    at = lines.next;
  }
  tail.close();
  return numbers;
}

function sealedRows(folder: string, table: string): number[] {
  const recording = path.dirname(folder);
  const out = execFileSync(TACHO, ['export', recording, '--table', table, '--format', 'csv'], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  return [...out.matchAll(/^[^\n]*?c1,(\d+),(?:row \1|"two\nlines")$/gm)].map(([, n]) => Number(n));
}

const upTo = (rows: number): number[] => Array.from({ length: rows }, (_, n) => n);

/** Killed once more, so that it does not seal what is being counted. */
async function assertAll(hub: HubProcess, rows: number): Promise<void> {
  await hub.kill();
  for (const table of TABLES) assert.deepEqual(rowsIn(hub.folder, table), upTo(rows), table);
}

for (const batches of [{ idle: '0s', busy: '0s' }, BATCHES]) {
  const how = batches.idle === '0s' ? 'each tick at once' : 'in batches';
  test(`a hub that is killed again and again, ${how}: nothing is lost, nothing is there twice`, async (t) => {
    const folder = temporaryFolder(t);
    const hub = await startedHub(t, path.join(folder, 'archive'), batches);
    const writer = new Writer(t, { ...ORDERS, spool: path.join(folder, 'spool'), hubs: [hub.address] });
    for (let n = 1; n <= 4; n++) {
      await writer.reach(n * 500);
      await hub.kill();
      await sleep(n * 50);
      await hub.start();
    }
    await writer.ended;
    assert.ok(writer.allThere);
    await assertAll(hub, ORDERS.rows);
    assert.deepEqual(
      fs.readdirSync(path.join(folder, 'spool')).filter((name) => !name.startsWith('.')),
      [],
      'what is stored has left the spool',
    );
  });
}

test('an agent that is killed again and again: what it had written is there once', async (t) => {
  const folder = temporaryFolder(t);
  const spool = path.join(folder, 'spool');
  const hub = await startedHub(t, path.join(folder, 'archive'));
  let first = 0;
  const torn: number[] = [];
  for (let n = 0; n < 4; n++) {
    const writer = new Writer(t, { ...ORDERS, first, finish: false, spool, hubs: [hub.address] });
    await writer.reach(first + 400);
    await writer.kill();
    // it may have written more than it could say
    const node = path.join(spool, 'job-4711/node=c1');
    const last = Math.max(...TABLES.flatMap((table) => rowsIn(node, table).slice(-1)));
    torn.push(last + 1);
    first = last + 1;
  }
  const rest = new Writer(t, { ...ORDERS, first, rows: 500, spool, hubs: [hub.address] });
  await rest.ended;
  assert.ok(rest.allThere);
  await hub.kill();
  const [one, two] = TABLES.map((table) => rowsIn(hub.folder, table));
  assert.deepEqual(one, upTo(first + 500));
  // killed between its two tables: the second one has a tick less, never a row twice
  assert.deepEqual(new Set(two).size, two!.length);
  for (const n of upTo(first + 500)) {
    if (!two!.includes(n))
      assert.ok(
        torn.some((end) => n < end && n >= end - ORDERS.rowsPerTick),
        `row ${n}`,
      );
  }
});

test('a cut of the network, on whatever byte: nothing is lost, nothing is there twice', async (t) => {
  const folder = temporaryFolder(t);
  const hub = await startedHub(t, path.join(folder, 'archive'));
  const wire = await cuttable(t, hub.port);
  // ten minutes of a sample a second
  const rows = 3600;
  const writer = new Writer(t, { ...ORDERS, rows, spool: path.join(folder, 'spool'), hubs: [wire.address] });
  for (const [at, how] of [
    [300, 'silent'],
    [1200, 'reset'],
    [1800, 'silent'],
  ] as const) {
    await writer.reach(at);
    wire.cut(how);
    await writer.reach(at + 600);
    wire.mend();
  }
  await writer.ended;
  assert.ok(writer.allThere);
  await assertAll(hub, rows);
});

test('a second hub takes over, and the first one gets what it has missed', async (t) => {
  const folder = temporaryFolder(t);
  const first = await startedHub(t, path.join(folder, 'one'));
  const second = await startedHub(t, path.join(folder, 'two'));
  const spool = path.join(folder, 'spool');
  const writer = new Writer(t, { ...ORDERS, spool, hubs: [first.address, second.address] });
  await writer.reach(800);
  await first.kill();
  const there = (): number => rowsIn(second.folder, 'first').length;
  await eventually('1000 rows at the second hub', () => fs.existsSync(second.folder) && there() >= 1000);
  await first.start();
  await writer.ended;
  assert.ok(writer.allThere);
  await assertAll(first, ORDERS.rows);
  await second.kill();
  for (const table of TABLES) {
    const rows = rowsIn(second.folder, table);
    assert.deepEqual(rows, upTo(rows.length), 'the second hub has the beginning, each row once');
    assert.ok(rows.length >= 800);
  }
});

test('a hub whose disk is full: samples wait until there is room', async (t) => {
  const folder = temporaryFolder(t);
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-full-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=755', 'tmpfs', archive]);
  t.after(() => {
    if (mounted.status === 0) spawnSync('umount', ['-l', archive]);
    fs.rmSync(archive, { recursive: true, force: true });
  });
  if (mounted.status !== 0) return t.skip('a small file system can be mounted by root alone');
  const ballast = path.join(archive, 'ballast');
  fs.writeFileSync(ballast, Buffer.alloc(200 << 10, 1));
  const hub = await startedHub(t, archive);
  const writer = new Writer(t, { ...ORDERS, rollBytes: 1e6, spool: path.join(folder, 'spool'), hubs: [hub.address] });
  await writer.reach(ORDERS.rows);
  const there = (): number => (fs.existsSync(hub.folder) ? rowsIn(hub.folder, 'first').length : 0);
  await eventually('rows on the full disk', () => there() > 0);
  await sleep(500);
  assert.ok(!writer.allThere);
  const stuck = there();
  assert.ok(stuck > 0 && stuck < ORDERS.rows, `${stuck} rows on a full disk`);
  fs.rmSync(ballast);
  spawnSync('mount', ['-o', 'remount,size=16m', archive]);
  await writer.ended;
  assert.ok(writer.allThere);
  await assertAll(hub, ORDERS.rows);
});

test('a spool with a bound: what is missing is what was noted as given up', async (t) => {
  const folder = temporaryFolder(t);
  const spool = path.join(folder, 'spool');
  const hub = await startedHub(t, path.join(folder, 'archive'));
  const orders = { ...ORDERS, rollBytes: 4000, limitBytes: 12_000, spool, hubs: [hub.address] };
  const writer = new Writer(t, { ...orders, rows: 6000 });
  await writer.reach(300);
  await hub.kill();
  await writer.reach(5500);
  await hub.start();
  await writer.ended;
  assert.ok(writer.allThere);
  await hub.kill();
  const agent = JSON.parse(fs.readFileSync(path.join(hub.folder, 'agent.json'), 'utf8')) as AgentRecord;
  for (const table of TABLES) {
    const rows = rowsIn(hub.folder, table);
    assert.deepEqual(
      rows,
      [...new Set(rows)].sort((a, b) => a - b),
      'in order, each once',
    );
    const noted = (agent.dropped ?? []).filter((each) => each.table === table);
    assert.ok(noted.length > 0, `${table}: something was given up`);
    assert.equal(
      noted.reduce((sum, each) => sum + each.rows, 0),
      6000 - rows.length,
      `${table}: as many rows as are missing`,
    );
    // every missing row lies in a span of time that was noted
    const missing = upTo(6000).filter((n) => !rows.includes(n));
    for (const n of missing) {
      assert.ok(
        noted.some(({ first, last }) => n * 1e6 >= first! && n * 1e6 <= last!),
        `${table}: row ${n}`,
      );
    }
  }
});

/** A wire to a port of this machine that can be cut: silently, as a switch does, or with a reset. */
async function cuttable(t: TestContext, port: number) {
  const sockets = new Set<net.Socket>();
  let silent = false;
  let refuse = false;
  const server = net
    .createServer((near) => {
      if (refuse) return void near.destroy();
      const far = net.connect(port, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from);
        from.on('data', (chunk: Buffer) => {
          // some of it comes through before the cut
          if (!silent) to.write(chunk);
        });
        from.on('error', () => {});
        from.on('close', () => {
          sockets.delete(from);
          to.destroy();
        });
      }
    })
    .listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    address: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    cut(how: 'silent' | 'reset') {
      silent = how === 'silent';
      refuse = how === 'reset';
      if (refuse) for (const socket of sockets) socket.destroy();
    },
    mend() {
      silent = false;
      refuse = false;
    },
  };
}
