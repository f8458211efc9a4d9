import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Material } from '../../query/material.ts';
import type { Note } from '../../sources/host.ts';
import { unmeasuredOf } from './unmeasured.ts';

const notesOf = (...nodes: Note[][]) =>
  unmeasuredOf(
    {
      path: 'r',
      job: {},
      nodes: nodes.map((unmeasured, i) => ({ node: `c${i + 1}`, agent: { unmeasured }, tables: new Map() })),
    } as unknown as Material,
    [],
  );

const mine = (why: string): Note => ({ table: 'mine', what: 'mine', why });

test('a source that failed again and again is there once', () => {
  const again = 'exit code 3; failed 5 times, from now on asked less often';
  assert.deepEqual(notesOf([mine('exit code 3'), mine(again), mine('exit code 3')], [mine(again)]), [
    { what: 'mine', why: again, nodes: ['c1', 'c2'] },
  ]);
});

test('different reasons for one thing stand together, those of different nodes and things apart', () => {
  const other = { table: 'mine', what: 'GPU 3', why: 'gone' };
  assert.deepEqual(notesOf([mine('one'), other, mine('two'), mine('three'), mine('four')], [mine('one')]), [
    { what: 'mine', why: 'one; two; three; and 1 more', nodes: ['c1'] },
    { what: 'mine: GPU 3', why: 'gone', nodes: ['c1'] },
    { what: 'mine', why: 'one', nodes: ['c2'] },
  ]);
});
