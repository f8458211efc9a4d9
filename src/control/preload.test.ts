import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { ours } from '../base/ours.ts';
import {
  discardRecords,
  injected,
  libraryOf,
  planRecords,
  prepareRecords,
  refusal,
  removeAbandoned,
  tryLibrary,
} from './preload.ts';

const built = fs.existsSync(ours('native/build/libtacho-record.so'));
const skip = !built && 'needs native/build/libtacho-record.so (no compiler when it was set up)';

function folder(t: TestContext): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-preload-'));
  t.after(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

test('every recording has a file of its own name, which tells nothing of the job', () => {
  const one = planRecords({ TACHO_RECORD_EVENTS: 'instructions, cache-misses;nonsense' });
  assert.match(one.file, new RegExp(`^/(dev/shm|tmp)/tacho-${process.getuid!()}-[0-9a-f]{16}/events$`));
  assert.deepEqual(one.events, ['PERF_COUNT_HW_INSTRUCTIONS', 'PERF_COUNT_HW_CACHE_MISSES', 'nonsense']);
  assert.notEqual(planRecords({}).file, one.file);
});

test('the library is tried where it is to be used, and leaves no trace', { skip }, async (t) => {
  const records = { file: path.join(folder(t), 'own', 'events'), events: [] };
  assert.equal(await prepareRecords(records, process.env, '.'), undefined);
  assert.equal(fs.statSync(path.dirname(records.file)).mode & 0o777, 0o700);
  assert.deepEqual(fs.readdirSync(path.dirname(records.file)).sort(), ['agent', 'events']);
  assert.equal(fs.readFileSync(records.file, 'utf8'), '');
  discardRecords(records);
  assert.ok(!fs.existsSync(path.dirname(records.file)));
});

test('a library that cannot be used is said in words, and the file is taken back', async (t) => {
  const recordsRoot = folder(t);
  const records = { file: path.join(recordsRoot, 'own', 'events'), events: [] };
  let hint: string | undefined;
  const why = async (library: string): Promise<string> => {
    const note = await prepareRecords(records, { ...process.env, TACHO_RECORD_LIBRARY: library }, '.');
    assert.ok(!fs.existsSync(path.dirname(records.file)));
    hint = note!.hint;
    return note!.why;
  };
  assert.match(await why(path.join(recordsRoot, 'missing.so')), /missing\.so is not there$/);
  assert.match(hint!, /^TACHO_RECORD_LIBRARY names it/);
  const text = path.join(recordsRoot, 'text.so');
  fs.writeFileSync(text, 'this is no library at all');
  assert.match(await why(text), /is not a library$/);
  assert.match(await why(path.join(recordsRoot, 'a b.so')), /has a space or a colon in its path/);
  const foreign = path.join(recordsRoot, 'foreign.so');
  const head = Buffer.alloc(64);
  head.write('\x7fELF\x02\x01\x01', 'latin1');
  head.writeUInt16LE(process.arch === 'x64' ? 183 : 62, 18);
  fs.writeFileSync(foreign, head);
  assert.match(await why(foreign), /is made for (arm64|x64), this node is (x64|arm64)$/);
  // of the right kind, but damaged: the loader says it
  head.writeUInt16LE(process.arch === 'x64' ? 62 : 183, 18);
  fs.writeFileSync(foreign, head);
  assert.match(await why(foreign), /cannot be preloaded|has written nothing|fails with it/);
});

test('a folder that somebody else has made is not used', { skip }, async (t) => {
  const recordsRoot = folder(t);
  fs.mkdirSync(path.join(recordsRoot, 'own'), { mode: 0o777 });
  fs.chmodSync(path.join(recordsRoot, 'own'), 0o777);
  const note = await prepareRecords({ file: path.join(recordsRoot, 'own', 'events'), events: [] }, process.env, '.');
  assert.match(note!.why, /somebody else has made that folder$/);
});

test('what a dead agent left is removed after a week or with its recording, what is in use stays', (t) => {
  const recordsRoot = folder(t);
  const uid = process.getuid!();
  const old = new Date(Date.now() - 8 * 24 * 3600 * 1000);
  const make = (name: string, agent: object, time: Date): string => {
    const made = path.join(recordsRoot, name);
    fs.mkdirSync(made);
    fs.writeFileSync(path.join(made, 'agent'), JSON.stringify(agent));
    fs.writeFileSync(path.join(made, 'events'), '');
    fs.utimesSync(path.join(made, 'events'), time, time);
    return made;
  };
  const dead = { pid: 999_999, started: '1', host: os.hostname(), recording: recordsRoot };
  const gone = make(`tacho-${uid}-a`, dead, old);
  const fresh = make(`tacho-${uid}-b`, dead, new Date());
  const elsewhere = make(`tacho-${uid}-c`, { ...dead, host: 'another-node' }, old);
  const others = make(`tacho-${uid}-d`, dead, old);
  // only root can make something that is not its own
  if (uid === 0) fs.chownSync(others, 1, 1);
  const ofJob = make(`tacho-${uid + 1}-f`, dead, old);
  const removed = make(`tacho-${uid}-e`, { ...dead, recording: path.join(recordsRoot, 'gone') }, new Date());
  const unseen = make(`tacho-${uid}-g`, { ...dead, recording: path.join(recordsRoot, 'not/mounted/here') }, new Date());
  removeAbandoned(recordsRoot);
  assert.deepEqual(
    [gone, fresh, elsewhere, others, removed, ofJob, unseen].map((each) => fs.existsSync(each)),
    [false, true, true, uid === 0, false, false, true],
  );
});

test('what others have put into the environment stays', () => {
  const library = libraryOf({});
  const records = { file: '/dev/shm/x/events', events: [] };
  assert.deepEqual(injected({}, records), {
    LD_PRELOAD: library,
    TACHO_RECORD: '/dev/shm/x/events',
    ASAN_OPTIONS: 'verify_asan_link_order=0',
  });
  const more = injected({ LD_PRELOAD: `/a.so ${library}:/b.so`, ASAN_OPTIONS: 'detect_leaks=0' }, records);
  assert.equal(more.LD_PRELOAD, `/a.so:/b.so:${library}`);
  assert.equal(more.ASAN_OPTIONS, 'detect_leaks=0:verify_asan_link_order=0');
  assert.deepEqual(injected(more, records), more);
  // the agent of the node records the job, too, with a library of its own
  const both = injected({ LD_PRELOAD: '/opt/tacho/libtacho-record.so', TACHO_RECORD: '/dev/shm/y/events' }, records);
  assert.deepEqual([both.LD_PRELOAD, both.TACHO_RECORD], [library, '/dev/shm/y/events:/dev/shm/x/events']);
});

test('a library of the user that breaks every program is not blamed on the job', { skip }, (t) => {
  const note = tryLibrary({ ...process.env, LD_PRELOAD: '/no/such/library.so' }, folder(t));
  // the loader leaves it out, and ours works
  assert.equal(note, undefined);
});

test('a node that refuses is named with its reason', (t) => {
  const recording = folder(t);
  const record = (node: string, unmeasured: object[]): void => {
    fs.mkdirSync(path.join(recording, `node=${node}`));
    fs.writeFileSync(path.join(recording, `node=${node}`, 'agent.json'), JSON.stringify({ unmeasured }));
  };
  record('c1', [{ table: 'gpu', what: 'gpu', why: 'no driver' }]);
  assert.equal(refusal(recording, ['c1']), undefined);
  record('c2', [{ table: 'process_end', what: 'processes that record themselves', why: 'it is not there' }]);
  assert.equal(refusal(recording, ['c1', 'c2']), 'node c2: it is not there');
});
