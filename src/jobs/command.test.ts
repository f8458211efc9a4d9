import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runner } from './command.ts';

test("a scheduler's command is marked as none of the job's processes", async () => {
  const { stdout } = await runner({ EXTRA: 'x' })('sh', ['-c', 'echo "$TACHO_OWN $EXTRA"']);
  assert.equal(stdout, '1 x\n');
});
