import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { eventually } from '../../../test/made/eventually.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import { Host } from '../../sources/host.ts';
import type { Scope } from '../../sources/scope.ts';
import { type SourceKind, Unavailable } from '../../sources/source.ts';
import { counter, type Table } from '../../table/table.ts';
import { Agent, isOnDisk } from './agent.ts';

const facts: NodeFacts = { hostname: 'n', kernel: '6', architecture: 'x64', cpus: 2, memory_bytes: 1, gpus: [] };
const scope: Scope = { members: { by: 'node' }, exclude: [], redact: false };

function kind(name: string, read: () => number, more: Partial<Pick<SourceKind, 'every' | 'open'>> = {}): SourceKind {
  const table: Table = { name, help: 'Test.', scope: 'node', keys: [], columns: [counter('value', 'count', 'Test.')] };
  return {
    table,
    open: () => ({
      table,
      read(frame) {
        const value = read();
        frame.numbers[frame.row()] = value;
      },
      close() {},
    }),
    ...more,
  };
}

/** Records every 0.1 s until so many ticks are over, the last sample follows. */
async function record(
  kinds: SourceKind[],
  ticks: number,
): Promise<{ rows: (table: string) => number[][]; agent: AgentRecord }> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-agent-'));
  try {
    const agent = new Agent({ folder, node: 'n', host: new Host(), facts, intervalSeconds: 0.1 });
    agent.open(kinds, scope);
    agent.start();
    await eventually(`${ticks} ticks`, () => agent.record.ticks >= ticks);
    await agent.stop('stopped');
    const texts = new Map(fs.readdirSync(folder).map((f) => [f, fs.readFileSync(path.join(folder, f), 'utf8')]));
    return {
      rows: (table) =>
        (texts.get(`${table}.csv`) ?? '')
          .trimEnd()
          .split('\n')
          .slice(1)
          .map((line) => line.split(',').map(Number)),
      agent: JSON.parse(texts.get('agent.json')!) as AgentRecord,
    };
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** Where a column of the agent's own table is in its rows. */
const ownColumn = ({ tables }: AgentRecord, name: string): number =>
  1 + tables.find((table) => table.name === 'agent')!.columns.findIndex((column) => column.name === name);

test('the first sample is taken at once, the next ones on whole intervals, the last one at the end', async () => {
  let n = 0;
  const { rows, agent } = await record([kind('numbers', () => n++)], 5);
  const values = rows('numbers');
  assert.deepEqual(
    values.map((r) => r[1]),
    values.map((_, i) => i),
  );
  assert.ok(values.length >= 6);
  const own = rows('agent');
  assert.deepEqual(
    own.map((r) => r[0]),
    values.map((r) => r[0]),
  );
  const late = ownColumn(agent, 'late_us');
  for (const row of own.slice(1, -1)) {
    assert.equal((row[0]! - row[late]!) % 100_000, 0, 'a tick says how late it was');
  }
  assert.equal(agent.first_sample, values[0]![0]);
  assert.equal(agent.last_sample, values.at(-1)![0]);
  assert.equal(agent.end_reason, 'stopped');
  assert.equal(agent.ticks, values.length);
});

test('ticks that fall into one that takes too long are counted', async () => {
  let n = 0;
  const slow = (): number => {
    if (n === 2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 350);
    return n++;
  };
  const { rows, agent } = await record([kind('slow', slow)], 5);
  const column = ownColumn(agent, 'missed_ticks');
  // between the first sample and the last, which are taken at any time
  const [first, ...others] = rows('agent').slice(1, -1);
  const last = others.at(-1)!;
  const missed = last[column]! - first![column]!;
  const due = Math.floor(last[0]! / 100_000) - Math.floor(first![0]! / 100_000);
  assert.ok(missed >= 2, `${missed} missed`);
  assert.equal(others.length + missed, due, 'each is there, or counted');
});

test('a source that fails is noted, its rows are missing, and the others go on', async () => {
  let calls = 0;
  const { rows, agent } = await record(
    [
      kind('broken', () => {
        throw new Error('the sensor says no');
      }),
      kind('shaky', () => {
        if (calls++ % 2 === 1) throw new Error('every other time');
        return calls;
      }),
      kind('sound', () => 7),
    ],
    4,
  );
  assert.deepEqual(rows('broken'), []);
  assert.ok(rows('shaky').length > 0 && rows('shaky').length < rows('sound').length);
  assert.ok(rows('sound').every((r) => r[1] === 7));
  assert.deepEqual(
    agent.unmeasured.map((n) => [n.table, n.why]),
    [
      ['broken', 'the sensor says no'],
      ['shaky', 'every other time'],
    ],
  );
  assert.deepEqual(agent.written?.toSorted(), ['agent', 'shaky', 'sound'], 'tables of which there are rows');
});

test('what is absent is not mentioned; what is denied is, with what would help', async () => {
  const { agent } = await record(
    [
      kind('gone', () => 1, {
        open() {
          throw new Unavailable('absent', 'no such hardware');
        },
      }),
      kind('locked', () => 1, {
        open() {
          throw new Unavailable('denied', 'only root may read it', 'ask your administrator');
        },
      }),
    ],
    1,
  );
  assert.deepEqual(agent.unmeasured, [
    { table: 'locked', what: 'locked', why: 'only root may read it', hint: 'ask your administrator' },
  ]);
  assert.deepEqual(
    agent.tables.map((t) => t.name),
    ['agent'],
  );
});

test('a slow table is read at its own pace, and at the beginning and the end', async () => {
  const { rows } = await record([kind('slow', () => 1, { every: 3600 }), kind('quick', () => 1)], 4);
  assert.equal(rows('slow').length, 2);
  assert.ok(rows('quick').length > 2);
});

test('the agent says when its folder has gone', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-agent-'));
  let gone = 0;
  const agent = new Agent({ folder, node: 'n', host: new Host(), facts, intervalSeconds: 0.1, gone: () => gone++ });
  agent.open([kind('numbers', () => 1)], scope);
  agent.start();
  fs.rmSync(folder, { recursive: true });
  await agent.stop('stopped');
  assert.ok(gone > 0);
});

