import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { testAgent, testJob, testRecording } from '../../../test/made/spool.ts';
import { endPhase, writeMarks } from '../../control/mark.ts';
import type { Job } from '../../recording/folder/job.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { readTable } from '../../recording/read/read.ts';
import { abandonedMarks, jobMarks, type MarksOptions } from './job-marks.ts';
import { removeMarksFolder, tidyMarksFolders } from './marks-folder.ts';
import { userFolders } from './user-folders.ts';

const ENV = { SLURMD_NODENAME: 'c1' };
const NOW = 1_700_000_100_000_000;

function setUp(t: TestContext, more: Partial<MarksOptions> = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-marks-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const job: Job = testJob('17', { uid: process.getuid!() });
  testRecording(folder, 'job-17', job, testAgent('c1'));
  const recording = path.join(folder, 'job-17');
  const name = path.join(folder, 'marks/jobs/job-17');
  const users = userFolders(path.join(folder, 'users'));
  t.after(() => removeMarksFolder(name));
  const options = { name, users, recording, node: 'c1', now: () => NOW, ...more };
  return {
    folder,
    name,
    users,
    /** Where it lies: what a user is led to. */
    get marksPath() {
      return fs.realpathSync(name);
    },
    job,
    recording,
    open: () => jobMarks({ ...options, job }),
    left: (of: Job) => abandonedMarks({ ...options, job: of }),
    taken(): string[] {
      const { rows, texts, numbers } = readTable(openRecording(recording).nodes[0]!, 'marker');
      const cell = (column: string, row: number) => texts.get(column)!.values[texts.get(column)!.codes[row]!];
      return Array.from({ length: rows }, (_, row) => {
        const value = numbers.get('value')![row]!;
        return `${cell('action', row)} ${cell('name', row)}${Number.isNaN(value) ? '' : ` ${value}`}`;
      });
    },
  };
}

test('marks that a job leaves are taken into its recording, each once, by the next agent too', async (t) => {
  const set = setUp(t);
  const { open, taken, job, left, name } = set;
  const marks = open();
  const { marksPath } = set;
  marks.takeMarks();
  assert.equal(fs.statSync(marksPath).mode & 0o777, 0o700);
  writeMarks(marksPath, ENV, [{ action: 'begin', name: 'epoch "3", é' }], NOW - 5e6);
  marks.takeMarks();
  writeMarks(marksPath, ENV, [{ action: 'fom', name: 'loss', value: 2.31 }], NOW - 4e6);
  marks.takeMarks();
  assert.deepEqual(taken(), ['begin epoch "3", é', 'fom loss 2.31']);
  // a kill, another agent, and what came in between
  assert.equal(endPhase(marksPath, ENV, undefined), 'epoch "3", é');
  const file = path.join(marksPath, 'node=c1/marker.csv');
  fs.appendFileSync(file, `${NOW},begin,torn`);
  const next = open();
  next.takeMarks();
  assert.deepEqual(taken(), ['begin epoch "3", é', 'fom loss 2.31'], 'the clock of the end is far from the job');
  fs.appendFileSync(file, ',\nrubbish\n1,begin,x,\n,,,\n');
  next.takeMarks();
  assert.deepEqual(taken(), ['begin epoch "3", é', 'fom loss 2.31', 'begin torn']);
  assert.equal(left({ ...job, start: job.start + 1 }), undefined, 'it is of another run');
  left(job)!.takeMarks();
  assert.equal(taken().length, 3);
  await next.remove();
  assert.ok(!fs.existsSync(marksPath));
  assert.throws(() => fs.lstatSync(name), { code: 'ENOENT' });
});

test('the beginning and the end of a phase are told when they are taken, figures are not', (t) => {
  let phases = 0;
  const set = setUp(t, { phase: () => phases++ });
  const marks = set.open();
  const writtenBytes: number[] = [];
  for (const action of ['begin', 'fom', 'end'] as const) {
    writeMarks(
      set.marksPath,
      ENV,
      [{ action, name: 'x', ...(action === 'fom' ? { value: 1 } : {}) }],
      NOW + writtenBytes.length,
    );
    marks.takeMarks();
    writtenBytes.push(phases);
  }
  assert.deepEqual(writtenBytes, [1, 1, 2]);
});

test('annotations and tags are taken when they change', (t) => {
  const set = setUp(t);
  const { open, job } = set;
  const marks = open();
  const { marksPath } = set;
  assert.equal(marks.takeWords(), undefined);
  const file = path.join(marksPath, 'job.json');
  fs.writeFileSync(file, JSON.stringify({ ...job, annotations: { note: 'slow', odd: 7 }, tags: { case: 'base' } }));
  assert.deepEqual(marks.takeWords(), { annotations: { note: 'slow' }, tags: { case: 'base' } });
  assert.equal(marks.takeWords(), undefined);
  fs.writeFileSync(file, '{');
  assert.equal(marks.takeWords(), undefined);
});

