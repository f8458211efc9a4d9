import assert from 'node:assert/strict';
import builtin, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { test } from 'node:test';
import { Fault } from '../src/base/fault.ts';
import { summarise } from '../src/query/summarise.ts';
import { measure } from '../src/recording/measure.ts';
import { openRecording } from '../src/recording/open.ts';
import { readTable } from '../src/recording/read.ts';
import { Stopped, sealRecording } from '../src/recording/seal.ts';
import { verifyRecording } from '../src/recording/verify.ts';
import { agentOf, appendRows, diskRows, diskTable, makeRecording, START } from './make-recording.ts';

const contents = (folder: string): unknown => {
  const [node] = openRecording(folder).nodes;
  return ['disk', 'load'].map((name) => {
    const { table: _, damage: __, ...batch } = readTable(node!, name);
    const texts = [...batch.texts].map(([n, t]) => [n, [...t.codes].map((code) => t.values[code])]);
    return { ...batch, texts };
  });
};

test('a crash after any step leaves a readable recording in which every sample counts once', async () => {
  const prepare = async (): Promise<string> => {
    const folder = await makeRecording({ seconds: 30, rollEvery: 10 });
    fs.appendFileSync(path.join(folder, 'node=c1', 'disk.csv'), '1794775799,torn');
    return folder;
  };
  const model = await prepare();
  const expected = contents(model);
  const steps: string[] = [];
  sealRecording(openRecording(model), { step: (what) => steps.push(what) });
  assert.deepEqual(steps.slice(0, 7), [
    'parquet written',
    'statistics written',
    'disk.csv.torn written',
    'parquet written',
    'statistics written',
    'parquet renamed',
    'statistics renamed',
  ]);
  assert.equal(steps.length, 5 + 3 + 4 + 3);
  assert.deepEqual(contents(model), expected);
  for (let stop = 0; stop < steps.length; stop++) {
    const folder = await prepare();
    let step = 0;
    const crash = (): void => {
      if (step++ === stop) throw new Stopped();
    };
    assert.throws(() => sealRecording(openRecording(folder), { step: crash }), Stopped);
    assert.deepEqual(contents(folder), expected, `after "${steps[stop]}"`);
    const summary = (): unknown => summarise([openRecording(folder)])[0]!.nodes[0]!.tables.get('disk');
    assert.deepEqual(summary(), measure(readTable(openRecording(folder).nodes[0]!, 'disk')));
    // the next seal goes through; verify tidies up after the first
    sealRecording(openRecording(folder));
    assert.ok(verifyRecording(folder).every(({ outcome }) => outcome === 'healed'));
    assert.deepEqual(contents(folder), expected, `sealed again after "${steps[stop]}"`);
    assert.deepEqual(
      fs.readdirSync(path.join(folder, 'node=c1')).filter((name) => /csv$|zst$|tmp$/.test(name)),
      [],
    );
  }
});

test('what could not be read is kept beside the sealed file', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const node = path.join(folder, 'node=c1');
  fs.appendFileSync(path.join(node, 'disk.csv'), 'what is this\n1794775799,sda,1');
  fs.writeFileSync(path.join(node, 'load.0001.csv'), 'some,other\nfile,here\n');
  sealRecording(openRecording(folder));
  assert.equal(fs.readFileSync(path.join(node, 'disk.csv.torn'), 'utf8'), 'what is this\n1794775799,sda,1');
  assert.equal(fs.readFileSync(path.join(node, 'load.0001.csv.torn'), 'utf8'), 'some,other\nfile,here\n');
  const [summary] = summarise([openRecording(folder)]);
  assert.deepEqual(
    summary!.nodes[0]!.damage.map((d) => [d.file, d.torn_bytes, d.bad_lines]),
    [
      [path.join(node, 'disk.csv'), 16, 1],
      [path.join(node, 'load.0001.csv'), 0, 0],
    ],
  );
});

test('a large table is sealed a few columns at a time with the same result', async () => {
  const small = await makeRecording({ seconds: 50, rollEvery: 20 });
  const large = await makeRecording({ seconds: 50, rollEvery: 20 });
  sealRecording(openRecording(small));
  sealRecording(openRecording(large), { valuesAtOnce: 100 });
  for (const file of ['disk.parquet', 'load.parquet']) {
    const [a, b] = [small, large].map((folder) => fs.statSync(path.join(folder, 'node=c1', file)).size);
    assert.equal(a, b);
  }
  assert.deepEqual(contents(large), contents(small));
  const statistics = (folder: string): unknown =>
    JSON.parse(fs.readFileSync(path.join(folder, 'node=c1', 'disk.stats.json'), 'utf8'));
  assert.deepEqual(statistics(large), statistics(small));
});

