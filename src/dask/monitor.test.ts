import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Monitor } from './monitor.ts';

function monitorOf(): { monitor: Monitor; said: string[] } {
  const said: string[] = [];
  const monitor = new Monitor({ jobType: 'client', custom: [], tracking: [], say: (text) => void said.push(text) });
  return { monitor, said };
}

test('what several workers say is said once, and leaves room for other notes', () => {
  const { monitor, said } = monitorOf();
  const workers = Array.from({ length: 150 }, (_, i) => ({ address: `tcp://10.0.0.${i}:4000`, name: `w${i}` }));
  monitor.facts({ version: '2024.8.0', scheduler: 's', workers, clients: [] });
  for (const { address } of workers) monitor.note('custom metric power: OSError: no right', address);
  monitor.note('the scheduler is slow');
  assert.deepEqual(said, ['worker w0: custom metric power: OSError: no right', 'the scheduler is slow']);
  assert.deepEqual(monitor.status().notes, [
    'workers w0, w1 and 148 more: custom metric power: OSError: no right',
    'the scheduler is slow',
  ]);
});
