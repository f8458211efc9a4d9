import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, appendRows, jobOf, makeRecording, START, temporary } from '../../test/make-recording.ts';
import { gpuTable, markerTable } from '../sources/tables.ts';
import { FolderCollection } from './collections/folders.ts';
import { makeServer } from './server.ts';

const TOKEN = 'a-token-of-the-test';
const headers = { authorization: `Bearer ${TOKEN}` };

async function serving(folder: string) {
  const page = temporary();
  for (const name of ['index.html', 'app.js', 'app.css']) fs.writeFileSync(path.join(page, name), `<p>${name}</p>`);
  const { app } = await makeServer({ collection: new FolderCollection([folder]), token: TOKEN, page });
  const get = (url: string, more: Record<string, string> = {}) => app.inject({ url, headers: { ...headers, ...more } });
  return { app, get };
}

async function oneJob() {
  const folder = temporary();
  const job = { id: '17', name: 'solve', user: 'ada', start: START, end: START + 60e6, state: 'completed' as const };
  await makeRecording({ folder: path.join(folder, 'tacho-17'), job });
  return { folder, ...(await serving(folder)) };
}

test('without the token of the address nothing is answered', async () => {
  const { app } = await oneJob();
  for (const url of ['/', '/api/jobs', '/app.js', '/nowhere', '/api/openapi.json'])
    for (const given of [{}, { authorization: 'Bearer wrong' }, { cookie: 'tacho_token=wrong' }]) {
      const response = await app.inject({ url, headers: given });
      assert.equal(response.statusCode, 401, url);
      assert.match(String(response.headers['content-type']), /^application\/problem\+json/);
      assert.doesNotMatch(response.body, /tacho-17|solve/);
    }
  const first = await app.inject({ url: `/job/x?from=1&token=${TOKEN}` });
  assert.deepEqual([first.statusCode, first.headers.location], [302, '/job/x?from=1']);
  assert.match(String(first.headers['set-cookie']), /HttpOnly; SameSite=Strict/);
  const cookie = String(first.headers['set-cookie']).split(';')[0]!;
  assert.equal((await app.inject({ url: '/api/jobs', headers: { cookie } })).statusCode, 200);
  // nobody is led elsewhere
  assert.equal((await app.inject({ url: `//evil.example/?token=${TOKEN}` })).headers.location, '/');
});

test('jobs that appear later are there by themselves, and those that vanish are gone', async () => {
  const { folder, get } = await oneJob();
  const { jobs } = (await get('/api/jobs')).json();
  assert.deepEqual(
    jobs.map(({ job, name, user, state, nodes }: Record<string, unknown>) => [job, name, user, state, nodes]),
    [['17', 'solve', 'ada', 'completed', 1]],
  );
  assert.equal((await get(`/api/jobs/${jobs[0].id}`)).json().job.id, '17');
  await makeRecording({ folder: path.join(folder, 'tacho-18'), job: { id: '18' } });
  await new Promise((done) => setTimeout(done, 1100));
  assert.deepEqual(
    (await get('/api/jobs')).json().jobs.map(({ job }: { job: string }) => job),
    ['17', '18'],
  );
  fs.rmSync(path.join(folder, 'tacho-17'), { recursive: true });
  const gone = await get(`/api/jobs/${jobs[0].id}`);
  assert.equal(gone.statusCode, 404);
  assert.equal(gone.json().title, 'there is no such job here');
});

test('no address leads out of the folders', async () => {
  const { get } = await oneJob();
  const escapes = [
    '..',
    '%2e%2e',
    '..%2f..%2fetc%2fpasswd',
    '/etc/passwd',
    '%00',
    'node=c1',
    'a'.repeat(150),
    '%E2%80%AE',
  ];
  for (const each of escapes)
    for (const url of [
      `/api/jobs/${each}`,
      `/api/jobs/${each}/charts`,
      `/api/jobs/${each}/charts/cpu`,
      `/files/x/${each}`,
    ]) {
      const response = await get(url);
      assert.ok([400, 404].includes(response.statusCode), `${url} ${response.statusCode}`);
      assert.match(String(response.headers['content-type']), /^application\/problem\+json/);
      assert.doesNotMatch(response.body, /root:|node_modules/);
    }
});

