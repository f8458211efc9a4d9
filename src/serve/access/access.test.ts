import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { makeRecording, START, temporary } from '../../../test/make-recording.ts';
import { FolderCollection } from '../collections/folders.ts';
import { makeServer, type Server } from '../server.ts';
import type { Door } from './door.ts';
import { oidcDoor } from './oidc.ts';
import { proxyDoor } from './proxy-header.ts';
import { rolesOf } from './roles.ts';
import { Shares } from './shares.ts';

const ROLES = rolesOf(['root'], ['mary:physics', 'mary:chemistry']);
const PROXY = '192.0.2.7';

/** Three jobs: two of ada, one of them in an account, one of bob, and one whose job.json is damaged. */
let folder: string;
const servers: Server[] = [];

before(async () => {
  folder = temporary();
  const job = { start: START, end: START + 60e6, state: 'completed' as const };
  const make = (id: string, more: object) =>
    makeRecording({ folder: path.join(folder, `tacho-${id}`), job: { ...job, id, ...more } });
  await make('1', { user: 'ada', name: 'zephyr', account: 'physics', tags: { secret: 'plans' } });
  await make('2', { user: 'ada', name: 'rain' });
  await make('3', { user: 'bob', name: 'snow' });
  await make('4', { user: 'eve' });
  fs.writeFileSync(path.join(folder, 'tacho-4/job.json'), '{"format": 1, "id"');
});
after(() => Promise.all(servers.map(({ app }) => app.close())));

async function siteServer(
  door: Door = proxyDoor({ header: 'X-Remote-User', proxies: [PROXY], roles: ROLES }),
  file?: string,
) {
  const page = temporary();
  for (const name of ['index.html', 'app.js', 'app.css']) fs.writeFileSync(path.join(page, name), `<p>${name}</p>`);
  const server = await makeServer({ collection: new FolderCollection([folder]), door, page, shares: new Shares(file) });
  servers.push(server);
  const as =
    (user: string | undefined, more: Record<string, string> = {}, remoteAddress = PROXY) =>
    (url: string, method: 'GET' | 'POST' | 'DELETE' = 'GET', payload?: object) =>
      server.app.inject({
        url,
        method,
        remoteAddress,
        headers: { ...(user === undefined ? {} : { 'x-remote-user': user }), ...more },
        ...(payload === undefined ? {} : { payload }),
      });
  const jobsOf = async (user: string) =>
    (await as(user)('/api/jobs')).json().jobs.map(({ job }: { job: string }) => job) as string[];
  const { jobs } = (await as('root')('/api/jobs')).json() as { jobs: { id: string; job: string }[] };
  const idOf = (job: string): string => jobs.find((each) => each.job === job)!.id;
  return { server, as, jobsOf, idOf };
}

test('users see their own jobs, project managers those of their accounts, administrators all', async () => {
  const { jobsOf } = await siteServer();
  assert.deepEqual(await jobsOf('ada'), ['1', '2']);
  assert.deepEqual(await jobsOf('bob'), ['3']);
  assert.deepEqual(await jobsOf('mary'), ['1']);
  assert.deepEqual(await jobsOf('nobody'), []);
  // a job whose user is not known is nobody's
  assert.equal((await jobsOf('root')).length, 4);
});

test('every question about a job of somebody else is answered as if there were none', async () => {
  const { as, idOf, server } = await siteServer();
  const bob = as('bob');
  const theirs = idOf('1');
  const { paths } = (await as('root')('/api/openapi.json')).json() as { paths: Record<string, Record<string, object>> };
  let asked = 0;
  for (const [route, methods] of Object.entries(paths))
    for (const method of Object.keys(methods)) {
      const url = route.replace('{id}', theirs).replace('{chart}', 'loadavg.load1').replace('{share}', 'x');
      const query = route === '/api/compare' ? `?jobs=${theirs},${idOf('3')}` : '';
      const response = await bob(
        url + query,
        method.toUpperCase() as 'GET',
        method === 'post' ? { days: 1 } : undefined,
      );
      asked++;
      if (route.includes('{id}') || query !== '') {
        const isRefused = response.statusCode === 404 || (response.statusCode === 400 && method === 'post');
        assert.ok(isRefused, `${method} ${route}: ${response.statusCode}`);
      }
      assert.doesNotMatch(response.body, /zephyr|plans|"ada"|tacho-1/, `${method} ${route}`);
    }
  assert.ok(asked > 10);
  // the same questions of whoever it belongs to
  assert.equal((await as('ada')(`/api/jobs/${theirs}`)).statusCode, 200);
  const notes = await as('mary')(`/api/jobs/${theirs}/notes`);
  assert.deepEqual([notes.statusCode, notes.json().writable], [200, false]);
  const written = await as('mary')(`/api/jobs/${theirs}/notes`, 'POST', { tags: { a: 'b' } });
  assert.equal(written.statusCode, 403);
  assert.equal(server.shares.list().length, 0);
});

