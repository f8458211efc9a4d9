import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { temporary } from '../make-recording.ts';
import { whyNot } from './lab.ts';

const RUN = path.join(import.meta.dirname, '../../examples/slurm-cluster/run');

test('examples/slurm-cluster ends with each user’s report', { skip: whyNot() }, () => {
  // a folder of root's: the daemons of the nodes, which run as others, must not take it for theirs
  const folder = temporary();
  fs.chmodSync(folder, 0o755);
  const env = { ...process.env, TMPDIR: folder };
  const { status, stdout, stderr } = spawnSync(RUN, ['--seconds', '8'], { encoding: 'utf8', env });
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
  assert.match(stdout, /^\d+ +tacho-b +c2 +\d+ .* live$/m);
  for (const [i, user] of ['tacho-a', 'tacho-b', 'tacho-c'].entries()) {
    const own = new RegExp(`^drwx------ ${user} +user=${user}/job=\\d+/node=c${i + 1}$`, 'm');
    assert.match(stdout, own);
  }
  assert.match(stderr, /permission denied/);
});
