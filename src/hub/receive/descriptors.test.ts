import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { openFiles } from '../../../test/made/open-files.ts';
import { Descriptors, type Held } from './descriptors.ts';

const hold = (): Held => ({ fd: fs.openSync('/dev/null', 'w'), recent: true, dirty: false });

test('what was not used for longest is closed first', () => {
  const descriptors = new Descriptors(3);
  const [a, b, c, d, e] = [hold(), hold(), hold(), hold(), hold()] as [Held, Held, Held, Held, Held];
  for (const held of [a, b, c]) descriptors.add(held);
  b.recent = false;
  descriptors.add(d);
  assert.deepEqual(
    [a, b, c, d].map((held) => held.fd >= 0),
    [true, false, true, true],
  );
  descriptors.add(e);
  assert.equal(descriptors.size, 3);
  assert.equal([a, c, d, e].filter((held) => held.fd < 0).length, 1);
  assert.ok(e.fd >= 0);
  descriptors.closeAll();
  assert.deepEqual([descriptors.size, e.fd], [0, -1]);
});

test('it names what is not on the disk yet', () => {
  const descriptors = new Descriptors(3);
  const [a, b] = [hold(), hold()] as [Held, Held];
  descriptors.add(a);
  descriptors.add(b);
  b.dirty = true;
  assert.deepEqual(descriptors.dirty(), [b]);
  descriptors.closeAll();
});

test('files that wait for the disk before they are closed do not use up the descriptors', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-descriptors-'));
  try {
    const descriptors = new Descriptors(10);
    for (let i = 0; i < 300; i++) {
      const held: Held = { fd: fs.openSync(path.join(folder, `${i}`), 'a'), recent: false, dirty: true };
      fs.writeSync(held.fd, 'row');
      descriptors.add(held);
    }
    assert.equal(descriptors.size, 10);
    // ten are held and 48 may be on their way; nothing of it has come back to the loop yet
    assert.equal(openFiles(folder), 58);
    descriptors.closeAll();
    assert.equal(openFiles(folder), 48);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
