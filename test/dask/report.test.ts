import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { draw } from '../../src/charts/draw.ts';
import { chartOf } from '../../src/charts/job-charts.ts';
import { makeChartData } from '../../src/charts/make-chart-data.ts';
import { metricCharts } from '../../src/charts/metric-charts.ts';
import { seriesName } from '../../src/charts/option.ts';
import { DaskWriter } from '../../src/dask/dask-writer.ts';
import { compare } from '../../src/judge/compare/compare.ts';
import { gather } from '../../src/judge/facts/gather.ts';
import { report } from '../../src/judge/report.ts';
import { type Report, reportSchema } from '../../src/judge/report-schema.ts';
import { daskRun } from '../../src/query/dask/dask-run.ts';
import { needTasks, prefixUse } from '../../src/query/dask/prefixes.ts';
import { daskStream } from '../../src/query/dask/stream.ts';
import { longestTasks, taskUse } from '../../src/query/dask/task-list.ts';
import { daskUse } from '../../src/query/dask/task-use.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { sealRecording } from '../../src/recording/sealed/seal.ts';
import { chartsThere } from '../../src/serve/data/charts.ts';
import { taskCsv, taskJson, taskTable } from '../../src/show/dask/task-table.ts';
import { compareCsv, compareJson, compareText } from '../../src/show/judged/compare-text.ts';
import { daskRecording } from '../made/dask-recording.ts';
import { reportText } from '../made/report-text.ts';
import { START } from '../make-recording.ts';
import { tacho } from '../tacho.ts';

const cardOf = (folder: string): Report => report(gather(openRecording(folder)));

test('the report has the tasks of a Dask cluster, sealed or not', async () => {
  const folder = await daskRecording();
  for (const isSealed of [false, true]) {
    if (isSealed) sealRecording(openRecording(folder), { force: true });
    const card = cardOf(folder);
    reportSchema.parse(JSON.parse(JSON.stringify(card)));
    const { prefixes, ...dask } = card.dask!;
    assert.deepEqual(dask, {
      tasks: 24,
      erred: 1,
      lost: 0,
      recomputed: 2,
      graphs: 1,
      workers: 2,
      threads: 2,
      seconds: 6.5,
      busy: 1,
      spilled_peak_bytes: 2 ** 26,
    });
    assert.deepEqual(
      prefixes.map(({ prefix, tasks, seconds, median_seconds, shared }) => [
        prefix,
        tasks,
        seconds,
        median_seconds,
        shared,
      ]),
      [
        ['load', 22, 11, 0.5, 0],
        ['sum', 1, 1, 1, 0],
        ['fail', 1, 1, 1, 0],
      ],
    );
  }
  const text = reportText([cardOf(folder)]);
  assert.ok(
    text.includes(
      `
Dask
  24 tasks of 1 graph on 2 workers in 6.5 s; threads busy 100 % of it
  1 failed, 2 computed again, up to 64.0 MiB of a worker spilled to disk
  most time: load 11.0 s (22 tasks), sum 1.0 s (1 task), fail 1.0 s (1 task)
`,
    ),
    text,
  );
});

test('a name of 10,000 characters is cut in the card, its findings and on the page', async () => {
  const folder = await daskRecording({ lostKey: 'x'.repeat(10_000) });
  const label = `${'x'.repeat(58)}..`;
  const card = cardOf(folder);
  assert.equal(
    card.findings.find(({ id }) => id === 'dask-workers-died')!.text,
    `1 Dask task was lost with its worker: ${label}`,
  );
  const text = reportText([card]);
  assert.match(text, /1 failed, 1 lost with its worker, 2 computed again/);
  assert.ok(!text.includes('x'.repeat(81)), text);
  const run = daskRun(openRecording(folder))!;
  const stream = daskStream(run, START, START + 10e6, 1000);
  assert.deepEqual(
    new Set(stream.tasks.map(({ key, prefix }) => `${key.slice(0, 5)} of ${stream.prefixes[prefix]!.prefix}`)),
    new Set(stream.tasks.map(({ key }) => `${key.slice(0, 5)} of ${key.startsWith('x') ? label : key.split('-')[0]}`)),
  );
});

