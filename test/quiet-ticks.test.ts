import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '../src/agent/loop/agent.ts';
import { SETTING, STATE, TALLY } from '../src/agent/loop/quiet-ticks.ts';
import { splitLine } from '../src/base/csv.ts';
import { sampling } from '../src/base/sampling.ts';
import { cpu } from '../src/sources/host/cpu.ts';
import { loadavg } from '../src/sources/host/loadavg.ts';
import { Host } from '../src/sources/host.ts';
import { process as processes } from '../src/sources/process/process.ts';
import { FACT, LIMIT } from '../src/sources/process/schedules.ts';
import { processTable } from '../src/sources/process/table.ts';
import type { Scope } from '../src/sources/scope.ts';
import type { SourceKind } from '../src/sources/source.ts';
import { frozen, wholeNode } from './frozen.ts';
import { type FrozenProcess, nodeFiles, processFiles, WORKING } from './frozen-process.ts';
import { enumNames, inCamels } from './made/c-enum.ts';
import { eventually } from './made/eventually.ts';
import { temporary } from './make-recording.ts';

const skip = sampling() === null && 'there is no C compiler';
const FACTS = { hostname: 'n', kernel: '6', architecture: 'x64', cpus: 2, memory_bytes: 1, gpus: [] };
/** Column of a row of `process`. */
const USER_MS = 10;
const LOAD = '0.50 0.25 0.75 1/200 4321\n';
const STAT = 'cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nctxt 11\nprocesses 12\n';

/** Counts how often JavaScript reads. */
function counted(kind: SourceKind, reads: { count: number; times?: number[] }): SourceKind {
  return {
    ...kind,
    isolated: false,
    open(host, scope) {
      const source = kind.open(host, scope);
      const read: typeof source.read = (frame) => {
        reads.count++;
        reads.times?.push(frame.time);
        source.read(frame);
      };
      return { ...source, read };
    },
  };
}

function startAgent(t: TestContext, folder: string, host: Host, kinds: SourceKind[], scope: Scope): Agent {
  const agent = new Agent({ folder, node: 'n', host, facts: { ...FACTS }, intervalSeconds: 0.1 });
  agent.open(kinds, scope);
  t.after(() => agent.stop('test ended'));
  agent.start();
  return agent;
}

/** A frozen machine, and an agent that records it. */
function sampled(
  t: TestContext,
  kinds: SourceKind[],
  files: Record<string, string> = { '/proc/loadavg': LOAD, '/proc/stat': STAT },
) {
  const machine = frozen(t, files);
  const folder = path.join(temporary(), 'node=n');
  return { machine, folder, agent: startAgent(t, folder, machine.host, kinds, wholeNode) };
}

const rowsOf = (folder: string, table: string): string[][] =>
  fs
    .readFileSync(path.join(folder, `${table}.csv`), 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','));

test('ticks at which only numbers change are done without JavaScript; what looks otherwise is read by it', {
  skip,
}, async (t) => {
  const reads = { count: 0 };
  const { machine, folder, agent } = sampled(t, [counted(loadavg, reads), counted(cpu, reads)]);
  await eventually('thirty ticks', () => agent.record.ticks >= 30);
  const [ticks, byHand] = [agent.record.ticks, reads.count];
  assert.ok(byHand < ticks, `JavaScript read ${byHand} times in ${ticks} ticks of two tables`);
  machine.write('/proc/loadavg', '1.50 12.25 0.07 9/200 4321\n');
  await eventually('a new load', () => rowsOf(folder, 'loadavg').at(-1)![1] === '1.5');
  assert.deepEqual(rowsOf(folder, 'loadavg').at(-1)!.slice(1), ['1.5', '12.25', '0.07', '9', '200']);
  assert.equal(reads.count, byHand);
  machine.write('/proc/stat', STAT.replace('ctxt', 'cpu1 1 1 1 1 1 1 1 1 1 1\nctxt'));
  await eventually('one more CPU', () => rowsOf(folder, 'cpu').at(-1)![1] === '1');
  assert.ok(reads.count > byHand);
  await agent.stop('stopped');

  const { record } = agent;
  const loads = rowsOf(folder, 'loadavg');
  const own = rowsOf(folder, 'agent');
  assert.equal(loads.length, record.ticks);
  assert.equal(own.length, record.ticks);
  assert.deepEqual(
    loads.map(([time]) => time),
    own.map(([time]) => time),
  );
  assert.ok(loads.every(([time], i) => i === 0 || Number(time) > Number(loads[i - 1]![0])));
  assert.equal(record.last_sample, Number(own.at(-1)![0]));
  // each row of the agent says what was written before it
  const bytes = ['loadavg', 'cpu', 'agent'].reduce(
    (sum, table) => sum + fs.statSync(path.join(folder, `${table}.csv`)).size,
    0,
  );
  assert.equal(record.cost.bytes_written + Buffer.byteLength(`${own.at(-1)!.join()}\n`), bytes);
  assert.equal(Number(own.at(-1)![4]), own.length - 1 + loads.length + rowsOf(folder, 'cpu').length);
});