test('a question that makes no sense is refused in words', async () => {
  const { get } = await oneJob();
  const { id } = (await get('/api/jobs')).json().jobs[0];
  const refused = async (query: string) => {
    const response = await get(`/api/jobs/${id}/charts/${query}`);
    return [response.statusCode, response.json().title];
  };
  assert.deepEqual(await refused('nothing'), [404, 'there is no chart "nothing"']);
  assert.deepEqual(await refused('gpu'), [404, 'nothing was recorded for "GPU use" in this time']);
  assert.deepEqual(await refused('read?from=9&to=9'), [400, 'the time asked for is empty']);
  assert.equal((await refused('read?points=0'))[0], 400);
  assert.equal((await refused('read?from=x'))[0], 400);
});

test('every answer forbids the browser to fetch anything from elsewhere', async () => {
  const { get } = await oneJob();
  for (const url of ['/', '/api/jobs', '/nowhere']) {
    const policy = String((await get(url)).headers['content-security-policy']);
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /https?:|unsafe-eval|\*/);
  }
  const description = (await get('/api/openapi.json')).json();
  assert.equal(description.openapi, '3.1.0');
  assert.ok(description.paths['/api/jobs/{id}/charts/{chart}'].get);
});

/** A job of a minute with two GPUs, a step, a phase and a figure of merit. */
async function gpuJob() {
  const folder = temporary();
  const recording = path.join(folder, 'tacho-19');
  const nodePath = path.join(recording, 'node=c1');
  fs.mkdirSync(nodePath, { recursive: true });
  const steps = [{ id: '19.0', name: 'train', start: START + 5e6, end: START + 50e6 }];
  const job = jobOf({ nodes: ['c1'], start: START, end: START + 60e6, interval_seconds: 1, id: '19', steps });
  fs.writeFileSync(path.join(recording, 'job.json'), JSON.stringify(job));
  const rows = Array.from({ length: 60 }, (_, i) =>
    ['0', '1'].map((gpu) => ({
      time: START + i * 1e6,
      gpu,
      utilization_percent: gpu === '0' ? 40 : i === 30 ? 90 : 0,
      power_watts: 300,
    })),
  );
  await appendRows(nodePath, gpuTable, rows.flat());
  await appendRows(nodePath, markerTable, [
    { time: START + 10e6, action: 'begin', name: '<b>load</b>' },
    { time: START + 20e6, action: 'end', name: '<b>load</b>' },
    { time: START + 30e6, action: 'fom', name: 'loss', value: 0.25 },
  ]);
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf('c1', [gpuTable, markerTable])));
  const { app, get } = await serving(folder);
  const { id } = (await get('/api/jobs')).json().jobs[0];
  return { app, get: (url: string) => get(`/api/jobs/${id}${url}`), url: `/api/jobs/${id}`, recording };
}

test('the values behind a chart are a CSV file, and the chart is an SVG file', async () => {
  const { get } = await gpuJob();
  const csv = await get('/charts/gpu?download=csv&focus=c1');
  assert.equal(csv.headers['content-type'], 'text/csv; charset=utf-8');
  assert.equal(csv.headers['content-disposition'], 'attachment; filename="19-gpu.csv"');
  const lines = csv.body.split('\n');
  assert.equal(lines[0], 'time,node,gpu,min,mean,max');
  assert.equal(lines.length, 60 * 2 + 2);
  assert.ok(lines.includes(`${new Date(START / 1000 + 30_000).toISOString()},c1,1,90,90,90`));
  const svg = await get('/charts/gpu?download=svg&theme=dark');
  assert.equal(svg.headers['content-type'], 'image/svg+xml');
  assert.match(svg.body, /^<svg .*GPU use.*<\/svg>$/s);
  assert.equal((await get('/charts/gpu?download=exe')).statusCode, 400);
});

