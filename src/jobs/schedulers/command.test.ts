import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/made/eventually.ts';
import { processId, stillRuns } from '../on-node/process-id.ts';
import { runner } from './command.ts';

test("a scheduler's command is marked as none of the job's processes", async () => {
  const { stdout } = await runner({ EXTRA: 'x' })('sh', ['-c', 'echo "$TACHO_OWN $EXTRA"']);
  assert.equal(stdout, '1 x\n');
});

test('a command that gives no answer is ended with all that it started', async () => {
  const { stdout, trouble } = await runner({}, 2)('sh', ['-c', 'sleep 60 & echo $!; wait']);
  assert.equal(trouble, 'sh gave no answer within 2 s');
  const left = processId(Number(stdout));
  await eventually('the end of what it started', () => !stillRuns(left));
});
