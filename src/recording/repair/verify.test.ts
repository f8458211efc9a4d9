import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { agentOf, diskTable, loadTable, makeRecording, START } from '../../../test/make-recording.ts';
import { count } from '../../base/figure.ts';
import { ownMark } from '../folder/alive.ts';
import { openRecording } from '../folder/open.ts';
import { readTable } from '../read/read.ts';
import { Stopped, sealRecording } from '../sealed/seal.ts';
import { verifyRecording } from './verify.ts';

const nodeOf = (folder: string): string => path.join(folder, 'node=c1');
const problemsOf = (folder: string, options = {}): string[] =>
  verifyRecording(folder, options).map((c) => `${c.outcome}: ${c.file} ${c.what} → ${c.action}`);
const load = (folder: string): number[] => [
  ...readTable(openRecording(folder).nodes[0]!, 'load').numbers.get('load1')!,
];

/** What a dry run said, as if it had been done. */
const asDone = (dry: readonly string[]): string[] =>
  dry.map((line) => line.replace(/^would repair:/, 'repaired:').replace('whole: to be ', 'whole: now '));

/** Names and contents of everything below a folder. */
const snapshot = (folder: string): Map<string, string> =>
  new Map(
    fs
      .globSync('**/*', { cwd: folder })
      .filter((name) => fs.statSync(path.join(folder, name)).isFile())
      .sort()
      .map((name) => [name, fs.readFileSync(path.join(folder, name), 'latin1')]),
  );

test('a sound recording, live or sealed, has nothing to say', async () => {
  const folder = await makeRecording({ seconds: 20, rollEvery: 7 });
  assert.deepEqual(problemsOf(folder), []);
  sealRecording(openRecording(folder), { parquet: true });
  assert.deepEqual(problemsOf(folder), []);
});

test('a torn last line is moved beside its file, and a dry run only says so', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const file = path.join(nodeOf(folder), 'load.csv');
  const whole = fs.readFileSync(file, 'utf8');
  fs.appendFileSync(file, `${START + 9e6},7`);
  const before = snapshot(folder);
  const line = 'node=c1/load.csv its last line is torn → moved to load.csv.torn';
  assert.deepEqual(problemsOf(folder, { dryRun: true }), [`would repair: ${line}`]);
  assert.deepEqual(snapshot(folder), before);
  assert.deepEqual(problemsOf(folder), [`repaired: ${line}`]);
  assert.equal(fs.readFileSync(file, 'utf8'), whole);
  assert.equal(fs.readFileSync(`${file}.torn`, 'utf8'), `${START + 9e6},7`);
  assert.deepEqual(problemsOf(folder), []);
});

test('where something is put aside is told by its true name, when that of the first is taken', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const file = path.join(nodeOf(folder), 'load.csv');
  fs.writeFileSync(`${file}.torn`, 'of another time');
  fs.writeFileSync(`${nodeOf(folder)}/load.0007.csv.torn`, 'of another time');
  fs.appendFileSync(file, 'garbage\n');
  fs.writeFileSync(path.join(nodeOf(folder), 'load.0007.csv'), 'a,b\n1,2\n');
  const names = (lines: string[]): string[] => lines.map((line) => line.split(' → ')[1]!).sort();
  const messages = ['moved to load.csv.2.torn', 'set aside as load.0007.csv.2.torn'];
  assert.deepEqual(names(problemsOf(folder, { dryRun: true })), messages);
  assert.deepEqual(names(problemsOf(folder)), messages);
  assert.equal(fs.readFileSync(`${file}.2.torn`, 'utf8'), 'garbage\n');
  assert.match(problemsOf(folder).join(), /1 line could not be read, and went to load\.csv\.2\.torn/);
});