test('in a process that does other things, a recording costs what was used since it began', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-agent-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const used = (): number => (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
  const before = used();
  assert.ok(before > 0);
  const agent = new Agent({ folder, node: 'n', host: new Host(), facts, intervalSeconds: 1, shared: true });
  agent.start();
  await agent.stop('stopped');
  assert.ok(agent.record.cost.cpu_seconds <= used() - before, `${agent.record.cost.cpu_seconds}`);
});

test('a service tells since when it has been there, and its successor the same of it', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-agent-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const made = (more: { shared?: true; before?: AgentRecord }): AgentRecord =>
    new Agent({ folder, node: 'n', host: new Host(), facts, intervalSeconds: 1, ...more }).record;
  const { service_start: began, ...service } = made({ shared: true });
  assert.equal(began, Math.round(performance.timeOrigin * 1000));
  assert.ok(began < service.start);
  assert.equal(made({ shared: true, before: { ...service, service_start: 5 } }).service_start, 5);
  assert.equal(made({}).service_start, undefined);
});

test('a successor tells from when to when no agent was there, also for those before it', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-agent-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const run = async (now: number, before?: AgentRecord): Promise<AgentRecord> => {
    const clock = { now: () => now, jumps: [], ahead: () => 0, settle() {} };
    const ticker = { every: () => () => {} };
    const more = before === undefined ? {} : { before };
    const agent = new Agent({ folder, node: 'n', host: new Host(), facts, intervalSeconds: 1, clock, ticker, ...more });
    agent.start();
    await agent.stop('stopped');
    return agent.record;
  };
  const first = await run(1_700_000_000e6);
  const second = await run(1_700_000_006e6, first);
  // no tick was missed
  const third = await run(1_700_000_007e6, second);
  const fourth = await run(1_700_000_017e6, third);
  const gap = { from: 1_700_000_000e6, to: 1_700_000_006e6 };
  assert.deepEqual([first.away, second.away, third.away], [undefined, [gap], [gap]]);
  assert.deepEqual(fourth.away, [gap, { from: 1_700_000_007e6, to: 1_700_000_017e6 }]);
});

