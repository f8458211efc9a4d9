import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { openRecording } from '../../src/recording/folder/open.ts';
import { tacho, temporaryFolder } from '../tacho.ts';

test('parts of a job without process records add up to what wait4 counted', (t) => {
  const cwd = temporaryFolder(t);
  const work = 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done';
  // short ones that no sample, or one alone, sees
  const script = `for n in 1 2 3 4 5 6 7 8 9; do sh -c '${work}'; done; sleep 1`;
  const ran = tacho(['run', '--no-processes', '--no-report', '-o', 'r', '--', 'sh', '-c', script], { cwd });
  assert.equal(ran.code, 0);
  const { start, end, usage } = openRecording(path.join(cwd, 'r')).job;
  const cut = (share: number): string => new Date((start + (end! - start) * share) / 1000).toISOString();
  const cpu = (...range: string[]): number =>
    JSON.parse(tacho(['report', 'r', '--format', 'json', ...range], { cwd }).out).summary.cpu_seconds;
  const parts = [cpu('--to', cut(0.3)), cpu('--from', cut(0.3), '--to', cut(0.7)), cpu('--from', cut(0.7))];
  const whole = usage!.user_seconds + usage!.system_seconds;
  const sum = parts.reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - whole) < 0.01 * whole, `${parts.join(' + ')} of ${whole}`);
});
