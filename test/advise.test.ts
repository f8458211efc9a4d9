import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Advice } from '../src/advise/advise.ts';
import type { Job } from '../src/recording/folder/job.ts';
import { makeRecording, START, temporary } from './make-recording.ts';
import { tacho, temporaryFolder } from './tacho.ts';

const HOUR = 3600e6;

/** Recordings of a job that asked for 10 h and took one, each a day after the other. */
async function record(folder: string, id: string, about: Partial<Job> = {}): Promise<void> {
  const day = Number(/\d+$/.exec(id)?.[0] ?? 0);
  const start = START + day * 24 * HOUR;
  await makeRecording({
    folder: path.join(folder, `tacho-${id}`),
    seconds: 2,
    job: {
      id,
      name: 'train',
      command: ['python3', 'train.py'],
      asked: { nodes: 1, cpus: 8, memory_bytes: 2 ** 34, time_limit_seconds: 36_000 },
      start,
      end: start + HOUR,
      state: 'completed',
      ...about,
    },
  });
}

test('advice from recordings, as text, JSON, CSV and script', async () => {
  const folder = path.join(temporary(), 'runs');
  for (let i = 1; i <= 6; i++) await record(folder, `47${i}`);
  await record(folder, '4711_8', { name: 'other', user: 'bob' });
  await record(folder, '4711_9', {
    name: 'other',
    user: 'bob',
    state: 'timeout',
    end: START + 9 * 24 * HOUR + 10 * HOUR,
  });
  const all = tacho(['advise', folder]);
  assert.equal(all.code, 0, all.err);
  assert.match(all.out, /^train \(ada\): 6 runs, 6 completed\n/m);
  assert.match(all.out, /^other \(bob\): 2 runs, 1 completed and 1 timeout; array 4711\n/m);
  assert.match(all.out, /^time +10 h 00 min +1 h 15 min +95 % of 6 runs used at most 1 h 00 min/m);
  assert.match(all.out, /^memory +16\.0 GiB +not known +it was not measured: leave it as it is/m);
  assert.match(all.out, /job 4711_9 was\s+stopped by its time limit/);
  assert.ok(all.out.split('\n').every((line) => line.length <= 80));
  assert.doesNotMatch(all.out, /[^\x00-\x7f]/);
  const script = tacho(['advise', folder, '--user', 'ada', '--format', 'script']).out;
  assert.equal(
    script,
    '#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=8\n#SBATCH --mem=16G\n#SBATCH --time=01:15:00\n',
  );
  const two = JSON.parse(tacho(['advise', folder, '--name', 'tr*', '--last', '2', '--format', 'json']).out) as Advice[];
  assert.deepEqual(
    two.map(({ jobs }) => jobs),
    [['475', '476']],
  );
  const csv = tacho(['advise', folder, '--user', 'bob', '--format', 'csv']).out.split('\n');
  assert.match(csv[0]!, /^user,name,runs,completed,resource,asked,advised,verdict/);
  assert.match(csv[1]!, /^bob,other,2,1,time,36000,45000,more,3600,3600,3600,4711_8,/);
  // the same from an index, where the recordings need not be read
  const indexed = tacho(['index', folder]);
  assert.equal(indexed.code, 0, indexed.err);
  assert.equal(tacho(['advise', folder]).out, all.out);
  // an array by its id, where it lies
  const array = JSON.parse(tacho(['advise', '4711', '--format', 'json'], { cwd: folder }).out) as Advice[];
  assert.deepEqual(
    array.map(({ arrays, runs }) => [arrays, runs]),
    [[['4711'], 2]],
  );
});

test('no advice: nothing asked for, nothing there, nothing over, no scheduler', async (t) => {
  const folder = path.join(temporary(), 'runs');
  await record(folder, '1', { scheduler: 'none' });
  const running = path.join(temporary(), 'running');
  const { end: _, ...never } = { end: 0 };
  await record(running, '2', { ...never, state: 'running' });
  const file = path.join(running, 'tacho-2/job.json');
  const { end: __, ...job } = JSON.parse(fs.readFileSync(file, 'utf8')) as Record<string, unknown>;
  // it runs, and its node has just said so
  fs.writeFileSync(file, JSON.stringify({ ...job, start: Date.now() * 1000 - 1e6 }));
  const cases: [string[], number, RegExp][] = [
    [[folder, '--name', 'nobody'], 1, /no job matches/],
    [[folder, '--last', '0'], 2, /--last: "0" is not a number of jobs/],
    [[folder, '--format', 'script'], 2, /these jobs had no scheduler.*--for slurm, flux or pbs/s],
    [[path.join(temporaryFolder(t), 'nothing')], 1, /no such file or folder|not there/],
  ];
  for (const [args, code, says] of cases) {
    const done = tacho(['advise', ...args]);
    assert.match(done.err, says, args.join(' '));
    assert.equal(done.code, code, args.join(' '));
  }
  assert.match(tacho(['advise', folder, '--format', 'script', '--for', 'flux']).out, /^# flux: --time-limit=75m$/m);
  const live = tacho(['advise', running]);
  assert.deepEqual([live.code, /1 job, none of which is over/.test(live.err)], [1, true], live.err);
});