test('runs are compared by prefix: text, JSON and CSV', async () => {
  const folders = [await daskRecording(), await daskRecording({ id: '18', load: 0.75 })];
  const comparison = compare(folders.map(cardOf), undefined, 'prefix');
  assert.deepEqual(
    comparison.prefixes.map(({ prefix, difference, jobs }) => [prefix, difference, jobs.map((use) => use!.tasks)]),
    [
      ['load', 5_500_000, [22, 22]],
      ['sum', 0, [1, 1]],
      ['fail', 0, [1, 1]],
    ],
  );
  const text = compareText(comparison, { width: 120 });
  assert.match(text, /Tasks of Dask by prefix: their time added up\n/);
  assert.match(text, /\n +\+5\.5 s +11\.0 s +16\.5 s +22 +22 +500 ms +750 ms +load\n/);
  assert.equal(JSON.parse(compareJson(comparison)).prefixes[0].jobs[1].seconds, 16.5);
  const [head, first] = compareCsv(comparison).split('\n');
  assert.match(head!, /^prefix,difference,seconds 17,seconds 18,tasks 17,tasks 18,median_seconds 17,/);
  assert.match(first!, /^load,5500000,11,16.5,22,22,0.5,0.75,/);
});

test('a job without tasks beside one with tasks is said', async () => {
  const { dask: _, ...other } = { ...cardOf(await daskRecording({ id: '18' })) };
  const comparison = compare([cardOf(await daskRecording()), other], undefined);
  assert.ok(comparison.notes.includes('no Dask tasks were recorded of 18'), comparison.notes.join());
  assert.equal(comparison.prefixes[0]!.jobs[1], undefined);
  assert.deepEqual(compare([other, other], undefined, 'prefix').notes.slice(-1), ['no job has tasks of Dask']);
});

test('the same keys in another job of Dask are not computed again', async () => {
  const uses = daskUse(openRecording(await daskRecording()));
  const again = (): number => prefixUse(uses).reduce((sum, { recomputed }) => sum + recomputed, 0);
  assert.equal(again(), 2);
  const [{ tasks }] = uses as [(typeof uses)[0]];
  // each execution after the first of its key was a later client's
  const runs = new Map<number, number>();
  tasks.key.codes.forEach((key, row) => {
    runs.set(key, (runs.get(key) ?? 0) + 1);
    if (row < tasks.length) tasks.job[row] = runs.get(key)!;
  });
  assert.equal(again(), 0);
});

test('a choice of tasks that there are none of: what there is to choose from', async () => {
  const uses = daskUse(openRecording(await daskRecording()));
  const hintOf = (choice: Parameters<typeof needTasks>[1]): string | undefined => {
    try {
      needTasks(uses, choice);
    } catch (error) {
      return (error as { hint?: string }).hint;
    }
    return undefined;
  };
  assert.equal(hintOf({ job: 99 }), 'jobs are 1');
  assert.equal(hintOf({ job: 1, dag: 7 }), 'graphs of job 1 are 0');
  assert.equal(hintOf({ dag: 7 }), 'graphs are 0');
  assert.equal(hintOf({ job: 1, prefix: 'nope' }), 'prefixes are load, sum and fail');
  assert.equal(hintOf({ job: 1, prefix: 'load' }), undefined);
});

test('a recording in which no task ended yet says so', async () => {
  const folder = await daskRecording();
  fs.rmSync(path.join(folder, 'node=c1/dask_task.csv'));
  for (const args of [[], ['--each']]) {
    const { out, err } = tacho(['dask', 'tasks', folder, ...args]);
    assert.equal(`${out}|${err}`, '|tacho: no task ended while it recorded\n');
  }
});

test('the report says what the way into the cluster and its workers did not give', async () => {
  const folder = await daskRecording();
  const writer = new DaskWriter(path.join(folder, 'node=c1'), { plain: true });
  const time = START / 1e6 + 2;
  writer.event({ time, event: 'way', name: 'read-only calls' });
  writer.event({ time, event: 'missing', name: 'GPUs of workers' });
  writer.event({ time, event: 'note', worker: 'tcp://10.0.0.2:4000', name: 'custom metric power: OSError: no right' });
  await writer.close();
  const { unmeasured } = cardOf(folder);
  assert.deepEqual(
    unmeasured.filter(({ why }) => /Dask was|custom/.test(why)),
    [
      { what: 'GPUs of workers', why: 'Dask was recorded by read-only calls' },
      { what: 'Dask, first on worker 1', why: 'custom metric power: OSError: no right' },
    ],
  );
});

test('charts name workers as the cluster does, and find them by their addresses', async () => {
  const material = gather(openRecording(await daskRecording()));
  const data = makeChartData(draw(material, chartOf('dask-memory')!)!);
  assert.deepEqual(data.series.map(seriesName), ['worker 0', 'worker 1']);
  material.dask!()!.uses[0]!.workers.get('tcp://10.0.0.1:4000')!.name = '10';
  const renamed = makeChartData(draw(material, chartOf('dask-memory')!)!);
  assert.deepEqual(renamed.series.map(seriesName), ['worker 1', 'worker 10']);
  const focus = { node: 'c1', key: 'tcp://10.0.0.2:4000' };
  const focused = makeChartData(draw(material, chartOf('dask-memory')!)!, 'lines', focus);
  assert.deepEqual(focused.focus?.map(seriesName), ['worker 1']);
});

