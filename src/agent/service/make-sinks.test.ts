import assert from 'node:assert/strict';
import { test } from 'node:test';
import { troubles } from './make-sinks.ts';

test('what keeps a sink from sending is said once, also when two hubs fail in turn, until all is well', () => {
  const sink: { name: string; trouble: string | undefined; instead?: string } = { name: 'hub', trouble: undefined };
  const messages: string[] = [];
  const look = troubles([sink], (line) => void messages.push(line));
  for (const trouble of [undefined, 'a: away', 'b: away', 'a: away', 'b: away', undefined, undefined, 'a: away']) {
    sink.trouble = trouble;
    look();
  }
  assert.deepEqual(messages, ['hub: a: away', 'hub: b: away', 'hub: all is well again', 'hub: a: away']);
  sink.trouble = undefined;
  sink.instead = 'b';
  look();
  assert.equal(messages.at(-1), 'hub: samples go to b meanwhile');
});

test('of several things that are refused each is said', () => {
  const sink = { name: 'hub', trouble: 'refuses a' };
  const messages: string[] = [];
  const look = troubles([sink], (line) => void messages.push(line));
  for (const trouble of ['refuses a', 'refuses a\nrefuses b', 'refuses b', 'refuses b\nrefuses a']) {
    sink.trouble = trouble;
    look();
  }
  assert.deepEqual(messages, ['hub: refuses a', 'hub: refuses b']);
});
