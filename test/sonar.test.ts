import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { openHistory } from '../src/history/ask/history.ts';
import { addAccounting } from '../src/history/index/add-accounting.ts';
import { buildIndex } from '../src/history/index/build.ts';
import { summariesOfAccounted } from '../src/history/make/accounted.ts';
import type { JobSummary } from '../src/history/tables/summary.ts';
import { type ImportedSonar, importSonar } from '../src/import/sonar/import.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { textAt } from '../src/recording/read/batch.ts';
import { readTable } from '../src/recording/read/read.ts';
import { temporary } from './make-recording.ts';

const DATA = path.join(import.meta.dirname, '../../shared/data/sonar');
const skip = fs.existsSync(DATA) ? false : `${DATA} is missing: data of Sonar's own tests, with what is to come out`;

const imported = (folder: string, ...names: string[]): ImportedSonar =>
  importSonar(
    names.map((name) => path.join(DATA, name)),
    { folder },
  );

async function jobsOf(folder: string): Promise<Map<string, JobSummary>> {
  const history = await openHistory({ folders: [folder] });
  const jobs = await history.selectJobs();
  await history.close();
  return new Map(jobs.map((job) => [job.job, job]));
}

/** Mean and maximum of a column of the table that Sonar's own figures are made of. */
function sonarFigures(folder: string, job: string, node: string, column: string): [mean: number, most: number] {
  const recording = openRecording(path.join(folder, `tacho-${job}`));
  const own = recording.nodes.find(({ name }) => name === node)!;
  const values = [...(readTable(own, 'sonar').numbers.get(column) ?? [0])];
  return [values.reduce((a, b) => a + b, 0) / values.length, Math.max(...values)];
}

/** Job, user, minutes, then mean and peak of CPU %, virtual GiB, GPU %, GPU GiB; all rounded up. */
const REAL = `
4079 root 2455 4 4 1 1 0 0 0 0
4093 zabbix 2460 5 5 1 1 0 0 0 0
585616 user12 45 933 1273 194 199 72 84 16 26
1649588 user19 200 141 141 127 155 38 44 2 2
2381069 user05 2455 2 2 4 4 0 0 0 0
1592463 user12 165 594 1292 92 116 76 89 20 37
1593746 user12 165 2701 2834 21 29 52 71 2 3
1921146 user19 1250 143 146 104 115 38 42 2 2
1939269 user12 180 536 3095 116 132 79 92 19 33
1940843 user12 180 260 888 47 62 46 58 2 3
2126454 user19 405 131 134 149 149 57 59 2 3
2447150 user12 1235 163 178 18 19 0 0 1 1
2628112 user19 840 134 135 147 148 57 61 2 3
2640656 user12 85 1500 1775 102 104 64 93 19 38
2643165 user12 85 179 238 37 41 60 86 3 3
2722769 user12 680 751 2345 121 140 79 93 22 40
2722782 user12 685 203 725 61 88 55 84 2 3
2727498 user01 165 3 21 1 1 0 0 0 0
2747449 user01 20 6 22 1 1 0 0 0 0
2750031 user01 15 100 100 1 1 0 0 0 0`;

