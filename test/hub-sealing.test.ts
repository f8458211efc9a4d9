import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { type HubOptions, startHub } from '../src/hub/hub.ts';
import type * as SealChild from '../src/hub/keep/seal-child.ts';
import { agentOf, BEGAN, Client, HEADER, jobOf, rows } from './hub/hub-process.ts';
import { eventually } from './made/eventually.ts';
import { IN_MEMORY } from './made/in-memory.ts';

// whatever a user does to the sealing of their own recordings, those of others are sealed

const ROOT = process.getuid?.() === 0 ? false : 'needs root: else all recordings are one user’s';
const UIDS = { eve: 54321, ada: 54322 };
type User = keyof typeof UIDS;
const TEXT = HEADER + rows(0, 9_000);

async function started(t: TestContext, options: Partial<HubOptions> = {}) {
  const archive = options.archive ?? fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-archive-'));
  fs.chmodSync(archive, 0o755);
  const messages: string[] = [];
  const tell = (text: string) => void messages.push(text);
  const hub = await startHub({ listen: '127.0.0.1:0', sweepEvery: 0.2, tell, ...options, archive });
  const client = new Client(hub.address);
  t.after(async () => {
    client.close();
    await hub.close();
    fs.rmSync(archive, { recursive: true, force: true });
  });
  const folder = (user: User, id: string): string => path.join(archive, `user=${user}/job=${id}/node=c1`);
  const open = async (user: User, id: string): Promise<number> => {
    const { body, status } = await client.open({ node: 'c1', job: jobOf(id, ['c1'], { user, uid: UIDS[user] }) });
    assert.equal(status, 200, body.error);
    await client.append([body.stream, 'loadavg', 1, 0, TEXT]);
    return body.stream;
  };
  const end = async (stream: number): Promise<void> => {
    const agent = agentOf('c1', { end: BEGAN + 1e11 });
    const { body } = await client.record({ stream, agent, end: { loadavg: { part: 1, bytes: TEXT.length } } });
    assert.equal(body.done, true);
  };
  const isSealed = (user: User, id: string): boolean =>
    fs.existsSync(path.join(folder(user, id), 'loadavg.parquet')) &&
    !fs.existsSync(path.join(folder(user, id), 'loadavg.csv'));
  const until = (what: string, holds: () => boolean): Promise<unknown> =>
    eventually(() => `${what}; told: ${messages.join('\n')}`, holds);
  return { archive, messages, folder, open, end, isSealed, until };
}

/** The processes that seal for this one. */
const sealers = (): number[] =>
  fs
    .readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1')
    .split(' ')
    .filter((pid) => pid !== '' && fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('--seal-as'))
    .map(Number);

test('a sealing process that its user has stopped delays that user alone', { skip: ROOT }, async (t) => {
  const { open, end, isSealed, until } = await started(t);
  const [first, second, other] = [await open('eve', '1'), await open('eve', '2'), await open('ada', '3')];
  await end(first);
  await until('a process seals', () => sealers().length > 0);
  const [stopped] = sealers();
  process.kill(stopped!, 'SIGSTOP');
  await end(second);
  await end(other);
  await until('sealed', () => isSealed('ada', '3'));
  assert.deepEqual([isSealed('eve', '1'), isSealed('eve', '2')], [false, false]);
  process.kill(stopped!, 'SIGCONT');
  await until('sealed', () => isSealed('eve', '1') && isSealed('eve', '2'));
});

test('sealing that takes too long is ended, told with the recording, and tried again', { skip: ROOT }, async (t) => {
  const { messages, open, end, isSealed, until } = await started(t, { sealSeconds: 2 });
  await end(await open('eve', '1'));
  await until('a process seals', () => sealers().length > 0);
  const [stopped] = sealers();
  process.kill(stopped!, 'SIGSTOP');
  await until('told', () => messages.length > 0);
  assert.match(
    messages[0]!,
    /^cannot seal user=eve\/job=1: sealing took longer than [\d.]+ s and was stopped; it stays as it is/,
  );
  assert.equal(fs.existsSync(`/proc/${stopped}`), false);
  await until('sealed', () => isSealed('eve', '1'));
});

test('pipes, links, folders and closed folders in one recording: the others are sealed', { skip: ROOT }, async (t) => {
  const { messages, folder, open, end, isSealed, until } = await started(t, { sealSeconds: 60 });
  const ids = ['1', '2', '3', '4'];
  const streams: number[] = [];
  for (const id of ids) streams.push(await open('eve', id));
  const other = await open('ada', '9');
  for (const name of ['evil.0001.csv', 'evil.csv', 'loadavg.0001.csv.zst']) {
    spawnSync('mkfifo', [path.join(folder('eve', '1'), name)]);
    fs.chownSync(path.join(folder('eve', '1'), name), UIDS.eve, UIDS.eve);
  }
  fs.mkdirSync(path.join(folder('eve', '2'), 'received.json.zst.0.tmp/x'), { recursive: true });
  fs.symlinkSync('/dev/zero', path.join(folder('eve', '3'), 'evil.csv'));
  fs.chmodSync(path.dirname(folder('eve', '4')), 0);
  // of the last one nothing can be noted: it is refused
  for (const stream of streams) await end(stream).catch(() => {});
  await end(other);
  await until('sealed', () => isSealed('ada', '9'));
  fs.chmodSync(path.dirname(folder('eve', '4')), 0o700);
  assert.ok(
    messages.every((text) => !text.includes('user=ada')),
    messages.join('\n'),
  );
});