test('the user header is believed from the proxy alone', async () => {
  const { as } = await siteServer();
  for (const address of ['127.0.0.1', '192.0.2.8', '::1', '10.0.0.1']) {
    const forged = await as('root', {}, address)('/api/jobs');
    assert.deepEqual(
      [forged.statusCode, forged.json().title],
      [401, 'the header X-Remote-User counts only when it comes from the proxy in front'],
    );
    assert.equal(
      (await as('ada', { 'x-forwarded-for': PROXY, forwarded: `for=${PROXY}` }, address)('/api/jobs')).statusCode,
      401,
    );
  }
  assert.equal((await as(undefined)('/api/jobs')).json().title, 'the proxy in front does not say who asks');
  for (const name of ['', 'ada,root', 'ada root', '../ada', 'a'.repeat(300)])
    assert.equal((await as(name)('/api/jobs')).statusCode, 401, name);
  // a proxy that speaks IPv6 to an IPv4 address
  assert.equal((await as('ada', {}, `::ffff:${PROXY}`)('/api/jobs')).statusCode, 200);
});

test('over a Unix socket the header is believed, whatever else it says', async () => {
  const { server } = await siteServer(proxyDoor({ header: 'X-Remote-User', proxies: [], roles: ROLES }));
  const socketPath = path.join(temporary(), 's');
  await server.app.listen({ path: socketPath });
  const status = await new Promise<number>((resolve, reject) => {
    http
      .get({ socketPath, path: '/api/jobs', headers: { 'x-remote-user': 'ada' } }, (response) => {
        response.resume();
        resolve(response.statusCode!);
      })
      .on('error', reject);
  });
  assert.equal(status, 200);
});

test('a link opens one job, until it expires or is revoked, and outlives the server', async () => {
  const file = path.join(temporary(), 'shares.json');
  const { as, idOf } = await siteServer(undefined, file);
  const [own, other] = [idOf('1'), idOf('2')];
  const made = (await as('ada')(`/api/jobs/${own}/shares`, 'POST', { days: 7 })).json();
  assert.match(made.url, /^http:\/\/[^/]+\/share\/[\w-]{32}$/);
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.doesNotMatch(fs.readFileSync(file, 'utf8'), new RegExp(made.url.split('/').at(-1)));
  // whoever comes with the link, from anywhere, after the server was started again
  const again = await siteServer(undefined, file);
  const stranger = again.as(undefined, {}, '203.0.113.9');
  const first = await stranger(new URL(made.url).pathname);
  assert.deepEqual([first.statusCode, first.headers.location], [302, `/job/${own}`]);
  const cookie = String(first.headers['set-cookie']).split(';')[0]!;
  const guest = again.as(undefined, { cookie }, '203.0.113.9');
  assert.equal((await guest(`/api/jobs/${own}`)).json().job.id, '1');
  assert.equal((await guest(`/api/jobs/${own}/charts`)).statusCode, 200);
  assert.deepEqual(
    (await guest('/api/jobs')).json().jobs.map(({ job }: { job: string }) => job),
    ['1'],
  );
  assert.equal((await guest(`/api/jobs/${other}`)).statusCode, 404);
  assert.equal((await guest(`/api/compare?jobs=${own},${other}`)).statusCode, 404);
  assert.equal((await guest(`/api/jobs/${own}/notes`)).json().writable, false);
  assert.equal((await guest(`/api/jobs/${own}/notes`, 'POST', { tags: { a: 'b' } })).statusCode, 403);
  assert.equal((await guest(`/api/jobs/${own}/shares`, 'POST', { days: 1 })).statusCode, 403);
  assert.deepEqual((await guest('/api/shares')).json(), []);
  // who made it lists and revokes it; others cannot
  const [listed] = (await again.as('ada')('/api/shares')).json();
  assert.deepEqual([listed.id, listed.by, listed.state, listed.url], [made.id, 'ada', 'good', undefined]);
  assert.equal((await again.as('bob')(`/api/shares/${made.id}`, 'DELETE')).statusCode, 404);
  assert.equal((await again.as('ada')(`/api/shares/${made.id}`, 'DELETE')).json().state, 'revoked');
  const revoked = await guest(`/api/jobs/${own}`);
  assert.deepEqual([revoked.statusCode, revoked.json().title], [410, 'this link was revoked by whoever made it']);
  assert.equal((await stranger(new URL(made.url).pathname)).statusCode, 410);
});

test('an expired link says so in words, also to a browser', async () => {
  const { as, idOf, server } = await siteServer();
  const { secret } = server.shares.add({ job: idOf('1'), name: '1', by: 'ada', expires: START });
  const stranger = as(undefined, {}, '203.0.113.9');
  const expiryMessage = /this link expired on \d{4}-\d\d-\d\d \d\d:\d\d UTC: ask for a new one/;
  assert.match((await stranger(`/share/${secret}`)).json().title, expiryMessage);
  const page = await as(undefined, { accept: 'text/html' }, '203.0.113.9')(`/share/${secret}`);
  assert.match(String(page.headers['content-type']), /^text\/html/);
  assert.match(page.body, new RegExp(expiryMessage.source.replace('this', 'This')));
  const cookie = `tacho_links=${secret}`;
  assert.match((await as(undefined, { cookie }, '203.0.113.9')(`/api/jobs/${idOf('1')}`)).json().title, expiryMessage);
  assert.equal((await stranger('/share/no-such-link-at-all')).statusCode, 404);
  assert.equal((await stranger('/share/..%2f..%2fetc%2fpasswd')).statusCode, 404);
  assert.equal((await as('ada')(`/api/jobs/${idOf('1')}/shares`, 'POST', { days: 1e9 })).statusCode, 400);
  assert.equal((await as('bob')(`/api/jobs/${idOf('1')}/shares`, 'POST', { days: 1 })).statusCode, 404);
});

