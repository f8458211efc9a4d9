import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectCsv } from './object-csv.ts';

test('a row an object, what is missing empty', () => {
  const rows = [
    { name: 'a "b", c', value: 0, tags: { k: 'v' } },
    { name: 'line\nbreak', value: Number.NaN, more: 1 },
  ];
  assert.equal(
    objectCsv(['name', 'value', 'tags'], rows),
    'name,value,tags\n"a ""b"", c",0,"{""k"":""v""}"\n"line\nbreak",,\n',
  );
  assert.equal(objectCsv(['name'], []), 'name\n');
});
