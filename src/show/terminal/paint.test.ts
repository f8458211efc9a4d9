import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { paint } from './paint.ts';

const saved = { NO_COLOR: process.env.NO_COLOR, TERM: process.env.TERM };
beforeEach(() => {
  delete process.env.NO_COLOR;
  process.env.TERM = 'xterm';
});
afterEach(() => {
  for (const [name, value] of Object.entries(saved)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

test('a terminal gets colours', () => {
  assert.equal(paint({ isTTY: true }).red('hot'), '\x1b[31mhot\x1b[39m');
  assert.equal(paint({ isTTY: true }).bold(''), '');
});

test('a file, NO_COLOR and a dumb terminal get plain text', () => {
  assert.equal(paint({}).red('hot'), 'hot');
  process.env.TERM = 'dumb';
  assert.equal(paint({ isTTY: true }).red('hot'), 'hot');
  process.env.TERM = 'xterm';
  process.env.NO_COLOR = '1';
  assert.equal(paint({ isTTY: true }).red('hot'), 'hot');
});
