import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { eventually } from '../../../test/made/eventually.ts';
import { isWatched, loadFlock, watchRecording } from './watching.ts';

test('a recording is watched from when somebody looks until nobody does', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-watched-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const flock = await loadFlock();
  assert.equal(isWatched(folder, flock), false);
  const stops = [watchRecording(folder), watchRecording(folder)];
  await eventually('a watched recording', () => isWatched(folder, flock));
  stops[0]!();
  assert.equal(isWatched(folder, flock), true);
  stops[1]!();
  assert.equal(isWatched(folder, flock), false);
  assert.equal(isWatched(path.join(folder, 'none'), flock), false);
});
