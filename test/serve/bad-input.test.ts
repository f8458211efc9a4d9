import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import * as net from 'node:net';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { proxyDoor } from '../../src/serve/access/proxy-header.ts';
import { rolesOf } from '../../src/serve/access/roles.ts';
import { FolderCollection } from '../../src/serve/collections/folders.ts';
import { makeServer, type Server } from '../../src/serve/server.ts';
import { loadavgTable, markerTable } from '../../src/sources/tables.ts';
import { eventually } from '../made/eventually.ts';
import { agentOf, appendRows, diskTable, loadTable, makeRecording, START, temporary } from '../make-recording.ts';

/** Section 6 of what the page must bear: it says what is wrong in words, recovers, and shows nothing that is not theirs. */

const HTML = '<img src=x onerror=alert(1)>';
const LONG = 'n'.repeat(10_000);
const headers = { 'x-remote-user': 'ada' };
let server: Server;
let folder: string;
let ids: Map<string, string>;
let address: string;

const get = (url: string, more: Record<string, string> = {}) =>
  server.app.inject({ url, headers: { ...headers, ...more }, remoteAddress: '192.0.2.7' });

before(async () => {
  folder = temporary();
  const job = { user: 'ada', start: START, end: START + 60e6, state: 'completed' as const };
  const at = (id: string): string => path.join(folder, `tacho-${id}`);
  await makeRecording({ folder: at('1'), job: { ...job, id: '1' } });
  await makeRecording({ folder: at('2'), job: { ...job, id: '2', name: LONG } });
  await makeRecording({ folder: at('3'), job: { ...job, id: '3', name: HTML, tags: { [HTML]: HTML } } });
  const node = path.join(at('3'), 'node=c1');
  await appendRows(node, markerTable, [
    { time: START + 10e6, action: 'begin', name: HTML },
    { time: START + 20e6, action: 'end', name: HTML },
  ]);
  fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agentOf('c1', [diskTable, loadTable, markerTable])));
  await makeRecording({ folder: at('4'), job: { ...job, id: '4' } });
  fs.appendFileSync(path.join(at('4'), 'node=c1/load.csv'), '\0\0\0garbage\n,,,,\n');
  await makeRecording({ folder: at('5'), job: { ...job, id: '5', user: 'bob', name: 'of-somebody-else' } });
  await makeRecording({ folder: at('6'), job: { id: '6', user: 'ada', start: START } });
  await appendRows(path.join(at('6'), 'node=c1'), loadavgTable, [{ time: START + 60e6, load1: 2 }]);
  const { end: _, end_reason: __, ...running } = agentOf('c1', [diskTable, loadTable, loadavgTable]);
  fs.writeFileSync(path.join(at('6'), 'node=c1/agent.json'), JSON.stringify(running));
  await makeRecording({ folder: at('7'), job: { ...job, id: '7' } });
  fs.writeFileSync(path.join(at('7'), 'node=c1/agent.json'), '{"format":');
  fs.writeFileSync(path.join(folder, 'outside.txt'), 'a file that is no recording');
  const door = proxyDoor({ header: 'X-Remote-User', proxies: ['192.0.2.7', '127.0.0.1'], roles: rolesOf([], []) });
  const page = temporary();
  for (const name of ['index.html', 'app.js', 'app.css']) fs.writeFileSync(path.join(page, name), name);
  server = await makeServer({ collection: new FolderCollection([folder]), door, page });
  await server.app.listen({ host: '127.0.0.1', port: 0 });
  address = `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}`;
  const { jobs } = (await get('/api/jobs')).json() as { jobs: { id: string; job: string }[] };
  ids = new Map(jobs.map(({ id, job: name }) => [name, id]));
});
after(() => server.app.close());

