import assert from 'node:assert/strict';
import builtin, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as path from 'node:path';
import { test } from 'node:test';
import { Fault } from '../src/base/fault.ts';
import { ALWAYS } from '../src/base/intervals.ts';
import { summarise } from '../src/query/summarise.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { verifyRecording } from '../src/recording/repair/verify.ts';
import { measure } from '../src/recording/sealed/measure.ts';
import { Stopped, sealRecording } from '../src/recording/sealed/seal.ts';
import { readStatistics } from '../src/recording/sealed/statistics-file.ts';
import { nodeBatchOf } from '../src/show/export/select.ts';
import { agentOf, appendRows, diskRows, diskTable, makeRecording, START } from './make-recording.ts';

/** Live parts, and what was left by something that was interrupted. */
const UNSEALED = /csv$|\d\.csv\.zst$|tmp$/;

const contents = (folder: string): unknown => {
  const [node] = openRecording(folder).nodes;
  return ['disk', 'load'].map((name) => {
    const { table: _, damage: __, ...batch } = readTable(node!, name);
    const texts = [...batch.texts].map(([n, t]) => [n, [...t.codes].map((code) => t.values[code])]);
    return { ...batch, texts };
  });
};

for (const parquet of [false, true]) {
  const form = parquet ? 'Parquet' : 'CSV';
  test(`a crash after any step leaves a readable recording in which every sample counts once: ${form}`, async () => {
    const prepare = async (): Promise<string> => {
      const folder = await makeRecording({ seconds: 30, rollEvery: 10 });
      fs.appendFileSync(path.join(folder, 'node=c1', 'disk.csv'), '1794775799,torn');
      return folder;
    };
    const model = await prepare();
    const expected = contents(model);
    const steps: string[] = [];
    sealRecording(openRecording(model), { parquet, step: (what) => steps.push(what) });
    assert.deepEqual(steps.slice(0, 5), [
      'written',
      'disk.csv.torn written',
      'written',
      'sealed renamed',
      'statistics renamed',
    ]);
    assert.equal(steps.length, 3 + 2 * (2 + 3));
    assert.deepEqual(contents(model), expected);
    for (let stop = 0; stop < steps.length; stop++) {
      const folder = await prepare();
      let step = 0;
      const crash = (): void => {
        if (step++ === stop) throw new Stopped();
      };
      assert.throws(() => sealRecording(openRecording(folder), { parquet, step: crash }), Stopped);
      assert.deepEqual(contents(folder), expected, `after "${steps[stop]}"`);
      const summary = (): unknown => summarise([openRecording(folder)])[0]!.nodes[0]!.tables.get('disk');
      assert.deepEqual(summary(), measure(readTable(openRecording(folder).nodes[0]!, 'disk')));
      // the next seal goes through, also in the other form; verify tidies up after the first
      sealRecording(openRecording(folder), { parquet: !parquet });
      assert.ok(verifyRecording(folder).every(({ outcome }) => outcome === 'repaired'));
      assert.deepEqual(contents(folder), expected, `sealed again after "${steps[stop]}"`);
      assert.deepEqual(
        fs.readdirSync(path.join(folder, 'node=c1')).filter((name) => UNSEALED.test(name)),
        [],
      );
    }
  });
}

test('what could not be read is kept beside the sealed file', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const node = path.join(folder, 'node=c1');
  fs.appendFileSync(path.join(node, 'disk.csv'), 'what is this\n1794775799,sda,1');
  fs.writeFileSync(path.join(node, 'load.0001.csv'), 'some,other\nfile,here\n');
  sealRecording(openRecording(folder), { parquet: true });
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
  sealRecording(openRecording(small), { parquet: true });
  sealRecording(openRecording(large), { parquet: true, valuesAtOnce: 100 });
  for (const file of ['disk.parquet', 'load.parquet']) {
    const [a, b] = [small, large].map((folder) => fs.statSync(path.join(folder, 'node=c1', file)).size);
    assert.equal(a, b);
  }
  assert.deepEqual(contents(large), contents(small));
  const statistics = (folder: string): unknown => readStatistics(path.join(folder, 'node=c1', 'disk.stats.json.zst'));
  assert.deepEqual(statistics(large), statistics(small));
});

test('what was sealed and what came after become one file', async () => {
  for (const first of [false, true]) {
    for (const then of [false, true]) {
      const folder = await makeRecording({ seconds: 20 });
      sealRecording(openRecording(folder), { parquet: first });
      const node = path.join(folder, 'node=c1');
      await appendRows(node, diskTable, diskRows(10, START + 20e6));
      const before = contents(folder);
      const sealed = sealRecording(openRecording(folder), { parquet: then })[0]!.tables;
      assert.deepEqual(
        sealed.filter(({ table }) => table === 'disk').map(({ rows }) => rows),
        [60],
      );
      assert.deepEqual(contents(folder), before);
      // what is Parquet stays so: somebody may have asked for it
      const form = first || then ? /^disk\.(parquet|stats\.json\.zst)$/ : /^disk\.csv\.zst$/;
      const files = fs.readdirSync(node).filter((name) => name.startsWith('disk'));
      assert.ok(
        files.every((name) => form.test(name)),
        files.join(' '),
      );
    }
  }
});