test('an agent whose file was taken away begins a new one', { skip }, async (t) => {
  const { folder, agent } = sampled(t, [loadavg]);
  await eventually('five ticks', () => agent.record.ticks >= 5);
  fs.renameSync(path.join(folder, 'loadavg.csv'), path.join(folder, 'sealed'));
  fs.unlinkSync(path.join(folder, 'sealed'));
  await eventually('a new file', () => fs.existsSync(path.join(folder, 'loadavg.csv')));
  const { ticks } = agent.record;
  await eventually('five more', () => agent.record.ticks >= ticks + 5);
  await agent.stop('stopped');
  assert.match(fs.readFileSync(path.join(folder, 'loadavg.csv'), 'utf8'), /^time,load1,/);
  assert.ok(rowsOf(folder, 'loadavg').length >= 5);
});

test('a source that is opened while C does the ticks costs no sample', { skip }, async (t) => {
  const { folder, agent } = sampled(t, [loadavg]);
  await eventually('ten ticks', () => agent.record.ticks >= 10);
  agent.open([cpu], wholeNode);
  await eventually('ten rows of the new one', () => {
    const file = path.join(folder, 'cpu.csv');
    return fs.existsSync(file) && rowsOf(folder, 'cpu').length >= 20;
  });
  await agent.stop('stopped');
  assert.equal(rowsOf(folder, 'loadavg').length, agent.record.ticks);
  assert.equal(rowsOf(folder, 'agent').length, agent.record.ticks);
});

test('processes: who begins to run after a rest has rows at once, who sleeps has none', { skip }, async (t) => {
  const folder = path.join(temporary(), 'node=n');
  const child = spawn('sh', ['-c', 'read line; while :; do :; done'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  try {
    const scope = { members: { by: 'tree', pid: child.pid! }, exclude: [process.pid], redact: false } as const;
    const agent = startAgent(t, folder, new Host(), [loadavg, processes], scope);
    await eventually('its row', () => rowsOf(folder, 'process').length > 0);
    await sleep(1500);
    const asleep = rowsOf(folder, 'process').length;
    child.stdin.write('go\n');
    const user = (): number => Number(rowsOf(folder, 'process').at(-1)![USER_MS]);
    await eventually('CPU time', () => rowsOf(folder, 'process').length > asleep && user() >= 300);
    await agent.stop('stopped');
    assert.equal(rowsOf(folder, 'loadavg').length, agent.record.ticks);
  } finally {
    child.kill('SIGKILL');
  }
});

/** A machine with two processes, and an agent that records them. */
async function twoProcesses(t: TestContext): Promise<{
  agent: Agent;
  folder: string;
  reads: { count: number; times: number[] };
  work(changed: Partial<FrozenProcess>): void;
}> {
  const files = Object.assign(nodeFiles(999), processFiles(WORK), processFiles({ pid: 101, name: 'idle' }));
  const reads = { count: 0, times: [] };
  const { machine, folder, agent } = sampled(t, [counted(processes, reads)], files);
  // what tells of new processes has to have moved once
  await sleep(300);
  machine.write('/proc/loadavg', nodeFiles(1000)['/proc/loadavg']!);
  const work = (changed: Partial<FrozenProcess>): void => {
    const written = Object.entries(processFiles({ ...WORK, ...changed }));
    // who sees that it ran has to find what it did
    const order = (name: string): number => (name.endsWith('/schedstat') ? 1 : 0);
    for (const [name, text] of written.sort(([a], [b]) => order(a) - order(b)))
      fs.writeFileSync(machine.host.path(name), text, { flag: 'r+' });
  };
  let slices = 10;
  // until JavaScript has looked at it twice, and not again
  await eventually('quiet ticks', async () => {
    work({ schedule: [2_800_000_000, 1_500_999_999, slices++] });
    const { count } = reads;
    const { ticks } = agent.record;
    await sleep(400);
    return reads.count === count && agent.record.ticks > ticks + 1;
  });
  return { agent, folder, reads, work };
}

const WORK: FrozenProcess = {
  ...WORKING,
  pid: 100,
  name: 'a, "b"',
  command: ['work', 'hard'],
  schedule: [2_800_000_000, 1_500_999_999, 40],
};
const MORE: Partial<FrozenProcess> = {
  parent: 1,
  state: 'S',
  user: 260,
  system: 41,
  rssPages: 1100,
  minorFaults: 4400,
  schedule: [2_910_000_000, 1_700_999_999, 47],
  io: [1234, 2345, 8192, 9216],
};

test('processes that did more of the same are read by C: its rows are as those of JavaScript', { skip }, async (t) => {
  const { agent, folder, reads, work } = await twoProcesses(t);
  const linesOf = (file: string): string[] =>
    fs.readFileSync(path.join(file, 'process.csv'), 'utf8').trimEnd().split('\n').slice(1);
  // a tick that is late is JavaScript's: on a busy machine it takes several attempts
  const written = await eventually('a row of C’s', async () => {
    work({});
    await sleep(300);
    const before = linesOf(folder).length;
    work(MORE);
    await eventually('a row', () => linesOf(folder).length > before);
    await sleep(300);
    const rows = linesOf(folder).slice(before);
    return rows.length === 1 && !reads.times.includes(Number.parseFloat(rows[0]!)) && rows[0]!;
  });
  const { count } = reads;
  const columns = processTable.columns.map(({ name }) => name);
  const cells = splitLine(written);
  const row = Object.fromEntries(['time', 'pid', 'start', ...columns].map((name, i) => [name, cells[i]!]));
  assert.equal(cells.length, columns.length + 3);
  const expected = {
    pid: '100',
    name: 'a, "b"',
    command: '',
    user: 'ada',
    state: 'S',
    ppid: '1',
    uid: '1000',
    threads: '1',
    user_ms: '2600',
    system_ms: '410',
    children_user_ms: '7770',
    children_system_ms: '6660',
    rss_bytes: String(1100 * 4096),
    // of the status that was read before
    rss_anon_bytes: String(1000 * 3 * 1024),
    // more than that status said
    rss_peak_bytes: String(1100 * 4096),
    virtual_bytes: '8192000',
    minor_faults: '4400',
    major_faults: '2',
    read_bytes: '8192',
    written_bytes: '9216',
    read_chars: '1234',
    written_chars: '2345',
    read_calls: '3',
    write_calls: '4',
    wait_ms: '1700',
    cpu: '5',
    pss_bytes: '',
    cpu_limit_seconds: '',
    allowed_cpus: '',
  };
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, row[name]])), expected);
  assert.equal(agent.record.cost.bytes_written > 0, true);
  // JavaScript goes on with what C has found
  work({ ...MORE, threads: 2, user: 270, schedule: [2_990_000_000, 1_800_999_999, 50] });
  await eventually('two threads', () => splitLine(linesOf(folder).at(-1)!)[9] === '2');
  assert.ok(reads.count > count);
  const [last] = linesOf(folder).slice(-1).map(splitLine);
  assert.deepEqual([last![10], last![11]], ['2700', '410']);
  await agent.stop('stopped');
  const own = rowsOf(folder, 'agent').at(-1)!;
  assert.equal(Number(own[4]), rowsOf(folder, 'agent').length - 1 + linesOf(folder).length);
});