test('real data of Sonar 0.6: every job with the figures of Sonar’s own jobs', { skip }, async () => {
  const folder = temporary();
  imported(folder, 'jobs-v06-real');
  const jobs = await jobsOf(folder);
  const rows = REAL.trim().split('\n');
  assert.deepEqual([...jobs.keys()].sort(), rows.map((row) => row.split(' ')[0]!).sort());
  for (const row of rows) {
    const [id, user, minutes, ...figures] = row.split(' ');
    const job = jobs.get(id!)!;
    assert.deepEqual([job.user, Math.round(job.wall_seconds! / 60), job.origin], [user, Number(minutes), 'sonar'], row);
    const values = ['cpu_percent', 'virtual_bytes', 'gpu_percent', 'gpu_memory_bytes'].flatMap((column) =>
      sonarFigures(folder, id!, 'ml8.hpc.uio.no', column).map((value) =>
        Math.ceil(column.endsWith('bytes') ? value / 2 ** 30 : value),
      ),
    );
    assert.deepEqual(values, figures.map(Number), row);
    // the mean over time, of CPU time and of the cards it ran on
    const busy = sonarFigures(folder, id!, 'ml8.hpc.uio.no', 'cpu_percent')[0] / 100;
    assert.ok(Math.abs(job.cpus_busy! - busy) <= busy * 0.35 + 0.05, `${row}: ${job.cpus_busy} ${busy}`);
    assert.equal(job.core_hours, undefined, 'nobody knows what it was given');
  }
  const alive = (id: string): string | undefined => (JSON.parse(jobs.get(id)!.tags!) as { alive?: string }).alive;
  assert.deepEqual(['4079', '4093', '2722782', '1921146'].map(alive), ['first', 'always', 'last', undefined]);
  assert.deepEqual(
    [jobs.get('2447150')!.time, jobs.get('2447150')!.end_time].map((us) =>
      new Date(us! / 1000).toISOString().slice(0, 16),
    ),
    ['2023-06-23T12:25', '2023-06-24T09:00'],
  );
});

test('a job by its processes: use over time, and the true CPU time', { skip }, async () => {
  const folder = temporary();
  imported(folder, 'profile/smoketest.csv');
  const job = (await jobsOf(folder)).get('1119125')!;
  assert.equal(job.cpu_seconds, 81_465, 'not 398595, the sum of sums');
  assert.ok(Math.abs(job.cpus_busy! - 30.9) < 0.2, `${job.cpus_busy}`);
  const [node] = openRecording(path.join(folder, 'tacho-1119125')).nodes;
  const batch = readTable(node!, 'process');
  const used = batch.numbers.get('user_ms')!;
  const profile = Array.from({ length: batch.series.length - 1 }, (_, i) => {
    const [from, to] = [batch.series[i]!, batch.series[i + 1]!];
    const percent = (row: number): number =>
      Math.round((100 * (used[row]! - used[row - 1]!) * 1000) / (batch.time[row]! - batch.time[row - 1]!));
    return [textAt(batch, 'name', from), ...Array.from({ length: to - from - 1 }, (_, k) => percent(from + 1 + k))];
  });
  assert.deepEqual(profile, [
    ['bwa', 3094, 3092, 3078, 3093, 3080, 3091, 3091, 3077],
    ['samtools', 12, 11, 14, 11, 10, 13],
  ]);
  assert.equal(Math.round(readTable(node!, 'sonar').numbers.get('cpu_percent')![0]!), 3075, 'the first is its mean');
  const two = temporary();
  imported(two, 'profile/smoketest2.csv');
  const both = (await jobsOf(two)).get('1119125')!;
  assert.deepEqual([both.nodes, both.node_list], [2, 'ml8.hpc.uio.no,ml9.hpc.uio.no']);
  assert.equal(Math.round(sonarFigures(two, '1119125', 'ml8.hpc.uio.no', 'cpu_percent')[1]), 13_075);
});

test('nodes that share a job are one job, whose CPU time is added up', { skip }, async () => {
  const folder = temporary();
  imported(folder, 'merge');
  const jobs = await jobsOf(folder);
  assert.deepEqual([...jobs.values()].map(({ job, nodes, cpu_seconds }) => [job, nodes, cpu_seconds]).sort(), [
    ['2851773', 2, 130],
    ['3744442', 1, 2048],
    ['3784499', 2, 49_152],
    // samples of its nodes are five minutes apart, which changes nothing
    ['3784760', 2, 196_608],
    ['4052478', 2, 520],
  ]);
  const apart = temporary();
  const { jobs: count } = importSonar([path.join(DATA, 'merge')], { folder: apart, separate: true });
  assert.equal(count, 9);
});

