import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gpuTable, vmstatTable } from '../../sources/tables.ts';
import { counter, gauge, openHelp, type Table } from '../../table/table.ts';
import { withHelp, withoutOwnHelp } from './own-help.ts';

const plain = (table: Table): unknown => JSON.parse(JSON.stringify(table));

test('help that Tacho itself has is left out, and comes back', () => {
  const stored = plain(withoutOwnHelp(gpuTable)) as Table;
  const helps = [stored, ...stored.keys, ...stored.columns].map(({ help }) => help);
  assert.deepEqual([...new Set(helps)], ['']);
  assert.deepEqual(stored.columns[0], { ...gpuTable.columns[0], help: '' });
  // as the same text: definitions are compared so
  assert.equal(JSON.stringify(withHelp(stored)), JSON.stringify(gpuTable));
});

test('other help stays: of a source of the site, of another version, of a column that nobody knows', () => {
  const own = {
    name: 'fan',
    help: 'Fans.',
    scope: 'node',
    keys: [],
    columns: [gauge('rpm', 'count', 'Speed.')],
  } as const;
  assert.deepEqual(withoutOwnHelp(own), own);
  assert.deepEqual(withHelp(own), own);
  const [first, ...others] = gpuTable.columns;
  const newer: Table = { ...gpuTable, columns: [{ ...first!, help: 'Said in another way.' }, ...others] };
  assert.deepEqual(plain(withHelp(withoutOwnHelp(newer))), plain(newer));
  // what a later version does not know any more has none
  const lost = { ...own, columns: [{ ...own.columns[0], help: undefined as unknown as string }] };
  assert.equal(withHelp(lost).columns[0]!.help, '');
});

test('a field of the kernel that no definition lists is described by its name', () => {
  const help = openHelp('/proc/vmstat', 'pgfoo');
  assert.equal(help, 'pgfoo of /proc/vmstat.');
  const table: Table = {
    ...vmstatTable,
    columns: [counter('pgfoo', 'count', help), counter('pgbar', 'count', 'Mine.')],
  };
  const stored = withoutOwnHelp(table);
  assert.deepEqual(
    stored.columns.map((column) => column.help),
    ['', 'Mine.'],
  );
  assert.deepEqual(plain(withHelp(stored)), plain(table));
});
