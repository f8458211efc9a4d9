import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { needOwn } from '../src/recording/folder/as-owner.ts';
import { IN_MEMORY } from './made/in-memory.ts';
import { agentOf, jobOf, loadTable, makeRecording, START, temporary } from './make-recording.ts';
import { tacho } from './tacho.ts';

const USER = 65_534;
const OTHER = 12_345;
const skip = process.getuid!() !== 0 && 'needs root';

const node = (folder: string, name = ''): string => path.join(folder, 'node=c1', name);

/** A recording in a folder that everybody may enter, with everything in it a user's. */
async function usersRecording(): Promise<string> {
  const top = temporary();
  fs.chmodSync(top, 0o755);
  const folder = path.join(top, 'tacho-17');
  await makeRecording({ folder, seconds: 20, rollEvery: 7 });
  give(folder, USER);
  return folder;
}

function give(folder: string, uid: number): void {
  for (const each of [folder, ...fs.globSync('**/*', { cwd: folder }).map((name) => path.join(folder, name))])
    fs.lchownSync(each, uid, uid);
}

function link(target: string, at: string): void {
  fs.symlinkSync(target, at);
  fs.lchownSync(at, USER, USER);
}

const owners = (folder: string): number[] => [
  ...new Set(fs.globSync('**/*', { cwd: folder }).map((name) => fs.lstatSync(path.join(folder, name)).uid)),
];

test('verify by root writes only where the owner could, whatever links are there', { skip }, async () => {
  const folder = await usersRecording();
  const secret = temporary();
  const precious = path.join(secret, 'precious');
  fs.writeFileSync(precious, 'kept\n');
  // a line of the user's choice would go to a file of root's, which is not there yet, and another would be overwritten
  fs.appendFileSync(node(folder, 'load.csv'), '* * * * * root /tmp/evil\n');
  link(path.join(secret, 'cron'), node(folder, 'load.csv.torn'));
  link(precious, node(folder, 'load.csv.tmp'));
  link(precious, node(folder, 'disk.csv.tmp'));
  fs.appendFileSync(node(folder, 'disk.csv'), 'garbage\n');
  const { code, out } = tacho(['verify', folder]);
  assert.match(out, /repaired: node=c1\/load\.csv 1 bad line/);
  assert.ok(code === 0 || code === 1);
  assert.deepEqual(fs.readdirSync(secret), ['precious']);
  assert.equal(fs.readFileSync(precious, 'utf8'), 'kept\n');
  assert.equal(fs.readFileSync(node(folder, 'load.csv.2.torn'), 'utf8'), '* * * * * root /tmp/evil\n');
  assert.deepEqual(owners(folder), [USER]);
});

test('seal and annotate by root leave everything to the owner', { skip }, async () => {
  const folder = await usersRecording();
  const secret = temporary();
  link(path.join(secret, 'new'), path.join(folder, 'job.json.lock'));
  const result = tacho(['annotate', folder, 'note=slow']);
  assert.equal(result.code, 0, result.err);
  const sealed = tacho(['seal', folder]);
  assert.equal(sealed.code, 0, sealed.err);
  assert.match(sealed.out, /2 tables, 60 rows/);
  assert.deepEqual(owners(folder), [USER]);
  assert.deepEqual(fs.readdirSync(secret), []);
  assert.equal(JSON.parse(fs.readFileSync(path.join(folder, 'job.json'), 'utf8')).annotations.note, 'slow');
});

test('seal and verify by root from a clone that the owner cannot read, of a node that lost its agent.json', {
  skip,
}, async (t) => {
  const home = temporary(IN_MEMORY);
  t.after(() => fs.rmSync(home, { recursive: true }));
  const project = path.join(import.meta.dirname, '..');
  for (const name of ['src', 'scripts', 'tacho', 'package.json', 'package-lock.json'])
    fs.cpSync(path.join(project, name), path.join(home, name), { recursive: true });
  fs.mkdirSync(path.join(home, 'node_modules'));
  // with bundles of its own
  for (const name of fs.readdirSync(path.join(project, 'node_modules')).filter((each) => each !== '.tacho'))
    fs.symlinkSync(path.join(project, 'node_modules', name), path.join(home, 'node_modules', name));
  fs.rmSync(path.join(home, 'node_modules/.tacho-installed'), { force: true });
  fs.writeFileSync(path.join(home, 'node_modules/.tacho-installed'), '');
  fs.chmodSync(home, 0o700);
  for (const verb of ['verify', 'seal']) {
    const folder = await usersRecording();
    fs.rmSync(node(folder, 'agent.json'));
    const done = spawnSync(path.join(home, 'tacho'), [verb, folder], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    });
    assert.doesNotMatch(`${done.stdout}${done.stderr}`, /EACCES|internal error|permission/, verb);
    if (verb === 'seal') assert.match(done.stdout, /2 tables, 60 rows/, done.stderr);
  }
});

