import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, test } from 'node:test';
import { threadId } from 'node:worker_threads';
import { temporary } from '../../test/make-recording.ts';
import { allowThreads, inTwoThreads } from './two-threads.ts';

/** A program that is a thread: it answers with its own number, fails at 7, and ends at the last item of "ends". */
const PROGRAM = `
import { parentPort, threadId } from 'node:worker_threads';
parentPort.on('message', ([i, item]) => {
  if (process.argv[3] === 'ends' && i > 9) process.exit(1);
  parentPort.postMessage(item === 7 ? [i] : [i, { item, thread: threadId }]);
});
`;

const items = Array.from({ length: 300 }, (_, i) => i);
const here = (item: number) => ({ item, thread: threadId });

async function listed(task: string, isWorthIt?: boolean): Promise<{ item: number; thread: number }[]> {
  const workedItems: { item: number; thread: number }[] = [];
  for await (const each of inTwoThreads(task, items, here, isWorthIt)) {
    workedItems.push(each);
    // the other one has the time to do some
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return workedItems;
}

after(() => allowThreads(undefined));

test('without a program that says what it is, or for little work, there is one thread', async () => {
  const alone = items.map(here);
  assert.deepEqual(await listed('works'), alone);
  allowThreads('/nowhere/at-all.mjs');
  assert.deepEqual(await listed('works', false), alone);
});

test('two threads: results come in order, and what the other one cannot do is done here', async () => {
  const program = path.join(temporary(), 'program.mjs');
  fs.writeFileSync(program, PROGRAM);
  allowThreads(program);
  const workedItems = await listed('works');
  assert.deepEqual(
    workedItems.map(({ item }) => item),
    items,
  );
  assert.equal(workedItems[7]!.thread, threadId);
  assert.ok(workedItems.some(({ thread }) => thread !== threadId));
});

test('a thread that ends, or does not start, leaves its work to this one', async () => {
  const program = path.join(temporary(), 'program.mjs');
  fs.writeFileSync(program, PROGRAM);
  for (const file of [program, path.join(temporary(), 'missing.mjs')]) {
    allowThreads(file);
    const workedItems = await listed('ends');
    assert.deepEqual(
      workedItems.map(({ item }) => item),
      items,
    );
    assert.deepEqual(new Set(workedItems.slice(20).map(({ thread }) => thread)), new Set([threadId]));
  }
});
