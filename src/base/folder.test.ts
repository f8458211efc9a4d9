import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { makeFolder } from './folder.ts';

test('a folder is made with those above it, and may be there already', (t) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-folder-'));
  t.after(() => fs.rmSync(root, { recursive: true }));
  const folder = path.join(root, 'a', 'b', 'c');
  assert.deepEqual(makeFolder(folder, 0o700), [folder, path.dirname(folder), path.join(root, 'a')]);
  assert.deepEqual(makeFolder(folder, 0o700), []);
  assert.equal(fs.statSync(folder).mode & 0o777, 0o700);
  fs.writeFileSync(path.join(folder, 'file'), '');
  assert.throws(() => makeFolder(path.join(folder, 'file')), { code: 'EEXIST' });
  assert.throws(() => makeFolder(path.join(folder, 'file', 'below')), { code: 'ENOTDIR' });
});

test('nobody makes folders by Node\'s own "recursive"', () => {
  const src = path.join(import.meta.dirname, '..');
  const files = fs.globSync('**/*.ts', { cwd: src }).filter((file) => !/(^|\/)test-|\.test\.ts$/.test(file));
  const loops = /mkdir(Sync)?\([^;]*recursive: true/;
  assert.deepEqual(
    files.filter((file) => loops.test(fs.readFileSync(path.join(src, file), 'utf8'))),
    [],
  );
});

test('where no folder can be made, that is said', () => {
  assert.throws(() => makeFolder('/proc/tacho/deep'), { code: 'ENOENT' });
});