test('a damaged recording is shown with what is left of it, and the damage is named', async () => {
  const id = ids.get('4')!;
  const report = await get(`/api/jobs/${id}`);
  assert.equal(report.statusCode, 200);
  const lost = await get(`/api/jobs/${ids.get('7')}`);
  assert.match(lost.body, /cannot read [^"]*agent\.json: it is damaged/);
  const chart = await get(`/api/jobs/${id}/charts/load.load1`);
  assert.equal(chart.statusCode, 200, chart.body);
  assert.equal(chart.json().band.max.at(-1), 59 / 4);
});

test('an unknown job in a link, and one of somebody else, are the same words', async () => {
  const other = await import('../../src/serve/collections/collection.ts');
  const theirs = other.idOf(path.join(folder, 'tacho-5'));
  for (const id of ['none', theirs]) {
    const response = await get(`/api/jobs/${id}`);
    assert.deepEqual([response.statusCode, response.json().title], [404, 'there is no such job here']);
  }
  // the page itself is there, to say so
  assert.equal((await get('/job/none')).body, 'index.html');
});

test('HTML in markers, names and tags is data, and never sent as a page', async () => {
  const id = ids.get('3')!;
  for (const [url, where] of [
    ['/api/jobs', (body: string) => JSON.parse(body).jobs.find((one: { id: string }) => one.id === id).name],
    [`/api/jobs/${id}/spans`, (body: string) => JSON.parse(body).spans[0].name],
    [`/api/jobs/${id}/notes`, (body: string) => Object.keys(JSON.parse(body).tags)[0]],
  ] as const) {
    const response = await get(url);
    assert.match(String(response.headers['content-type']), /^application\/json/);
    assert.equal(response.headers['x-content-type-options'], 'nosniff');
    assert.equal(where(response.body), HTML);
  }
  const file = await get(`/api/jobs/${id}/charts/load.load1?download=svg`);
  assert.doesNotMatch(file.body, /<img/);
  const wrong = await get(`/${HTML}`, { accept: 'text/html' });
  assert.equal(wrong.statusCode, 404);
  assert.doesNotMatch(wrong.body, /<img/);
});

test('a name of 10,000 characters is told whole', async () => {
  const { jobs } = (await get('/api/jobs')).json();
  assert.equal(jobs.find(({ job }: { job: string }) => job === '2').name, LONG);
  assert.equal((await get(`/api/jobs/${ids.get('2')}`)).json().job.name, LONG);
});

test('a time range of zero is refused, and one of a year has no more values than steps', async () => {
  const chart = (from: number, to: number, more = '') =>
    get(`/api/jobs/${ids.get('1')}/charts/load.load1?from=${from}&to=${to}${more}`);
  assert.equal((await chart(START, START)).json().title, 'the time asked for is empty');
  assert.equal((await chart(START + 9, START)).statusCode, 400);
  const year = await chart(START - 180 * 86_400e6, START + 180 * 86_400e6);
  assert.equal(year.statusCode, 200, year.body);
  const { band } = year.json();
  assert.ok(band.max.length <= 302);
  assert.equal(Math.max(...band.max), 59 / 4);
  assert.equal((await chart(START - 10, START - 5)).statusCode, 404);
  assert.equal((await chart(0, Number.MAX_SAFE_INTEGER, '&points=4000')).statusCode, 200);
  for (const wrong of ['-1', '1e400', 'NaN', 'x', '1.5'])
    assert.equal((await get(`/api/jobs/${ids.get('1')}/charts/load.load1?from=${wrong}`)).statusCode, 400, wrong);
});

/** Follows a job as a browser does; `next` waits for the next event. */
function follow(id: string) {
  const notices: { last: number | null; trouble?: string }[] = [];
  const request = http.get(`${address}/api/jobs/${id}/live`, { headers }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
        if (data !== undefined) notices.push(JSON.parse(data));
        text = text.slice(end + 2);
      }
    });
  });
  request.on('error', () => {});
  return { notices, close: () => request.destroy() };
}

test('50 browsers at once follow a job, and each is told of a new sample', async () => {
  const id = ids.get('6')!;
  const browsers = Array.from({ length: 50 }, () => follow(id));
  await eventually('a first notice for each', () => browsers.every(({ notices }) => notices.length > 0));
  const charts = await Promise.all(
    browsers.map(() => fetch(`${address}/api/jobs/${id}/charts/load.load1`, { headers })),
  );
  assert.ok(charts.every(({ status }) => status === 200));
  const before = browsers[0]!.notices.at(-1)!.last!;
  await appendRows(path.join(folder, 'tacho-6/node=c1'), loadavgTable, [{ time: START + 100e6, load1: 3 }]);
  await eventually('the new sample', () => browsers.every(({ notices }) => notices.at(-1)!.last! > before));
  for (const { close } of browsers) close();
});

