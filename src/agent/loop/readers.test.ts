import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { TableWriter } from '../../recording/live/append.ts';
import { Host } from '../../sources/host.ts';
import type { SourceKind } from '../../sources/source.ts';
import { counter, type Table } from '../../table/table.ts';
import { Readers } from './readers.ts';

const SCOPE = { members: { by: 'node' }, exclude: [], redact: false } as const;

const tableOf = (name: string): Table => ({
  name,
  help: name,
  scope: 'job',
  events: true,
  keys: [],
  columns: [counter('n', 'count', 'A number.')],
});

test('events stay where they are while the disk refuses any of those before them', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-readers-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const read: Record<string, number> = { begun: 0, ended: 0 };
  const kind = (name: string): SourceKind => ({
    table: tableOf(name),
    open: () => ({
      table: tableOf(name),
      read(frame) {
        frame.row();
        frame.numbers[0] = ++read[name]!;
      },
      behind: () => false,
      close() {},
    }),
  });
  const writers: TableWriter[] = [];
  const readers = new Readers(new Host(), 1, (table) => {
    writers.push(new TableWriter(folder, table, { plain: true }));
    return writers.at(-1)!;
  });
  readers.open([kind('begun'), kind('ended')], SCOPE, () => {});
  const numbers = (name: string): string[] =>
    fs
      .readFileSync(path.join(folder, `${name}.csv`), 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(',')[1]!);

  fs.mkdirSync(path.join(folder, 'ended.csv'));
  for (const second of [1, 2, 3]) readers.read(second * 1e6, false);
  assert.deepEqual(read, { begun: 1, ended: 1 }, 'what is not read is not lost with the agent');

  fs.rmdirSync(path.join(folder, 'ended.csv'));
  readers.read(4e6, false);
  assert.deepEqual(
    [numbers('begun'), numbers('ended')],
    [
      ['1', '2'],
      ['1', '2'],
    ],
  );

  writers[0]!.roll();
  fs.mkdirSync(path.join(folder, 'begun.csv'));
  for (const second of [5, 6]) readers.read(second * 1e6, false);
  assert.deepEqual(read, { begun: 3, ended: 3 }, 'they come from one file: all of them, or none');
  fs.rmdirSync(path.join(folder, 'begun.csv'));

  writers[1]!.roll();
  fs.mkdirSync(path.join(folder, 'ended.csv'));
  readers.last();
  readers.read(7e6, true);
  assert.deepEqual(read, { begun: 4, ended: 4 }, 'at the end all is read that there is');
  fs.rmdirSync(path.join(folder, 'ended.csv'));
  for (const writer of writers) await writer.close();
});
