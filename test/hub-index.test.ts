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
  const said: string[] = [];
  const keeper = new IndexKeeper(archive, (text) => said.push(text));
  await keeper.look();
  await keeper.look();
  assert.deepEqual(said.length, 1, said.join('\n'));
  assert.match(said[0]!, /^not in the index: .*job=2.*newer Tacho/);
  const index = path.join(archive, '.tacho-index');
  assert.equal(filesIn(index).length, 1);
  assert.equal(fs.statSync(index).mode & 0o777, 0o700);
  fs.rmSync(path.join(archive, 'user=ada'), { recursive: true });
  await keeper.look();
  assert.equal(filesIn(index).length, 1);
  await keeper.close();
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