test('what can be read in the end is no longer noted, and what is noted later is said', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-agent-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const agent = new Agent({ folder, node: 'n', host: new Host(), facts, intervalSeconds: 1 });
  agent.note({ table: 'cgroup', what: 'cgroup', why: 'not there yet' });
  agent.start();
  agent.unnote('cgroup');
  agent.note({ table: 'process', what: 'process', why: 'later' });
  await agent.stop('stopped');
  const { unmeasured } = JSON.parse(fs.readFileSync(path.join(folder, 'agent.json'), 'utf8')) as AgentRecord;
  assert.deepEqual(unmeasured, [{ table: 'process', what: 'process', why: 'later' }]);
});

test('a job that ends while the disk is full is closed when there is room, or when the agent itself has to end', async (t) => {
  const end = async (room: boolean) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-agent-'));
    t.after(() => fs.rmSync(folder, { recursive: true }));
    const agent = new Agent({ folder, node: 'n', host: new Host(), facts, intervalSeconds: 60 });
    let n = 0;
    agent.open([kind('numbers', () => n++)], scope);
    fs.mkdirSync(path.join(folder, 'numbers.csv'));
    agent.start();
    const ending = new AbortController();
    const stopped = agent.stop('the job has ended', ending.signal);
    fs.rmdirSync(path.join(folder, 'numbers.csv'));
    if (!room) {
      fs.mkdirSync(path.join(folder, 'numbers.csv'));
      ending.abort();
    }
    await stopped;
    return agent.record.lost_samples?.map(({ table, rows, waiting }) => [table, rows, waiting]);
  };
  assert.deepEqual(await end(true), undefined);
  assert.deepEqual(await end(false), [['numbers', 2, undefined]]);
});

test('what has gathered of a job is read between ticks, not in one, and read to its end', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-agent-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  let left = 0;
  let read = 0;
  let inOneTick = 0;
  let most = 0;
  const events: SourceKind = {
    table: {
      name: 'events',
      help: 'Test.',
      scope: 'job',
      events: true,
      keys: [],
      columns: [counter('n', 'count', '')],
    },
    open() {
      return {
        table: this.table,
        read() {
          if (left > 0) left--;
          most = Math.max(most, ++inOneTick);
          read++;
        },
        behind: () => left > 0,
        close() {},
      };
    },
  };
  const agent = new Agent({ folder, node: 'n', host: new Host(), facts, intervalSeconds: 0.1 });
  agent.open([events], scope);
  // a turn of the event loop: whatever was read since then was read in one go
  const turn = setInterval(() => {
    inOneTick = 0;
  }, 0);
  left = 50;
  agent.start();
  const atStart = read;
  await eventually('all events', () => left === 0);
  left = 50;
  await agent.stop('stopped');
  clearInterval(turn);
  assert.equal(atStart, 1);
  assert.equal(left, 0);
  assert.ok(most < 25, `${most} reads in one go`);
});

test('a recording says whether it lies on a block device', async () => {
  for (const folder of ['/proc', os.tmpdir(), import.meta.dirname]) {
    const device = execFileSync('df', ['--output=source', folder], { encoding: 'utf8' }).trim().split('\n').at(-1)!;
    assert.equal(isOnDisk(folder), device.startsWith('/dev/'), `${folder} on ${device}`);
  }
  const { agent } = await record([kind('numbers', () => 1)], 1);
  assert.equal(agent.on_disk, isOnDisk(os.tmpdir()));
});
