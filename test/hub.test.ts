import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startHub } from '../src/hub/hub.ts';
import { readReceived } from '../src/hub/receive/received.ts';
import { readJob } from '../src/recording/folder/open.ts';
import { loadavg } from '../src/sources/host/loadavg.ts';
import { agentOf, BEGAN, Client, HEADER, type HubProcess, jobOf, rows, startHubProcess } from './hub/hub-process.ts';
import { eventually } from './made/eventually.ts';
import { tacho, temporaryFolder } from './tacho.ts';

const FIRST = `${HEADER}${rows(0, 3)}`;
const ROOT = process.getuid?.() === 0 ? false : 'needs root';

function connect(t: TestContext, { address }: Pick<HubProcess, 'address'>): Client {
  const client = new Client(address);
  t.after(() => client.close());
  return client;
}

/** Says that a body of so many bytes follows, and sends none. */
function announce(address: string, length: number): Promise<{ status: number }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-length': length };
    const request = http.request(`${address}/v1/append`, { method: 'POST', headers }, (response) => {
      resolve({ status: response.statusCode! });
      request.destroy();
    });
    request.on('error', reject);
    request.flushHeaders();
  });
}

/** The rows of a recording's loadavg, as the program exports them. */
function exported(recording: string): { time: number; load: number; node: string }[] {
  const { out, err, code } = tacho(['export', recording, '--table', 'loadavg', '--format', 'ndjson'], {
    maxBuffer: 64 << 20,
  });
  assert.equal(code, 0, err);
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('samples are filed by user, job and node, each once, whatever is sent again', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  const { body, status } = await client.open({ node: 'c1', job: jobOf('7', ['c1']) });
  assert.equal(status, 200, body.error);
  assert.deepEqual(body.tables, {});
  const { stream } = body;
  const file = path.join(archive, 'user=nobody/job=7/node=c1/loadavg.csv');
  const have = async (filePart: number, from: number, text: string) =>
    (await client.append([stream, 'loadavg', filePart, from, text])).body.have;
  assert.deepEqual(await have(1, 0, FIRST), [[stream, 'loadavg', 1, FIRST.length]]);
  // the same again, an overlap, a gap
  assert.deepEqual(await have(1, 0, FIRST), [[stream, 'loadavg', 1, FIRST.length]]);
  const more = rows(3, 2);
  assert.deepEqual(await have(1, FIRST.length - 5, FIRST.slice(-5) + more), [
    [stream, 'loadavg', 1, FIRST.length + more.length],
  ]);
  assert.deepEqual(await have(1, 10_000, more), [[stream, 'loadavg', 1, FIRST.length + more.length]]);
  assert.deepEqual(await have(3, 0, more), [[stream, 'loadavg', 1, FIRST.length + more.length]]);
  assert.equal(fs.readFileSync(file, 'utf8'), FIRST + more);
  assert.equal(JSON.parse(fs.readFileSync(path.join(archive, 'user=nobody/job=7/job.json'), 'utf8')).id, '7');
  // an unknown stream is said, not guessed
  assert.deepEqual((await client.append([5, 'loadavg', 1, 0, FIRST])).body, { have: [], unknown: [5] });
  assert.equal((await client.record({ stream: 5 })).status, 404);
  assert.equal(await hub.kill('SIGTERM'), 0);
});

test('the next part begins a new file, the finished one is compressed', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  const { stream } = (await client.open({ node: 'c1', job: jobOf('7', ['c1']) })).body;
  await client.append([stream, 'loadavg', 1, 0, FIRST]);
  const second = `${HEADER}${rows(3, 1)}`;
  assert.deepEqual((await client.append([stream, 'loadavg', 2, 0, second])).body.have, [
    [stream, 'loadavg', 2, second.length],
  ]);
  const folder = path.join(archive, 'user=nobody/job=7/node=c1');
  await eventually('compressed', () => fs.existsSync(path.join(folder, 'loadavg.0001.csv.zst')));
  await eventually('only once', () => !fs.existsSync(path.join(folder, 'loadavg.0001.csv')));
  assert.equal(fs.readFileSync(path.join(folder, 'loadavg.csv'), 'utf8'), second);
  await hub.kill('SIGKILL');
  const again = await startHubProcess(t, archive);
  const open = await connect(t, again).open({ node: 'c1', job: jobOf('7', ['c1']) });
  assert.deepEqual(open.body.tables, { loadavg: { part: 2, bytes: second.length } });
  assert.equal(exported(path.join(archive, 'user=nobody/job=7')).length, 4);
});