test('sealed, a recording of a minute is smaller and says all it said before', async () => {
  const folder = await makeRecording({ seconds: 60 });
  const node = path.join(folder, 'node=c1');
  const bytes = (): number =>
    fs.readdirSync(node).reduce((sum, name) => sum + fs.statSync(path.join(node, name)).size, 0);
  const before = { bytes: bytes(), contents: contents(folder), agent: openRecording(folder).nodes[0]!.agent };
  sealRecording(openRecording(folder));
  assert.deepEqual(fs.readdirSync(node).sort(), ['agent.json', 'disk.csv.zst', 'load.csv.zst', 'tables.json.zst']);
  assert.ok(bytes() < before.bytes / 2, `${bytes()} of ${before.bytes} bytes`);
  assert.deepEqual(contents(folder), before.contents);
  assert.deepEqual(openRecording(folder).nodes[0]!.agent, { ...before.agent, written: ['disk', 'load'] });
  assert.deepEqual(verifyRecording(folder), []);
  // also without agent.json the tables are known
  fs.rmSync(path.join(node, 'agent.json'));
  assert.deepEqual(readTable(openRecording(folder).nodes[0]!, 'disk').table, diskTable);
});

test('a sealed table that is gone or damaged is told, also when it is small', async () => {
  const folder = await makeRecording({ seconds: 60 });
  sealRecording(openRecording(folder));
  const file = path.join(folder, 'node=c1', 'disk.csv.zst');
  const whole = fs.readFileSync(file);
  fs.writeFileSync(file, whole.subarray(0, -20));
  const damaged = summarise([openRecording(folder)])[0]!.nodes[0]!.damage;
  assert.match(damaged[0]!.unreadable!, /^cannot be decompressed/);
  assert.throws(
    () => sealRecording(openRecording(folder), { parquet: true }),
    /disk\.csv\.zst cannot be decompressed.*tacho verify/,
  );
  assert.deepEqual(
    verifyRecording(folder).map(({ file, outcome }) => [file, outcome]),
    [['node=c1/disk.csv.zst', 'not repaired']],
  );
  assert.ok(fs.readFileSync(`${file}.damaged`).equals(whole.subarray(0, -20)));
  fs.rmSync(path.join(folder, 'node=c1', 'load.csv.zst'));
  assert.deepEqual(
    openRecording(folder).nodes[0]!.lost!.map(({ file }) => file),
    ['load.csv.zst', 'disk.csv.zst'],
  );
  const damagedFiles: string[] = [];
  const [node] = openRecording(folder).nodes;
  const options = {
    intervals: ALWAYS,
    sampled: 1e6,
    damaged: (_: string, what: string) => damagedFiles.push(path.basename(what)),
  };
  for (const table of ['disk', 'load']) assert.equal(nodeBatchOf({ job: '17' }, node!, table, options), undefined);
  assert.deepEqual(damagedFiles, [
    'disk.csv.zst: it was damaged, and is kept as disk.csv.zst.damaged',
    'load.csv.zst: it is missing',
  ]);
});

test('a node whose agent is still recording is left alone unless forced', async () => {
  const folder = await makeRecording({ seconds: 5 });
  const node = path.join(folder, 'node=c1');
  const { end: _, ...running } = agentOf('c1', [diskTable]);
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(running));
  const before = readTable(openRecording(folder).nodes[0]!, 'disk').rows;
  const [left] = sealRecording(openRecording(folder), { now: START + 6e6 });
  assert.equal(left!.skipped, 'its agent is still recording');
  assert.ok(fs.existsSync(path.join(node, 'disk.csv')));
  // the agent has its file open: what it writes after that is not lost
  const open = fs.openSync(path.join(node, 'disk.csv'), 'a');
  sealRecording(openRecording(folder), { now: START + 6e6, force: 'keep open parts' });
  fs.writeSync(open, `${START + 5e6},sda,1,2,3,4\n`);
  fs.closeSync(open);
  const rows = (): number => readTable(openRecording(folder).nodes[0]!, 'disk').rows;
  assert.equal(rows(), before + 1);
  // the same an hour later: it died without a word
  const later = { now: START + 3600e6 };
  assert.equal(sealRecording(openRecording(folder), later)[0]!.tables.length, 2);
  assert.ok(!fs.existsSync(path.join(node, 'disk.csv')));
  assert.equal(rows(), before + 1);
});

test('two that seal the same recording at once do no harm', async () => {
  const folder = await makeRecording({ seconds: 30, rollEvery: 10 });
  const expected = contents(folder);
  let nested = false;
  const step = (): void => {
    // the other one goes all the way between two steps of this one
    if (nested) return;
    nested = true;
    sealRecording(openRecording(folder), { parquet: true });
  };
  const first = openRecording(folder);
  sealRecording(first, { step });
  assert.deepEqual(contents(folder), expected);
  assert.deepEqual(
    fs.readdirSync(path.join(folder, 'node=c1')).filter((name) => UNSEALED.test(name)),
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
      if (what === 'written') sealed++;
    };
    try {
      assert.throws(
        () => sealRecording(openRecording(folder), { parquet: true, step }),
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
    () => sealRecording(openRecording(folder), { parquet: true }),
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
  sealRecording(openRecording(folder), { parquet: true });
  assert.equal(readTable(openRecording(folder).nodes[0]!, 'disk').rows, 0);
  const statistics = summarise([openRecording(folder)])[0]!.nodes[0]!.tables.get('disk')!;
  assert.deepEqual([statistics.rows, statistics.series_total, statistics.start], [0, 0, Number.NaN]);
});
