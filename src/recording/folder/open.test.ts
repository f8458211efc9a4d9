import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { jobOf, makeRecording, temporary } from '../../../test/make-recording.ts';
import { Fault } from '../../base/fault.ts';
import { byName, findRecordings, openRecording, recordingFolders } from './open.ts';

const fault = (message: RegExp, hint: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Fault);
  assert.match(error.message, message);
  assert.match(error.hint ?? '', hint);
  assert.equal(error.exit, 1);
  return true;
};

test('a recording opens with its job, its nodes by name, and the files of every table', async () => {
  const folder = await makeRecording({ nodes: ['c10', 'c2', 'rack 3/é'], rollEvery: 25 });
  const recording = openRecording(folder);
  assert.equal(recording.job.id, '17');
  assert.deepEqual(
    recording.nodes.map((node) => node.name),
    ['c2', 'c10', 'rack 3/é'],
  );
  assert.equal(path.basename(recording.nodes[2]!.folder), 'node=rack%203%2F%C3%A9');
  assert.deepEqual(recording.nodes[0]!.tables.get('disk'), {
    parts: ['disk.0001.csv.zst', 'disk.0002.csv.zst', 'disk.csv'],
  });
  assert.equal(recording.nodes[0]!.agent?.facts.cpus, 4);
  assert.deepEqual(recording.troubles, []);
});

test('a folder of recordings opens as many, and one that is added later is there the next time', async () => {
  const collection = temporary();
  await makeRecording({ folder: path.join(collection, 'a') });
  await makeRecording({ folder: path.join(collection, 'user=ada', 'job=2'), job: { id: '2' } });
  fs.writeFileSync(path.join(collection, 'notes.txt'), 'mine');
  const ids = (): string[] => findRecordings([collection]).map((recording) => recording.job.id);
  assert.deepEqual(ids(), ['17', '2']);
  await makeRecording({ folder: path.join(collection, 'b'), job: { id: '3' } });
  assert.deepEqual(ids(), ['17', '3', '2']);
  assert.equal(findRecordings([collection, path.join(collection, 'a')]).length, 3);
});

test('without job.json the nodes are still there, and that it is missing is said', async () => {
  const folder = await makeRecording();
  fs.rmSync(path.join(folder, 'job.json'));
  const recording = openRecording(folder);
  assert.equal(recording.job.id, 'tacho-17');
  assert.equal(recording.job.state, 'unknown');
  assert.equal(recording.job.interval_seconds, 1);
  assert.deepEqual(recording.troubles, [`cannot read ${folder}/job.json: no such file or folder`]);
});

test('a folder called like a node is none of a job that is over and names its nodes, unless somebody recorded there', async () => {
  const folder = await makeRecording({ seconds: 2 });
  const stray = path.join(folder, 'node=zz');
  fs.mkdirSync(stray);
  fs.writeFileSync(path.join(stray, 'cpu.csv'), 'a,b\n');
  const openedOrFault = (): unknown => {
    const { nodes, strays } = openRecording(folder);
    return [nodes.map(({ name }) => name).join(' '), strays];
  };
  assert.deepEqual(openedOrFault(), ['c1', ['node=zz']]);
  for (const sign of ['agent.json', 'received.json.zst', 'tables.json.zst']) {
    fs.writeFileSync(path.join(stray, sign), '');
    assert.deepEqual(openedOrFault(), ['c1 zz', undefined], sign);
    fs.rmSync(path.join(stray, sign));
  }
  const job = (changes: object): void =>
    fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify({ ...jobOf(), ...changes }));
  for (const other of [{ nodes: ['c1', 'zz'] }, { nodes: [] }, { taken_nodes: { zz: 1 } }, { end: undefined }]) {
    job(other);
    assert.deepEqual(openedOrFault(), ['c1 zz', undefined], JSON.stringify(other));
  }
  fs.rmSync(path.join(folder, 'job.json'));
  assert.deepEqual(openedOrFault(), ['c1 zz', undefined]);
});

test('a damaged agent.json is said, and the node opens without it', async () => {
  const folder = await makeRecording();
  fs.writeFileSync(path.join(folder, 'node=c1', 'agent.json'), '{"format": 1, "no');
  const recording = openRecording(folder);
  assert.equal(recording.nodes[0]!.agent, undefined);
  assert.deepEqual(recording.troubles, [`cannot read ${folder}/node=c1/agent.json: it is damaged`]);
});

