import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { makeRecording, START, temporary } from '../../test/make-recording.ts';
import { makeServer } from './server.ts';

const TOKEN = 'a-token-of-the-test';
const headers = { authorization: `Bearer ${TOKEN}` };

async function serving(folder: string) {
  const page = temporary();
  for (const name of ['index.html', 'app.js', 'app.css']) fs.writeFileSync(path.join(page, name), `<p>${name}</p>`);
  const { app } = await makeServer({ folders: [folder], token: TOKEN, page });
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
      const answer = await app.inject({ url, headers: given });
      assert.equal(answer.statusCode, 401, url);
      assert.match(String(answer.headers['content-type']), /^application\/problem\+json/);
      assert.doesNotMatch(answer.body, /tacho-17|solve/);
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
      const answer = await get(url);
      assert.ok([400, 404].includes(answer.statusCode), `${url} ${answer.statusCode}`);
      assert.match(String(answer.headers['content-type']), /^application\/problem\+json/);
      assert.doesNotMatch(answer.body, /root:|node_modules/);
    }
});

test('a question that makes no sense is refused in words', async () => {
  const { get } = await oneJob();
  const { id } = (await get('/api/jobs')).json().jobs[0];
  const refused = async (query: string) => {
    const answer = await get(`/api/jobs/${id}/charts/${query}`);
    return [answer.statusCode, answer.json().title];
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