test('what was given up leaves a gap, and what follows is filed', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  const { stream } = (await client.open({ node: 'c1', job: jobOf('7', ['c1']) })).body;
  await client.append([stream, 'loadavg', 1, 0, FIRST]);
  const from = { part: 1, bytes: FIRST.length };
  const to = { part: 4, bytes: 0 };
  const record = await client.record({ stream, dropped: [{ table: 'loadavg', from, to, rows: 60 }] });
  assert.deepEqual(record.body.tables, { loadavg: to });
  const fourth = `${HEADER}${rows(63, 2)}`;
  await client.append([stream, 'loadavg', 4, 0, fourth]);
  await hub.kill('SIGKILL');
  const again = await startHubProcess(t, archive);
  const open = await connect(t, again).open({ node: 'c1', job: jobOf('7', ['c1']) });
  assert.deepEqual(open.body.tables, { loadavg: { part: 4, bytes: fourth.length } });
  const times = exported(path.join(archive, 'user=nobody/job=7')).map(({ time }) => time);
  assert.equal(times.length, 5);
  const received = readReceived(path.join(archive, 'user=nobody/job=7/node=c1'));
  assert.deepEqual(received.dropped, [{ table: 'loadavg', from, to, rows: 60 }]);
});

test('kill -9 in the middle of appends: nothing that was acknowledged is lost, nothing is there twice', async (t) => {
  const archive = temporaryFolder(t);
  const text = HEADER + rows(0, 4000);
  const file = path.join(archive, 'user=nobody/job=9/node=c1/loadavg.csv');
  let acknowledged = 0;
  for (let round = 0; round < 6; round++) {
    const hub = await startHubProcess(t, archive);
    const client = connect(t, hub);
    const open = await client.open({ node: 'c1', job: jobOf('9', ['c1']) });
    const { stream } = open.body;
    let at = open.body.tables.loadavg?.bytes ?? 0;
    assert.ok(at >= acknowledged, `${at} of ${acknowledged} acknowledged bytes are there`);
    try {
      for (let i = 0; at < text.length; at = acknowledged, i++) {
        const reply = client.append([stream, 'loadavg', 1, at, text.slice(at, at + 97)]);
        // somewhere between its sending and its answer
        if (i === 20 + round * 7) setTimeout(() => hub.child.kill('SIGKILL'), round / 4);
        acknowledged = (await reply).body.have[0]![3];
      }
    } catch {
      // killed
    }
    await hub.kill('SIGKILL');
    const there = fs.readFileSync(file, 'utf8');
    assert.ok(there.length >= acknowledged);
    assert.equal(there, text.slice(0, there.length));
  }
  assert.ok(acknowledged > 0);
});

