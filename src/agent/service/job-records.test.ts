import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { testJob } from '../../../test/made/spool.ts';
import { hooks } from '../../control/slurm-hooks.ts';
import { jobMarks } from './job-marks.ts';
import { jobRecords as jobRecordsAt } from './job-records.ts';
import { userFolders } from './user-folders.ts';

const uid = process.getuid!();

function setUp(t: TestContext) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-records-'));
  const jobs = path.join(folder, 'jobs');
  const pointers = path.join(folder, 'records');
  fs.mkdirSync(jobs, { mode: 0o700 });
  const pointed = (name: string): string | undefined => {
    const file = path.join(pointers, name);
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : undefined;
  };
  t.after(() => {
    for (const name of fs.readdirSync(pointers)) {
      if (name.startsWith('job-')) fs.rmSync(path.dirname(pointed(name)!), { recursive: true, force: true });
    }
    fs.rmSync(folder, { recursive: true });
  });
  const prolog = (id: string, owner = uid): void => {
    const env = { TACHO_SERVICE_JOBS: jobs, SLURM_JOB_ID: id, SLURM_JOB_UID: String(owner) };
    assert.equal(spawnSync('/bin/sh', ['-s'], { env, input: hooks().prolog }).status, 0);
  };
  const users = path.join(folder, 'users');
  const jobRecords = () => jobRecordsAt(pointers, userFolders(users));
  /** What a task finds. */
  const shown = (name: string, owner = uid): string | undefined => {
    const file = path.join(users, String(owner), 'jobs', `${name}.records`);
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : undefined;
  };
  return { folder, jobs, pointers, pointed, prolog, jobRecords, shown, users };
}

test('a prolog makes the place before the agent knows of the job, and the agent takes it', (t) => {
  const { folder, pointed, prolog, jobRecords, shown } = setUp(t);
  const records = jobRecords();
  prolog('17');
  const file = pointed('job-17')!;
  assert.equal(shown('job-17'), file);
  fs.writeFileSync(file, 'what the first task said\n');
  const recording = path.join(folder, 'job-17');
  const job = { id: '17', uid };
  assert.deepEqual(records.recordsFor('job-17', job, recording), { file, events: [], owner: uid });
  assert.equal(records.recordsFor('job-17', job, recording).file, file, 'and once more');
  assert.equal(fs.readFileSync(file, 'utf8'), 'what the first task said\n');
  assert.equal(fs.statSync(path.dirname(file)).mode & 0o777, 0o711);
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  prolog('17');
  assert.equal(pointed('job-17'), file, 'slurmd may run the prolog of a running job again');
  const other = records.recordsFor('job-17', job, path.join(folder, 'job-17.2')).file;
  assert.notEqual(other, file, 'another recording has another place');
  assert.equal(shown('job-17'), other);
  fs.rmSync(path.dirname(file), { recursive: true });
});

test('without an agent no prolog makes a place; what came since an agent started is not tidied away', (t) => {
  const { pointers, pointed, prolog, jobRecords, shown } = setUp(t);
  const first = jobRecords();
  prolog('17');
  const old = pointed('job-17')!;
  first.close();
  prolog('18');
  assert.equal(pointed('job-18'), undefined);
  fs.utimesSync(path.join(pointers, 'job-17'), 1, 1);
  const next = jobRecords();
  prolog('19');
  next.tidy([]);
  assert.deepEqual([pointed('job-17'), shown('job-17')], [undefined, undefined]);
  assert.equal(fs.existsSync(old), false);
  assert.equal(fs.existsSync(pointed('job-19')!), true);
  next.close();
});