test('bad lines in the middle of a compressed part are moved out of it', async () => {
  const folder = await makeRecording({ seconds: 6, rollEvery: 3 });
  const file = path.join(nodeOf(folder), 'load.0001.csv.zst');
  const lines = zstdDecompressSync(fs.readFileSync(file)).toString().split('\n');
  lines.splice(2, 0, 'garbage', `${START},oops`);
  fs.writeFileSync(file, zstdCompressSync(lines.join('\n')));
  assert.deepEqual(problemsOf(folder), [
    'repaired: node=c1/load.0001.csv.zst 2 bad lines (line 3: "garbage" is no number; line 4: "oops" is no number)' +
      ' → moved to load.0001.csv.zst.torn',
  ]);
  assert.deepEqual(load(folder), [0, 0.25, 0.5, 0.75, 1, 1.25]);
  assert.equal(fs.readFileSync(`${file}.torn`, 'utf8'), `garbage\n${START},oops\n`);
  // what is lost is still told
  assert.deepEqual(problemsOf(folder), [
    'note: node=c1/agent.json says: load: load.0001.csv.zst on c1: 2 lines could not be read, and went to' +
      ' load.0001.csv.zst.torn → what was there is there',
  ]);
});

test('what fails its checksum is not used, set aside under a name that is told, and stays lost until a copy is back', async () => {
  for (const damage of [(b: Buffer) => b.fill(b[100]! ^ 0x55, 100, 101), (b: Buffer) => b.subarray(0, 100)]) {
    const folder = await makeRecording({ seconds: 60 });
    sealRecording(openRecording(folder));
    const file = path.join(nodeOf(folder), 'disk.csv.zst');
    const whole = fs.readFileSync(file);
    fs.writeFileSync(file, damage(Buffer.from(whole)));
    const rows = (): number => readTable(openRecording(folder).nodes[0]!, 'disk').rows;
    assert.equal(rows(), 0);
    const before = snapshot(folder);
    const [dry] = problemsOf(folder, { dryRun: true });
    assert.match(
      dry!,
      /^not repaired: node=c1\/disk.csv.zst cannot be decompressed: .* → to be set aside as disk.csv.zst.damaged/,
    );
    assert.deepEqual(snapshot(folder), before);
    const [first, ...more] = problemsOf(folder);
    assert.match(
      first!,
      /^not repaired: node=c1\/disk.csv.zst cannot be decompressed: .* → set aside as disk.csv.zst.damaged; a copy/,
    );
    assert.deepEqual(more, []);
    assert.deepEqual([fs.existsSync(file), fs.existsSync(file.slice(0, -4))], [false, false]);
    assert.equal(rows(), 0);
    assert.deepEqual(problemsOf(folder), [
      'not repaired: node=c1/disk.csv.zst is missing: it was damaged, and is kept as disk.csv.zst.damaged' +
        ' → a copy from a backup would help',
    ]);
    fs.writeFileSync(file, whole);
    assert.deepEqual(problemsOf(folder), []);
    assert.ok(rows() > 0);
  }
});

test('a rolled part that fails its checksum is not forgotten when the rest is sealed', async () => {
  const folder = await makeRecording({ seconds: 6, rollEvery: 3 });
  const file = path.join(nodeOf(folder), 'load.0001.csv.zst');
  const bytes = fs.readFileSync(file);
  bytes[bytes.length - 1]! ^= 1;
  fs.writeFileSync(file, bytes);
  assert.deepEqual(load(folder), [0.75, 1, 1.25]);
  assert.match(
    problemsOf(folder)[0]!,
    /^not repaired: .* its checksum is wrong; nothing of it is used → set aside as load.0001.csv.zst.damaged/,
  );
  sealRecording(openRecording(folder));
  assert.match(problemsOf(folder)[0]!, /^not repaired: .*load.0001.csv.zst is missing: it was damaged/);
});