test('a job whose nodes are all done is sealed; what comes late is filed and sealed, too', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  const job = jobOf('11', ['c1', 'c2']);
  const recording = path.join(archive, 'user=nobody/job=11');
  const agent = (node: string, end?: number) =>
    agentOf(node, {
      tables: [{ ...loadavg.table, columns: loadavg.table.columns.slice(0, 1) }],
      ...(end === undefined ? {} : { end, end_reason: 'stopped' }),
    });
  const streams: number[] = [];
  for (const node of ['c1', 'c2']) {
    const { stream } = (await client.open({ node, job, agent: agent(node) })).body;
    streams.push(stream);
    await client.append([stream, 'loadavg', 1, 0, FIRST]);
  }
  const end = { loadavg: { part: 1, bytes: FIRST.length } };
  const [c1, c2] = streams as [number, number];
  // not all of it is there yet
  assert.deepEqual((await client.record({ stream: c1, end: { loadavg: { part: 1, bytes: 999 } } })).body, {
    done: false,
    tables: end,
  });
  assert.deepEqual((await client.record({ stream: c1, agent: agent('c1', BEGAN + 4e6), end })).body, { done: true });
  await pause(300);
  assert.ok(fs.existsSync(path.join(recording, 'node=c1/loadavg.csv')), 'one node is still writing');
  const facts = { state: 'completed', exit_code: 0, end: BEGAN + 5e6, account: 'physics' } as const;
  const last = await client.record({ stream: c2, agent: agent('c2', BEGAN + 5e6), job: { ...job, ...facts }, end });
  assert.deepEqual(last.body, { done: true });
  const sealed = (node: string) =>
    fs.existsSync(path.join(recording, `node=${node}/loadavg.csv.zst`)) &&
    !fs.existsSync(path.join(recording, `node=${node}/loadavg.csv`));
  await eventually('sealed', () => sealed('c1') && sealed('c2'));
  const read = readJob(recording)!;
  assert.deepEqual(
    [read.state, read.account, read.end, read.nodes],
    ['completed', 'physics', BEGAN + 5e6, ['c1', 'c2']],
  );
  assert.equal(exported(recording).length, 6);
  assert.match(tacho(['report', recording]).out, /11/);
  assert.match(tacho(['list', archive]).out, /job=11/);
  assert.doesNotMatch(tacho(['verify', recording]).out, /not one of Tacho|left/);

  // c2 comes back after the hub was restarted: it goes on where it was
  await hub.kill('SIGKILL');
  const again = await startHubProcess(t, archive);
  const second = connect(t, again);
  const open = await second.open({ node: 'c2', job, agent: agent('c2') });
  assert.deepEqual(open.body.tables, end);
  assert.equal(open.body.done, true);
  const late = rows(3, 2);
  const { stream } = open.body;
  // it may wait for a moment while the hub looks at what the last one left
  await eventually('stored', async () => {
    const { body } = await second.append([stream, 'loadavg', 1, FIRST.length, late]);
    return body.have[0]![3] === FIRST.length + late.length;
  });
  assert.equal(exported(recording).length, 8);
  await again.kill('SIGKILL');
  const third = await startHubProcess(t, archive);
  const last3 = connect(t, third);
  const reopened = await last3.open({ node: 'c2', job, agent: agent('c2', BEGAN + 6e6) });
  const all = { loadavg: { part: 1, bytes: FIRST.length + late.length } };
  assert.deepEqual(reopened.body.tables, all);
  assert.equal(reopened.body.done, undefined);
  assert.deepEqual((await last3.record({ stream: reopened.body.stream, end: all })).body, { done: true });
  await eventually('sealed again', () => sealed('c2'));
  assert.deepEqual(
    exported(recording)
      .map(({ time, node }) => `${node} ${time}`)
      .sort().length,
    8,
  );
  assert.equal(await third.kill('SIGTERM'), 0);
});

test('a hub that was killed while it sealed: the next one seals what is left', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  const text = HEADER + rows(0, 9_000);
  const job = jobOf('12', ['c1']);
  const { stream } = (await client.open({ node: 'c1', job })).body;
  await client.append([stream, 'loadavg', 1, 0, text]);
  const end = { loadavg: { part: 1, bytes: text.length } };
  const agent = agentOf('c1', { end: BEGAN + 1e11 });
  assert.deepEqual((await client.record({ stream, agent, end })).body, { done: true });
  const folder = path.join(archive, 'user=nobody/job=12/node=c1');
  await eventually('noted', () => fs.existsSync(path.join(folder, 'received.json.zst')));
  await hub.kill('SIGKILL');
  const again = await startHub({ listen: '127.0.0.1:0', archive, sweepEvery: 0.1 });
  t.after(() => again.close());
  const open = await connect(t, again).open({ node: 'c1', job, agent });
  assert.deepEqual([open.body.tables, open.body.done], [end, true]);
  const left = () => fs.readdirSync(folder).sort().join(' ');
  await eventually('sealed', () => left() === 'agent.json loadavg.parquet loadavg.stats.json.zst received.json.zst');
  assert.equal(exported(path.dirname(folder)).length, 9_000);
});

test('names that would leave the archive, and things that are no requests, are refused with a reason', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  const refused = async (part: object, why: RegExp) => {
    const reply = await client.open({ node: 'c1', job: jobOf('7', ['c1']), ...part });
    assert.equal(reply.status, 400);
    assert.match(reply.body.error!, why);
  };
  await refused({ node: '..' }, /cannot be the name of a node/);
  await refused({ node: 'a/b' }, /holds "\/"/);
  await refused({ node: 'a\0b' }, /holds/);
  await refused({ node: 'x'.repeat(300) }, /longer than/);
  await refused({ node: '' }, /no name/);
  await refused({ job: jobOf('../../etc', ['c1']) }, /job/);
  await refused({ job: jobOf('7', ['c1'], { user: '../root' }) }, /user/);
  await refused({ kind: 'fleet', job: jobOf('today', ['c1']) }, /fleet-YEAR/);
  await refused({ job: 'no job' as never }, /job is missing/);
  await refused({ protocol: 99 }, /protocol 1/);
  const { stream } = (await client.open({ node: 'c1', job: jobOf('7', ['c1']) })).body;
  const named = await client.append([stream, '../../x', 1, 0, FIRST], [stream, 'loadavg', 1, 0, FIRST]);
  assert.match(named.body.refused![0]![1], /cannot be the name of a table/);
  assert.deepEqual(named.body.have, [[stream, 'loadavg', 1, FIRST.length]]);
  assert.equal((await client.post('/v1/append', Buffer.from('no samples'))).status, 400);
  assert.equal((await client.post('/v1/open', Buffer.from('{'))).status, 400);
  assert.equal((await announce(hub.address, (8 << 20) + 1)).status, 413);
  assert.equal((await client.post('/', Buffer.alloc(0))).status, 404);
  assert.deepEqual(fs.readdirSync(archive).sort(), ['.hub', 'user=nobody']);
});

