import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { discardRecording } from './create.ts';

test('of a recording that has come to nothing nothing is left but what others put there', (t) => {
  const parent = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-test-'));
  t.after(() => fs.rmSync(parent, { recursive: true }));
  const make = (...more: string[]): string => {
    const folder = path.join(parent, String(more.length));
    fs.mkdirSync(path.join(folder, 'node=c1'), { recursive: true });
    for (const name of ['job.json', 'job.json.reserve', 'node=c1/agent.log', 'launch.log', 'own.log', ...more])
      fs.writeFileSync(path.join(folder, name), '');
    return folder;
  };
  discardRecording(make());
  const mine = make('notes.txt');
  discardRecording(mine);
  assert.deepEqual([fs.readdirSync(parent), fs.readdirSync(mine)], [['1'], ['notes.txt']]);
});
