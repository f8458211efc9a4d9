import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { jobOf } from '../../../test/hub/hub-process.ts';
import { temporaryFolder } from '../../../test/tacho.ts';
import { saveJob } from '../../recording/folder/create.ts';
import type { Job } from '../../recording/folder/job.ts';
import { jobInShort } from '../../recording/folder/node-names.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { updateJob } from '../../recording/folder/update-job.ts';
import { readRecord } from './archive-folder.ts';
import { checkedJob, filedJob } from './checked.ts';
import { saveJobRecord } from './job-record.ts';

test('the record of a job of very many nodes, ten steps and what commands used on each node can be read again', (t) => {
  for (const many of [10_000, 100_000]) {
    const nodes = Array.from({ length: many }, (_, i) => `nid${String(i).padStart(6, '0')}.site.org`);
    const each = <T>(value: T): Record<string, T> => Object.fromEntries(nodes.map((node) => [node, value]));
    const span: [number, number, number] = [1_800_000_000_000_000, 1_800_000_000_000_000, 0.05];
    const job: Job = jobOf('7', nodes, {
      per_node: each({ cpus: 128, memory_bytes: 2 ** 39, gpus: 8 }),
      steps: Array.from({ length: 10 }, (_, i) => ({
        id: `${i}`,
        name: 'bash',
        start: span[0],
        state: 'RUNNING',
        nodes: i < 9 ? nodes : nodes.slice(1),
      })),
      own_use: each({ commands: 3, cpu_seconds: 0.1234, max_rss_bytes: 6e7, spans: [span, span] }),
    });
    const folder = temporaryFolder(t);
    const file = path.join(folder, 'job.json');
    saveJobRecord(folder, job);
    assert.ok(fs.statSync(file).size < 64 << 10);
    const again = filedJob(readRecord<object>(file)!);
    const sent = checkedJob(JSON.parse(JSON.stringify(jobInShort(job))));
    // a difference of megabytes is nothing to print, and takes long to look for
    const same = many > 10_000 ? (a: Job, b: Job) => a.nodes.join() === b.nodes.join() : isDeepStrictEqual;
    assert.ok(same(again, job) && same(sent, job), `${many}: as it is filed, and as the hub takes it`);
    saveJob(folder, { ...again, state: 'completed' });
    updateJob(folder, (read) => ({ ...read, finish_seconds: 1 }));
    const { nodes: named, steps, finish_seconds } = openRecording(folder).job;
    assert.deepEqual([named.length, steps![9]!.nodes!.length, finish_seconds], [many, many - 1, 1]);
  }
});
