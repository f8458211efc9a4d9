import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { writeDemo } from '../src/demo/demo.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { IN_MEMORY } from './made/in-memory.ts';
import { makeRecording, temporary } from './make-recording.ts';
import type { MutationOrder, MutationWord } from './mutation-worker.ts';
import { makeProcessRecording } from './process-recording.ts';

/*
 * Recordings damaged at random: whatever was done to a file, everything that reads it ends, says what is wrong in words,
 * loses nothing and spares the others. MUTATIONS=2505 tries as many, MUTATION_SEED=17 begins with that one.
 */
const COUNT = Number(process.env.MUTATIONS ?? 200);
const SEED = Number(process.env.MUTATION_SEED ?? 1);
/** No step takes a second; one that is not done after this, on whatever machine, never will be. */
const DEADLINE_MS = 180_000;

/** Live, sealed as Parquet, and sealed as what is smaller: host tables, GPUs, processes and records of them. */
async function bases(): Promise<string[]> {
  const top = temporary(IN_MEMORY);
  const made: string[] = [];
  for (const kind of ['live', 'sealed', 'parquet']) {
    const demo = path.join(top, `demo-${kind}`);
    await writeDemo({ folder: demo, nodes: 1, gpus: 1, seconds: 20, interval: 1, live: true });
    const processes = await makeProcessRecording(
      {
        c1: [
          { pid: 100, start: 0, end: 50, exename: 'bash', args: '-c "make; make test"', cpu: 0.5, tags: 'op:all' },
          { pid: 101, ppid: 100, start: 1, end: 9, exename: 'cc1', cpu: 2, tags: 'op:build', threads: [0.5, 1.5] },
          { pid: 102, ppid: 100, start: 2, exename: 'killed', tags: 'op:build' },
          {
            pid: 103,
            ppid: 101,
            start: 3,
            end: 5,
            exename: 'as',
            args: "-o 'a, b'",
            exitcode: 1,
            metrics: { cycles: 7 },
          },
        ],
      },
      {},
      path.join(top, `processes-${kind}`),
    );
    const disks = await makeRecording({
      folder: path.join(top, `disks-${kind}`),
      seconds: 30,
      rollEvery: 9,
      nodes: ['c1', 'c2'],
    });
    for (const folder of [demo, processes, disks]) {
      if (kind !== 'live') sealRecording(openRecording(folder), { force: true, parquet: kind === 'parquet' });
      made.push(folder);
    }
  }
  return made;
}

test(`${COUNT} recordings damaged at random, from seed ${SEED} on`, async (t) => {
  const archive = temporary(IN_MEMORY);
  await makeRecording({ folder: path.join(archive, 'good'), seconds: 5 });
  const order: MutationOrder = {
    seeds: Array.from({ length: COUNT }, (_, i) => SEED + i),
    bases: await bases(),
    archive,
  };
  const wrong: string[] = [];
  let doing: MutationWord = { seed: SEED };
  let done = 0;
  await new Promise<void>((resolve) => {
    const worker = new Worker(new URL('./mutation-worker.ts', import.meta.url), { workerData: order });
    const end = (why?: string): void => {
      clearTimeout(timer);
      if (why !== undefined) wrong.push(`seed ${doing.seed} (${doing.what}): ${why}`);
      void worker.terminate().then(() => resolve());
    };
    const late = (): void => end('it does not end');
    let timer = setTimeout(late, DEADLINE_MS);
    worker.on('message', (word: MutationWord) => {
      clearTimeout(timer);
      timer = setTimeout(late, DEADLINE_MS);
      if (word.what !== undefined) doing = word;
      if (word.wrong !== undefined) wrong.push(`seed ${word.seed} (${doing.what}): ${word.wrong}`);
      if (word.done) done++;
      if (done === COUNT) end();
    });
    worker.on('error', (error) => end(`the process failed: ${error.message}`));
  });
  t.diagnostic(`${done} of ${COUNT} mutations tried, seeds ${SEED} to ${SEED + COUNT - 1}`);
  assert.deepEqual(wrong, []);
  assert.equal(done, COUNT);
  assert.ok(fs.existsSync(path.join(archive, 'good/job.json')));
});
