import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { eventually } from '../../../test/made/eventually.ts';
import { Host } from '../host.ts';
import { Neighbours } from './neighbours.ts';

test('programs of others are named with the CPU time that they used between looks, the job’s own are not', async (t) => {
  const spin = (name: string) =>
    spawn('bash', ['-c', `exec -a ${name} perl -e '$0 = "${name}"; 1 while 1'`], { stdio: 'ignore' });
  const [own, other] = [spin('own-spin'), spin('other-spin')];
  t.after(() => [own, other].map((child) => child.kill('SIGKILL')));
  const neighbours = new Neighbours(new Host(), (pid) => pid === own.pid);
  assert.equal(neighbours.isWatching, false);
  neighbours.look();
  // what was used before the first look is nobody's business
  assert.deepEqual(neighbours.most, []);
  await eventually('CPU time of the other one', () => {
    neighbours.look();
    return neighbours.most.some(({ program }) => program === 'other-spin');
  });
  assert.equal(
    neighbours.most.some(({ program }) => program === 'own-spin'),
    false,
  );
  assert.ok(neighbours.most.every(({ cpu_seconds }) => cpu_seconds >= 0.1));
});
