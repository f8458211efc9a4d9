import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { whyPrivate } from './private-path.ts';

test('a file that not everybody can read is told with what keeps them from it', (t) => {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-private-')));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'a/b/library.so');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, '');
  for (const each of [file, path.join(folder, 'a/b'), path.join(folder, 'a')]) fs.chmodSync(each, 0o755);
  fs.chmodSync(folder, 0o700);
  assert.equal(whyPrivate(file), `${folder} has mode 700`);
  fs.chmodSync(path.join(folder, 'a'), 0o710);
  assert.equal(whyPrivate(file), `${folder}/a has mode 710`);
  fs.chmodSync(file, 0o640);
  assert.equal(whyPrivate(file), `${file} has mode 640`);
  assert.equal(whyPrivate('/proc/version'), undefined);
  assert.equal(whyPrivate(path.join(folder, 'none')), undefined);
});
