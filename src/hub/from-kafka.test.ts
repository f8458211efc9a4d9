import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COUNTED, testAgent, testJob } from '../sinks/test-spool.ts';
import type { Filing } from './filing.ts';
import { Filer } from './from-kafka.ts';
import type { TextMessage } from './kafka-follow.ts';

const START = 1_700_000_000_000_000;
const agent = { ...testAgent('c1', { start: START }), tables: [{ name: 'counted', version: 'v1' }] };
const NODE = { topic: 'tacho.nodes', value: JSON.stringify({ node: 'c1', job: testJob('1'), agent }) } as TextMessage;
const TABLE = { value: JSON.stringify({ ...COUNTED, version: 'v1' }) } as TextMessage;

const row = (n: number, end: number): TextMessage =>
  ({
    topic: 'tacho.counted',
    value: JSON.stringify({ time: START + n, node: 'c1', user: 'ada', job: '1', who: 'a', n, label: '' }),
    headers: new Map([
      ['table', 'v1'],
      ['position', `1:${end}`],
      ['run', String(START)],
    ]),
  }) as unknown as TextMessage;

/** An archive that can be full. */
function fakeFiling(): { filing: Filing; full: boolean; text(): string } {
  const table = { part: 1, bytes: 0, position: { part: 1, bytes: 0 }, moveTo() {} };
  const stream = { id: 1, node: 'c1', tables: new Map<string, unknown>(), recording: { key: 'job=1' }, resting: false };
  const streams = new Map<number, unknown>();
  let text = '';
  const archive = {
    full: false,
    text: () => text,
    filing: {
      streams,
      open() {
        streams.set(1, stream);
        return { stream: 1 };
      },
      append(_: unknown, [bytes]: Buffer[]) {
        if (archive.full) return JSON.stringify({ trouble: 'no space left' });
        stream.tables.set('counted', table);
        text += bytes!.toString();
        return '{}';
      },
    } as unknown as Filing,
  };
  return archive;
}

test('while the archive is full rows wait, however long that lasts', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 });
  const archive = fakeFiling();
  const filer = new Filer(archive.filing);
  filer.takeTable(TABLE);
  filer.takeNode(NODE);
  // between them something is missing: the first is written before the second is looked at
  const rows = [row(1, 100), row(2, 500)];
  archive.full = true;
  for (let minute = 0; minute < 3; minute++) {
    assert.throws(() => filer.takeRows(rows), /no space left/);
    t.mock.timers.setTime(Date.now() + 60_000);
  }
  assert.equal(filer.passedOver, 0);
  archive.full = false;
  filer.takeRows(rows);
  assert.match(archive.text(), /^time,who,n,label\n\d+,a,1,\n/);
  assert.match(archive.text(), /\n\d+,a,2,\n$/);
});

test('a row that comes a moment before what is known of its node is no trouble; one without it is given up', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 });
  const filer = new Filer(fakeFiling().filing);
  filer.takeTable(TABLE);
  const missing = 'no record of node c1 of job 1';
  assert.throws(() => filer.takeRows([row(1, 100)]), { message: missing });
  assert.deepEqual([filer.isExpected(missing), filer.isExpected('no space left')], [true, false]);
  t.mock.timers.setTime(Date.now() + 20_000);
  assert.throws(() => filer.takeRows([row(1, 100)]), { message: missing });
  assert.equal(filer.isExpected(missing), false);
  t.mock.timers.setTime(Date.now() + 60_000);
  filer.takeRows([row(1, 100)]);
  assert.equal(filer.passedOver, 1);
});