test('a folder that vanishes while a job is followed is told of, and the job is back when it is', async () => {
  const id = ids.get('6')!;
  const { notices, close } = follow(id);
  await eventually('a notice', () => notices.length > 0);
  const [there, away] = [path.join(folder, 'tacho-6'), path.join(folder, '.away')];
  fs.renameSync(there, away);
  await eventually('the trouble', () => notices.at(-1)!.trouble === 'there is no such job here');
  fs.renameSync(away, there);
  await eventually('the job', () => notices.at(-1)!.trouble === undefined);
  close();
});

/** What somebody might try in place of an id, a name or a number. */
const escapes = fc.oneof(
  fc.constantFrom(
    ...['..', '../..', '../../etc/passwd', '/etc/passwd', '..%2f..%2fetc%2fpasswd', '%2e%2e/', '....//', '\\..\\..'],
    ...['file:///etc/passwd', '\0', 'node=c1', 'tacho-5', '../outside.txt', 'outside.txt', 'tacho-5/job.json'],
    ...["' or 1=1 --", '{{7*7}}', '<script>', '__proto__', 'constructor', 'toString', '-1', '1e999'],
  ),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc
    .tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom('etc/passwd', 'proc/self/environ', 'outside.txt'))
    .map(([depth, file]) => '../'.repeat(depth) + file),
);

interface Parameter {
  in: 'path' | 'query';
  name: string;
}

test('no parameter of any question leads out of the folders or to others', async () => {
  const { paths } = (await get('/api/openapi.json')).json() as {
    paths: Record<string, Record<string, { parameters?: Parameter[] }>>;
  };
  const routes = Object.entries(paths).flatMap(([route, methods]) =>
    Object.entries(methods)
      .filter(([, { parameters = [] }]) => parameters.length > 0)
      .map(([method, { parameters = [] }]) => ({ route, method, parameters })),
  );
  assert.ok(routes.length >= 8);
  const own = ids.get('1')!;
  const usual: Record<string, string> = {
    id: own,
    chart: 'load.load1',
    jobs: `${own},${ids.get('2')}`,
    share: 'x',
    name: 'x',
  };
  const theirs = /root:|of-somebody-else|no recording|node_modules|at .*\.ts:\d+/;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...routes),
      fc.nat(),
      escapes,
      async ({ route, method, parameters }, at, value) => {
        const tried = parameters[at % parameters.length]!;
        const given = ({ name }: Parameter): string =>
          encodeURIComponent(name === tried.name ? value : (usual[name] ?? ''));
        let url = route;
        for (const each of parameters) if (each.in === 'path') url = url.replace(`{${each.name}}`, given(each));
        const query = parameters.filter(
          (each) => each.in === 'query' && (each === tried || usual[each.name] !== undefined),
        );
        url += `?${query.map((each) => `${each.name}=${given(each)}`).join('&')}`;
        // a stream that is followed never ends
        if (url.startsWith(`/api/jobs/${own}/live`)) return;
        const body = method === 'post' ? { payload: { days: 1 } } : {};
        const response = await server.app.inject({
          url,
          method: method as 'GET',
          headers,
          remoteAddress: '192.0.2.7',
          ...body,
        });
        assert.ok(response.statusCode < 500, `${method} ${url}: ${response.statusCode} ${response.body.slice(0, 300)}`);
        if (response.statusCode >= 400)
          assert.match(String(response.headers['content-type']), /^application\/problem\+json/, url);
        assert.doesNotMatch(response.body, theirs, url);
      },
    ),
    { numRuns: 400 },
  );
});

test('an address that cannot be read is a problem like others, with the same headers', async () => {
  for (const [url, status] of [
    ['/api/jobs/%c0%ae%c0%ae', 400],
    [`/api/jobs/${ids.get('1')}/charts/%zz/facts`, 400],
  ] as const) {
    const response = await get(url);
    assert.equal(response.statusCode, status, url);
    assert.match(String(response.headers['content-type']), /^application\/problem\+json/, url);
    assert.match(String(response.headers['content-security-policy']), /^default-src 'none'/, url);
    assert.match((response.json() as { title: string }).title, /^the address cannot be read/, url);
  }
});