test('a compressed part that was cut off gives what it has and is kept', async () => {
  const folder = await makeRecording({ seconds: 2 });
  const file = path.join(nodeOf(folder), 'load.0001.csv.zst');
  const csv = `time,load1\n${Array.from({ length: 100_000 }, (_, i) => `${START - 200_000 + i},${(i * 7919) % 1009}\n`).join('')}`;
  const packed = zstdCompressSync(csv);
  const half = packed.subarray(0, packed.length / 2);
  fs.writeFileSync(file, half);
  const rows = load(folder).length;
  assert.ok(rows > 10_000);
  const [first, second] = problemsOf(folder);
  assert.equal(
    first,
    'not repaired: node=c1/load.0001.csv.zst cannot be decompressed: it is cut off → set aside as load.0001.csv.zst.damaged; ' +
      `the ${count(rows - 2, 'row')} that can be read are now in load.0001.csv; a copy from a backup would help`,
  );
  assert.equal(second, undefined);
  assert.deepEqual(fs.readFileSync(`${file}.damaged`), half);
  assert.equal(load(folder).length, rows);
  assert.deepEqual(problemsOf(folder), [
    'not repaired: node=c1/load.0001.csv.zst is missing: it was damaged, and is kept as load.0001.csv.zst.damaged' +
      ' → a copy from a backup would help',
  ]);
});

test('a file of something else under a part’s name is set aside, other files are left alone', async () => {
  const folder = await makeRecording({ seconds: 3 });
  fs.writeFileSync(path.join(nodeOf(folder), 'load.0007.csv'), 'a,b\n1,2\n');
  fs.writeFileSync(path.join(nodeOf(folder), 'core.1234'), 'dump');
  // which hubs have had it: in an agent's spool
  fs.writeFileSync(path.join(nodeOf(folder), '.hubs'), '[]');
  // made when a recording is sealed
  fs.mkdirSync(path.join(nodeOf(folder), '.overview'));
  fs.writeFileSync(path.join(folder, 'processes.json.zst'), '');
  // of a monitor of Dask that was killed
  fs.writeFileSync(path.join(folder, 'dask.json'), '{}');
  fs.writeFileSync(path.join(folder, 'notes.txt'), 'mine');
  assert.deepEqual(problemsOf(folder), [
    "note: notes.txt is not one of Tacho's files → left as it is",
    "note: node=c1/core.1234 is not one of Tacho's files → left as it is",
    'repaired: node=c1/load.0007.csv its first line is not the header of this table: a,b → set aside as load.0007.csv.torn',
  ]);
  assert.equal(fs.readFileSync(path.join(nodeOf(folder), 'load.0007.csv.torn'), 'utf8'), 'a,b\n1,2\n');
  assert.equal(fs.readFileSync(path.join(folder, 'notes.txt'), 'utf8'), 'mine');
});

test('what an interrupted seal or roll left is tidied up without losing a sample', async () => {
  const folder = await makeRecording({ seconds: 20, rollEvery: 8 });
  const before = load(folder);
  for (const stop of [1, 2, 3]) {
    let step = 0;
    const crash = (): void => {
      if (++step === stop) throw new Stopped();
    };
    assert.throws(() => sealRecording(openRecording(folder), { step: crash }), Stopped);
    problemsOf(folder);
    assert.deepEqual(
      fs.readdirSync(nodeOf(folder)).filter((name) => name.endsWith('.tmp')),
      [],
    );
    assert.deepEqual(load(folder), before);
  }
  const partFile = path.join(nodeOf(folder), 'load.0001.csv.zst');
  fs.writeFileSync(partFile.slice(0, -4), zstdDecompressSync(fs.readFileSync(partFile)));
  fs.writeFileSync(path.join(nodeOf(folder), 'load.0002.csv.zst.tmp'), 'half');
  assert.deepEqual(problemsOf(folder), [
    'repaired: node=c1/load.0002.csv.zst.tmp was left by something that was interrupted → removed; what it was made from is there',
    'repaired: node=c1/load.0001.csv is there twice, plain and compressed → the plain one is removed',
  ]);
  assert.deepEqual(load(folder), before);
});

test('a temporary file that alone holds the data becomes the file', async () => {
  const folder = await makeRecording({ seconds: 4 });
  sealRecording(openRecording(folder), { parquet: true });
  const sealed = path.join(nodeOf(folder), 'load.parquet');
  fs.renameSync(sealed, `${sealed}.tmp`);
  const agent = path.join(nodeOf(folder), 'agent.json');
  fs.renameSync(agent, `${agent}.999999999.tmp`);
  const dry = problemsOf(folder, { dryRun: true });
  const checks = problemsOf(folder);
  assert.deepEqual(asDone(dry), checks);
  assert.ok(
    checks.includes(
      'repaired: node=c1/load.parquet.tmp was left by something that was interrupted → is whole: now load.parquet',
    ),
  );
  assert.ok(
    checks.includes(
      'repaired: node=c1/agent.json.999999999.tmp was left by something that was interrupted → is whole: now agent.json',
    ),
  );
  assert.deepEqual(load(folder), [0, 0.25, 0.5, 0.75]);
  assert.equal(openRecording(folder).nodes[0]!.agent?.node, 'c1');
});

