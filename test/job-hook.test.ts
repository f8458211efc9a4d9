import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { tacho, temporaryFolder } from './tacho.ts';

test('a prolog never fails because the agent cannot be told, unless it wants to', (t) => {
  const folder = temporaryFolder(t);
  const file = path.join(folder, 'file');
  fs.writeFileSync(file, '');
  const begin = (...more: string[]) =>
    tacho(['job', 'begin', '--jobs', path.join(file, 'jobs'), '--job-id', '7', ...more]);
  const soft = begin();
  assert.equal(soft.code, 0);
  assert.equal(soft.out, '');
  assert.match(soft.err, /the agent is not told of the job: cannot write .*file\/jobs\/7/);
  assert.equal(begin('--strict').code, 1);
  const end = tacho(['job', 'end', '--jobs', path.join(file, 'jobs'), '--job-id', '7']);
  assert.equal(end.code, 0);
  assert.equal(tacho(['job', 'begin', '--jobs', folder, '--job-id', '../7']).code, 2, 'wrong use is another matter');
});