test('an address of slashes alone is no error of the server, and leads nobody elsewhere', async (t) => {
  const page = temporary();
  fs.writeFileSync(path.join(page, 'index.html'), 'page');
  const { app } = await makeServer({ collection: new FolderCollection([folder]), token: 'the-token', page });
  t.after(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const ask = (path: string): Promise<http.IncomingMessage> =>
    new Promise((resolve, reject) => {
      http.get({ host: '127.0.0.1', port, path }, (response) => resolve(response.resume())).on('error', reject);
    });
  for (const url of ['//', '///', '/\\', '//?token=wrong']) assert.equal((await ask(url)).statusCode, 401, url);
  for (const url of ['//?token=the-token', '//evil.site/?token=the-token', '/\\evil.site/?token=the-token']) {
    const { statusCode, headers: answered } = await ask(url);
    assert.deepEqual([url, statusCode, answered.location], [url, 302, '/']);
  }
});

test('what is no HTTP, or too much of it, is a problem like others', async () => {
  const port = Number(new URL(address).port);
  for (const [sent, status, title] of [
    ['GARBAGE\r\n\r\n', 400, 'this is no request of HTTP'],
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`, 431, 'the headers of the request are too long'],
  ] as const) {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(sent);
    let text = '';
    for await (const chunk of socket.setEncoding('utf8')) text += chunk;
    const [head, body] = text.split('\r\n\r\n') as [string, string];
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `));
    assert.match(head, /Content-Type: application\/problem\+json/);
    assert.deepEqual(JSON.parse(body), { type: 'about:blank', title, status });
  }
});

test('a part of the page that is gone, and notes that are not theirs to write, are said in words', async () => {
  const script = await get('/part-ABCDEF.js');
  assert.deepEqual(
    [script.statusCode, script.json().title],
    [404, 'the page has no part-ABCDEF.js any more: load it again'],
  );
  const door = proxyDoor({
    header: 'X-Remote-User',
    proxies: ['192.0.2.7'],
    roles: rolesOf([], ['mia:physics']),
  });
  const physics = temporary();
  await makeRecording({
    folder: path.join(physics, 'tacho-9'),
    job: { id: '9', user: 'ada', account: 'physics', start: START, end: START + 60e6 },
  });
  const { app } = await makeServer({ collection: new FolderCollection([physics]), door, page: physics });
  const as = { headers: { 'x-remote-user': 'mia' }, remoteAddress: '192.0.2.7' };
  const [{ id }] = (await app.inject({ url: '/api/jobs', ...as })).json().jobs;
  const response = await app.inject({
    method: 'POST',
    url: `/api/jobs/${id}/notes`,
    payload: { tags: { a: 'b' } },
    ...as,
  });
  assert.deepEqual([response.statusCode, response.json().title], [403, 'only the owner of a job can annotate it']);
  await app.close();
});

test('notes beyond what a job keeps are refused, and the job stays as it was', async () => {
  const id = ids.get('1')!;
  const post = (payload: object) =>
    server.app.inject({ method: 'POST', url: `/api/jobs/${id}/notes`, headers, remoteAddress: '192.0.2.7', payload });
  const texts = (name: string) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`${name}${i}`, 'x'.repeat(9999)]));
  assert.equal((await post({ annotations: texts('a') })).statusCode, 200);
  const refused = await post({ annotations: texts('b') });
  assert.equal(refused.statusCode, 409);
  assert.match(
    refused.json().title,
    /^the annotations and tags of job 1 would have 39\d KiB; at most 256 KiB are kept/,
  );
  const { annotations } = (await get(`/api/jobs/${id}/notes`)).json();
  assert.equal(Object.keys(annotations).length, 20);
  // they can be taken back
  assert.equal((await post({ remove: Object.keys(texts('a')) })).statusCode, 200);
  assert.equal((await get(`/api/jobs/${id}`)).json().job.id, '1');
});

test('a forged user header, and headers that proxies set, show nothing', async () => {
  for (const forged of [{ 'x-remote-user': 'bob' }, { 'x-remote-user': 'bob', 'x-forwarded-for': '192.0.2.7' }]) {
    const response = await server.app.inject({ url: '/api/jobs', headers: forged, remoteAddress: '203.0.113.9' });
    assert.equal(response.statusCode, 401);
    assert.doesNotMatch(response.body, /of-somebody-else/);
  }
});
