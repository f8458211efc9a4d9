import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { test } from 'node:test';
import { frozen } from '../../../test/frozen.ts';
import { processView, sharedView } from './view.ts';

const stat = (pid: number, start: number): string =>
  `${pid} (a b) S 1 ${pid} 7 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 ${start} 4096 2 18446744073709551615 ${'0 '.repeat(13)}3 0 0\n`;

test('what one has read of a process the others of the same look need not read again', (t) => {
  const { host, write } = frozen(t, {
    '/proc/100/stat': stat(100, 50),
    '/proc/100/comm': 'sh\n',
    '/proc/100/environ': 'A=1\0SLURM_JOB_ID=17\0',
    '/proc/loadavg': '',
  });
  let time = 0;
  const direct = processView(host);
  const shared = sharedView(host, () => time);
  const viewValues = (view: typeof direct) => [
    view.pids(),
    view.origin(100)?.start,
    view.owner(100),
    view.name(100),
    view.variable(100, 'SLURM_JOB_ID'),
    view.variable(100, 'A'),
    view.variable(100, 'B'),
    view.origin(101),
  ];
  const before = [[100], 50, process.getuid!(), 'sh', '17', '1', undefined, undefined];
  assert.deepEqual([viewValues(direct), viewValues(shared)], [before, before]);
  write('/proc/101/stat', stat(101, 60));
  write('/proc/100/stat', stat(100, 70));
  write('/proc/100/comm', 'slurmstepd\n');
  write('/proc/100/environ', 'SLURM_JOB_ID=18\0B=2\0');
  const after = [[100, 101], 70, process.getuid!(), 'slurmstepd', '18', undefined, '2'];
  assert.deepEqual(viewValues(direct).slice(0, -1), after);
  assert.deepEqual(viewValues(shared), before);
  // in the next look, and some time later in any case
  time = 1001;
  assert.deepEqual(viewValues(shared).slice(0, -1), after);
  fs.rmSync(host.path('/proc/101'), { recursive: true });
  assert.deepEqual(shared.pids(), [100, 101]);
  shared.forget();
  assert.deepEqual(shared.pids(), [100]);
});
