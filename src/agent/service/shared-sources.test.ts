import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frozen } from '../../../test/frozen.ts';
import { meminfo } from '../../sources/host/meminfo.ts';
import { Host } from '../../sources/host.ts';
import { WHOLE_NODE } from '../../sources/scope.ts';
import type { SourceKind } from '../../sources/source.ts';
import { Frame } from '../../table/frame.ts';
import { gauge, type Table } from '../../table/table.ts';
import { copyRows, shareKind } from './shared-sources.ts';

const table: Table = {
  name: 'numbers',
  help: 'Test.',
  scope: 'node',
  keys: [{ name: 'thing', help: 'Test.' }],
  columns: [gauge('value', 'count', 'Test.')],
};

function counting(): { kind: SourceKind; reads: () => number } {
  let reads = 0;
  return {
    reads: () => reads,
    kind: {
      table,
      open: (host) => ({
        table,
        read(frame) {
          reads++;
          if (reads === 3) {
            host.note({ table: 'numbers', what: 'b', why: 'no answer' });
            host.note({ table: 'others', what: 'x', why: 'not ours' });
          }
          if (reads === 4) throw new Error('the sensor says no');
          for (const name of ['a', 'b']) {
            const row = frame.row();
            frame.texts[row] = name;
            frame.numbers[row] = reads;
          }
        },
        close() {},
      }),
    },
  };
}

test('several recordings get the same rows of a tick from one read', () => {
  const { kind, reads } = counting();
  const shared = shareKind(kind, new Host());
  const hosts = [new Host(), new Host()];
  const [one, two] = hosts.map((host) => shared.open(host, WHOLE_NODE));
  const frames = [new Frame(table), new Frame(table)] as const;
  const read = (time: number) => {
    for (const frame of frames) frame.clear(time);
    one!.read(frames[0]);
    two!.read(frames[1]);
    return frames.map((f) => [...f.numbers.subarray(0, f.rows)]);
  };
  assert.deepEqual(read(1000), [
    [1, 1],
    [1, 1],
  ]);
  assert.deepEqual(frames[1].texts.slice(0, 2), ['a', 'b']);
  assert.deepEqual(read(2000), [
    [2, 2],
    [2, 2],
  ]);
  assert.equal(reads(), 2);
  read(3000);
  assert.deepEqual(
    hosts.map((host) => host.notes.map(({ what }) => what)),
    [['b'], ['b']],
    'what is missing in a table is said in each recording',
  );
  for (const frame of frames) frame.clear(4000);
  assert.throws(() => one!.read(frames[0]), /the sensor says no/);
  assert.throws(() => two!.read(frames[1]), /the sensor says no/, 'a failure is that of all');
  one!.close();
  assert.deepEqual(read(5000)[1], [5, 5], 'the others go on when one has closed');
});

test('rows are added behind those that are there', () => {
  const from = new Frame(table);
  from.clear(1);
  from.texts[from.row()] = 'x';
  from.numbers[0] = 7;
  const to = new Frame(table);
  to.clear(1);
  to.row();
  copyRows(from, to);
  assert.deepEqual([to.rows, to.texts[1], to.numbers[1]], [2, 'x', 7]);
  assert.ok(Number.isNaN(to.numbers[0]));
});

test('a real source of a frozen machine is shared', (t) => {
  const { host, write } = frozen(t, { '/proc/meminfo': 'MemTotal: 1000 kB\nMemFree: 400 kB\n' });
  const shared = shareKind(meminfo, host);
  const source = shared.open(new Host(host.root), WHOLE_NODE);
  const other = shared.open(new Host(host.root), WHOLE_NODE);
  const frame = new Frame(source.table);
  frame.clear(1);
  source.read(frame);
  write('/proc/meminfo', 'MemTotal: 1000 kB\nMemFree: 300 kB\n');
  const at = frame.number('MemFree_bytes');
  const second = new Frame(other.table);
  second.clear(1);
  other.read(second);
  assert.deepEqual([frame.numbers[at], second.numbers[at]], [409_600, 409_600], 'one tick, one value');
  second.clear(2);
  other.read(second);
  assert.equal(second.numbers[at], 307_200);
});