test('the chart of worker memory has the limit of a worker', async () => {
  const material = gather(openRecording(await daskRecording()));
  const data = makeChartData(draw(material, chartOf('dask-memory')!)!);
  assert.equal(data.limit, 2 ** 30);
  assert.equal(data.count, 2);
  assert.equal(makeChartData(draw(material, chartOf('dask-spilled')!)!).limit, undefined);
});

test('the page has the charts of the workers, and any of their columns can be drawn', async () => {
  const material = gather(openRecording(await daskRecording()));
  assert.deepEqual(
    chartsThere(material).flatMap(({ id, group }) => (group === 'Dask' ? [id] : [])),
    ['dask-executing', 'dask-memory', 'dask-spilled'],
  );
  assert.deepEqual(
    metricCharts(material, 'dask_worker', ['managed']).map(({ id }) => id),
    ['dask_worker.managed_bytes'],
  );
});

test('each task has its share of the CPU time, and memory and GPU of its worker while it ran', async () => {
  // the GPU has no value in every third sample
  const gpu = (sample: number) => ({
    device: '0',
    used: sample * 1e9,
    total: 8e10,
    computePercent: sample < 10 ? 40 : 90,
  });
  const folder = await daskRecording({ gpusAt: (sample) => (sample % 3 === 0 ? [] : [gpu(sample)]) });
  const uses = daskUse(openRecording(folder));
  const [load] = prefixUse(uses, { prefix: 'load' });
  assert.deepEqual(
    [load!.cpu_seconds, load!.cpu_mean_cores, load!.cpu_peak_cores, load!.memory_mean_bytes, load!.memory_peak_bytes],
    [11, 1, 1, 2 ** 29, 2 ** 29],
  );
  // of the samples 1 to 11, those that have a value: 1, 2, 4, 5, 7, 8 with 40 %, 10 and 11 with 90 %
  assert.equal(load!.gpu_mean_percent, (6 * 40 + 2 * 90) / 8);
  assert.deepEqual([load!.gpu_peak_percent, load!.gpu_memory_peak_bytes], [90, 11e9]);
  assert.deepEqual(
    prefixUse(uses, { prefix: 'sum' }).map(({ prefix, tasks }) => [prefix, tasks]),
    [['sum', 1]],
  );
  assert.throws(() => needTasks(uses, { prefix: 'nope' }), /there is no task of prefix nope/);
  needTasks(uses, { prefix: 'sum', job: 1 });
  const rows = longestTasks(uses, {});
  const [longest, , third] = rows.map(taskUse);
  assert.deepEqual(longest, {
    ...{ key: 'sum-1', prefix: 'sum', worker: 'tcp://10.0.0.1:4000', name: '0', thread: 0, job: 1, dag: 0 },
    ...{ outcome: 'ok', start: START / 1e6 + 5.5, stop: START / 1e6 + 6.5, seconds: 1, bytes: 8 },
    ...{ cpu_seconds: 1, cpu_mean_cores: 1, cpu_peak_cores: 1 },
    ...{ memory_peak_bytes: 2 ** 29, memory_mean_bytes: 2 ** 29 },
    ...{ gpu_peak_percent: 90, gpu_mean_percent: 90, gpu_memory_peak_bytes: 13e9, shared: 0 },
  });
  assert.deepEqual([third!.prefix, third!.seconds], ['load', 0.5]);
  const [heads, first] = taskTable(rows, 3, 120).split('\n');
  assert.match(heads!, /^task +worker +outcome +time +CPU +memory +GPU +shared$/);
  assert.match(first!, /^sum-1 +0 +ok +1\.0 s +1\.0 s +512 MiB +90 % +0 %$/);
  assert.match(taskTable(rows, 3, 120), /\n21 more; --limit 0 shows all\n$/);
  assert.equal(JSON.parse([...taskJson(rows)].join('')).length, 24);
  assert.deepEqual(JSON.parse([...taskJson([])].join('')), []);
  assert.match([...taskCsv(rows)][2]!, /^fail-1,fail,tcp:\/\/10\.0\.0\.2:4000,1,0,1,0,erred,ValueError,/);
});

test('what read-only calls do not measure is missing, not 0', async () => {
  const [load] = prefixUse(daskUse(openRecording(await daskRecording({ withoutCpu: true }))));
  assert.equal(load!.prefix, 'load');
  assert.ok(!('cpu_seconds' in load!) && !('gpu_mean_percent' in load!));
  assert.equal(load!.memory_peak_bytes, 2 ** 29);
});