for (const [what, changed] of [
  ['has another name', { name: 'others' }],
  ['is somebody else’s pid now', { start: 6000 }],
  ['has ended', { state: 'Z' }],
  ['is large and has leapt in memory', { rssPages: 9000 }],
] satisfies [string, Partial<FrozenProcess>][]) {
  test(`a process that ${what} is looked at by JavaScript`, { skip }, async (t) => {
    const { reads, work } = await twoProcesses(t);
    const { count } = reads;
    work({ ...MORE, ...changed });
    await eventually('JavaScript', () => reads.count > count);
  });
}

test('a small process that leapt in memory: C reads its status, too', { skip }, async (t) => {
  const { folder, reads, work } = await twoProcesses(t);
  const last = (): string[] =>
    splitLine(fs.readFileSync(path.join(folder, 'process.csv'), 'utf8').trimEnd().split('\n').at(-1)!);
  const column = (name: string): number => 3 + processTable.columns.findIndex((each) => each.name === name);
  const leap = { ...MORE, rssPages: 3000 };
  await eventually('a row of C’s', async () => {
    work({});
    await sleep(300);
    work(leap);
    await eventually('its row', () => last()[column('rss_bytes')] === String(3000 * 4096));
    return !reads.times.includes(Number(last()[0]));
  });
  const figures = ['rss_anon_bytes', 'rss_file_bytes', 'rss_peak_bytes', 'swap_bytes', 'voluntary_switches', 'uid'];
  assert.deepEqual(
    figures.map((name) => Number(last()[column(name)])),
    [3000 * 3 * 1024, 3000 * 1024, 3000 * 4096 + 8 * 1024, 12 * 1024, 21, 1000],
  );
});

test('C and JavaScript have the same places for what they share', () => {
  // the last is their number
  const indexNames = (file: string, name: string): string[] => enumNames(file, name).slice(0, -1).map(inCamels);
  const shared = { ticks: { setting: SETTING, state: STATE, tally: TALLY }, processes: { fact: FACT, limit: LIMIT } };
  for (const [file, enums] of Object.entries(shared))
    for (const [name, numbersByName] of Object.entries(enums))
      assert.deepEqual(
        Object.entries(numbersByName),
        [...indexNames(file, name).entries()].map(([wordIndex, word]) => [word, wordIndex]),
      );
});