test('what is no recording, is newer, or is not there is refused with what to do', async () => {
  const empty = temporary();
  assert.throws(() => openRecording(empty), fault(/is not a recording: it has neither job.json nor/, /tacho list/));
  assert.throws(
    () => findRecordings([empty]),
    fault(/no recording in .*: looked for folders with job.json/, /tacho run/),
  );
  assert.throws(
    () => findRecordings(['/nowhere']),
    fault(/cannot open \/nowhere: no such file or folder/, /tacho list/),
  );
  const folder = await makeRecording();
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify({ ...jobOf(), format: 99 }));
  assert.throws(() => openRecording(folder), fault(/newer Tacho \(format 99; this one reads up to 1\)/, /update/));
});

test('a recording of a newer version is left out, in a folder or named; alone, it is the answer', async () => {
  const collection = temporary();
  const newer = path.join(collection, 'newer');
  await makeRecording({ folder: newer });
  fs.writeFileSync(path.join(newer, 'job.json'), JSON.stringify({ ...jobOf(), format: 99 }));
  const messages: string[] = [];
  const find = (...paths: string[]): string[] =>
    findRecordings(paths, (why) => messages.push(why.message)).map(({ job }) => job.id);
  assert.throws(() => find(collection), fault(/newer Tacho/, /update/));
  await makeRecording({ folder: path.join(collection, 'ours'), job: { id: '18' } });
  await makeRecording({ folder: path.join(collection, 'z'), job: { id: '19' } });
  assert.deepEqual(find(collection), ['18', '19']);
  assert.equal(messages.length, 1);
  assert.match(messages[0]!, /newer\/job.json was written by a newer Tacho/);
  assert.deepEqual(find(newer, path.join(collection, 'z'), '/nowhere', path.join(collection, 'ours')), ['19', '18']);
  assert.deepEqual(
    messages.slice(1).map((why) => /newer Tacho|cannot open/.exec(why)![0]),
    ['newer Tacho', 'cannot open'],
  );
  assert.throws(() => find(newer, newer), fault(/newer Tacho/, /update/));
  assert.throws(() => findRecordings([collection, newer]), fault(/newer Tacho/, /update/));
});

test("a folder with another program's job.json is no recording, one with a damaged job.json is", async () => {
  const collection = temporary();
  const put = (name: string, text: string): string => {
    fs.mkdirSync(path.join(collection, name));
    fs.writeFileSync(path.join(collection, name, 'job.json'), text);
    return path.join(collection, name);
  };
  const foreign = put('grafana', '{"uid": "tacho-job", "schemaVersion": 39}');
  put('list', '[1, 2]');
  put('nothing', 'null');
  const torn = put('torn', '{"format": 1, "id": "4');
  // what lies below is looked for all the same
  const below = path.join(foreign, 'runs', '1');
  await makeRecording({ folder: below });
  assert.deepEqual(recordingFolders(collection), [below, torn]);
  assert.throws(
    () => openRecording(foreign),
    fault(/grafana is not a recording: its job.json is none of Tacho's/, /tacho list/),
  );
  fs.mkdirSync(path.join(foreign, 'node=c1'));
  assert.deepEqual(recordingFolders(collection), [foreign, torn]);
});

test('names are ordered as people count', () => {
  assert.deepEqual(['n10', 'n2', 'n2a', 'm1', 'n02'].sort(byName), ['m1', 'n02', 'n2', 'n2a', 'n10']);
});

test("one's own links are followed, those of other users are not", {
  skip: process.getuid!() !== 0 && 'needs root',
}, async () => {
  const archive = temporary();
  await makeRecording({ folder: path.join(archive, 'user=ada', 'job=1'), job: { id: '1' } });
  await makeRecording({ folder: path.join(archive, 'user=bob', 'job=2'), job: { id: '2' } });
  const links = ['user=bob/mine', 'user=bob/job=2/node=c9'].map((name) => path.join(archive, name));
  fs.symlinkSync('../user=ada', links[0]!);
  fs.symlinkSync('../../user=ada/job=1/node=c1', links[1]!);
  const recordingsText = () => findRecordings([archive]).map(({ job, nodes }) => `${job.id}: ${nodes.length}`);
  const nodes = openRecording(path.join(archive, 'user=ada/job=1')).nodes.length;
  assert.deepEqual(recordingsText().sort(), [`1: ${nodes}`, `1: ${nodes}`, `2: ${nodes + 1}`]);
  for (const link of links) fs.lchownSync(link, 1001, 1001);
  assert.deepEqual(recordingsText(), [`1: ${nodes}`, `2: ${nodes}`]);
});
