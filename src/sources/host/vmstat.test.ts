import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import { vmstat } from './vmstat.ts';

test('every field has the kernel’s name, and levels are told from counters', () => {
  const source = openOn(vmstat, fixture('host-small'));
  const kinds = Object.fromEntries(source.table.columns.map(({ name, kind }) => [name, kind]));
  assert.equal(source.table.columns.length, 192);
  assert.equal(kinds.nr_dirty, 'gauge');
  assert.equal(kinds.workingset_nodes, 'gauge');
  assert.equal(kinds.nr_dirtied, 'counter');
  assert.equal(kinds.nr_vmscan_write, 'counter');
  assert.equal(kinds.pgfault, 'counter');
  assert.equal(kinds.workingset_refault_file, 'counter');
});

test('numbers are taken as they are, in every read', (t) => {
  const machine = frozen(t, { '/proc/vmstat': 'nr_free_pages 12\npgfault 900719925474\noom_kill 0\n' });
  const source = openOn(vmstat, machine.host);
  assert.deepEqual(sample(source), [{ nr_free_pages: 12, pgfault: 900719925474, oom_kill: 0 }]);
  machine.write('/proc/vmstat', 'nr_free_pages 8\npgfault 900719925480\noom_kill 1\n');
  assert.deepEqual(sample(source), [{ nr_free_pages: 8, pgfault: 900719925480, oom_kill: 1 }]);
});
