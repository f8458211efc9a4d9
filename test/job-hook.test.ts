import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { IN_MEMORY } from './made/in-memory.ts';
import { tacho, temporaryFolder } from './tacho.ts';

const PROJECT = path.join(import.meta.dirname, '..');
const NO_LIBRARY =
  !fs.existsSync(path.join(PROJECT, 'native/build/libtacho-record.so')) && 'no libtacho-record.so: needs a C compiler';

test('a prolog never fails because the agent cannot be told, unless it wants to', (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'file');
  fs.writeFileSync(file, '');
  const begin = (...more: string[]) =>
    tacho(['job', 'begin', '--jobs', path.join(file, 'jobs'), '--job-id', '7', ...more]);
  const soft = begin();
  assert.equal(soft.code, 0);
  assert.equal(soft.out, '');
  assert.match(soft.err, /the agent was not notified of the job: cannot write .*file\/jobs\/7/);
  assert.equal(begin('--strict').code, 1);
  const end = tacho(['job', 'end', '--jobs', path.join(file, 'jobs'), '--job-id', '7']);
  assert.equal(end.code, 0);
  assert.equal(tacho(['job', 'begin', '--jobs', folder, '--job-id', '../7']).code, 2, 'wrong use is another matter');
});

test('a task prolog that users’ tasks could not use is told where it is made', { skip: NO_LIBRARY }, (t) => {
  const home = fs.realpathSync(fs.mkdtempSync(path.join(IN_MEMORY, 'tacho-private-')));
  t.after(() => fs.rmSync(home, { recursive: true, force: true }));
  for (const projectPath of ['src', 'packaging', 'native', 'package.json'])
    fs.cpSync(path.join(PROJECT, projectPath), path.join(home, projectPath), { recursive: true });
  fs.symlinkSync(path.join(PROJECT, 'node_modules'), path.join(home, 'node_modules'));
  const args = [path.join(home, 'src/cli/main.ts'), 'slurm', 'hooks', '--task-prolog'];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.match(stdout, new RegExp(`^library=${home}/native/build/libtacho-record.so$`, 'm'));
  const oneLine = stderr.replaceAll(/\s+/g, ' ');
  const why = `with the task prolog nothing would be recorded: users cannot read ${home}/native/build/libtacho-record.so`;
  assert.ok(oneLine.includes(`${why}, for ${home} has mode 700; install Tacho where every user can read it`), oneLine);
});
