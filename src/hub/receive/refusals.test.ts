import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusals } from './refusals.ts';

test('one line a minute for each address and kind, with a count; nobody writes lines of his own', () => {
  const messages: string[] = [];
  let now = 0;
  const log = refusals(
    (text) => messages.push(text),
    () => now,
  );
  for (; now < 90_000; now += 1_000) log.note('10.0.0.1', '403', `you may not write as node n${now}`);
  log.note('10.0.0.1', '401', 'a\nrefused b\u001b[2J');
  log.note('10.0.0.2', '403', 'no');
  assert.deepEqual(messages, [
    'refused 10.0.0.1: you may not write as node n0',
    'refused 10.0.0.1: you may not write as node n60000 (and 59 more since)',
    'refused 10.0.0.1: a?refused b?[2J',
    'refused 10.0.0.2: no',
  ]);
});

test('a scan from everywhere costs a bounded number of lines', () => {
  let lines = 0;
  const log = refusals(
    () => lines++,
    () => 0,
  );
  for (let i = 0; i < 5_000; i++) log.note(`10.0.${i >> 8}.${i & 255}`, 'http', 'no HTTP');
  assert.equal(lines, 1_000);
});

test('those of one network do not keep the others out of the log', () => {
  const messages: string[] = [];
  let now = 0;
  const log = refusals(
    (text) => messages.push(text),
    () => now,
  );
  for (let i = 0; i < 2_000; i++) log.note(`2001:db8:0:1::${i.toString(16)}`, '401', 'no');
  for (let i = 0; i < 250; i++) log.note(`10.0.1.${i}`, '401', 'no');
  assert.equal(messages.length, 200);
  log.note('10.0.2.1', '401', 'your token has expired');
  assert.equal(messages.at(-1), 'refused 10.0.2.1: your token has expired (and 150 others not logged)');
  // nor do those who have proved nothing keep out those who have
  for (let i = 0; i < 50_000; i++) log.note(`10.${i >> 8}.${i & 255}.1`, '401', 'no');
  log.note('10.0.1.7', '403', 'c1: no', 'c1');
  assert.equal(messages.at(-1), 'refused 10.0.1.7: c1: no');
  now += 60_000;
  log.note('10.0.1.7', '401', 'no');
  assert.match(messages.at(-1)!, /^refused 10\.0\.1\.7: no \(and \d+ others not logged\)$/);
});