test('a node whose folder leads to what only root may write stays as it is, and others are sealed', {
  skip,
}, async () => {
  const [bad, good] = [await usersRecording(), await usersRecording()];
  const roots = temporary();
  fs.cpSync(node(bad), path.join(roots, 'real'), { recursive: true });
  fs.rmSync(node(bad), { recursive: true });
  link(path.join(roots, 'real'), node(bad));
  fs.symlinkSync(roots, path.join(bad, 'node=c2'));
  const before = fs.readdirSync(path.join(roots, 'real'));
  const { out, code } = tacho(['seal', bad, good]);
  assert.match(out, /2 tables, 60 rows/);
  assert.equal(code, 0);
  assert.deepEqual(fs.readdirSync(path.join(roots, 'real')), before);
  assert.deepEqual(fs.readdirSync(roots), ['real']);
});

test('records of processes are taken only from places of the owner’s own', { skip }, async () => {
  const folder = await usersRecording();
  const victim = path.join(temporary(), 'docs');
  fs.mkdirSync(victim);
  fs.writeFileSync(path.join(victim, 'thesis'), 'years of work');
  fs.writeFileSync(path.join(victim, 'agent'), JSON.stringify({ pid: 1, started: 'long ago', recording: folder }));
  fs.writeFileSync(path.join(victim, 'events'), '');
  const shm = fs.mkdtempSync('/dev/shm/tacho-0-');
  try {
    for (const name of ['agent', 'events']) fs.copyFileSync(path.join(victim, name), path.join(shm, name));
    for (const file of [
      path.join(victim, 'events'),
      path.join(shm, 'events'),
      `${shm}/../${path.basename(shm)}/events`,
    ]) {
      const records = { process_records: { file, events: [] } };
      fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf(records)));
      fs.writeFileSync(node(folder, 'agent.json'), JSON.stringify(agentOf('c1', [loadTable], { pid: 1 })));
      const { out } = tacho(['verify', folder]);
      assert.doesNotMatch(out, /recorded themselves/);
    }
    assert.deepEqual(fs.readdirSync(victim).sort(), ['agent', 'events', 'thesis']);
    assert.deepEqual(fs.readdirSync(shm).sort(), ['agent', 'events']);
  } finally {
    fs.rmSync(shm, { recursive: true });
  }
});

test('nobody else changes a user’s recording, and root does not stop it', { skip }, async () => {
  const folder = await usersRecording();
  const before = fs.readFileSync(path.join(folder, 'job.json'), 'utf8');
  const { code, err } = tacho(['stop', '--strict', folder]);
  assert.equal(code, 1);
  assert.equal(fs.readFileSync(path.join(folder, 'job.json'), 'utf8'), before);
  assert.match(err, /belongs to user number 65534: it is for its owner to change/);
  process.seteuid!(OTHER);
  try {
    assert.throws(() => needOwn(folder), /belongs to user number 65534/);
  } finally {
    process.seteuid!(0);
  }
});

test('a recording of root’s with a node of somebody else’s is not touched', { skip }, async () => {
  const folder = await usersRecording();
  fs.chownSync(folder, 0, 0);
  fs.appendFileSync(node(folder, 'load.csv'), `${START + 9e6},`);
  const before = fs.readFileSync(node(folder, 'load.csv'), 'utf8');
  const { code, out } = tacho(['verify', folder]);
  assert.equal(code, 1);
  assert.match(out, /node=c1 belongs to user number 65534/);
  assert.equal(fs.readFileSync(node(folder, 'load.csv'), 'utf8'), before);
  // looking changes nothing, so everybody may
  assert.match(tacho(['verify', '--dry-run', folder]).out, /would repair: node=c1\/load\.csv/);
});
