import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { makeRecording } from './make-recording.ts';
import { tacho } from './tacho.ts';

/** Clears the screen and colours what follows: nobody's name or line may do that to a reader's terminal. */
const NASTY = 'a\x1b[2J\x1b[31mb';
const RAW = /[\x00-\x09\x0b-\x1f\x7f-\x9f]/;

test('what somebody recorded does not reach the terminal raw', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const file = path.join(folder, 'job.json');
  const job = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.writeFileSync(file, JSON.stringify({ ...job, name: NASTY, user: NASTY, id: `7${NASTY}` }));
  const lines = fs.readFileSync(path.join(folder, 'node=c1', 'load.csv'), 'utf8').split('\n');
  // a line that is quoted in what is said on stderr
  lines.splice(2, 0, `${lines[1]!.split(',')[0]},${NASTY}`);
  fs.writeFileSync(path.join(folder, 'node=c1', 'load.csv'), lines.join('\n'));
  for (const verb of ['list', 'report', 'status', 'verify']) {
    const { out, err } = tacho([verb, folder]);
    assert.match(out, /a\\x1b\[2J/, `${verb}: ${out}${err}`);
    assert.doesNotMatch(out + err, RAW, verb);
  }
});
