import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { jobOf } from '../../../test/hub/hub-process.ts';
import { temporaryFolder } from '../../../test/tacho.ts';
import type { Job } from '../../recording/folder/job.ts';
import { readRecord, replaceRecord } from './place.ts';

test('the record of a job of ten thousand nodes, ten steps and what commands used on each node can be read again', (t) => {
  const nodes = Array.from({ length: 10_000 }, (_, i) => `nid${String(i).padStart(6, '0')}`);
  const each = <T>(value: T): Record<string, T> => Object.fromEntries(nodes.map((node) => [node, value]));
  const span: [number, number, number] = [1_800_000_000_000_000, 1_800_000_000_000_000, 0.05];
  const job: Job = jobOf('7', nodes, {
    per_node: each({ cpus: 128, memory_bytes: 2 ** 39, gpus: 8 }),
    steps: Array.from({ length: 10 }, (_, i) => ({
      id: `${i}`,
      name: 'bash',
      start: span[0],
      state: 'RUNNING',
      nodes,
    })),
    own_use: each({ commands: 3, cpu_seconds: 0.1234, max_rss_bytes: 6e7, spans: [span, span] }),
  });
  const file = path.join(temporaryFolder(t), 'job.json');
  replaceRecord(file, job);
  // a difference of megabytes is nothing to print
  assert.ok(isDeepStrictEqual(readRecord(file), job));
});
