import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { readJobstats } from './jobstats.ts';

const packed = (value: unknown): string => `JS1:${gzipSync(JSON.stringify(value)).toString('base64')}`;

test('what jobstats filed is read for each node and GPU', () => {
  const comment = packed({
    gpus: 2,
    nodes: {
      'della-l01': {
        cpus: 4,
        total_time: 7200.5,
        used_memory: 5e9,
        total_memory: 16e9,
        gpu_utilization: { 0: 90, 1: 0 },
        gpu_used_memory: { 0: 3e9, 1: 0 },
        gpu_total_memory: { 0: 40e9, 1: 40e9 },
      },
    },
    total_time: 3600,
  });
  assert.deepEqual(readJobstats(`{"site": 1} ${comment}`), [
    {
      node: 'della-l01',
      cpus: 4,
      cpu_seconds: 7200.5,
      memory_bytes: 5e9,
      memory_limit_bytes: 16e9,
      gpus: [
        { gpu: '0', use: 0.9, memory_bytes: 3e9, memory_total_bytes: 40e9 },
        { gpu: '1', use: 0, memory_bytes: 0, memory_total_bytes: 40e9 },
      ],
    },
  ]);
});

test('where it said nothing, there is nothing; what is damaged is said', () => {
  for (const none of [undefined, '', 'JS1:Short', 'JS1:None', 'hello']) assert.equal(readJobstats(none), undefined);
  assert.match(String(readJobstats('JS1:AAAA')), /cannot be read/);
  assert.match(String(readJobstats(packed({}).slice(0, -12))), /cannot be read/);
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const readNodes = readJobstats(packed(value));
      assert.ok(readNodes === undefined || Array.isArray(readNodes));
    }),
  );
});