test('a damaged sealed file is never deleted; with live parts beside it, it is set aside', async () => {
  const folder = await makeRecording({ seconds: 4 });
  const live = fs.readFileSync(path.join(nodeOf(folder), 'load.csv'));
  sealRecording(openRecording(folder), { parquet: true });
  const sealed = path.join(nodeOf(folder), 'load.parquet');
  const bytes = fs.readFileSync(sealed);
  bytes[60]! ^= 255;
  fs.writeFileSync(sealed, bytes);
  const [check] = verifyRecording(folder);
  assert.equal(check!.outcome, 'not repaired');
  assert.match(check!.what, /cannot be read: column load1 is damaged \(checksum\)|cannot be read/);
  assert.deepEqual(fs.readFileSync(sealed), bytes);
  fs.writeFileSync(path.join(nodeOf(folder), 'load.csv'), live);
  assert.match(
    problemsOf(folder)[0]!,
    /^repaired: node=c1\/load.parquet cannot be read: .* → set aside as load.parquet.torn/,
  );
  assert.deepEqual(fs.readFileSync(`${sealed}.torn`), bytes);
  assert.deepEqual(load(folder), [0, 0.25, 0.5, 0.75]);
});

test('a damaged sealed file whose rows are in no live part stays lost until it is back', async () => {
  const folder = await makeRecording({ seconds: 4 });
  const live = fs.readFileSync(path.join(nodeOf(folder), 'load.csv'), 'utf8');
  sealRecording(openRecording(folder), { parquet: true });
  const sealed = path.join(nodeOf(folder), 'load.parquet');
  const whole = fs.readFileSync(sealed);
  fs.writeFileSync(sealed, whole.subarray(0, -20));
  const [header] = live.split('\n');
  fs.writeFileSync(path.join(nodeOf(folder), 'load.csv'), `${header}\n${START + 4e6},7\n`);
  const pattern = /^not repaired: node=c1\/load.parquet cannot be read: .* → (.*)$/;
  const aside = 'set aside as load.parquet.damaged; a copy from a backup would help';
  assert.equal(pattern.exec(problemsOf(folder, { dryRun: true })[0]!)?.[1], `to be ${aside}`);
  assert.equal(pattern.exec(problemsOf(folder)[0]!)?.[1], aside);
  assert.deepEqual(fs.readFileSync(`${sealed}.damaged`), whole.subarray(0, -20));
  assert.deepEqual(load(folder), [7]);
  assert.deepEqual(problemsOf(folder), [
    'not repaired: node=c1/load.parquet is missing: it was damaged, and is kept as load.parquet.damaged' +
      ' → a copy from a backup would help',
  ]);
  fs.writeFileSync(sealed, whole);
  assert.deepEqual(load(folder), [0, 0.25, 0.5, 0.75, 7]);
  assert.deepEqual(problemsOf(folder), []);
});

test('a damaged file that was set aside is not forgotten when the rest is sealed under its name', async () => {
  const folder = await makeRecording({ seconds: 4 });
  const live = fs.readFileSync(path.join(nodeOf(folder), 'load.csv'), 'utf8');
  sealRecording(openRecording(folder), { parquet: true });
  const sealed = path.join(nodeOf(folder), 'load.parquet');
  const half = fs.readFileSync(sealed).subarray(0, -20);
  fs.writeFileSync(sealed, half);
  fs.writeFileSync(path.join(nodeOf(folder), 'load.csv'), `${live.split('\n')[0]}\n${START + 4e6},7\n`);
  problemsOf(folder);
  sealRecording(openRecording(folder), { parquet: true });
  assert.deepEqual(load(folder), [7]);
  assert.deepEqual(problemsOf(folder), [
    'not repaired: node=c1/load.0000.parquet is missing: it was damaged, and is kept as load.0000.parquet.damaged' +
      ' → its rows are nowhere else',
  ]);
  assert.deepEqual(
    openRecording(folder).nodes[0]!.lost?.map(({ table }) => table),
    ['load'],
  );
  assert.deepEqual(fs.readFileSync(path.join(nodeOf(folder), 'load.0000.parquet.damaged')), half);
});

