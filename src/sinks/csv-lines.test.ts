import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { testJob } from '../../test/made/spool.ts';
import { rowEnd } from '../base/csv.ts';
import { KafkaRows } from './kafka/rows.ts';
import { ImportBody } from './victoria/body.ts';
import { VictoriaRows } from './victoria/rows.ts';

test('a row ends at the first newline that is not inside of quotes', () => {
  const text = '1,a\n2,"b\n""c"\n3,d\n4,"e\n';
  const rows: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = rowEnd(text, at);
    rows.push(text.slice(at, end));
    at = end + 1;
  }
  assert.deepEqual(rows, ['1,a', '2,"b\n""c"', '3,d', '4,"e\n']);
});

/** How often texts are searched meanwhile. */
function searches(t: TestContext, work: () => void): number {
  const mocked = t.mock.method(String.prototype, 'indexOf');
  work();
  const count = mocked.mock.callCount();
  mocked.mock.restore();
  return count;
}

test('a text of many lines and quotes is looked through once', (t) => {
  const quoted = `"${'""\n'.repeat(200)}"`;
  const bytes = Buffer.from(`1000000,${quoted}\n2000000,x\n`);
  const header = 'time,text';
  const kafka = new KafkaRows('mine', undefined, 'c1', testJob('1'));
  let values: string[] = [];
  const lines = { part: 1, from: 0, bytes, header, next: { part: 1, bytes: bytes.length } };
  const ofKafka = searches(t, () => {
    values = kafka.read(lines).map(({ value }) => JSON.parse(value).text);
  });
  assert.deepEqual(values, ['"\n'.repeat(200), 'x']);
  const victoria = new VictoriaRows('mine', undefined, []);
  const times: number[] = [];
  const ofVictoria = searches(t, () => victoria.add(header, bytes, new ImportBody(), (time) => times.push(time)));
  assert.deepEqual(times, [1000, 2000]);
  // its cells are taken apart at the quotes, of which there are 402
  assert.ok(ofKafka < 1000 && ofVictoria < 1000, `${ofKafka}, ${ofVictoria}`);
});
