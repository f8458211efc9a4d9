import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { openPositions } from './positions.ts';
import type { Stream } from './stream.ts';

const spool = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-positions-'));
after(() => fs.rmSync(spool, { recursive: true, force: true }));

const stream = (name: string): Stream => {
  const recording = path.join(spool, name);
  return { recording, folder: path.join(recording, 'node=c1'), node: 'c1' };
};

test('positions are there again after a restart, and only those that were saved', () => {
  const file = path.join(spool, '.sinks/kafka.json');
  for (const name of ['job-1', 'job-2']) fs.mkdirSync(stream(name).folder, { recursive: true });
  const positions = openPositions(file, spool);
  assert.equal(positions.get(stream('job-1'), 'meminfo'), undefined);
  positions.set(stream('job-1'), 'meminfo', { part: 2, bytes: 700 });
  positions.set(stream('job-2'), 'meminfo', { part: 1, bytes: 30 });
  positions.save();
  positions.set(stream('job-1'), 'meminfo', { part: 3, bytes: 1 });
  assert.deepEqual(positions.get(stream('job-1'), 'meminfo'), { part: 3, bytes: 1 });
  const again = openPositions(file, spool);
  assert.deepEqual(again.get(stream('job-1'), 'meminfo'), { part: 2, bytes: 700 });
  // whoever is killed now must not leave it to another recording by that name
  again.forget(stream('job-1'));
  const third = openPositions(file, spool);
  assert.equal(third.get(stream('job-1'), 'meminfo'), undefined);
  assert.deepEqual(third.get(stream('job-2'), 'meminfo'), { part: 1, bytes: 30 });
  fs.rmSync(stream('job-2').recording, { recursive: true });
  const fourth = openPositions(file, spool);
  assert.equal(fourth.get(stream('job-2'), 'meminfo'), undefined, 'another job may come by that name');
  fs.mkdirSync(stream('job-2').folder, { recursive: true });
  const fifth = openPositions(file, spool);
  assert.equal(fifth.get(stream('job-2'), 'meminfo'), undefined, 'also when nothing was saved since');
});

test('a damaged file is named: whether to send everything again is the administrator’s choice', () => {
  const file = path.join(spool, 'damaged.json');
  for (const content of ['{"job-1": ', '[]', '{"job-1":{"meminfo":[1,"x"]}}']) {
    fs.writeFileSync(file, content);
    assert.throws(() => openPositions(file, spool), /cannot read .*damaged\.json/);
  }
});