test('what was sealed and what came after become one file', async () => {
  const folder = await makeRecording({ seconds: 20 });
  sealRecording(openRecording(folder));
  const node = path.join(folder, 'node=c1');
  await appendRows(node, diskTable, diskRows(10, START + 20e6));
  const before = contents(folder);
  const [sealed] = sealRecording(openRecording(folder));
  assert.deepEqual(
    sealed!.tables.map(({ table, rows }) => [table, rows]),
    [['disk', 60]],
  );
  assert.deepEqual(contents(folder), before);
});

test('a node whose agent is still recording is left alone unless forced', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const node = path.join(folder, 'node=c1');
  const { end: _, ...running } = agentOf('c1', [diskTable]);
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(running));
  const [left] = sealRecording(openRecording(folder), { now: START + 6e6 });
  assert.equal(left!.skipped, 'its agent is still recording');
  assert.ok(fs.existsSync(path.join(node, 'disk.csv')));
  // the same an hour later: it died without a word
  const later = { now: START + 3600e6 };
  assert.equal(sealRecording(openRecording(folder), later)[0]!.tables.length, 2);
});

test('two that seal the same recording at once do no harm', async () => {
  const folder = await makeRecording({ seconds: 30, rollEvery: 10 });
  const expected = contents(folder);
  let nested = false;
  const step = (): void => {
    // the other one goes all the way between two steps of this one
    if (nested) return;
    nested = true;
    sealRecording(openRecording(folder));
  };
  const first = openRecording(folder);
  sealRecording(first, { step });
  assert.deepEqual(contents(folder), expected);
  assert.deepEqual(
    fs.readdirSync(path.join(folder, 'node=c1')).filter((name) => /csv|zst|tmp/.test(name)),
    [],
  );
});

test('a part that grows while it is sealed by force is not removed', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const file = path.join(folder, 'node=c1', 'load.csv');
  const late = `${START + 100e6},42\n`;
  const step = (what: string): void => {
    if (what === 'statistics renamed') fs.appendFileSync(file, late);
  };
  sealRecording(openRecording(folder), { force: true, step });
  assert.ok(fs.existsSync(file));
  const batch = readTable(openRecording(folder).nodes[0]!, 'load');
  assert.equal(batch.rows, 6);
  assert.equal(batch.numbers.get('load1')![5], 42);
});

test('a full disk is named, and nothing changes', async (t) => {
  const folder = await makeRecording({ seconds: 5 });
  const node = path.join(folder, 'node=c1');
  const before = contents(folder);
  const names = fs.readdirSync(node);
  const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
  const write = builtin.writeSync;
  // for the first table, and for the second when the first has found room
  for (const [table, room] of [
    ['disk', 0],
    ['load', 1],
  ] as const) {
    let sealed = 0;
    const { mock } = t.mock.method(builtin, 'writeSync', (...args: Parameters<typeof write>) => {
      if (sealed >= room) throw full;
      return write(...args);
    });
    syncBuiltinESMExports();
    const step = (what: string): void => {
      if (what === 'statistics written') sealed++;
    };
    try {
      assert.throws(
        () => sealRecording(openRecording(folder), { step }),
        (error) => {
          assert.ok(error instanceof Fault);
          assert.equal(
            error.message,
            `cannot seal table ${table} of node c1: no space left on the device; the node stays as it was`,
          );
          return true;
        },
      );
    } finally {
      mock.restore();
      syncBuiltinESMExports();
    }
    assert.deepEqual(fs.readdirSync(node), names);
    assert.deepEqual(contents(folder), before);
  }
});

test('a folder that may not be written is named, and nothing changes', { skip: process.getuid?.() === 0 }, async () => {
  const folder = await makeRecording({ seconds: 5 });
  const node = path.join(folder, 'node=c1');
  fs.chmodSync(node, 0o500);
  assert.throws(
    () => sealRecording(openRecording(folder)),
    (error) => {
      assert.ok(error instanceof Fault);
      assert.match(error.message, /cannot seal table disk of node c1: permission denied; the node stays as it was/);
      return true;
    },
  );
  fs.chmodSync(node, 0o700);
});

test('a table without rows seals too', async () => {
  const folder = await makeRecording({ seconds: 2 });
  fs.writeFileSync(path.join(folder, 'node=c1', 'disk.csv'), 'time,disk,read_bytes,busy_percent,queue,model\n');
  sealRecording(openRecording(folder));
  assert.equal(readTable(openRecording(folder).nodes[0]!, 'disk').rows, 0);
  const statistics = summarise([openRecording(folder)])[0]!.nodes[0]!.tables.get('disk')!;
  assert.deepEqual([statistics.rows, statistics.series_total, statistics.start], [0, 0, Number.NaN]);
});