test('when nodes were up, and when their GPUs failed', { skip }, async () => {
  const folder = temporary();
  imported(folder, 'uptime');
  await buildIndex(folder);
  const history = await openHistory({ archive: folder });
  const day = Date.UTC(2023, 9, 9) * 1000;
  const minute = (us: number): string => new Date(us / 1000).toISOString().slice(5, 16);
  const spans = await history.uptime({
    from: day,
    to: day + 2 * 86_400e6,
    gap: 600,
    nodes: ['ml7.hpc.uio.no', 'ml8.hpc.uio.no', 'ml9.hpc.uio.no'],
  });
  assert.deepEqual(
    spans.map(
      ({ node, what, state, start, end }) => `${node.slice(0, 3)} ${what} ${state} ${minute(start)} ${minute(end)}`,
    ),
    [
      'ml7 node silent 10-09T00:00 10-09T22:05',
      'ml7 node up 10-09T22:05 10-09T22:25',
      'ml7 node silent 10-09T22:25 10-11T00:00',
      'ml7 GPUs failed 10-09T22:10 10-09T22:15',
      'ml8 node silent 10-09T00:00 10-09T22:00',
      'ml8 node up 10-09T22:00 10-09T22:15',
      'ml8 node silent 10-09T22:15 10-11T00:00',
      'ml9 node silent 10-09T00:00 10-11T00:00',
    ],
  );
  const [ml7] = await history.load({
    from: day,
    to: day + 2 * 86_400e6,
    every: 'day',
    zone: 'UTC',
    nodes: ['ml7.hpc.uio.no'],
  });
  assert.equal(ml7!.cpus, 64);
  await history.close();
});

test('records that Sonar’s own tests leave out', { skip }, async () => {
  const folder = temporary();
  const twice = imported(folder, 'regress/regress_60_filter_dup_timestamps.csv');
  assert.equal(twice.jobs, 1);
  assert.equal((await jobsOf(folder)).get('1249151')!.cpu_seconds, 316);
  const falls = temporary();
  imported(falls, 'regress/regress_63_filter_negative_utilization.csv');
  // Sonar says 236.7 %: it holds the third record against the second one, which it has left out
  assert.equal(sonarFigures(falls, '1249151', 'ml4.hpc.uio.no', 'cpu_percent')[0], 100);
  const infinite = temporary();
  const { jobs } = importSonar([path.join(DATA, 'regress/parse_infty.csv')], { folder: infinite, minSamples: 1 });
  assert.equal(jobs, 2);
  assert.deepEqual([...(await jobsOf(infinite)).keys()].sort(), ['1685424', '1685426']);
});

test('which jobs were running at the last sample of their node', { skip }, async () => {
  const folder = temporary();
  importSonar([path.join(DATA, 'running-completed')], { folder, minSamples: 1 });
  const jobs = [...(await jobsOf(folder)).values()];
  const running = jobs.filter(({ reason }) => reason === 'it was running at the end of the data').map(({ job }) => job);
  assert.deepEqual(running.sort(), ['1269178', '2092901']);
  assert.deepEqual(
    jobs.map(({ job }) => job).filter((job) => !running.includes(job)),
    ['90548'],
  );
});

test('all kinds of packets: samples, nodes, Slurm’s jobs; what is there already is left alone', { skip }, async () => {
  const folder = temporary();
  const { accounted, nodes, notes } = imported(folder, 'sonar-spec-samples');
  assert.deepEqual(nodes, ['bling', 'c1-6.fox', 'gpu-11.fox', 'ml6.hpc.uio.no']);
  assert.match(notes.join('\n'), /3 records left out: an error that Sonar reported/);
  await addAccounting(folder, accounted.map(summariesOfAccounted));
  const history = await openHistory({ archive: folder });
  const jobs = await history.selectJobs({ origins: ['accounting'] });
  await history.close();
  const job = jobs.find((one) => one.job === '1368296')!;
  assert.deepEqual(
    [job.user, job.cpus, job.gpus, job.gpu_model, job.time_limit_seconds, job.wall_seconds],
    ['ec-bbb', 32, 1, 'rtx30', 428_400, 264_067],
  );
  const again = imported(folder, 'sonar-spec-samples');
  assert.deepEqual([again.jobs, again.days, again.recordings], [0, 0, []]);
});
