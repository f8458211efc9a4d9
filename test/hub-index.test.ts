import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { IndexKeeper } from '../src/hub/keep/index-child.ts';
import { agentOf, jobOf, temporary } from './make-recording.ts';

/** Any number that is nobody's here. */
const ADA = 54_321;

function addJob(archive: string, user: string, id: string, more: object = {}): string {
  const folder = path.join(archive, `user=${user}/job=${id}`);
  fs.mkdirSync(path.join(folder, 'node=c1'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify({ ...jobOf({ id, user }), ...more }));
  fs.writeFileSync(path.join(folder, 'node=c1/agent.json'), JSON.stringify(agentOf('c1', [])));
  return folder;
}

function give(folder: string, uid: number): void {
  for (const name of ['', ...fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })])
    fs.lchownSync(path.join(folder, name), uid, uid);
}

const filesIn = (index: string): string[] =>
  fs.globSync('jobs/day=*/part-*.parquet', { cwd: index }).map((name) => path.join(index, name));

test('a hub keeps the index of its archive; rows of recordings that are gone stay', async () => {
  const archive = temporary();
  addJob(archive, 'ada', '1');
  const broken = addJob(archive, 'bob', '2');
  fs.writeFileSync(path.join(broken, 'job.json'), '{"format": 99}');
  const messages: string[] = [];
  const keeper = new IndexKeeper(archive, (text) => messages.push(text));
  await keeper.look();
  await keeper.look();
  assert.deepEqual(messages.length, 1, messages.join('\n'));
  assert.match(messages[0]!, /^not in the index: .*job=2.*newer Tacho/);
  const index = path.join(archive, '.tacho-index');
  assert.equal(filesIn(index).length, 1);
  assert.equal(fs.statSync(index).mode & 0o777, 0o700);
  fs.rmSync(path.join(archive, 'user=ada'), { recursive: true });
  await keeper.look();
  assert.equal(filesIn(index).length, 1);
  await keeper.close();
});

test('users find what accounting knows of their own jobs in their own index', {
  skip: process.getuid!() !== 0 && 'needs root',
}, async () => {
  const archive = temporary();
  fs.chmodSync(archive, 0o755);
  addJob(archive, 'ada', '1');
  give(path.join(archive, 'user=ada'), ADA);
  const { importSlurm } = await import('../src/history/index/import-slurm.ts');
  const { readRows } = await import('../src/history/index/row-file.ts');
  const { jobsTable } = await import('../src/history/tables/jobs.ts');
  const start = jobOf({}).start / 1e6;
  const line = (id: string, user: string): string =>
    `${id}|${user}|physics|COMPLETED|${start - 60}|${start}|${start + 3600}|3600|cpu=4,mem=8G,node=1|c1|02:00:00`;
  const file = path.join(temporary(), 'sacct.txt');
  const head = 'JobID|User|Account|State|Submit|Start|End|ElapsedRaw|AllocTRES|NodeList|TotalCPU';
  const lines = [line('1', 'ada'), line('2', 'ada'), line('3', 'eve'), line('4', 'root')];
  fs.writeFileSync(file, `${[head, ...lines].join('\n')}\n`);
  await importSlurm([file], { archive });
  const rowsOf = (folder: string): unknown[] =>
    filesIn(path.join(archive, folder, '.tacho-index'))
      .flatMap((one) => readRows(one, jobsTable))
      .map(({ job, account, origin, recording }) => [job, account, origin, recording])
      .sort();
  const hers = [
    ['1', 'physics', 'recorded', 'job=1'],
    ['2', 'physics', 'accounting', undefined],
  ];
  assert.deepEqual(rowsOf('user=ada'), hers);
  assert.equal(rowsOf('').length, 4);
  for (const name of ['.tacho-index', '.tacho-accounting'])
    assert.equal(fs.statSync(path.join(archive, 'user=ada', name)).uid, ADA);
  // who comes later gets it with the first recording; a recording takes the place of the row
  addJob(archive, 'eve', '5');
  give(path.join(archive, 'user=eve'), ADA + 1);
  fs.cpSync(path.join(archive, 'user=ada/job=1'), path.join(archive, 'user=ada/job=2'), { recursive: true });
  fs.writeFileSync(path.join(archive, 'user=ada/job=2/job.json'), JSON.stringify(jobOf({ id: '2', user: 'ada' })));
  give(path.join(archive, 'user=ada/job=2'), ADA);
  const keeper = new IndexKeeper(archive, () => {});
  await keeper.look();
  await keeper.close();
  assert.deepEqual(rowsOf('user=eve'), [
    ['3', 'physics', 'accounting', undefined],
    ['5', undefined, 'recorded', 'job=5'],
  ]);
  assert.deepEqual(rowsOf('user=ada'), [hers[0], ['2', 'physics', 'recorded', 'job=2']]);
});

test('what belongs to a user is read with the rights of the user, who has an index of the own jobs', {
  skip: process.getuid!() !== 0 && 'needs root',
}, async () => {
  const archive = temporary();
  fs.chmodSync(archive, 0o755);
  const secret = path.join(temporary(), 'secret.json');
  fs.writeFileSync(secret, JSON.stringify(jobOf({ id: 'secret', name: 'of root' })), { mode: 0o600 });
  addJob(archive, 'ada', '1', { user: 'root' });
  const linked = addJob(archive, 'ada', '2');
  fs.rmSync(path.join(linked, 'job.json'));
  fs.symlinkSync(secret, path.join(linked, 'job.json'));
  addJob(archive, 'eve', '3');
  give(path.join(archive, 'user=ada'), ADA);
  const keeper = new IndexKeeper(archive, () => {});
  await keeper.look();
  await keeper.close();
  const { readRows } = await import('../src/history/index/row-file.ts');
  const { jobsTable } = await import('../src/history/tables/jobs.ts');
  const rows = filesIn(path.join(archive, '.tacho-index')).flatMap((file) => readRows(file, jobsTable));
  const shown = rows.map(({ job, user, name, recording }) => [recording, job, user, name]).sort();
  assert.deepEqual(
    shown.filter(([recording]) => recording !== 'user=ada/job=2'),
    [
      ['user=ada/job=1', '1', 'ada', 'train'],
      ['user=eve/job=3', '3', 'eve', 'train'],
    ],
    'nobody speaks for another user',
  );
  assert.equal(JSON.stringify(shown).includes('of root'), false, 'no link leads further than the user can go');
  const own = path.join(archive, 'user=ada/.tacho-index');
  const mine = filesIn(own).flatMap((file) => readRows(file, jobsTable));
  assert.ok(mine.some(({ recording }) => recording === 'job=1'));
  assert.ok(mine.every(({ recording }) => recording !== 'job=3'));
  assert.equal(fs.statSync(own).uid, ADA);
});