test('a job whose user its agent cannot tell is filed, and sealed, for administrators alone', async (t) => {
  const archive = temporaryFolder(t);
  const client = connect(t, await startHubProcess(t, archive));
  const job = jobOf('7', ['c1'], { user: '', uid: -1 });
  const opened = await client.open({ node: 'c1', job });
  assert.equal(opened.status, 200, opened.body.error);
  const { stream } = opened.body;
  await client.append([stream, 'loadavg', 1, 0, FIRST]);
  const end = { loadavg: { part: 1, bytes: FIRST.length } };
  await client.record({ stream, agent: agentOf('c1', { end: BEGAN + 3e6 }), end });
  const folder = path.join(archive, 'user=unknown/job=7/node=c1');
  await eventually(
    'sealed',
    () => fs.existsSync(path.join(folder, 'loadavg.parquet')) && !fs.existsSync(path.join(folder, 'loadavg.csv')),
  );
  assert.equal(exported(path.dirname(folder)).length, 3);
  const { uid, mode } = fs.statSync(path.join(archive, 'user=unknown'));
  assert.deepEqual([uid, mode & 0o77], [process.getuid!(), 0]);
});

test('a hub that everybody can reach needs trust', (t) => {
  const { code, err } = tacho(['hub', '--listen', '0.0.0.0:0', '--archive', temporaryFolder(t)]);
  assert.equal(code, 2);
  assert.match(err, /anybody could write/);
});

test('one archive has one hub', async (t) => {
  const archive = temporaryFolder(t);
  await startHubProcess(t, archive);
  const { code, err } = tacho(['hub', '--listen', '127.0.0.1:0', '--archive', archive]);
  assert.equal(code, 1);
  assert.match(err, /another hub/);
});

