import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CustomMetric, computeCustom } from './custom-module.ts';
import type { WorkerSample } from './events.ts';

const sample: WorkerSample = {
  time: 1,
  worker: 'tcp://10.0.0.1:4000',
  name: '0',
  host: 'c1',
  executing: 3,
  gpus: [{ device: '0', used: 5 }, { device: '1' }],
  metrics: [],
};

test('a custom metric that throws, hangs or gives no number has no value, and the others go on', () => {
  let calls = 0;
  const metrics: CustomMetric[] = [
    { name: 'half', read: ({ executing = 0 }) => executing / 2 },
    { name: 'used', read: (_, gpu) => gpu?.used, perDevice: true },
    {
      name: 'throws',
      read: () => {
        throw new Error('not now');
      },
    },
    {
      name: 'hangs',
      read: () => {
        calls++;
        for (;;);
      },
    },
    { name: 'later', read: (async () => 1) as never },
    { name: 'object', read: (() => ({})) as never },
  ];
  const notes = new Set<string>();
  for (let i = 0; i < 2; i++)
    assert.deepEqual(
      computeCustom(metrics, sample, (text) => notes.add(text)).map(({ metric, device, value }) => [
        metric,
        device,
        value,
      ]),
      [
        ['half', '', 1.5],
        ['used', '0', 5],
        ['used', '1', undefined],
        ['throws', '', undefined],
        ['hangs', '', undefined],
        ['later', '', undefined],
        ['object', '', undefined],
      ],
    );
  assert.equal(calls, 1, 'who hangs is asked once');
  assert.deepEqual(
    [...notes],
    [
      'custom metric throws: not now',
      'custom metric hangs: it hangs, and is not asked any more',
      'custom metric later: it gives a promise, not a number',
      'custom metric object: it gives object, not a number',
    ],
  );
});
