import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeLine } from '../sinks/hub/protocol.ts';
import { jobsText, lsText } from './ls-text.ts';

const NOW = 1_800_000_000_000_000;
const line = (facts: Partial<NodeLine>): NodeLine => ({
  node: 'c1',
  user: 'ada',
  job: '4711',
  kind: 'job',
  table: 'meminfo',
  newest: NOW - 2e6,
  rows_per_second: 1,
  bytes_per_second: 412,
  bytes: 1 << 20,
  state: 'live',
  ...facts,
});

test('a line a table, by node, and all together', () => {
  const lines = [line({ node: 'c10', state: 'late', newest: NOW - 90e6 }), line({ table: 'vmstat' }), line({})];
  const text = lsText(lines, NOW, { width: 80 }).split('\n');
  assert.match(text[0]!, /^node +user +job +table +age +rows\/s +bytes\/s +size +state$/);
  assert.match(text[1]!, /^c1 +ada +4711 +meminfo +2\.0 s +1\.0 +412 B +1\.0 MiB +live$/);
  assert.match(text[2]!, /^c1 .*vmstat/);
  assert.match(text[3]!, /^c10 .*1 min 30 s.*late$/);
  assert.equal(text[4], '2 nodes, 1 recording, 3 tables, 3.0 rows/s, 1.2 KiB/s, 1 node late, 3.0 MiB');
});

test('long names fit a page of 80 places', () => {
  const long = line({
    node: 'node-with-a-very-long-name.cluster.site.example',
    user: 'somebody-with-a-name',
    job: '123456789_1234',
  });
  const fleet = line({
    node: 'login-node-03.cluster',
    job: 'fleet-2026-11-15',
    table: 'gpu_process_memory',
    newest: NOW - 93_600e6,
    state: 'ended',
  });
  for (const lines of [[long], [fleet], [long, fleet]])
    for (const text of lsText(lines, NOW, { width: 80 }).split('\n')) assert.ok(text.length <= 80, text);
  assert.match(lsText([long, fleet], NOW), /node-with-a-very-long-name\.cluster\.site\.example .*somebody-with-a-name/);
});

test('on a narrow page a user who is everybody’s goes first, and other users stay before rates and sizes', () => {
  const own = lsText([line({ table: 'a_table_of_its_own' })], NOW, { width: 70 }).split('\n')[0]!;
  assert.deepEqual(own.split(/ +/), ['node', 'job', 'table', 'age', 'rows/s', 'bytes/s', 'size', 'state']);
  const [heads, first] = lsText([line({}), line({ user: 'bob' })], NOW, { width: 40 }).split('\n');
  assert.deepEqual(heads!.split(/ +/), ['node', 'user', 'job', 'table', 'age', 'state']);
  assert.deepEqual(first!.split(/ +/).slice(0, 4), ['c1', 'ada', '4711', 'meminfo']);
});

test('what does not fit is counted, what is not known is left out', () => {
  const lines = Array.from({ length: 40 }, (_, i) =>
    line({ node: `c${i}`, rows_per_second: null as never, bytes_per_second: null as never }),
  );
  const text = lsText(lines, NOW, { height: 13 });
  assert.match(text, /\n30 more lines/);
  assert.doesNotMatch(text, /rows\/s/);
});

test('one line per job: all nodes, the newest samples, the worst state', () => {
  const tables = ['meminfo', 'vmstat', 'loadavg'];
  const lines = tables.flatMap((table) => [
    line({ table }),
    line({ table, node: 'c2', newest: NOW - 90e6, state: 'late' }),
    line({ table, job: '4712', node: 'c3', state: 'ended' }),
  ]);
  const text = jobsText(lines, NOW, { width: 80 }).split('\n');
  assert.match(text[0]!, /^job +user +nodes +tables +age +rows\/s +bytes\/s +size +state$/);
  assert.match(text[1]!, /^4711 +ada +c\[1-2\] +3 +2\.0 s +6\.0 +2\.4 KiB +6\.0 MiB +late$/);
  assert.match(text[2]!, /^4712 +ada +c3 +3 .* ended$/);
  assert.equal(text.length, 5);
  assert.match(jobsText(lines, NOW, { height: 4 }), /\n1 more jobs; --node/);
});
