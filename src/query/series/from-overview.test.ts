import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, START, temporary } from '../../../test/make-recording.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { sealRecording } from '../../recording/sealed/seal.ts';
import { gpuTable } from '../../sources/tables.ts';
import { type ColumnSeries, series } from './series.ts';

const SECONDS = 36_000;
const SPIKE = 17_777;

/** Two GPUs for ten hours at 1 s, with one sample that stands out, a gap, and a counter that begins again. */
async function sealedDay(): Promise<{ folder: string; node: string }> {
  const folder = path.join(temporary(), 'tacho-1');
  const node = path.join(folder, 'node=c1');
  fs.mkdirSync(node, { recursive: true });
  const job = jobOf({ nodes: ['c1'], start: START, end: START + SECONDS * 1e6, interval_seconds: 1 });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  const rows = Array.from({ length: SECONDS }, (_, i) =>
    i > 10_000 && i < 11_000
      ? []
      : ['0', '1'].map((gpu) => ({
          time: START + i * 1e6 + (i % 5) * 1000,
          gpu,
          utilization_percent: gpu === '1' && i === SPIKE ? 100 : i % 7 === 0 ? Number.NaN : (i % 50) + Number(gpu),
          energy_mj: (i % 20_000) * 300,
        })),
  );
  await appendRows(node, gpuTable, rows.flat());
  const agent = agentOf('c1', [gpuTable], { end: START + SECONDS * 1e6 });
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agent));
  sealRecording(openRecording(folder), { force: true });
  return { folder, node };
}

const plain = (all: readonly ColumnSeries[]) =>
  all.map(({ keys, time, count, min, max }) => ({
    keys,
    time: [...time],
    count: [...count],
    min: [...min],
    max: [...max],
  }));

test('steps of whole minutes come from the overview, and are those of the samples', async () => {
  const { folder, node } = await sealedDay();
  const [file] = fs.globSync(`${node}/.overview/gpu.*.parquet`);
  assert.ok(file !== undefined);
  const { nodes } = openRecording(folder);
  const { utilization_percent: level, energy_mj: counter } = gpuTable.col;
  const ask = (column: typeof level | typeof counter, options: object) => series(nodes, column as never, options);
  const range = { from: START + 3600e6, to: START + 30_000e6 };
  const questions = [{ step: 60e6 }, { step: 300e6 }, { step: 3600e6, keys: { gpu: '1' } }, { points: 100 }] as const;
  const coarse = questions.flatMap((each) => [ask(level, each), ask(counter, each)]);
  const rangeSeries = ask(level, { ...range, step: 600e6 });
  // damaged, it is not used: nor are steps that it cannot be made of
  const bytes = fs.readFileSync(file);
  fs.writeFileSync(file, bytes.subarray(0, 1000));
  const steps = questions.map((each) => ('points' in each ? { step: coarse.at(-1)![0]!.step } : each));
  const exact = steps.flatMap((each) => [ask(level, each), ask(counter, each)]);
  assert.deepEqual(coarse.map(plain), exact.map(plain));
  coarse.flat().forEach((one, i) => {
    const other = exact.flat()[i]!;
    one.mean.forEach((value, j) => {
      // samples say that the last value holds through a gap; of minutes each counts by its samples
      const [begin, end] = [one.time[j]! - START, one.time[j]! + one.step - START];
      if (begin < 11_000e6 && end > 10_000e6) return;
      if (Number.isNaN(value)) assert.ok(Number.isNaN(other.mean[j]!));
      else
        assert.ok(
          Math.abs(value - other.mean[j]!) <= 0.02 * Math.abs(other.mean[j]!) + 0.5,
          `${value} ${other.mean[j]}`,
        );
    });
  });
  // the one sample that stands out is there at any step
  for (const all of [coarse[0]!, coarse[2]!, coarse[6]!]) assert.equal(Math.max(...all[1]!.max), 100);
  assert.equal(Math.max(...coarse[0]![0]!.max), 49);
  const cut = ask(level, { ...range, step: 600e6 });
  // minutes at the edges count whole: there the values may differ
  assert.deepEqual(plain(rangeSeries)[0]!.max.slice(1, -1), plain(cut)[0]!.max.slice(1, -1));
  fs.writeFileSync(file, bytes);
  // a sample that came later is not in it
  await appendRows(node, gpuTable, [{ time: START + (SECONDS + 5) * 1e6, gpu: '0', utilization_percent: 99 }]);
  const later = series(openRecording(folder).nodes, level, { step: 60e6 });
  assert.equal(later[0]!.max.at(-1), 99);
  // sealed again, the overview is that of the new file alone
  sealRecording(openRecording(folder), { force: true });
  assert.equal(fs.globSync(`${node}/.overview/gpu.*.parquet`).length, 1);
  assert.equal(series(openRecording(folder).nodes, level, { step: 60e6 })[0]!.max.at(-1), 99);
});