test('links lead nowhere, and what is removed is what is there', async (t) => {
  const set = setUp(t);
  const { open, folder, taken, name } = set;
  const marks = open();
  const { marksPath } = set;
  const other = path.join(folder, 'other');
  fs.mkdirSync(other);
  fs.writeFileSync(path.join(other, 'marker.csv'), `time,action,name,value\n${NOW},begin,secret,\n`);
  // root reads what the job's user owns, and nothing else
  if (process.getuid!() === 0) fs.lchownSync(path.join(other, 'marker.csv'), 65534, 65534);
  else fs.rmSync(path.join(other, 'marker.csv'));
  fs.rmSync(path.join(marksPath, 'node=c1'), { recursive: true });
  fs.symlinkSync(other, path.join(marksPath, 'node=c1'));
  marks.takeMarks();
  assert.deepEqual(taken(), []);
  const before = fs.readdirSync(other);
  await tidyMarksFolders(path.dirname(name), set.users, () => false, assert.fail);
  assert.deepEqual(fs.readdirSync(path.dirname(name)), []);
  assert.ok(!fs.existsSync(path.dirname(marksPath)));
  assert.deepEqual(fs.readdirSync(other), before);
});

test("what Tacho's own commands used in a job is told, and nothing by way of a link", (t) => {
  const set = setUp(t);
  const marks = set.open();
  const { marksPath } = set;
  assert.equal(marks.ownUse(), undefined);
  const notes = path.join(marksPath, 'own.log');
  fs.writeFileSync(notes, 'c1\t0.25\t1000\nc1\t0.5\t3000\nrubbish\n');
  assert.deepEqual(marks.ownUse(), { c1: { commands: 2, cpu_seconds: 0.75, max_rss_bytes: 3000 } });
  fs.renameSync(notes, `${notes}.real`);
  fs.symlinkSync(`${notes}.real`, notes);
  assert.equal(marks.ownUse(), undefined);
});

test('a job that writes very many marks keeps the agent for a moment at a time, and what is too many is counted', (t) => {
  const set = setUp(t);
  const marks = set.open();
  const file = path.join(set.marksPath, 'node=c1/marker.csv');
  const line = (i: number): string => `${NOW - 1e6 + i},begin,phase ${i},\n`;
  fs.writeFileSync(file, `time,action,name,value\n${Array.from({ length: 30_000 }, (_, i) => line(i)).join('')}`);
  let turns = 1;
  while (marks.takeMarks()) turns++;
  assert.ok(turns > 10, `${turns} turns`);
  assert.deepEqual([set.taken().length, marks.lost], [10_000, 20_000]);
  // written anew, with other marks and another length
  fs.writeFileSync(file, `time,action,name,value\n${line(40_000)}${line(5)}`);
  marks.takeMarks();
  assert.deepEqual([set.taken().length, marks.lost], [10_000, 20_001]);
  fs.writeFileSync(file, 'x'.repeat(200_000));
  for (let i = 0; i < 5; i++) marks.takeMarks();
  assert.ok(marks.lost <= 20_004, 'a line without an end is one each time');
});

test('what a user leaves, however deep, is removed, and nothing else', async (t) => {
  const set = setUp(t);
  set.open();
  const { marksPath, name } = set;
  // deeper than any path may be long: made as a program would, from inside
  const deep = 'd'.repeat(200);
  const script = 'i=0; while [ $i -lt 60 ]; do mkdir $1 && cd -P $1 && : >f && chmod 500 . ; i=$((i+1)); done';
  execFileSync('bash', ['-c', `umask 0; cd ${marksPath}; ${script.replace('chmod 500 . ;', '')}`, 'x', deep]);
  fs.chmodSync(path.join(marksPath, deep), 0o500);
  const parent = path.dirname(name);
  const failed: string[] = [];
  // one of these is no place at all
  fs.symlinkSync('/etc', path.join(parent, 'job-1'));
  await tidyMarksFolders(
    parent,
    set.users,
    () => false,
    (which) => failed.push(which),
  );
  assert.deepEqual(failed, []);
  assert.ok(!fs.existsSync(path.dirname(marksPath)));
  assert.ok(fs.existsSync('/etc/passwd'));
  assert.deepEqual(fs.readdirSync(parent), []);
});

test('the place does not lie where job files come in, and of an agent that was killed nothing stays', async (t) => {
  const set = setUp(t);
  const marks = set.open();
  const { marksPath, name } = set;
  assert.match(marksPath, /^\/dev\/shm\/tacho-marks-/);
  const around = path.dirname(marksPath);
  assert.equal(fs.statSync(around).mode & 0o777, 0o711);
  fs.unlinkSync(name);
  await tidyMarksFolders(path.dirname(name), set.users, () => true, assert.fail);
  assert.ok(!fs.existsSync(around));
  marks.close();
});
