import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { endPhase, writeMarks } from '../jobs/mark.ts';
import type { Job } from '../recording/job.ts';
import { openRecording } from '../recording/open.ts';
import { readTable } from '../recording/read.ts';
import { testAgent, testJob, testRecording } from '../sinks/test-spool.ts';
import { jobMarks, leftMarks, tidyMarks } from './job-marks.ts';

const ENV = { SLURMD_NODENAME: 'c1' };
const NOW = 1_700_000_100_000_000;

function setUp(t: TestContext) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-marks-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const job: Job = testJob('17', { uid: process.getuid!() });
  testRecording(folder, 'job-17', job, testAgent('c1'));
  const recording = path.join(folder, 'job-17');
  const place = path.join(folder, 'marks/job-17');
  return {
    folder,
    place,
    job,
    recording,
    open: () => jobMarks(place, job, recording, 'c1', () => NOW),
    left: (of: Job) => leftMarks(place, of, recording, 'c1', () => NOW),
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

test('marks that a job leaves are taken into its recording, each once, by the next agent too', (t) => {
  const { open, place, taken, job, left } = setUp(t);
  const marks = open();
  marks.takeMarks();
  assert.equal(fs.statSync(place).mode & 0o777, 0o700);
  writeMarks(place, ENV, [{ action: 'begin', name: 'epoch "3", é' }], NOW - 5e6);
  marks.takeMarks();
  writeMarks(place, ENV, [{ action: 'fom', name: 'loss', value: 2.31 }], NOW - 4e6);
  marks.takeMarks();
  assert.deepEqual(taken(), ['begin epoch "3", é', 'fom loss 2.31']);
  // a kill, another agent, and what came in between
  assert.equal(endPhase(place, ENV, undefined), 'epoch "3", é');
  const file = path.join(place, 'node=c1/marker.csv');
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
  next.remove();
  assert.ok(!fs.existsSync(place));
});

test('annotations and tags are taken when they change', (t) => {
  const { open, place, job } = setUp(t);
  const marks = open();
  assert.equal(marks.takeWords(), undefined);
  const file = path.join(place, 'job.json');
  fs.writeFileSync(file, JSON.stringify({ ...job, annotations: { note: 'slow', odd: 7 }, tags: { case: 'base' } }));
  assert.deepEqual(marks.takeWords(), { annotations: { note: 'slow' }, tags: { case: 'base' } });
  assert.equal(marks.takeWords(), undefined);
  fs.writeFileSync(file, '{');
  assert.equal(marks.takeWords(), undefined);
});

test('links lead nowhere, and what is removed is what is there', (t) => {
  const { open, place, folder, taken } = setUp(t);
  const marks = open();
  const other = path.join(folder, 'other');
  fs.mkdirSync(other);
  fs.writeFileSync(path.join(other, 'marker.csv'), `time,action,name,value\n${NOW},begin,secret,\n`);
  // root reads what the job's user owns, and nothing else
  if (process.getuid!() === 0) fs.lchownSync(path.join(other, 'marker.csv'), 65534, 65534);
  else fs.rmSync(path.join(other, 'marker.csv'));
  fs.rmSync(path.join(place, 'node=c1'), { recursive: true });
  fs.symlinkSync(other, path.join(place, 'node=c1'));
  marks.takeMarks();
  assert.deepEqual(taken(), []);
  const before = fs.readdirSync(other);
  tidyMarks(path.dirname(place), ['job-18']);
  assert.deepEqual(fs.readdirSync(path.dirname(place)), []);
  assert.deepEqual(fs.readdirSync(other), before);
});

test("what Tacho's own commands used in a job is told, and nothing by way of a link", (t) => {
  const { open, place } = setUp(t);
  const marks = open();
  assert.equal(marks.ownUse(), undefined);
  const notes = path.join(place, 'own.log');
  fs.writeFileSync(notes, 'c1\t0.25\t1000\nc1\t0.5\t3000\nrubbish\n');
  assert.deepEqual(marks.ownUse(), { c1: { commands: 2, cpu_seconds: 0.75, max_rss_bytes: 3000 } });
  fs.renameSync(notes, `${notes}.real`);
  fs.symlinkSync(`${notes}.real`, notes);
  assert.equal(marks.ownUse(), undefined);
});
