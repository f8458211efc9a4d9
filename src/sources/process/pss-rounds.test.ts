import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { type TestContext, test } from 'node:test';
import { frozen } from '../../../test/frozen.ts';
import { PssRounds } from './pss-rounds.ts';

const MB = 2 ** 20;
const SECOND = 1e6;

interface One {
  pid: number;
  rss: number;
}

/** Each read takes `ms` of CPU time. */
function machine(t: TestContext, pss: Record<number, number>, ms: number) {
  const files = Object.entries(pss).map(([pid, mb]) => [
    `/proc/${pid}/smaps_rollup`,
    `Rss: 1 kB\nPss: ${mb * 1024} kB\n`,
  ]);
  const m = frozen(t, { '/proc/self/smaps_rollup': '', ...Object.fromEntries(files) });
  let clock = 0;
  const rounds = new PssRounds<One>(
    m.host,
    ({ rss }) => rss,
    () => {
      clock += ms;
      return clock;
    },
  );
  return {
    ...m,
    rounds,
    /** What is read at this second, by pid and in MB; undefined: it is not time. */
    at(second: number, rss: Record<number, number>): Record<number, number> | undefined {
      rounds.begin();
      for (const [pid, mb] of Object.entries(rss)) rounds.saw({ pid: Number(pid), rss: mb * MB });
      if (!rounds.isTime(second * SECOND)) return undefined;
      const bytesByPid: Record<number, number> = {};
      rounds.read(second * SECOND, ({ pid }, bytes) => {
        bytesByPid[pid] = bytes / MB;
      });
      return bytesByPid;
    },
  };
}

/** The seconds of `to` at which something is read. */
const times = (m: ReturnType<typeof machine>, to: number, rss: Record<number, number>): number[] =>
  Array.from({ length: to }, (_, i) => i).filter((second) => m.at(second, rss) !== undefined);

test('where much is shared it is read every ten seconds, otherwise once a minute', (t) => {
  assert.deepEqual(times(machine(t, { 1: 50, 2: 50 }, 0), 25, { 1: 100, 2: 100 }), [0, 10, 20]);
  assert.deepEqual(times(machine(t, { 1: 99, 2: 99 }, 0), 125, { 1: 100, 2: 100 }), [0, 60, 120]);
});

test('reading takes at most 1 % of the time, and no more at once than it may', (t) => {
  // a round of two takes 300 ms: 200 more than it has
  assert.deepEqual(times(machine(t, { 1: 50, 2: 50 }, 150), 90, { 1: 100, 2: 100 }), [0, 21, 51, 81]);
});

test('what would take too long is given up after the smallest, and said', (t) => {
  const m = machine(t, { 1: 50, 2: 50, 3: 9 }, 60);
  assert.deepEqual(m.at(0, { 1: 1000, 2: 1000, 3: 100 }), {});
  assert.match(m.host.notes[0]!.why, /takes too long/);
  assert.equal(m.host.notes[0]!.what, 'memory that processes share');
});

test('much more memory is read at once; the last tick, too', (t) => {
  const m = machine(t, { 1: 20, 2: 20, 3: 20 }, 0);
  assert.deepEqual(m.at(0, { 1: 100, 2: 100 }), { 1: 20, 2: 20 });
  assert.equal(m.at(1, { 1: 100, 2: 105 }), undefined);
  assert.deepEqual(m.at(2, { 1: 100, 2: 100, 3: 100 }), { 1: 20, 2: 20, 3: 20 });
  assert.equal(m.at(3, { 1: 100, 2: 100, 3: 100 }), undefined);
  m.rounds.last();
  assert.deepEqual(m.at(4, { 1: 100, 2: 100, 3: 100 }), { 1: 20, 2: 20, 3: 20 });
});

test('one that has gone meanwhile is left out; a kernel without the file is named', (t) => {
  const m = machine(t, { 1: 20, 2: 20 }, 0);
  assert.deepEqual(m.at(0, { 1: 100, 2: 100, 3: 100 }), { 1: 20, 2: 20 });
  assert.deepEqual(m.host.notes, []);
  for (const pid of ['1', '2', 'self']) fs.rmSync(m.host.path(`/proc/${pid}/smaps_rollup`));
  assert.deepEqual(m.at(60, { 1: 100, 2: 100, 3: 100 }), {});
  assert.deepEqual(
    m.host.notes.map(({ why }) => why),
    ['this kernel has no /proc/PID/smaps_rollup'],
  );
});
