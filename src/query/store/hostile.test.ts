import assert from 'node:assert/strict';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Fault } from '../../base/fault.ts';
import { packRecord } from '../../prometheus/record-labels.ts';
import { openStore, type SeriesValue, type Store } from './client.ts';
import { downloadJob } from './download.ts';
import { listStored } from './list.ts';
import { findJobs } from './records.ts';

/** What calls itself a store, and answers every question like this. */
async function storeThat(
  t: TestContext,
  say: (response: http.ServerResponse) => void,
  most?: Parameters<typeof openStore>[1],
): Promise<Store> {
  const server = http.createServer((request, response) => {
    request.resume();
    say(response);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return openStore(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, most);
}

const success = (result: unknown): string => JSON.stringify({ status: 'success', data: { result } });
const job = { id: '1', user: 'ada', nodes: ['c1'], start: 1_790_000_000_000_000, end: 1_790_000_060_000_000 };

/** The series of a record as they are in a store. */
function series(record: string, value: object, node = 'c1', revision = 1, more = {}): unknown[] {
  const recordPieces = packRecord(value);
  return recordPieces.map((text, i) => ({
    metric: { job: '1', node, record, piece: String(i), pieces: String(recordPieces.length), text, ...more },
    value: [1_790_000_100, String(revision)],
  }));
}

test('an answer of another shape is refused in words', async (t) => {
  for (const result of [
    [null],
    [{}],
    [{ metric: null }],
    [{ metric: {}, value: null }],
    [[]],
    [{ metric: { a: 1 }, value: [1, '1'] }],
  ]) {
    const store = await storeThat(t, (response) => response.end(success(result)));
    const isFault = (error: unknown): boolean => error instanceof Fault && /does not answer like/.test(error.message);
    await assert.rejects(findJobs(store, '1'), isFault, JSON.stringify(result));
    await assert.rejects(listStored(store), isFault, JSON.stringify(result));
  }
  for (const data of [[null], ['x'], [{ a: 1 }], {}]) {
    const store = await storeThat(t, (response) => response.end(JSON.stringify({ status: 'success', data })));
    await assert.rejects(store.series('{}', 0, 1), /does not answer like/, JSON.stringify(data));
  }
});

test('a record that claims to have a thousand million pieces takes no memory, and hides no other', async (t) => {
  const odd = (pieces: string, piece = '0') => ({
    metric: { job: '1', node: 'c1', record: 'job', piece, pieces, text: 'x' },
    value: [1_790_000_100, '9'],
  });
  const result = [
    ...['1000000000', '1e300', '-1', '0', '1.5', 'Infinity', 'many', ''].map((pieces) => odd(pieces)),
    odd('1', '-1'),
    odd('1', '4'),
    ...series('job', job),
  ];
  const store = await storeThat(t, (response) => response.end(success(result)));
  const [storedJob, ...more] = await findJobs(store, '1');
  assert.deepEqual([storedJob!.recording.job.user, storedJob!.recording.nodes.length, more.length], ['ada', 1, 0]);
  const alone = await storeThat(t, (response) => response.end(success([odd('1000000000')])));
  await assert.rejects(findJobs(alone, '1'), /the record of job 1 in .* is not whole/);
});

test('tables that are no definitions are left out', async (t) => {
  const load = {
    name: 'load',
    help: '',
    scope: 'node',
    keys: [],
    columns: [{ name: 'load1', unit: 'count', type: 'float', kind: 'gauge' }],
  };
  const tables = [
    null,
    7,
    {},
    { name: 'x', keys: [null], columns: [] },
    { ...load, columns: [{ name: 'a', unit: 'toString' }] },
    load,
  ];
  const result = [...series('job', job), ...series('agent', { tables, start: job.start, end: job.end })];
  const store = await storeThat(t, (response) => response.end(success(result)));
  const [storedJob] = await findJobs(store, '1');
  assert.deepEqual(
    storedJob!.recording.nodes[0]!.agent!.tables.map(({ name }) => name),
    ['load'],
  );
  const quiet: Store = { ...store, query: () => Promise.resolve<SeriesValue[]>([]) };
  await downloadJob({ ...storedJob!, store: { ...quiet, samples: async function* () {} } }, {});
});

test('an answer without an end is not read to it', async (t) => {
  const endless = (text: string) => (response: http.ServerResponse) => {
    const more = (): void => {
      while (!response.destroyed && response.write(text));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  };
  const refusing = await storeThat(t, (response) => {
    response.statusCode = 500;
    endless('x'.repeat(1 << 16))(response);
  });
  await assert.rejects(findJobs(refusing, '1'), /refused \(HTTP 500\): more than it takes to say why/);
  const most = { response: 4 << 20, samples: 3 << 20, line: 1 << 20 };
  const endlessStore = await storeThat(t, endless(' '.repeat(1 << 16)), most);
  await assert.rejects(findJobs(endlessStore, '1'), /an answer of the store .* is larger than 4.0 MiB/);
  const line = await storeThat(t, endless('x'.repeat(1 << 16)), most);
  const read = async (store: Store): Promise<number> => {
    let count = 0;
    for await (const { values } of store.samples('{}')) count += values.length;
    return count;
  };
  await assert.rejects(read(line), /a line of the export of the store .* is larger than 1.0 MiB/);
  const row = `${JSON.stringify({ metric: { a: 'b' }, values: [1], timestamps: [1] })}\n`;
  const lines = await storeThat(t, endless(row.repeat(1000)), most);
  await assert.rejects(read(lines), /what is exported of the store .* is larger than 3.0 MiB/);
});

test('many revisions of a record: the newest whole one counts, and the work does not grow with their square', async (t) => {
  const [whole] = series('job', job) as { metric: object; value: unknown }[];
  const ofNode = (i: number) => ({ ...whole, metric: { ...whole!.metric, node: `n${i}` } });
  // one record that was sent thousands of times, and one of twenty thousand nodes
  const again = Array.from({ length: 8000 }, (_, i) => series('job', { ...job, name: `r${i}` }, 'c1', i + 1)).flat();
  const store = await storeThat(t, (response) => response.end(success(again)));
  const [storedJob] = await findJobs(store, '1');
  assert.equal(storedJob!.recording.job.name, 'r7999');
  const wide = Array.from({ length: 20_000 }, (_, i) => ofNode(i));
  const many = await storeThat(t, (response) => response.end(success(wide)));
  const [job2] = await findJobs(many, '1');
  assert.equal(job2!.recording.nodes.length, 20_000);
});