for (const [what, sealMemory] of [
  ['texts without end', { heap: 40, data: 3072 }],
  ['values without end', { heap: 512, data: 750 }],
] as const) {
  test(`sealing has a limit of memory (${what}); it is told, tried again, and others are sealed`, {
    skip: ROOT,
  }, async (t) => {
    const { messages, folder, open, end, isSealed, until } = await started(t, { sealSeconds: 60, sealMemory });
    const [large, small] = [await open('eve', '1'), await open('ada', '2')];
    const file = path.join(folder('eve', '1'), 'evil.csv');
    const header = `time,who,${Array.from({ length: 60 }, (_, i) => `v${i}`).join(',')}\n`;
    fs.writeFileSync(file, header);
    const values = (what === 'texts without end' ? ',' : ',1').repeat(60);
    for (let i = 0; i < 30; i++) {
      const lines = Array.from({ length: 10_000 }, (_, n) => `${BEGAN + n},text number ${i * 1e4 + n}${values}`);
      fs.appendFileSync(file, `${lines.join('\n')}\n`);
    }
    fs.chownSync(file, UIDS.eve, UIDS.eve);
    await end(large);
    await end(small);
    await until('told', () => messages.length > 0);
    const limits = `${sealMemory.heap} MiB for texts, ${sealMemory.data} MiB in all`;
    const why = `it takes more memory than sealing may (${limits})`;
    const later = 'it stays as it is and is tried again in 5 min 00 s or later';
    assert.deepEqual(messages, [`cannot seal user=eve/job=1: ${why}; ${later}`]);
    await until('sealed', () => isSealed('ada', '2'));
    assert.ok(fs.existsSync(path.join(folder('eve', '1'), 'loadavg.csv')));
  });
}

test('a recording is sealed where its owner cannot read Tacho itself', { skip: ROOT }, async (t) => {
  const { archive, folder, open } = await started(t);
  await open('ada', '1');
  const home = fs.mkdtempSync(path.join(IN_MEMORY, 'tacho-private-'));
  t.after(() => fs.rmSync(home, { recursive: true, force: true }));
  const project = path.join(import.meta.dirname, '..');
  fs.cpSync(path.join(project, 'src'), path.join(home, 'src'), { recursive: true });
  fs.copyFileSync(path.join(project, 'package.json'), path.join(home, 'package.json'));
  fs.symlinkSync(path.join(project, 'node_modules'), path.join(home, 'node_modules'));
  const { startSealing } = (await import(path.join(home, 'src/hub/keep/seal-child.ts'))) as typeof SealChild;
  const owner = { uid: UIDS.ada, gid: UIDS.ada };
  // its agent does not describe the table: it is looked up in what Tacho knows
  const sealing = startSealing(path.join(archive, 'user=ada/job=1'), ['c1'], owner);
  assert.deepEqual(await sealing.reply, { tables: 1 });
  assert.ok(fs.existsSync(path.join(folder('ada', '1'), 'loadavg.parquet')));
});

test('records of many megabytes in users’ folders are not read, when the hub looks and when an agent opens', {
  skip: ROOT,
}, async (t) => {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-archive-'));
  t.after(() => fs.rmSync(archive, { recursive: true, force: true }));
  fs.chmodSync(archive, 0o755);
  // made by others: this process is the hub, and its memory is looked at
  const make = `
    cd ${archive} && mkdir -p user=eve user=zoe/job=1/node=c1
    for job in 1 2 3 4; do
      mkdir -p user=eve/job=$job/node=c1
      { printf '{"format":1,"nodes":[""],"steps":[{}'; yes ',{}' | head -n 15000000 | tr -d '\\n'; printf ']}'; } > big
      mv big user=eve/job=$job/job.json && cp user=eve/job=$job/job.json user=eve/job=$job/node=c1/agent.json
      zstd -q < user=eve/job=$job/job.json > user=eve/job=$job/node=c1/received.json.zst
      printf 'time,load1\\n1,2\\n' > user=eve/job=$job/node=c1/loadavg.csv
    done
    echo '{"format":1}' > user=zoe/job=1/job.json; touch -d '2 days ago' user=zoe/job=1/job.json
    chown -R ${UIDS.eve}:${UIDS.eve} user=eve; chown -R 54323:54323 user=zoe; chmod 700 user=eve user=zoe`;
  const { status, stderr } = spawnSync('sh', ['-c', make], { encoding: 'utf8' });
  if (/zstd: not found/.test(stderr)) return t.skip('no zstd: records that unpack to many megabytes');
  assert.equal(status, 0, stderr);
  const before = process.resourceUsage().maxRSS;
  const { messages, open, until } = await started(t, { archive, keepAge: 86_400 });
  // the oldest is removed when all of them were looked at
  await until('looked', () => messages.some((text) => text.startsWith('removed user=zoe/job=1')));
  for (const id of ['1', '2']) await open('eve', id).catch(() => {});
  const megabytes = (process.resourceUsage().maxRSS - before) / 1024;
  assert.ok(megabytes < 200, `${megabytes} MB more`);
});
