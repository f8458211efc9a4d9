import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as path from 'node:path';
import { test } from 'node:test';
import { whyNot } from './lab.ts';

const RUN = path.join(import.meta.dirname, '../../examples/slurm-cluster/run');

test('examples/slurm-cluster ends with each user’s report', { skip: whyNot() }, () => {
  const { status, stdout, stderr } = spawnSync(RUN, ['--seconds', '8'], { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  const reports = [...stdout.matchAll(/^\d+ work-(\d) +COMPLETED\n-+\n(\S+),.* node (\S+),/gm)];
  assert.deepEqual(
    reports.map(([, work, user, node]) => [work, user, node]),
    [
      ['1', 'tacho-a', 'c1'],
      ['2', 'tacho-b', 'c2'],
      ['3', 'tacho-c', 'c3'],
    ],
  );
  assert.match(stdout, /c2 +tacho-b +\d+ +meminfo .* live/);
  for (const [i, user] of ['tacho-a', 'tacho-b', 'tacho-c'].entries()) {
    const own = new RegExp(`^drwx------ ${user} +user=${user}/job=\\d+/node=c${i + 1}$`, 'm');
    assert.match(stdout, own);
  }
  assert.match(stderr, /permission denied/);
});
