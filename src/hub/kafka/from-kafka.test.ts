import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../test/made/eventually.ts';
import { COUNTED, testAgent, testJob } from '../../../test/made/spool.ts';
import type { Filing } from '../receive/filing.ts';
import { KafkaAside } from './aside.ts';
import type { TextMessage } from './follow.ts';
import { Filer } from './from-kafka.ts';

const START = 1_700_000_000_000_000;
const agent = { ...testAgent('c1', { start: START }), tables: [{ name: 'counted', version: 'v1' }] };
const TABLE = { value: JSON.stringify({ ...COUNTED, version: 'v1' }) } as TextMessage;

const row = (n: number, end: number, job = '1', prefix = 'tacho'): TextMessage =>
  ({
    topic: `${prefix}.counted`,
    value: JSON.stringify({ time: START + n, node: 'c1', user: 'ada', job, who: 'a', n, label: '' }),
    headers: new Map([
      ['table', 'v1'],
      ['position', `1:${end}`],
      ['run', String(START)],
    ]),
  }) as unknown as TextMessage;

function asideFolder(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-aside-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Nothing may be told: nothing is kept aside or given up. */
const noAside = (t: TestContext): KafkaAside => new KafkaAside(path.join(asideFolder(t), 'none'), assert.fail);

/** An archive that can be full. */
function fakeFiling(): { filing: Filing; full: boolean; closed: Set<string>; text(job?: string): string } {
  const streams = new Map<number, { id: number; tables: Map<string, unknown> }>();
  const texts = new Map<string, string>();
  const archive = {
    full: false,
    /** Recordings that cannot be written. */
    closed: new Set<string>(),
    text: (job = '1') => texts.get(job) ?? '',
    filing: {
      streams,
      open({ job }: { job: { id: string } }) {
        const id = Number(job.id);
        const stream = { id, node: 'c1', tables: new Map(), recording: { key: `job=${job.id}` }, resting: false };
        streams.set(id, stream);
        return { stream: id };
      },
      moveTo(stream: { tables: Map<string, { bytes: number }> }, table: string, { bytes }: { bytes: number }) {
        stream.tables.get(table)!.bytes = bytes;
      },
      append([[id]]: [[number]], [bytes]: Buffer[]) {
        if (archive.full) return JSON.stringify({ trouble: 'no space left' });
        if (archive.closed.has(String(id))) return JSON.stringify({ refused: [[id, 'permission denied']] });
        const { tables } = streams.get(id)!;
        if (!tables.has('counted')) tables.set('counted', new FakeTable());
        (tables.get('counted') as FakeTable).bytes += bytes!.length;
        texts.set(String(id), (texts.get(String(id)) ?? '') + bytes!.toString());
        return '{}';
      },
    } as unknown as Filing,
  };
  return archive;
}

class FakeTable {
  part = 1;
  bytes = 0;
  get position() {
    return { part: 1, bytes: this.bytes };
  }
}

const nodeOf = (job: string, prefix = 'tacho'): TextMessage =>
  ({ topic: `${prefix}.nodes`, value: JSON.stringify({ node: 'c1', job: testJob(job), agent }) }) as TextMessage;

const NODE = nodeOf('1');

/** The numbers of the rows that were filed. */
const filed = (text: string): number[] => [...text.matchAll(/,a,(\d+),/g)].map(([, n]) => Number(n));

test('while the archive is full rows wait, however long that lasts', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const archive = fakeFiling();
  const filer = new Filer(archive.filing, noAside(t));
  filer.takeTable(TABLE);
  filer.takeNode(NODE);
  // between them something is missing: the first is written before the second is looked at
  const rows = [row(1, 100), row(2, 500)];
  archive.full = true;
  for (let minute = 0; minute < 3; minute++) {
    assert.throws(() => filer.takeRows(rows), /no space left/);
    now += 60_000;
  }
  assert.equal(filer.passedOver, 0);
  archive.full = false;
  filer.takeRows(rows);
  assert.match(archive.text(), /^time,who,n,label\n\d+,a,1,\n/);
  assert.match(archive.text(), /\n\d+,a,2,\n$/);
});