test('each user can read what is theirs and nobody else can', { skip: ROOT }, async (t) => {
  // others must be able to get there
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-archive-'));
  t.after(() => fs.rmSync(archive, { recursive: true }));
  fs.chmodSync(archive, 0o755);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  const { stream } = (await client.open({ node: 'c1', job: jobOf('7', ['c1']) })).body;
  await client.append([stream, 'loadavg', 1, 0, FIRST]);
  const other = jobOf('8', ['c1'], { user: 'nobody-else', uid: 54321 });
  assert.equal((await client.open({ node: 'c1', job: other })).status, 200);
  const file = path.join(archive, 'user=nobody/job=7/node=c1/loadavg.csv');
  assert.equal(fs.statSync(file).uid, 65534);
  assert.equal(fs.statSync(path.join(archive, 'user=nobody-else/job=8')).uid, 54321);
  const as = (uid: number) => (command: string) =>
    spawnSync('setpriv', [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', 'sh', '-c', command]).status;
  assert.equal(as(65534)(`cat ${file}`), 0);
  assert.notEqual(as(54321)(`cat ${file}`), 0);
  assert.notEqual(as(54321)(`ls ${archive}/user=nobody`), 0);
  assert.notEqual(as(65534)(`touch ${archive}/user=else`), 0);
  // a number that is somebody else's, and a name with another number
  assert.match((await client.open({ node: 'c1', job: { ...other, uid: 0 } })).body.error!, /number 0 is not user/);
  assert.match((await client.open({ node: 'c1', job: jobOf('7', ['c1'], { uid: 5 }) })).body.error!, /is number 65534/);
});

test('a link or a pipe that a user puts into their folder leads nowhere and holds up nobody', {
  skip: ROOT,
}, async (t) => {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-archive-'));
  const outside = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-outside-'));
  t.after(() => {
    fs.rmSync(archive, { recursive: true });
    fs.rmSync(outside, { recursive: true });
  });
  for (const folder of [archive, outside]) fs.chmodSync(folder, folder === outside ? 0o777 : 0o755);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  assert.equal((await client.open({ node: 'c1', job: jobOf('7', ['c1']) })).status, 200);
  const mine = path.join(archive, 'user=nobody');
  fs.writeFileSync(path.join(outside, 'target'), '', { mode: 0o666 });
  fs.symlinkSync(outside, path.join(mine, 'job=8'));
  assert.match((await client.open({ node: 'c1', job: jobOf('8', ['c1']) })).body.error!, /is not a folder/);
  const { stream } = (await client.open({ node: 'c2', job: jobOf('7', ['c1']) })).body;
  fs.symlinkSync(path.join(outside, 'target'), path.join(mine, 'job=7/node=c2/loadavg.csv'));
  const pipe = path.join(mine, 'job=7/node=c2/meminfo.csv');
  spawnSync('mkfifo', [pipe]);
  fs.chownSync(pipe, 65534, 65534);
  const { body } = await client.append([stream, 'loadavg', 1, 0, FIRST], [stream, 'meminfo', 1, 0, FIRST]);
  assert.equal(body.trouble, undefined);
  assert.deepEqual(
    body.refused!.map(([id, why]) => [id, why.replace(/^.*: /, '')]),
    [[stream, 'meminfo.csv is not an ordinary file']],
  );
  assert.deepEqual(body.have, [
    [stream, 'loadavg', 1, 0],
    [stream, 'meminfo', 1, 0],
  ]);
  assert.deepEqual(fs.readdirSync(outside), ['target']);
  assert.equal(fs.statSync(path.join(outside, 'target')).size, 0);
});

test('a full disk: the hub says so, and what it says it has is true', { skip: ROOT }, async (t) => {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-small-'));
  t.after(() => {
    spawnSync('umount', ['-l', archive]);
    fs.rmSync(archive, { recursive: true });
  });
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=755', 'tacho-test', archive]);
  if (mounted.status !== 0) return t.skip('cannot mount a small file system');
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  const { stream } = (await client.open({ node: 'c1', job: jobOf('7', ['c1']) })).body;
  const text = HEADER + rows(0, 40_000);
  let have = 0;
  let trouble: string | undefined;
  for (let i = 0; i < 40 && trouble === undefined; i++) {
    const { body } = await client.append([stream, 'loadavg', 1, have, text.slice(have, have + 50_000)]);
    have = body.have[0]![3];
    trouble = body.trouble;
  }
  assert.match(trouble!, /no space left/);
  const file = path.join(archive, 'user=nobody/job=7/node=c1/loadavg.csv');
  assert.equal(fs.readFileSync(file, 'utf8'), text.slice(0, have));
  spawnSync('mount', ['-o', 'remount,size=4m', archive]);
  const { body } = await client.append([stream, 'loadavg', 1, have, text.slice(have)]);
  assert.equal(body.trouble, undefined);
  assert.equal(fs.readFileSync(file, 'utf8'), text);
  await hub.kill('SIGTERM');
});

test('a number that another cluster has, or that is used again later, is another job', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  const open = async (node: string, facts: object): Promise<void> => {
    const { body, status } = await client.open({ node, job: jobOf('7', [node], { cluster: 'one', ...facts }) });
    assert.equal(status, 200, body.error);
    await client.append([body.stream, 'loadavg', 1, 0, FIRST]);
  };
  await open('c1', { end: BEGAN + 10e6, state: 'completed' });
  await open('c2', { start: BEGAN + 9e6 });
  await open('c1', { cluster: 'two' });
  await open('c1', { start: BEGAN + 100e6 });
  await open('c2', { start: BEGAN + 101e6 });
  const csvFiles = fs.globSync('job=*/node=*/loadavg.csv', { cwd: path.join(archive, 'user=nobody') }).sort();
  assert.deepEqual(
    csvFiles.map((file) => path.dirname(file)),
    ['job=7/node=c1', 'job=7/node=c2', 'job=7@one/node=c1', 'job=7@one/node=c2', 'job=7@two/node=c1'],
  );
});

test('a node that begins a job later than it recorded one of that number records another, ended or not', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  const open = async (id: string, start: number, facts: object = {}): Promise<void> => {
    const job = jobOf(id, ['c1'], { start, ...facts });
    const agent = agentOf('c1', { start: start + 1e3, ...(job.end === undefined ? {} : { end: job.end }) });
    const { body, status } = await client.open({ node: 'c1', job, agent });
    assert.equal(status, 200, body.error);
    await client.append([body.stream, 'loadavg', 1, 0, FIRST]);
  };
  await open('7', BEGAN, { end: BEGAN + 10e6, state: 'completed' });
  await open('7', BEGAN + 11e6);
  await open('8', BEGAN);
  await open('8', BEGAN + 90e6);
  // the same runs, as agents that were restarted tell of them
  await open('7', BEGAN + 11e6);
  await open('8', BEGAN);
  const jobFolders = fs.globSync('job=*', { cwd: path.join(archive, 'user=nobody') }).sort();
  assert.deepEqual(jobFolders, ['job=7', 'job=7.2', 'job=8', 'job=8.2']);
  await eventually('job.json', () => readJob(path.join(archive, 'user=nobody/job=8.2')) !== undefined);
  assert.equal(readJob(path.join(archive, 'user=nobody/job=8'))!.start, BEGAN);
  assert.equal(readJob(path.join(archive, 'user=nobody/job=8.2'))!.start, BEGAN + 90e6);
});