/** A real OpenID provider on a free port; whoever logs in is called as they say. */
async function startProvider(redirect: string) {
  const { default: Provider } = (await import('oidc-provider' as string)) as {
    default: new (...all: unknown[]) => { callback(): http.RequestListener };
  };
  const web = http.createServer();
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  const warnings = console.warn;
  console.warn = () => {};
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'tacho', client_secret: 'secret-of-tacho', redirect_uris: [redirect] }],
    claims: { openid: ['sub'], profile: ['preferred_username'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    cookies: { keys: ['a key'] },
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: id }) }),
  });
  console.warn = warnings;
  web.on('request', provider.callback());
  return { issuer: new URL(issuer), close: () => web.close() };
}

/** Goes where a browser would, with its cookies, until it is led to `until`. */
async function logIn(address: string, user: string, until: string): Promise<string> {
  const jar = new Map<string, string>();
  let [url, form] = [address, undefined as URLSearchParams | undefined];
  for (let i = 0; i < 20; i++) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map((pair) => pair.join('=')).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: form }),
    });
    for (const each of response.headers.getSetCookie()) {
      const [name, ...value] = each.split(';')[0]!.split('=');
      jar.set(name!, value.join('='));
    }
    const body = await response.text();
    const to = response.headers.get('location');
    if (to !== null) {
      url = new URL(to, url).href;
      if (url.startsWith(until)) return url;
      form = undefined;
      continue;
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(body)?.[1];
    const prompt = /name="prompt" value="(\w+)"/.exec(body)?.[1];
    assert.ok(action !== undefined && prompt !== undefined, body.slice(0, 500));
    url = new URL(action, url).href;
    form = new URLSearchParams({ prompt, ...(prompt === 'login' ? { login: user, password: 'x' } : {}) });
  }
  throw new Error('led around in circles');
}

test('users log in at an OpenID provider, and see their own jobs', async (t) => {
  const url = new URL('http://127.0.0.1:9/');
  const provider = await startProvider(`${url}auth/callback`);
  t.after(provider.close);
  const options = { issuer: provider.issuer, clientId: 'tacho', clientSecret: 'secret-of-tacho', url, roles: ROLES };
  const door = await oidcDoor({ ...options, claim: 'preferred_username', isInsecure: true });
  const page = temporary();
  fs.writeFileSync(path.join(page, 'index.html'), 'the page');
  const server = await makeServer({ collection: new FolderCollection([folder]), door, page, url });
  servers.push(server);
  const get = (address: string, headers: Record<string, string> = {}) => server.app.inject({ url: address, headers });
  assert.equal((await get('/api/jobs')).statusCode, 401);
  const sent = await get('/job/x?from=1', { accept: 'text/html' });
  assert.deepEqual([sent.statusCode, sent.headers.location], [302, '/auth/login?to=%2Fjob%2Fx%3Ffrom%3D1']);
  const begun = await get(String(sent.headers.location));
  const login = String(begun.headers['set-cookie']).split(';')[0]!;
  const back = await logIn(String(begun.headers.location), 'ada', `${url}auth/callback`);
  const { pathname, search } = new URL(back);
  // without the cookie of the browser that began it, nobody gets in: the address alone is worth nothing
  assert.equal((await get(pathname + search)).statusCode, 401);
  const done = await get(pathname + search, { cookie: login });
  assert.deepEqual([done.statusCode, done.headers.location], [302, '/job/x?from=1']);
  const session = String(done.headers['set-cookie']);
  assert.match(session, /^tacho_session=[\w-]{43}; HttpOnly; SameSite=Lax/);
  const cookie = session.split(';')[0]!;
  assert.deepEqual(
    (await get('/api/jobs', { cookie })).json().jobs.map(({ job }: { job: string }) => job),
    ['1', '2'],
  );
  // the answer of the provider counts once; a state that is another's does not count at all
  assert.equal((await get(pathname + search, { cookie: login })).statusCode, 401);
  const next = await get('/auth/login?to=//evil.example/');
  const other = String(next.headers['set-cookie']).split(';')[0]!;
  assert.equal((await get(pathname + search, { cookie: other })).statusCode, 401);
  assert.equal((await get('/api/jobs', { cookie: 'tacho_session=forged' })).statusCode, 401);
  const out = await server.app.inject({ url: '/auth/logout', method: 'POST', headers: { cookie } });
  assert.equal(out.statusCode, 204);
  assert.equal((await get('/api/jobs', { cookie })).statusCode, 401);
});
