import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { callingShell } from './calling-shell.ts';

test('the shell is followed, not a wrapper around tacho start', (t) => {
  const proc = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-proc-'));
  t.after(() => fs.rmSync(proc, { recursive: true }));
  const process = (pid: number, name: string, parent: number): void => {
    fs.mkdirSync(path.join(proc, String(pid)));
    fs.writeFileSync(path.join(proc, String(pid), 'stat'), `${pid} (${name}) S ${parent} 1 1 0 -1\n`);
  };
  process(10, 'bash', 1);
  process(11, 'timeout', 10);
  process(12, 'sudo', 11);
  process(13, 'my) timeout', 12);
  process(14, 'timeout', 1);
  assert.equal(callingShell(10, proc), 10);
  assert.equal(callingShell(11, proc), 10);
  assert.equal(callingShell(12, proc), 10);
  assert.equal(callingShell(13, proc), 13);
  assert.equal(callingShell(14, proc), 14);
  assert.equal(callingShell(99, proc), 99);
});