test('a row that comes a moment before what is known of its node is no trouble; one without it is given up', (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const filer = new Filer(fakeFiling().filing, noAside(t));
  filer.takeTable(TABLE);
  const missing = 'no record of node c1 of job 1';
  assert.throws(() => filer.takeRows([row(1, 100)]), { message: missing });
  assert.deepEqual([filer.isExpected(missing), filer.isExpected('no space left')], [true, false]);
  now += 20_000;
  assert.throws(() => filer.takeRows([row(1, 100)]), { message: missing });
  assert.equal(filer.isExpected(missing), false);
  // a clock that is set gives nothing up
  t.mock.timers.enable({ apis: ['Date'], now: 2 * Date.now() });
  assert.throws(() => filer.takeRows([row(1, 100)]), { message: missing });
  now += 60_000;
  filer.takeRows([row(1, 100)]);
  assert.equal(filer.passedOver, 1);
});

test('rows of a recording that takes none are kept aside, also over a restart, and others go on', async (t) => {
  const archive = fakeFiling();
  const folder = asideFolder(t);
  const filer = new Filer(archive.filing, new KafkaAside(folder, assert.fail));
  const begin = (each: Filer): void => {
    each.takeTable(TABLE);
    for (const job of ['1', '2']) each.takeNode(nodeOf(job));
  };
  begin(filer);
  filer.takeRows([row(1, 100), row(1, 100, '2')]);
  archive.closed.add('1');
  filer.takeRows([row(2, 200), row(2, 200, '2'), row(3, 300), row(3, 300, '2')]);
  filer.takeRows([row(4, 400), row(4, 400, '2')]);
  assert.deepEqual([filed(archive.text('1')), filed(archive.text('2'))], [[1], [1, 2, 3, 4]]);
  // it is killed, and half a line is left behind
  const [file] = fs.readdirSync(folder);
  fs.appendFileSync(path.join(folder, file!), '["tacho.cou');
  const aside = new KafkaAside(folder, assert.fail);
  const next = new Filer(archive.filing, aside);
  begin(next);
  next.takeRows([row(5, 500)]);
  await next.retryAside();
  assert.deepEqual(filed(archive.text('1')), [1]);
  archive.closed.clear();
  // not before those that were there first
  next.takeRows([row(6, 600)]);
  assert.deepEqual(filed(archive.text('1')), [1]);
  await eventually('rows that are no longer aside', async () => {
    await next.retryAside();
    return fs.readdirSync(folder).length === 0;
  });
  next.takeRows([row(7, 700)]);
  assert.deepEqual(filed(archive.text('1')), [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual([filer.passedOver, next.passedOver, fs.readdirSync(folder)], [0, 0, []]);
});

test('what is kept aside has a limit for each user; what is given up is counted and told with user and job', (t) => {
  const archive = fakeFiling();
  const messages: string[] = [];
  const aside = new KafkaAside(asideFolder(t), (text) => messages.push(text), { user: 8_000, all: 100_000 });
  const filer = new Filer(archive.filing, aside);
  filer.takeTable(TABLE);
  filer.takeNode(NODE);
  archive.closed.add('1');
  const rows = Array.from({ length: 100 }, (_, i) => row(i, (i + 1) * 100));
  filer.takeRows(rows);
  assert.ok(filer.passedOver > 40 && filer.passedOver < 100, `${filer.passedOver}`);
  assert.deepEqual(messages, ['rows of job 1 of user ada are given up: too many wait for being filed already']);
});

test('rows in users’ own topics that need what is not there make nobody wait', (t) => {
  const archive = fakeFiling();
  const filer = new Filer(archive.filing, new KafkaAside(asideFolder(t), assert.fail));
  filer.takeTable(TABLE);
  filer.takeNode(NODE);
  const undefinedTable = row(1, 100, '3', 'tacho-own');
  undefinedTable.headers.set('table', 'v9');
  filer.takeRows([undefinedTable, row(1, 100, '4', 'tacho-own'), row(1, 100)]);
  assert.deepEqual(filed(archive.text('1')), [1]);
  assert.equal(filer.passedOver, 0);
});
