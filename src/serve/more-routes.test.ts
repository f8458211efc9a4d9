import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { makeRecording, START, temporary } from '../../test/make-recording.ts';
import { writeDemo } from '../demo/demo.ts';
import type { NodeJob, NodeList, ProcessData, ThreadData } from './api.ts';
import { FolderCollection } from './collections/folders.ts';
import { makeServer } from './server.ts';

const TOKEN = 'a-token-of-the-test';

async function serving(folder: string) {
  const page = temporary();
  for (const name of ['index.html', 'app.js', 'app.css']) fs.writeFileSync(path.join(page, name), `<p>${name}</p>`);
  const { app } = await makeServer({ collection: new FolderCollection([folder]), token: TOKEN, page });
  return (url: string) => app.inject({ url, headers: { authorization: `Bearer ${TOKEN}` } });
}

test('a job with ranks: threads of a process, each rank over time, and a chart without values', async () => {
  const folder = temporary();
  await writeDemo({ folder: path.join(folder, 'demo'), nodes: 2, gpus: 2, seconds: 300 });
  const get = await serving(folder);
  const { id } = (await get('/api/jobs')).json().jobs[0];
  const data = (await get(`/api/jobs/${id}/processes`)).json() as ProcessData;
  const trainer = data.threads.indexOf(61);
  const threads = (await get(`/api/jobs/${id}/threads?process=${trainer}`)).json() as ThreadData;
  assert.deepEqual([threads.length, threads.left_out, threads.tid[0]], [61, 0, String(data.pid[trainer])]);
  const cpu = threads.cpu.reduce<number>((sum, value) => sum + value!, 0);
  assert.ok(Math.abs(cpu / data.cpu[trainer]! - 1) < 0.001, `${cpu} of ${data.cpu[trainer]}`);
  const all = (await get(`/api/jobs/${id}/threads`)).json() as ThreadData;
  assert.equal(
    all.length,
    data.threads.reduce<number>((sum, value) => sum + value!, 0),
  );
  assert.equal((await get(`/api/jobs/${id}/threads?process=${data.length}`)).statusCode, 404);

  // a heat map needs several rows
  for (const [node, as] of [
    ['', 'heat'],
    ['&node=node02', 'lines'],
  ])
    assert.equal((await get(`/api/jobs/${id}/charts/cpu?as=heat${node}`)).json().as, as);
  const ranks = (await get(`/api/jobs/${id}/charts/ranks?as=heat`)).json();
  assert.deepEqual(
    ranks.series.map(({ node, key }: Record<string, string>) => [node, key]),
    [
      ['node01', '0'],
      ['node01', '1'],
      ['node02', '2'],
    ],
  );
  // a trainer and its loader use 99 % of the node's cores, which two ranks share while they train
  const middle = ranks.series[0].mean[Math.floor(ranks.series[0].mean.length / 2)];
  assert.ok(middle > 19 && middle < 24, `${middle} CPUs`);
  assert.equal((await get(`/api/jobs/${id}/charts/nfs-read`)).statusCode, 404);
  const empty = (await get(`/api/jobs/${id}/charts/nfs-read?empty=allowed`)).json();
  assert.deepEqual([empty.count, empty.series, empty.title], [0, [], 'Read from NFS']);
});

test('who else was on the nodes, and the nodes themselves', async () => {
  const folder = temporary();
  const add = (id: string, from: number, to: number) =>
    makeRecording({
      folder: path.join(folder, id),
      job: { id, name: id, start: START + from * 1e6, end: START + to * 1e6 },
    });
  await add('first', 0, 60);
  await add('second', 30, 90);
  await add('later', 90, 120);
  const get = await serving(folder);
  const { jobs } = (await get('/api/jobs')).json() as { jobs: { id: string; job: string }[] };
  const idOf = (name: string) => jobs.find(({ job }) => job === name)!.id;
  const neighbours = async (name: string) =>
    ((await get(`/api/jobs/${idOf(name)}/neighbours`)).json() as NodeJob[]).map(({ job, nodes }) => [job, nodes]);
  assert.deepEqual(await neighbours('first'), [['second', ['c1']]]);
  assert.deepEqual(await neighbours('later'), []);
  const { nodes, jobs: all, now } = (await get('/api/nodes')).json() as NodeList;
  assert.deepEqual([nodes, all.length, now], [['c1'], 3, []]);
});

test('an experiment: components, segments, and those that are missing', async () => {
  const folder = temporary();
  for (const component of ['ocean', 'atmosphere'])
    for (const year of [1850, 1855, 1860, 1865]) {
      if (component === 'ocean' && year === 1860) continue;
      const id = `${component}-${year}`;
      const tags = { exp_name: 'historical', exp_component: component, exp_time: `${year}0101` };
      await makeRecording({
        folder: path.join(folder, id),
        seconds: 1,
        job: { id, tags, start: START, end: START + (component === 'ocean' ? 50e6 : 20e6) },
      });
    }
  const get = await serving(folder);
  const names = (await get('/api/experiments')).json();
  assert.deepEqual(names.experiments, [{ name: 'historical', jobs: 7 }]);
  const experiment = (await get('/api/experiment?name=historical')).json();
  assert.deepEqual(
    experiment.components.map(({ component, sum, missing }: Record<string, unknown>) => [component, sum, missing]),
    [
      ['ocean', 150e6, ['18600101']],
      ['atmosphere', 80e6, []],
    ],
  );
  const { jobs } = (await get('/api/jobs')).json() as { jobs: { id: string; job: string }[] };
  // where a job is, is its address on the page
  assert.equal(experiment.components[0].entries[0].recordings[0], jobs.find(({ job }) => job === 'ocean-1850')!.id);
  assert.equal((await get('/api/experiment?name=nothing')).statusCode, 404);
  assert.equal((await get('/api/experiment?name=historical&metric=x')).statusCode, 400);
});

test('how a program scales: two runs at least, and of one size there is no study', async () => {
  const folder = temporary();
  const add = (cores: number, seconds: number) =>
    makeRecording({
      folder: path.join(folder, `run-${cores}`),
      seconds: 1,
      job: {
        ...{ id: `run-${cores}`, name: 'solve', command: ['solver'], tags: { cores: String(cores) } },
        ...{ asked: { cpus: cores }, start: START, end: START + seconds * 1e6 },
      },
    });
  await add(1, 1000);
  const get = await serving(folder);
  assert.equal((await get('/api/scaling?program=solver')).statusCode, 404);
  await add(2, 550);
  await add(4, 325);
  await new Promise((done) => setTimeout(done, 1100));
  const { jobs } = (await get('/api/jobs')).json() as { jobs: { id: string }[] };
  const response = await get(`/api/scaling?jobs=${jobs.map(({ id }) => id).join(',')}&by=tag:cores`);
  assert.equal(response.statusCode, 200, response.body);
  const study = response.json();
  assert.deepEqual(
    study.sizes.map(({ size, wall_seconds }: Record<string, number>) => [size, wall_seconds]),
    [
      [1, 1000],
      [2, 550],
      [4, 325],
    ],
  );
  assert.equal(study.curve.length > 10, true);
  assert.equal((await get('/api/scaling?by=feet')).statusCode, 400);
});
