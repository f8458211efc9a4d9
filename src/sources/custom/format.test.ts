import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { rowsOf } from '../../../test/fake-gpu/table-of.ts';
import { Frame } from '../../table/frame.ts';
import { CustomFailure } from './custom.ts';
import { parseJson, parsePrometheus } from './format.ts';
import { fillFrame, type LooseSample, tableOf, unitOf } from './table.ts';

function table(samples: LooseSample[]) {
  const frame = new Frame(tableOf('mine', 'Test.', samples));
  frame.clear(1);
  assert.deepEqual(fillFrame(frame, samples), []);
  return { table: frame.table, rows: rowsOf(frame) };
}

test('Prometheus text becomes a table: labels are keys, metrics are columns', () => {
  const { table: t, rows } = table(
    parsePrometheus(`# HELP fan_rpm Speed of a fan.
# TYPE fan_rpm gauge
fan_rpm{fan="left",place="a \\"b\\", c\\\\d"} 1200
fan_rpm{fan="right",place="rear"} 1.5e3 1700000000000
# TYPE turns counter
turns_total{fan="left", place="a \\"b\\", c\\\\d",} 7
room:temperature_celsius -3.25
odd NaN
`),
  );
  assert.deepEqual(
    t.keys.map((k) => k.name),
    ['fan', 'place'],
  );
  assert.deepEqual(
    t.columns.map(({ name, kind, unit, help }) => [name, kind, unit, help]),
    [
      ['fan_rpm', 'gauge', 'rpm', 'Speed of a fan.'],
      ['turns_total', 'counter', 'count', 'turns_total.'],
      ['room_temperature_celsius', 'gauge', 'celsius', 'room_temperature_celsius.'],
      ['odd', 'gauge', 'count', 'odd.'],
    ],
  );
  const none = Number.NaN;
  assert.deepEqual(rows, [
    { fan: 'left', place: 'a "b", c\\d', fan_rpm: 1200, turns_total: 7, room_temperature_celsius: none, odd: none },
    { fan: 'right', place: 'rear', fan_rpm: 1500, turns_total: none, room_temperature_celsius: none, odd: none },
    { fan: '', place: '', fan_rpm: none, turns_total: none, room_temperature_celsius: -3.25, odd: none },
  ]);
});

test('JSON becomes a table: numbers are columns, texts are keys, objects are flattened', () => {
  const expected = [
    { rack: 'A', inlet_celsius: 21.5, open: 0 },
    { rack: 'B', inlet_celsius: 22, open: 1 },
  ];
  const rows = [
    '{"rack":"A","inlet":{"celsius":21.5},"open":false}',
    '{"rack":"B","inlet":{"celsius":22},"open":true,"list":[1]}',
  ];
  assert.deepEqual(table(parseJson(`[${rows.join()}]`)).rows, expected);
  assert.deepEqual(table(parseJson(rows.join('\n'))).rows, expected);
  assert.deepEqual(table(parseJson('{"time": 5, "node": "x"}')).rows, [{ node_label: 'x', time_value: 5 }]);
});

test('what cannot be read is said with its place', () => {
  assert.throws(() => parsePrometheus('a 1\nhello world!\n'), {
    message: 'line 2 is not Prometheus text: hello world!',
  });
  assert.throws(() => parsePrometheus('a{b=c} 1'), { message: 'line 1 has labels that cannot be read: {b=c}' });
  assert.throws(() => parseJson('oops'), /^CustomFailure: printed no JSON/);
  assert.throws(() => parseJson('[1]'), { message: 'row 1 is not an object: 1' });
  assert.throws(() => tableOf('mine', '', []), { message: 'printed no metric' });
});

test('a number is kept as it was printed, or is missing, which is said', () => {
  const refused = ['9007199254740993', '12345678901234567890', '1e-400', '-1e-400', '1e999'];
  for (const number of refused) {
    const why = 'big has a value that a number of 64 bits does not keep: it is missing';
    const messages: string[] = [];
    const note = (text: string): void => void messages.push(text);
    assert.deepEqual(table(parsePrometheus(`big ${number}\nn 1`, note)).rows, [{ big: Number.NaN, n: 1 }]);
    assert.deepEqual(table(parseJson(`{"n": 1, "big": ${number}}`, note)).rows, [{ big: Number.NaN, n: 1 }]);
    assert.deepEqual(table(parseJson(`{"a": 1}\n{"n": 1, "in": {"big": ${number}}}`, note)).rows, [
      { a: 1, n: 1, in_big: Number.NaN },
    ]);
    assert.deepEqual(messages, [why, why, why]);
    assert.deepEqual(table(parseJson(`{"n": 1, "list": [${number}]}`)).rows, [{ n: 1 }]);
  }
  for (const number of ['9007199254740992', '0.000', '5e-324', '-4.7e-12', '1e23', '0.1234567890123456789']) {
    assert.deepEqual(table(parsePrometheus(`n ${number}`)).rows, [{ n: Number(number) }]);
    assert.deepEqual(table(parseJson(`{"n": ${number}}`)).rows, [{ n: Number(number) }]);
  }
});

test('what a command prints later and did not print the first time is named', () => {
  const frame = new Frame(tableOf('mine', '', parsePrometheus('a{x="1"} 1')));
  assert.deepEqual(fillFrame(frame, parsePrometheus('a{x="1"} 2\nb{x="1"} 3\na{y="2"} 4')), ['b', 'a{y}']);
  assert.deepEqual(rowsOf(frame), [{ x: '1', a: 2 }]);
});

test('units by the end of the name', () => {
  assert.deepEqual(['x_bytes', 'x_bytes_total', 'power_watts', 'seconds', 'requests_total', 'kilobytes'].map(unitOf), [
    'bytes',
    'bytes',
    'watts',
    'seconds',
    'count',
    'count',
  ]);
});

test('any labels and values come back as they were', () => {
  const label = fc.string({ unit: 'binary' }).filter((s) => !s.includes('\r') && !/[\u2028\u2029]/.test(s));
  fc.assert(
    fc.property(label, fc.double({ noNaN: true, noDefaultInfinity: true }), (word, value) => {
      const escaped = word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
      const [sample] = parsePrometheus(`m{l="${escaped}"} ${value}`);
      assert.equal(sample!.labels.l, word);
      assert.equal(sample!.value, value + 0);
    }),
  );
});

test('whatever a command prints, it is read or refused in words', () => {
  fc.assert(
    fc.property(fc.string(), (noise) => {
      for (const parse of [parsePrometheus, parseJson]) {
        try {
          parse(noise);
        } catch (error) {
          assert.ok(error instanceof CustomFailure, String(error));
        }
      }
    }),
  );
});