test('what the fleet records is filed by day', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  for (const node of ['c1', 'c2']) {
    const job = jobOf('fleet-2026-11-15', [node], { user: '', uid: -1, scheduler: 'none' });
    const { body, status } = await client.open({ node, kind: 'fleet', job });
    assert.equal(status, 200, body.error);
    await client.append([body.stream, 'loadavg', 1, 0, FIRST]);
  }
  await hub.kill('SIGTERM');
  const recording = path.join(archive, 'fleet/day=2026-11-15');
  assert.deepEqual(readJob(recording)!.nodes, ['c1', 'c2']);
  assert.equal(exported(recording).length, 6);
});

test('recordings that ended long ago are removed, what is live stays', async (t) => {
  const archive = temporaryFolder(t);
  const messages: string[] = [];
  const hub = await startHub({
    listen: '127.0.0.1:0',
    archive,
    keepAge: 3600,
    sealAfter: 600,
    sweepEvery: 0.2,
    tell: (text) => messages.push(text),
  });
  t.after(() => hub.close());
  const client = connect(t, hub);
  const old = (await client.open({ node: 'c1', job: jobOf('1', ['c1']) })).body.stream;
  await client.append([old, 'loadavg', 1, 0, FIRST]);
  const end = { loadavg: { part: 1, bytes: FIRST.length } };
  await client.record({ stream: old, agent: agentOf('c1', { end: BEGAN + 3e6 }), end });
  const live = (await client.open({ node: 'c2', job: jobOf('2', ['c2']) })).body.stream;
  await client.append([live, 'loadavg', 1, 0, FIRST]);
  const folder = path.join(archive, 'user=nobody/job=1/node=c1');
  const left = () => fs.readdirSync(folder).sort().join(' ');
  await eventually('sealed', () => left() === 'agent.json loadavg.parquet loadavg.stats.json.zst received.json.zst');
  const { state, reason } = readJob(path.join(archive, 'user=nobody/job=1'))!;
  assert.deepEqual([state, reason], ['unknown', 'neither the epilog nor the scheduler has said']);
  const before = Date.now() / 1000 - 7200;
  for (const job of ['1', '2']) {
    for (const name of fs.globSync('**', { cwd: path.join(archive, `user=nobody/job=${job}`) }))
      fs.utimesSync(path.join(archive, `user=nobody/job=${job}`, name), before, before);
  }
  await eventually('removed', () => !fs.existsSync(path.join(archive, 'user=nobody/job=1')));
  assert.ok(fs.existsSync(path.join(archive, 'user=nobody/job=2/node=c2/loadavg.csv')));
  assert.ok(
    messages.some((text) => /removed user=nobody\/job=1 .*older/.test(text)),
    messages.join('\n'),
  );
});

