import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { testJob } from '../../../test/made/spool.ts';
import { TableWriter } from '../../recording/live/append.ts';
import { BEGINNING } from '../../recording/live/position.ts';
import { Tail } from '../../recording/live/tail.ts';
import { KafkaRows } from '../../sinks/kafka/rows.ts';
import { Frame } from '../../table/frame.ts';
import { gauge, type Table, text } from '../../table/table.ts';
import { KafkaLines } from './lines.ts';

const table: Table = {
  name: 'odd',
  help: 'For tests.',
  scope: 'node',
  keys: [{ name: 'who', help: '' }],
  columns: [
    gauge('whole', 'count', ''),
    gauge('fine', 'count', '', 'float', 9),
    text('user', 'Called like what every row says.'),
    gauge('time', 'count', 'So is this.'),
  ],
};

const wordArbitrary = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', 'a,b', 'say "hi"', 'two\nlines', '\r\n', 'é'),
);
const number = fc.oneof(fc.double(), fc.maxSafeInteger(), fc.constantFrom(Number.NaN, 0, -0.5, 1e-9, 1e21, 2 ** 63));

test('rows that went through Kafka are the bytes that they were, at their positions', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-kafka-lines-'));
  try {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(wordArbitrary, number, number, wordArbitrary, number), { minLength: 1, maxLength: 5 }),
        (rows) => {
          fs.rmSync(path.join(folder, 'odd.csv'), { force: true });
          const writer = new TableWriter(folder, table);
          const frame = new Frame(table);
          frame.clear(1_700_000_000_000_000);
          for (const [who, whole, fine, user, time] of rows) {
            const r = frame.row();
            frame.texts[r * frame.textWidth] = who;
            frame.texts[r * frame.textWidth + 1] = user;
            [whole, fine, time].forEach((value, i) => {
              frame.numbers[r * frame.numberWidth + i] = value;
            });
          }
          writer.append(frame);
          void writer.close();
          const written = fs.readFileSync(path.join(folder, 'odd.csv'));
          const tail = new Tail(folder, 'odd');
          const read = new KafkaRows('odd', table, 'c1', testJob('7', { restart: 2 }));
          const messages = read.read(tail.wholeLines(BEGINNING, 1 << 20)!);
          tail.close();
          assert.equal(read.bad, 0);
          const lines = new KafkaLines(read.table!);
          let bytes = lines.header;
          for (const { value, position } of messages) {
            const { identity, line } = lines.read(value);
            assert.deepEqual(identity, { node: 'c1', user: 'ada', job: '7', restart: 2 });
            bytes += line;
            assert.deepEqual(position, { part: 1, bytes: Buffer.byteLength(bytes) });
          }
          assert.equal(bytes, written.toString('utf8'));
        },
      ),
      { numRuns: 300 },
    );
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('what is no row is refused', () => {
  const lines = new KafkaLines(table);
  assert.throws(() => lines.read('{"node":"c1"}'), /says no time/);
  assert.throws(() => lines.read('{'), SyntaxError);
});
