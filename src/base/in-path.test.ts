import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { isInPath } from './in-path.ts';

test('a program is in the path where a folder of it has it, be it one that may not be run', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-path-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const [first, second] = ['first', 'second'].map((name) => path.join(folder, name)) as [string, string];
  for (const each of [first, second]) fs.mkdirSync(each);
  fs.writeFileSync(path.join(second, 'plain'), '', { mode: 0o644 });
  assert.equal(isInPath('plain', `${first}:/no/such/folder:${second}`), true);
  assert.equal(isInPath('plain', first), false);
  assert.equal(isInPath('plain', ''), false);
  assert.equal(isInPath('plain', undefined), false);
});
