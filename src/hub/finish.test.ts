import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { testAgent, testJob, testRecording } from '../sinks/test-spool.ts';
import { Compressor } from './compress.ts';
import { Descriptors } from './descriptors.ts';
import { Filing } from './filing.ts';
import { Finisher } from './finish.ts';
import { ONE_OWNER } from './owner.ts';
import { Places } from './place.ts';

test('a recording of which nobody can say whether it is still read is left for later, and the others are sealed', async (t) => {
  const archive = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-finish-'));
  t.after(() => fs.rmSync(archive, { recursive: true, force: true }));
  const places = new Places(archive, ONE_OWNER);
  t.after(() => places.close());
  const compressor = new Compressor(places);
  const filing = new Filing({ places, descriptors: new Descriptors(16), rolled: () => {} });
  const told: string[] = [];
  const finisher = new Finisher(filing, compressor, {
    tell: (text) => told.push(text),
    holds: (folder) => {
      if (folder.endsWith('user=eve/job=1')) throw new Error('too many levels of symbolic links');
      return false;
    },
  });
  t.after(() => finisher.close());
  const recording = (user: string) => {
    const folder = testRecording(path.join(archive, `user=${user}`), 'job=1', testJob('1', { user }), testAgent('c1'));
    fs.writeFileSync(path.join(folder, 'counted.csv'), 'time,who,n,label\n1,c1,1,one\n');
    return filing.adopt({ way: [`user=${user}`, 'job=1'], owner: undefined }, 'job', user)!;
  };
  const [eve, ada] = [recording('eve'), recording('ada')];
  finisher.giveUpWaiting(eve);
  assert.equal(told.length, 1);
  assert.match(told[0]!, /^cannot seal user=eve\/job=1: too many levels of symbolic links; it stays as it is/);
  assert.deepEqual([finisher.hasWaiting(eve), finisher.isPaused(eve.key)], [false, true]);
  finisher.giveUpWaiting(ada);
  const sealed = path.join(archive, 'user=ada/job=1/node=c1/counted.csv.zst');
  for (const end = Date.now() + 60_000; !fs.existsSync(sealed) && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(fs.existsSync(sealed), told.join('\n'));
});
