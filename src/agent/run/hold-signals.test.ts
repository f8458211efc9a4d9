import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as path from 'node:path';
import { test } from 'node:test';
import { NODE_FLAGS } from '../../base/own-node.ts';
import { APPLICATION_SIGNALS } from '../../base/signals.ts';

test('a signal for the command that comes after its end does not end who reports on it; SIGTERM does', () => {
  const script = `
    const { holdSignals } = await import(${JSON.stringify(path.join(import.meta.dirname, 'hold-signals.ts'))});
    const release = holdSignals(() => {});
    const pause = () => new Promise((go) => setTimeout(go, 500));
    await pause();
    release();
    for (const signal of ${JSON.stringify(APPLICATION_SIGNALS)}) process.kill(process.pid, signal);
    await pause();
    console.log('reported');
    process.kill(process.pid, 'SIGTERM');
    await pause();
    console.log('still there');`;
  const args = [...NODE_FLAGS, '--input-type=module', '-e', script];
  const { stdout, signal } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  assert.deepEqual([stdout, signal], ['reported\n', 'SIGTERM']);
});
