import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { makeRecording, temporary } from './make-recording.ts';
import { tacho } from './tacho.ts';

const env = { ...process.env, TZ: 'UTC', NO_COLOR: '1' };

test('list, seal and verify, as a user types them', async () => {
  const home = temporary();
  await makeRecording({ folder: path.join(home, 'one'), nodes: ['c1', 'c2'], seconds: 60 });
  const within = { cwd: home, env };
  const before = tacho(['list'], within);
  assert.equal(before.code, 0);
  const [head, line] = before.out.split('\n');
  assert.match(head!, /^job +name +user +start +duration +ended +nodes +size +state +recording$/);
  assert.match(line!, /^17 +train +ada +2026-11-15 20:49:12 UTC +1 min 00 s +COMPLETED +2 +[\d.]+ KiB +ended +one$/);

  const sealed = tacho(['seal', 'one'], within);
  assert.equal(sealed.code, 0);
  assert.match(sealed.out, /^one: 4 tables, 360 rows, [\d.]+ KiB -> [\d.]+ KiB\n$/);
  assert.equal(tacho(['seal', 'one'], within).out, 'one: sealed already\n');
  const [listed] = JSON.parse(tacho(['list', '--format', 'json'], within).out);
  assert.deepEqual([listed.job, listed.state, listed.nodes], ['17', 'sealed', 2]);

  assert.deepEqual(tacho(['verify', 'one'], within), { code: 0, signal: null, out: 'one: ok\n', err: '' });
  assert.match(
    tacho(['seal', '--parquet', 'one'], within).out,
    /^one: 4 tables, 360 rows, [\d.]+ KiB -> [\d.]+ KiB\n$/,
  );
  assert.equal(tacho(['seal', '--parquet', 'one'], within).out, 'one: sealed already\n');
  assert.deepEqual(tacho(['verify', 'one'], within).out, 'one: ok\n');
  fs.rmSync(path.join(home, 'one/node=c2/load.stats.json.zst'));
  const dry = tacho(['verify', '--dry-run', 'one'], within);
  assert.deepEqual(
    [dry.code, dry.out],
    [1, 'one:\n  would repair: node=c2/load.stats.json.zst is missing or damaged; computed again\n'],
  );
  const healed = tacho(['verify', 'one', '--format', 'json'], within);
  assert.equal(healed.code, 0);
  assert.deepEqual(JSON.parse(healed.out), [
    {
      path: 'one',
      checks: [
        {
          file: 'node=c2/load.stats.json.zst',
          what: 'is missing or damaged',
          outcome: 'repaired',
          action: 'computed again',
        },
      ],
    },
  ]);
  fs.truncateSync(path.join(home, 'one/node=c1/disk.parquet'), 100);
  const left = tacho(['verify', '.'], within);
  assert.equal(left.code, 1);
  fs.writeFileSync(path.join(home, 'one/job.json'), '{ "format": 1, ');
  assert.match(tacho(['verify', '--dry-run', '.'], within).out, /not repaired: job\.json: it is damaged;/);
  assert.match(left.out, /not repaired: node=c1\/disk.parquet cannot be read: it is not a whole Parquet file/);
});

test('wrong use and wrong folders: what, where, what to do', () => {
  const home = temporary();
  const within = { cwd: home, env };
  assert.deepEqual(tacho(['list'], within), {
    code: 0,
    signal: null,
    out: '',
    err: 'no recordings here; tacho run -- COMMAND makes one\n',
  });
  const nothing = tacho(['seal', '.'], within);
  assert.equal(nothing.code, 1);
  assert.match(
    nothing.err,
    /no recording in \.: looked for folders with job\.json or node=NAME, four levels deep\n.*tacho run/,
  );
  const format = tacho(['list', '--format', 'xml'], within);
  assert.equal(format.code, 2);
  assert.match(format.err, /--format: "xml" is none of text, json, csv\n/);
  assert.equal(tacho(['verify'], within).code, 2);
  assert.equal(tacho(['verify', 'nowhere'], within).code, 1);
});