test('lost or false statistics are computed again', async () => {
  const folder = await makeRecording({ seconds: 4 });
  sealRecording(openRecording(folder), { parquet: true });
  const file = path.join(nodeOf(folder), 'load.stats.json.zst');
  const good = fs.readFileSync(file);
  fs.rmSync(file);
  assert.deepEqual(problemsOf(folder), [
    'repaired: node=c1/load.stats.json.zst is missing or damaged → computed again',
  ]);
  assert.deepEqual(fs.readFileSync(file), good);
  fs.writeFileSync(file, zstdCompressSync(zstdDecompressSync(good).toString().replace('"rows":4', '"rows":9')));
  assert.deepEqual(problemsOf(folder), [
    'repaired: node=c1/load.stats.json.zst speaks of 9 rows, but the table has 4 → computed again',
  ]);
});

test('statistics of another node are computed again', async () => {
  const folder = await makeRecording({ seconds: 4, nodes: ['c1', 'c2'] });
  fs.appendFileSync(path.join(folder, 'node=c2', 'load.csv'), `${START + 4e6},9\n`);
  fs.appendFileSync(path.join(folder, 'node=c1', 'load.csv'), `${START + 4e6},8\n`);
  sealRecording(openRecording(folder), { parquet: true });
  const file = path.join(nodeOf(folder), 'load.stats.json.zst');
  const good = fs.readFileSync(file);
  fs.copyFileSync(path.join(folder, 'node=c2', 'load.stats.json.zst'), file);
  assert.deepEqual(problemsOf(folder), ['repaired: node=c1/load.stats.json.zst is of another file → computed again']);
  assert.deepEqual(fs.readFileSync(file), good);
});

test('a sealed file that was being made from another sealed form goes, for that is there', async () => {
  const folder = await makeRecording({ seconds: 4 });
  sealRecording(openRecording(folder));
  const name = `load.parquet.999999999-${ownMark().split('-')[1]}.tmp`;
  fs.writeFileSync(path.join(nodeOf(folder), name), 'PAR1 half');
  assert.deepEqual(problemsOf(folder), [
    `repaired: node=c1/${name} was left by something that was interrupted → removed; what it was made from is there`,
  ]);
  assert.deepEqual(load(folder), [0, 0.25, 0.5, 0.75]);
});

test('of a file without statistics no report card is promised', async () => {
  const folder = await makeRecording({ seconds: 4 });
  fs.writeFileSync(path.join(nodeOf(folder), 'foo.parquet'), 'hello');
  assert.deepEqual(problemsOf(folder), [
    'not repaired: node=c1/foo.parquet cannot be read: it is not a whole Parquet file → a copy from a backup would help',
  ]);
});

test('what a process that is still there is writing is left to it', async () => {
  const folder = await makeRecording({ seconds: 4 });
  const name = `load.parquet.${process.ppid}-${ownMark().split('-')[1]}.tmp`;
  fs.writeFileSync(path.join(nodeOf(folder), name), 'PAR1 half');
  assert.deepEqual(problemsOf(folder), [`note: node=c1/${name} is just being written → left to whoever writes it`]);
  assert.ok(fs.existsSync(path.join(nodeOf(folder), name)));
});

test('what a process of another machine wrote just now is left to it: nobody here knows whether it is there', async () => {
  const folder = await makeRecording({ seconds: 4 });
  const name = 'load.parquet.999999999-0a1b2c3d4e5f6071.tmp';
  fs.writeFileSync(path.join(nodeOf(folder), name), 'PAR1 half');
  assert.deepEqual(problemsOf(folder), [`note: node=c1/${name} is just being written → left to whoever writes it`]);
  assert.ok(fs.existsSync(path.join(nodeOf(folder), name)));
});