test('any column that was sampled is a chart; one series can stand in front of the others', async () => {
  const { get } = await gpuJob();
  const data = (await get('/charts/gpu.power_watts?as=band&focus=c1&focus_key=1')).json();
  assert.deepEqual([data.unit, data.count, data.series.length, data.focus.length], ['W', 2, 0, 1]);
  assert.equal(data.focus[0].key, '1');
  assert.equal(data.band.sum[30], 600);
  const { help, shows } = (await get('/charts/gpu.power_watts/facts')).json();
  assert.deepEqual([help, shows], [gpuTable.col.power_watts.help, ['gpu.power_watts']]);
  assert.equal((await get('/charts/gpu.vendor')).statusCode, 404);
  assert.equal((await get('/charts/marker.value')).statusCode, 404);
  const tables = (await get('/columns')).json();
  const power = tables[0].columns.find(({ name }: { name: string }) => name === 'power_watts');
  assert.deepEqual([power.unit, power.drawn], ['watts', true]);
});

test('steps, phases and figures of merit have their times; names are words, whatever they look like', async () => {
  const { spans, figures, left_out } = (await (await gpuJob()).get('/spans')).json();
  assert.deepEqual(spans, [
    { kind: 'step', name: 'train', from: START + 5e6, to: START + 50e6 },
    { kind: 'phase', name: '<b>load</b>', from: START + 10e6, to: START + 20e6, node: 'c1' },
  ]);
  assert.deepEqual(figures, [{ name: 'loss', node: 'c1', time: START + 30e6, value: '0.25' }]);
  assert.equal(left_out, 0);
});

test('notes and tags are written to the recording, and taken back', async () => {
  const { app, url, recording, get } = await gpuJob();
  const post = (payload: object) => app.inject({ method: 'POST', url: `${url}/notes`, headers, payload });
  const first = (await post({ annotations: { note: 'slow disk' }, tags: { case: 'a' } })).json();
  assert.deepEqual(first, { annotations: { note: 'slow disk' }, tags: { case: 'a' }, writable: true });
  assert.deepEqual(JSON.parse(fs.readFileSync(path.join(recording, 'job.json'), 'utf8')).annotations, {
    note: 'slow disk',
  });
  assert.deepEqual((await post({ remove: ['note'] })).json().annotations, {});
  assert.deepEqual((await get('/notes')).json(), { annotations: {}, tags: { case: 'a' }, writable: true });
  assert.equal((await post({ annotations: { '': 'x' } })).statusCode, 400);
  assert.equal((await post({ path: '/etc/passwd' })).statusCode, 400);
  const without = await app.inject({ method: 'POST', url: `${url}/notes`, payload: { tags: { a: 'b' } } });
  assert.equal(without.statusCode, 401);
});

test('jobs are compared as tacho compare does; one alone, too many or an unknown one are refused', async () => {
  const { folder, get } = await oneJob();
  const job = { id: '18', name: 'solve', start: START, end: START + 90e6 };
  await makeRecording({ folder: path.join(folder, 'tacho-18'), job });
  await new Promise((done) => setTimeout(done, 1100));
  const ids = (await get('/api/jobs')).json().jobs.map(({ id }: { id: string }) => id) as string[];
  const { jobs, differences } = (await get(`/api/compare?jobs=${ids.join(',')}`)).json();
  assert.deepEqual(
    jobs.map(({ id, duration }: { id: string; duration: number }) => [id, duration]),
    [
      ['17', 60e6],
      ['18', 90e6],
    ],
  );
  assert.deepEqual(differences, [0, 30e6]);
  const refused = async (query: string) => (await get(`/api/compare?jobs=${query}`)).statusCode;
  assert.equal(await refused(ids[0]!), 400);
  assert.equal(await refused(`${ids[0]},${ids[0]}`), 400);
  assert.equal(await refused('a,b,c,d,e,f,g'), 400);
  assert.equal(await refused(`${ids[0]},..%2f..`), 404);
});
