import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { connect } from '../../src/database/connect.ts';
import { migrate } from '../../src/database/schema.ts';
import { submitRecording } from '../../src/database/submit.ts';
import { writeDemo } from '../../src/demo/demo.ts';
import { buildIndex } from '../../src/history/index/build.ts';
import { startHub } from '../../src/hub/hub.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import type { Collection } from '../../src/serve/collections/collection.ts';
import { DatabaseCollection } from '../../src/serve/collections/database.ts';
import { FolderCollection } from '../../src/serve/collections/folders.ts';
import { HubCollection } from '../../src/serve/collections/hub.ts';
import { StoreCollection } from '../../src/serve/collections/store.ts';
import { makeServer } from '../../src/serve/server.ts';
import { loadavgTable } from '../../src/sources/tables.ts';
import { BEGAN, Client, HEADER, jobOf, agentOf as nodeAgentOf, rows } from '../hub/hub-process.ts';
import { eventually } from '../made/eventually.ts';
import { makeRecording, START, temporary } from '../make-recording.ts';
import { sharedPostgres, whyNoPostgres } from '../postgres/server.ts';
import { makeProcessRecording } from '../process-recording.ts';
import { pushRecordings } from '../victoria/push.ts';
import { startVictoria, whyNoVictoria } from '../victoria/server.ts';

const TOKEN = 'a-token-of-the-test';

async function asked(t: { after(done: () => unknown): void }, collection: Collection) {
  const { app } = await makeServer({ collection, token: TOKEN, page: temporary() });
  t.after(() => app.close());
  return async (url: string) => {
    const response = await app.inject({ url, headers: { authorization: `Bearer ${TOKEN}` } });
    return response.json();
  };
}

test('an archive answers from its index, and jobs that it lacks are worked out', async (t) => {
  const archive = temporary();
  const at = (id: string): string => path.join(archive, 'user=ada', `job=${id}`);
  const job = { user: 'ada', start: START, end: START + 60e6, state: 'completed' as const };
  await makeRecording({ folder: at('1'), job: { ...job, id: '1', account: 'physics' } });
  await buildIndex(archive);
  // the index is what answers: what it does not say is not looked up while the recording is as it was
  const [file] = fs.globSync(`${archive}/.tacho-index/jobs/*/*.parquet`);
  assert.ok(file !== undefined);
  await makeRecording({ folder: at('2'), job: { ...job, id: '2' } });
  const get = await asked(t, new FolderCollection([archive]));
  const { jobs } = await get('/api/jobs');
  assert.deepEqual(
    jobs.map(({ job: id, user, account, wall_seconds }: Record<string, unknown>) => [id, user, account, wall_seconds]),
    [
      ['1', 'ada', 'physics', 60],
      ['2', 'ada', undefined, 60],
    ],
  );
  assert.equal((await get(`/api/jobs/${jobs[0].id}`)).job.id, '1');
  // a recording that changed since is not taken from the index
  await makeRecording({ folder: at('1'), job: { ...job, id: '1', end: START + 90e6 } });
  await eventually('the changed job', async () => (await get('/api/jobs')).jobs[0].wall_seconds === 90);
});

test('a folder that vanishes is named, and its jobs are back when it is', async (t) => {
  const workFolder = temporary();
  const folder = path.join(workFolder, 'runs');
  await makeRecording({ folder: path.join(folder, 'tacho-1'), job: { id: '1' } });
  const get = await asked(t, new FolderCollection([folder]));
  const { jobs, troubles } = await get('/api/jobs');
  assert.deepEqual([jobs.length, troubles], [1, []]);
  fs.renameSync(folder, path.join(workFolder, 'away'));
  await eventually('the trouble', async () => (await get('/api/jobs')).troubles.length === 1);
  const gone = await get('/api/jobs');
  assert.deepEqual([gone.jobs, gone.troubles], [[], [`cannot open ${folder}: no such file or folder`]]);
  assert.equal((await get(`/api/jobs/${jobs[0].id}`)).title, 'there is no such job here');
  fs.renameSync(path.join(workFolder, 'away'), folder);
  await eventually('the jobs', async () => (await get('/api/jobs')).jobs.length === 1);
  assert.equal((await get(`/api/jobs/${jobs[0].id}`)).job.id, '1');
});

test('jobs of a store have the charts of the recording; one that does not answer is named', {
  skip: whyNoVictoria(),
}, async (t) => {
  const workFolder = temporary();
  const folder = await writeDemo({
    folder: path.join(workFolder, 'demo'),
    nodes: 1,
    gpus: 2,
    seconds: 120,
    live: true,
  });
  const victoria = await startVictoria();
  t.after(() => victoria.remove());
  await pushRecordings(victoria.url, workFolder);
  const get = await asked(t, new StoreCollection(victoria.url));
  const here = await asked(t, new FolderCollection([folder]));
  const [[stored], [own]] = [(await get('/api/jobs')).jobs, (await here('/api/jobs')).jobs];
  assert.deepEqual([stored.job, stored.user, stored.nodes, stored.start], [own.job, own.user, own.nodes, own.start]);
  const chart = async (ask: typeof get, id: string, name: string) =>
    (await ask(`/api/jobs/${id}/charts/${name}`)).band.mean;
  const gpu = await chart(get, stored.id, 'gpu');
  assert.ok(gpu.length > 50);
  assert.deepEqual(gpu, await chart(here, own.id, 'gpu'));
  // its nodes are known, and what the list lacks is said
  const named = async (ask: typeof get): Promise<unknown> => (await ask('/api/nodes')).nodes;
  assert.deepEqual([await named(get), stored.hosts], [await named(here), own.hosts]);
  assert.match((await get('/api/jobs')).lacks, /^A VictoriaMetrics lists jobs without their figures/);
  assert.equal((await here('/api/jobs')).lacks, undefined);
  assert.equal((await chart(get, stored.id, 'cpu')).length, (await chart(here, own.id, 'cpu')).length);
  const report = await get(`/api/jobs/${stored.id}`);
  assert.deepEqual([report.job.id, report.nodes.length], [own.job, 1]);
  await victoria.stop();
  await eventually('the trouble', async () => (await get('/api/jobs')).troubles.length === 1);
  const away = await get('/api/jobs');
  assert.match(away.troubles[0], /cannot reach the store .*: nobody listens there/);
  assert.equal(away.jobs.length, 1);
  await victoria.start();
  await eventually('the store', async () => (await get('/api/jobs')).troubles.length === 0);
});

