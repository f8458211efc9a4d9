import assert from 'node:assert/strict';
import { test } from 'node:test';
import { progress } from './progress.ts';

function terminal(isTTY = true) {
  const written: string[] = [];
  return { isTTY, columns: 80, written, write: (text: string) => written.push(text) };
}

test('a quick operation shows nothing', (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const screen = terminal();
  const bar = progress('reading', 10, screen);
  t.mock.timers.tick(1999);
  bar.advance(9);
  bar.done();
  assert.deepEqual(screen.written, []);
});

test('a slow one says how far it is and how long it will take, and clears its line', (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const screen = terminal();
  const bar = progress('reading', 10, screen);
  t.mock.timers.tick(3000);
  bar.advance(3);
  t.mock.timers.tick(100);
  bar.advance(1);
  t.mock.timers.tick(900);
  bar.advance(1);
  bar.done();
  bar.done();
  assert.deepEqual(screen.written, [
    '\r\x1b[Kreading: 30 %, 7.0 s left',
    '\r\x1b[Kreading: 50 %, 4.0 s left',
    '\r\x1b[K',
  ]);
});

test('without a total it counts; what is no terminal stays empty', (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const screen = terminal();
  const file = terminal(false);
  const bars = [progress('rows', undefined, screen), progress('rows', undefined, file)];
  t.mock.timers.tick(2500);
  for (const bar of bars) bar.advance(1234);
  assert.deepEqual(screen.written, ['\r\x1b[Krows: 1234']);
  assert.deepEqual(file.written, []);
});
