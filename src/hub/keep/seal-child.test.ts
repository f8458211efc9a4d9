import assert from 'node:assert/strict';
import { test } from 'node:test';
import { thrownIn } from './seal-child.ts';

test('what a process that cannot go on says is told by its error, not by its last line', () => {
  const reply = `node:internal/modules/esm/resolve:275
    throw new ERR_MODULE_NOT_FOUND(
          ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/opt/tacho/src/base/fault.ts' imported from /opt/tacho/src/a.ts
    at finalizeResolution (node:internal/modules/esm/resolve:275:11)
    at process.processTicksAndRejections (node:internal/process/task_queues:105:5) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v24.21.0
`;
  assert.equal(
    thrownIn(reply),
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/opt/tacho/src/base/fault.ts' imported from /opt/tacho/src/a.ts",
  );
  assert.equal(
    thrownIn('TypeError: x is not a function\n    at y\n\nNode.js v24.21.0\n'),
    'TypeError: x is not a function',
  );
  assert.equal(thrownIn('Segmentation fault\n\nNode.js v24.21.0\n'), 'Segmentation fault');
  assert.equal(thrownIn(''), 'the sealing process ended without a message');
});