test('an archive that is too large: whole recordings go, those that ended first; what runs stays, and what went is noted', async (t) => {
  const archive = temporaryFolder(t);
  const jobFolder = (job: string): string => path.join(archive, `user=nobody/job=${job}`);
  const files = (job: string): string[] =>
    fs.globSync('**', { cwd: jobFolder(job) }).map((name) => path.join(jobFolder(job), name));
  const size = (job: string): number =>
    files(job).reduce((sum, file) => sum + (fs.statSync(file).isFile() ? fs.statSync(file).size : 0), 0);
  const first = await startHub({ listen: '127.0.0.1:0', archive, sweepEvery: 3600 });
  const before = connect(t, first);
  const jobs = ['1', '2', '3', '4', 'running'];
  for (const job of jobs) {
    const { stream } = (await before.open({ node: 'c1', job: jobOf(job, ['c1']) })).body;
    await before.append([stream, 'loadavg', 1, 0, FIRST]);
    if (job === 'running') continue;
    const end = { loadavg: { part: 1, bytes: FIRST.length } };
    await before.record({ stream, agent: agentOf('c1', { end: BEGAN + 3e6 }), end });
    // to the end: what is being sealed when a hub ends is done again by the next one
    const left = () =>
      fs
        .readdirSync(path.join(jobFolder(job), 'node=c1'))
        .sort()
        .join(' ');
    const sealed = 'agent.json loadavg.parquet loadavg.stats.json.zst received.json.zst';
    await eventually(`job ${job} sealed`, () => left() === sealed);
  }
  await first.close();
  // the one that runs was heard of longest ago, for this hub was away; then 3, 1, 4, 2
  for (const [hours, job] of ['2', '4', '1', '3', 'running'].entries()) {
    const at = Date.now() / 1000 - (hours + 2) * 3600;
    for (const file of files(job)) fs.utimesSync(file, at, at);
  }
  const kept = Object.fromEntries(['2', '4', 'running'].map((job) => [job, files(job)]));
  const bytes = Object.fromEntries(jobs.map((job) => [job, size(job)]));
  const keepSize = jobs.reduce((sum, job) => sum + bytes[job]!, 0) - bytes['3']! - bytes['1']! + 10;
  const messages: string[] = [];
  const second = await startHub({
    listen: '127.0.0.1:0',
    archive,
    keepSize,
    sweepEvery: 0.1,
    tell: (text) => messages.push(text),
  });
  t.after(() => second.close());
  await eventually('removed', () => !fs.existsSync(jobFolder('3')) && !fs.existsSync(jobFolder('1')));
  await pause(400);
  assert.deepEqual(fs.readdirSync(path.join(archive, 'user=nobody')).sort(), ['job=2', 'job=4', 'job=running']);
  assert.deepEqual(Object.fromEntries(Object.keys(kept).map((job) => [job, files(job)])), kept);
  const noted = fs.readFileSync(path.join(archive, '.removed.jsonl'), 'utf8').trim().split('\n');
  assert.deepEqual(
    noted
      .map((line) => JSON.parse(line))
      .map((each) => [each.recording, each.bytes, each.why, each.removed > each.changed]),
    ['3', '1'].map((job) => [`user=nobody/job=${job}`, bytes[job], 'the archive is larger than allowed', true]),
  );
  assert.equal(messages.filter((text) => text.startsWith('removed ')).length, 2, messages.join('\n'));
  // and the one that runs goes on where it was
  const client = connect(t, second);
  const { stream, tables } = (await client.open({ node: 'c1', job: jobOf('running', ['c1']) })).body;
  assert.deepEqual(tables, { loadavg: { part: 1, bytes: FIRST.length } });
  assert.equal((await client.append([stream, 'loadavg', 1, FIRST.length, rows(3, 1)])).status, 200);
});

test('tacho ls shows what a hub receives, and what lies in an archive', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const client = connect(t, hub);
  for (const [node, id] of [
    ['c2', '7'],
    ['c10', '7'],
    ['c1', '8'],
  ] as const) {
    const { stream } = (await client.open({ node, job: jobOf(id, [node]) })).body;
    await client.append([stream, 'loadavg', 1, 0, FIRST], [stream, 'meminfo', 1, 0, FIRST]);
  }
  type Lines = { node: string; job: string; table: string; bytes: number; state: string; rows_per_second: number }[];
  const ls = (...args: string[]): Lines => {
    const { out, err, code } = tacho(['nodes', ...args, '--format', 'json']);
    assert.equal(code, 0, err);
    return JSON.parse(out);
  };
  const shown = (lines: Lines) => lines.map(({ node, job, table, bytes }) => `${node} ${job} ${table} ${bytes}`);
  const all = ['c1 8', 'c2 7', 'c10 7'].flatMap((each) =>
    ['loadavg', 'meminfo'].map((table) => `${each} ${table} ${FIRST.length}`),
  );
  assert.deepEqual(shown(ls(hub.address)), all);
  assert.deepEqual(shown(ls(archive)), all);
  assert.deepEqual(shown(ls(hub.address, '--job', '8')), all.slice(0, 2));
  assert.deepEqual(shown(ls(archive, '--node', 'c10')), all.slice(4));
  assert.deepEqual(ls(hub.address, '--user', 'else'), []);
  assert.ok(ls(hub.address).every(({ state, rows_per_second }) => state === 'live' && rows_per_second > 0));
  const { out: jobs } = tacho(['nodes', hub.address]);
  assert.match(jobs, /^7 +nobody +c\[2,10\] .* live\n8 +nobody +c1 .* live\n3 nodes, 2 recordings, 6 tables/m);
  const { out } = tacho(['nodes', hub.address, '--all']);
  assert.match(out, /^c1 +nobody +8 +loadavg +.* live$/m);
  await hub.kill('SIGTERM');
  const nowhere = tacho(['nodes', 'tacho-hub.invalid:8471']);
  assert.equal(nowhere.code, 1);
  assert.match(
    nowhere.err,
    /cannot ask the hub http:\/\/tacho-hub.invalid:8471: (no machine of this name|its name cannot)/,
  );
  const away = tacho(['nodes', hub.address]);
  assert.equal(away.code, 1);
  assert.match(away.err, /nobody listens there/);
});