test('the name of an old temporary file may tell a number that another process has now', async () => {
  const folder = await makeRecording({ seconds: 4 });
  const name = `load.parquet.${process.ppid}-0a1b2c3d.tmp`;
  fs.writeFileSync(path.join(nodeOf(folder), name), 'PAR1 half');
  fs.utimesSync(path.join(nodeOf(folder), name), START / 1e6, START / 1e6);
  assert.deepEqual(problemsOf(folder), [
    `repaired: node=c1/${name} was left by something that was interrupted → removed; what it was made from is there`,
  ]);
});

test('time that goes backwards and columns nobody described are said', async () => {
  const folder = await makeRecording({ seconds: 3 });
  fs.appendFileSync(path.join(nodeOf(folder), 'load.csv'), `${START},9\n`);
  const narrow = { ...loadTable, columns: [] };
  fs.writeFileSync(path.join(nodeOf(folder), 'agent.json'), JSON.stringify(agentOf('c1', [diskTable, narrow])));
  assert.deepEqual(problemsOf(folder), [
    'note: node=c1/load.csv has columns that nobody described: load1 → read as gauges',
    'note: node=c1/load.csv time goes backwards or repeats 1 time → read in the right order, each once',
  ]);
});

test('a node that is still being recorded is not touched', async () => {
  const folder = await makeRecording({ seconds: 3 });
  const { end: _, ...running } = agentOf('c1', [diskTable, loadTable]);
  fs.writeFileSync(path.join(nodeOf(folder), 'agent.json'), JSON.stringify(running));
  fs.appendFileSync(path.join(nodeOf(folder), 'load.csv'), '17');
  fs.writeFileSync(path.join(nodeOf(folder), 'load.0001.csv.zst.tmp'), 'being written');
  const before = snapshot(folder);
  assert.deepEqual(problemsOf(folder, { now: START + 5e6 }), [
    'note: node=c1 is still being recorded → looked at, not touched',
  ]);
  assert.deepEqual(snapshot(folder), before);
});

test('a damaged job.json is left for its owner', async () => {
  const folder = await makeRecording({ seconds: 3 });
  fs.writeFileSync(path.join(folder, 'job.json'), '{');
  assert.deepEqual(problemsOf(folder), ['not repaired: job.json it is damaged → the rest is read without it']);
});

test('a file that a full disk left empty goes away, since its agent has told what was lost', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const agent = { ...agentOf('c1', [diskTable, loadTable]), lost_samples: [{ table: 'load', rows: 1, why: 'full' }] };
  fs.writeFileSync(path.join(nodeOf(folder), 'agent.json'), JSON.stringify(agent));
  fs.truncateSync(path.join(nodeOf(folder), 'load.csv'));
  const line =
    'note: node=c1/agent.json says: 1 sample could not be written: full (1 of load) → what was written is there';
  assert.deepEqual(problemsOf(folder), [
    line,
    'repaired: node=c1/load.csv it is empty → removed: nothing was ever in it',
  ]);
  assert.deepEqual(problemsOf(folder), [line]);
});

test('a file of which nothing is whole is set aside, and nothing is left in its place', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const file = path.join(nodeOf(folder), 'load.csv');
  const noise = Buffer.from(Array.from({ length: 200 }, (_, i) => 11 + ((i * 37) % 240)));
  fs.writeFileSync(file, noise);
  assert.deepEqual(problemsOf(folder), [
    'repaired: node=c1/load.csv not a line of it is whole → set aside as load.csv.torn',
  ]);
  assert.deepEqual([fs.existsSync(file), fs.readFileSync(`${file}.torn`).equals(noise)], [false, true]);
  assert.deepEqual(problemsOf(folder), []);
});