test('jobs of a database have their report and processes, and no charts', { skip: whyNoPostgres() }, async (t) => {
  const server = await sharedPostgres();
  t.after(() => server.remove());
  const address = server.fresh();
  const database = await connect(address);
  await migrate(database);
  const processes = {
    c1: [
      { pid: 100, start: 0, end: 50, exename: 'bash', cpu: 1 },
      { pid: 101, ppid: 100, start: 1, end: 20, exename: 'cc1', cpu: 18 },
    ],
  };
  for (const id of ['17', '18'])
    await submitRecording(database, openRecording(await makeProcessRecording(processes, { id, user: 'ada' })));
  await database.close();
  const get = await asked(t, new DatabaseCollection(address));
  const { jobs, troubles } = await get('/api/jobs');
  assert.deepEqual(troubles, []);
  assert.deepEqual(
    jobs.map(({ job, user }: Record<string, string>) => [job, user]),
    [
      ['17', 'ada'],
      ['18', 'ada'],
    ],
  );
  const { id } = jobs[1];
  assert.equal((await get(`/api/jobs/${id}`)).job.id, '18');
  const { names, name, parent } = await get(`/api/jobs/${id}/processes`);
  assert.deepEqual(
    [name.map((each: number) => names[each]), parent],
    [
      ['bash', 'cc1'],
      [-1, 0],
    ],
  );
  assert.deepEqual(await get(`/api/jobs/${id}/charts`), []);
  assert.equal((await get(`/api/jobs/${id}/notes`)).writable, false);
  assert.equal((await get(`/api/compare?jobs=${jobs.map((job: { id: string }) => job.id)}`)).jobs.length, 2);
});

test('jobs that a hub receives are followed sample by sample', async (t) => {
  const hub = await startHub({ listen: '127.0.0.1:0', archive: path.join(temporary(), 'archive') });
  let isOpen = true;
  t.after(() => (isOpen ? hub.close() : undefined));
  const client = new Client(hub.address);
  t.after(() => client.close());
  const agent = nodeAgentOf('c1', {
    tables: [{ ...loadavgTable, columns: loadavgTable.columns.slice(0, 1) }] as never,
  });
  const { body } = await client.open({ node: 'c1', job: jobOf('4711', ['c1']), agent });
  await client.append([body.stream, 'loadavg', 1, 0, HEADER + rows(0, 30)]);
  const get = await asked(t, new HubCollection(new URL(hub.address), {}));
  const [job] = (await get('/api/jobs')).jobs;
  assert.deepEqual([job.job, job.user, job.state, job.nodes], ['4711', 'nobody', 'running', 1]);
  // where it is, not where its copy is
  assert.equal((await get(`/api/jobs/${job.id}`)).recording, job.path);
  assert.match(job.path, /^http:\/\/127\.0\.0\.1:\d+#/);
  const { body: other } = await client.open({ node: 'c1', job: jobOf('4712', ['c1', 'c2']), agent });
  await client.append([other.stream, 'loadavg', 1, 0, HEADER + rows(0, 30)]);
  await eventually('the other job', async () => (await get('/api/jobs')).jobs.length === 2);
  const { nodes, jobs: ran, now } = await get('/api/nodes');
  assert.deepEqual([nodes, ran.length, now[0].node], [['c1', 'c2'], 2, 'c1']);
  const load = (to: number) => get(`/api/jobs/${job.id}/charts/loadavg.load1?from=${BEGAN}&to=${BEGAN + to * 1e6}`);
  assert.deepEqual((await load(30)).band.max.slice(-2), [2.8, 2.9]);
  await client.append([body.stream, 'loadavg', 1, (HEADER + rows(0, 30)).length, rows(30, 10)]);
  await eventually('the new samples', async () => (await load(40)).band.max.at(-1) === 3.9);
  await client.record({ stream: body.stream, job: jobOf('4711', ['c1'], { state: 'completed', end: BEGAN + 40e6 }) });
  const over = { state: 'completed', end: BEGAN + 40e6 } as const;
  await client.record({ stream: other.stream, job: jobOf('4712', ['c1', 'c2'], over) });
  await eventually('the end', async () =>
    (await get('/api/jobs')).jobs.some((each: typeof job) => each.id === job.id && each.state === 'completed'),
  );
  // the same nodes at the same time
  const [neighbour] = await get(`/api/jobs/${job.id}/neighbours`);
  assert.deepEqual([neighbour.job, neighbour.nodes], ['4712', ['c1']]);
  isOpen = false;
  await hub.close();
  await eventually('the trouble', async () => (await get('/api/jobs')).troubles.length === 1);
  assert.match((await get('/api/jobs')).troubles[0], /cannot ask the hub http:\/\/127/);
});