test('nobody else learns whose jobs are here, by listing or by asking for one id after the other', {
  skip: uid === 0 ? false : 'needs root',
}, async (t) => {
  const { folder, jobs, prolog, jobRecords, shown, users } = setUp(t);
  fs.chmodSync(folder, 0o755);
  const [ada, bob] = [61_001, 61_002];
  const records = jobRecords();
  // one place by a prolog, one by the agent
  prolog('17', ada);
  records.recordsFor('job-17', { id: '17', uid: ada }, path.join(folder, 'job-17'));
  records.recordsFor('job-18', { id: '18', uid: ada }, path.join(folder, 'job-18'));
  const job = testJob('17', { uid: ada });
  const name = path.join(folder, 'marks/jobs/job-17');
  const marks = jobMarks({
    ...{ name, users: userFolders(users), job, recording: path.join(folder, 'job-17') },
    ...{ node: 'c1', now: () => 1 },
  });
  t.after(() => marks.remove());
  const recordFolders = [
    ...['17', '18'].map((id) => path.dirname(shown(`job-${id}`, ada)!)),
    path.dirname(fs.realpathSync(name)),
  ];
  const asked = [
    ...['17', '18'].flatMap((id) => [`records/job-${id}`, `marks/job-${id}`, `marks/jobs/job-${id}`, `jobs/${id}`]),
    ...['job-17.records', 'job-18.records', 'job-17.marks'].map((each) => `users/${ada}/jobs/${each}`),
    `users/${ada}/jobs`,
  ].map((each) => path.join(folder, each));
  const guessed = recordFolders.flatMap((recordFolder) =>
    ['events', 'marks', 'job.json'].map((each) => path.join(recordFolder, each)),
  );
  const as = (who: number, ...command: string[]) =>
    spawnSync('setpriv', [`--reuid=${who}`, '--clear-groups', ...command], { encoding: 'utf8' });
  for (const each of [...asked, ...guessed]) assert.notEqual(as(bob, 'stat', each).status, 0, each);
  for (const each of [...recordFolders, users, jobs]) assert.notEqual(as(bob, 'ls', each).status, 0, each);
  assert.ok(recordFolders.every((recordFolder) => fs.statSync(recordFolder).uid === 0));
  // and ada finds and uses what is hers
  const here = `${users}/${ada}/jobs`;
  for (const id of ['17', '18'])
    assert.equal(as(ada, 'sh', '-c', `read -r file <${here}/job-${id}.records && echo x >>"$file"`).status, 0);
  assert.equal(as(ada, 'sh', '-c', `: >${here}/job-17.marks/node=c1/marker.csv`).status, 0);
  for (const id of ['17', '18']) records.forget(`job-${id}`);
  await marks.remove();
  assert.deepEqual(fs.readdirSync(here), []);
  for (const recordFolder of recordFolders) fs.rmSync(recordFolder, { recursive: true, force: true });
  records.close();
});

test('whatever a user puts in the place of the own folder, neither agent nor prolog makes anything there', {
  skip: uid === 0 ? false : 'needs root',
}, (t) => {
  const { folder, prolog, jobRecords, pointed, users } = setUp(t);
  const records = jobRecords();
  const ada = 61_001;
  prolog('17', ada);
  const recordFolder = path.dirname(pointed('job-17')!);
  t.after(() => fs.rmSync(recordFolder, { recursive: true }));
  const own = path.join(users, String(ada));
  const elsewhere = path.join(folder, 'elsewhere');
  fs.mkdirSync(elsewhere);
  fs.renameSync(path.join(own, 'jobs'), path.join(own, 'moved'));
  for (const target of [elsewhere, path.join(own, 'moved')]) {
    fs.rmSync(path.join(own, 'jobs'), { force: true });
    fs.symlinkSync(target, path.join(own, 'jobs'));
    const before = fs.readdirSync(target);
    prolog('18', ada);
    assert.throws(() => records.recordsFor('job-18', { id: '18', uid: ada }, path.join(folder, 'job-18')));
    records.forget('job-17');
    assert.deepEqual(fs.readdirSync(target), before);
    fs.rmSync(path.join(folder, 'jobs/18'));
    fs.rmSync(path.dirname(pointed('job-18')!), { recursive: true });
  }
  records.close();
});