test('half requests, slow ones and noise cost nothing for long, and others are served meanwhile', async (t) => {
  const archive = temporaryFolder(t);
  const hub = await startHubProcess(t, archive);
  const { port } = new URL(hub.address);
  const sockets = Array.from({ length: 200 }, (_, i) => {
    const socket = net.connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    if (i % 4 === 1) socket.write('GET /');
    if (i % 4 === 2) socket.write('POST /v1/append HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\nabc');
    if (i % 4 === 3) socket.write(Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]));
    return socket;
  });
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  const client = connect(t, hub);
  const { stream } = (await client.open({ node: 'c1', job: jobOf('7', ['c1']) })).body;
  const { body } = await client.append([stream, 'loadavg', 1, 0, FIRST]);
  assert.deepEqual(body.have, [[stream, 'loadavg', 1, FIRST.length]]);
  // what is no HTTP is gone at once
  await eventually('noise is closed', () => sockets.filter((socket) => socket.destroyed).length >= 50);
  for (const socket of sockets) socket.destroy();
  const more = rows(3, 1);
  assert.equal((await client.append([stream, 'loadavg', 1, FIRST.length, more])).status, 200);
  assert.equal(await hub.kill('SIGTERM'), 0);
  // one line for each kind of noise, not one for each connection
  const [, ...messages] = hub.outputText().trim().split('\n');
  for (const line of messages) assert.match(line, /refused 127\.0\.0\.1: /);
  assert.ok(messages.length <= 3, hub.outputText());
});

test('with tokens, a node writes as itself alone, and a user sees their own lines alone', async (t) => {
  const folder = temporaryFolder(t);
  const key = path.join(folder, 'hub.key');
  assert.equal(tacho(['token', 'key', key]).code, 0);
  const token = (kind: string, name: string): string => {
    const file = path.join(folder, `${name}.token`);
    fs.writeFileSync(file, tacho(['token', kind, name, '--trust-key-file', key]).out, { mode: 0o600 });
    return file;
  };
  const archive = path.join(folder, 'archive');
  const hub = await startHubProcess(t, archive, ['--trust', 'token', '--trust-key-file', key]);
  assert.match(hub.outputText(), /trust by token/);
  const client = connect(t, hub);
  assert.equal((await client.open({ node: 'c1', job: jobOf('7', ['c1']) })).status, 401);
  const authorization = `Token ${fs.readFileSync(token('node', 'c1'), 'utf8').trim()}`;
  await client.begin(authorization, 'c1');
  const mine = await client.open({ node: 'c1', job: jobOf('7', ['c1']) });
  assert.equal(mine.status, 200, mine.body.error);
  await client.append([mine.body.stream, 'loadavg', 1, 0, FIRST]);
  const other = await client.open({ node: 'c2', job: jobOf('7', ['c1']) });
  assert.equal(other.status, 403);
  const second = connect(t, hub);
  await second.begin(`Token ${fs.readFileSync(token('node', 'c2'), 'utf8').trim()}`, 'c2');
  // another node's stream is not to be written to, whoever guesses its number
  assert.equal((await second.append([mine.body.stream, 'loadavg', 1, FIRST.length, rows(3, 1)])).status, 403);
  const lines = (file: string): number => {
    const args = ['nodes', hub.address, '--trust', 'token', '--trust-token-file', file, '--format', 'json'];
    const { out, err, code } = tacho(args);
    assert.equal(code, 0, err);
    return JSON.parse(out).length;
  };
  assert.equal(lines(token('user', 'nobody')), 1);
  assert.equal(lines(token('user', 'daemon')), 0);
  assert.equal(lines(token('administrator', 'boss')), 1);
  assert.match(
    tacho(['nodes', hub.address]).err,
    /who asks is not authenticated\n +choose the method of the hub: --trust munge/,
  );
});
