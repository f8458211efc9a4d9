import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COUNTED, testJob } from '../../../test/made/spool.ts';
import { MOST_COLUMNS } from '../../base/csv.ts';
import { KafkaRows } from './rows.ts';

const lines = (header: string, text: string, from = 100) => ({
  part: 3,
  from,
  bytes: Buffer.from(text),
  header,
  next: { part: 3, bytes: from + Buffer.byteLength(text) },
});

test('a row says who, what and when; what is missing is left out', () => {
  const rows = new KafkaRows('counted', COUNTED, 'c1', testJob('4711'));
  const read = rows.read(lines('time,who,n,label', '5,a,1.50,"x, y"\n6,é,,\n'));
  assert.deepEqual(
    read.map(({ value }) => value),
    [
      '{"time":5,"node":"c1","user":"ada","job":"4711","who":"a","n":1.50,"label":"x, y"}',
      '{"time":6,"node":"c1","user":"ada","job":"4711","who":"é"}',
    ],
  );
  assert.deepEqual(
    read.map(({ position }) => position),
    [
      { part: 3, bytes: 116 },
      { part: 3, bytes: 123 },
    ],
  );
});

test('restarts and clusters are told apart', () => {
  const rows = new KafkaRows('counted', COUNTED, 'c1', testJob('4711', { restart: 1, cluster: 'alps' }));
  const [row] = rows.read(lines('time,who,n,label', '5,a,1,\n'));
  assert.equal(
    row!.value,
    '{"time":5,"node":"c1","user":"ada","job":"4711","restart":1,"cluster":"alps","who":"a","n":1}',
  );
});

test('lines that are no rows are counted, not sent', () => {
  const rows = new KafkaRows('counted', COUNTED, 'c1', testJob('4711'));
  assert.equal(rows.read(lines('time,who,n,label', 'x,a,1,\n5,a\n5,a,many,\n7,a,1,\n')).length, 1);
  assert.equal(rows.bad, 3);
  assert.equal(rows.read(lines('something,else', '1,2\n')).length, 0);
  assert.equal(rows.bad, 4);
});

test('a file with other columns than described has a version of its own', () => {
  const rows = new KafkaRows('counted', COUNTED, 'c1', testJob('4711'));
  rows.read(lines('time,who,n,label', '5,a,1,\n'));
  const described = rows.version;
  assert.equal(rows.table, COUNTED);
  rows.read(lines('time,who,n,more_bytes', '5,a,1,2\n'));
  assert.notEqual(rows.version, described);
  assert.deepEqual(
    rows.table!.columns.map(({ name, unit }) => [name, unit]),
    [
      ['n', 'count'],
      ['more_bytes', 'bytes'],
    ],
  );
});

test('a table that nobody described is taken as its first rows look', () => {
  const rows = new KafkaRows('mine', undefined, 'c1', testJob('4711'));
  const [row] = rows.read(lines('time,who,n', '5,a,1\n'));
  assert.equal(row!.value, '{"time":5,"node":"c1","user":"ada","job":"4711","who":"a","n":1}');
  assert.deepEqual(rows.table!.keys, [{ name: 'who', help: '' }]);
});

test('a header with more columns than any table has is none', () => {
  const rows = new KafkaRows('many', undefined, 'c1', testJob('4711'));
  const read = (columns: number): number => {
    const names = Array.from({ length: columns - 1 }, (_, i) => `c${i}`);
    return rows.read(lines(['time', ...names].join(), `5${',1'.repeat(columns - 1)}\n`)).length;
  };
  assert.deepEqual([read(MOST_COLUMNS + 1), read(MOST_COLUMNS)], [0, 1]);
});