test('an older whole file that a killed seal left takes the place of a damaged one only if that is kept, and stays told', async () => {
  const folder = await makeRecording({ seconds: 30 });
  sealRecording(openRecording(folder));
  const file = path.join(nodeOf(folder), 'load.csv.zst');
  const lines = zstdDecompressSync(fs.readFileSync(file)).toString().split('\n');
  const left = `${file}.4242-0123456789abcdef.tmp`;
  fs.writeFileSync(left, zstdCompressSync(`${lines.slice(0, 7).join('\n')}\n`));
  fs.utimesSync(left, 1, 1);
  const damaged = fs.readFileSync(file);
  damaged[damaged.length - 5]! ^= 1;
  fs.writeFileSync(file, damaged);
  const dry = problemsOf(folder, { dryRun: true });
  const real = problemsOf(folder);
  assert.match(real[0]!, /^not repaired: .*tmp was left .*is whole: now load\.csv\.zst, in place of a damaged one/);
  assert.deepEqual(asDone(dry), real);
  assert.equal(load(folder).length, 6);
  const kept = path.join(nodeOf(folder), 'load.0000.csv.zst.damaged');
  assert.ok(fs.readFileSync(kept).equals(damaged));
  // 24 rows are lost, and every look says so
  for (let again = 0; again < 2; again++)
    assert.ok(
      problemsOf(folder).some((each) => /not repaired: .*load\.0000\.csv\.zst is missing: it was damaged/.test(each)),
    );
});

test('a file that a killed seal left is not thrown away for a whole one that holds less', async () => {
  const [folder, longer] = [await makeRecording({ seconds: 4 }), await makeRecording({ seconds: 10 })];
  for (const each of [folder, longer]) sealRecording(openRecording(each), { parquet: true });
  const left = path.join(nodeOf(folder), 'load.parquet.4242-0123456789abcdef.tmp');
  const put = (from: string): void => {
    fs.copyFileSync(path.join(nodeOf(from), 'load.parquet'), left);
    fs.utimesSync(left, 1, 1);
  };
  put(longer);
  assert.deepEqual(problemsOf(folder), [
    `not repaired: node=c1/${path.basename(left)} was left by something that was interrupted, and holds more than load.parquet → both stay as they are`,
  ]);
  assert.deepEqual([load(folder).length, fs.existsSync(left)], [4, true]);
  put(folder);
  assert.match(problemsOf(folder)[0]!, /^repaired: .* removed; what it was made from is there$/);
  assert.equal(fs.existsSync(left), false);
});

test('a file that a killed seal left is not removed while only it is whole', async () => {
  const folder = await makeRecording({ seconds: 10 });
  sealRecording(openRecording(folder), { parquet: true });
  const node = nodeOf(folder);
  const file = path.join(node, 'load.parquet');
  // a seal of everything was killed just before it renamed its file; since then the first file was damaged
  fs.copyFileSync(file, `${file}.4242-0123456789abcdef.tmp`);
  fs.utimesSync(`${file}.4242-0123456789abcdef.tmp`, 1, 1);
  fs.writeFileSync(file, fs.readFileSync(file).subarray(0, 100));
  fs.writeFileSync(path.join(node, 'load.csv'), `time,load1\n${START + 99e6},7\n`);
  problemsOf(folder);
  assert.deepEqual(load(folder), [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 7]);
  // and where the damaged file has more to give than what was left, both stay
  const other = await makeRecording({ seconds: 4 });
  const partFile = path.join(nodeOf(other), 'load.0001.csv.zst');
  const rowsOf = Array.from({ length: 100_000 }, (_, t) => `${START - 1e12 + t * 1e6},${Math.sin(t).toFixed(9)}\n`);
  const whole = zstdCompressSync(`time,load1\n${rowsOf.join('')}`);
  fs.writeFileSync(partFile, whole.subarray(0, whole.length / 2));
  fs.writeFileSync(`${partFile}.tmp`, zstdCompressSync(`time,load1\n${START},0\n`));
  const rows = load(other).length;
  assert.ok(rows > 1000);
  problemsOf(other);
  assert.equal(load(other).length, rows);
  assert.ok(fs.existsSync(`${partFile}.tmp`) && fs.existsSync(`${partFile}.damaged`));
});
