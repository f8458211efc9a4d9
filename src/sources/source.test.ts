import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sources } from './index.ts';
import type { SourceKind } from './source.ts';

test('a source that may hang says how to tell whether it is there: without that it would never be read', () => {
  const [quick] = sources.filter((kind) => kind.isolated !== true);
  // @ts-expect-error: it lacks `present` and `load`
  const silent: SourceKind = { table: quick!.table, isolated: true, open: quick!.open };
  const isolated: SourceKind = {
    table: quick!.table,
    isolated: true,
    open: quick!.open,
    present: () => true,
    load: async () => {},
  };
  assert.deepEqual(Object.keys(isolated), [...Object.keys(silent), 'present', 'load']);
  for (const kind of sources) if (kind.isolated) assert.equal(typeof kind.present, 'function', kind.table.name);
});
