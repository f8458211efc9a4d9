import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { FolderCollection } from '../src/serve/collections/folders.ts';
import { makeServer } from '../src/serve/server.ts';
import { makeRecording, temporary } from './make-recording.ts';
import { TACHO } from './tacho.ts';

const PACKAGING = path.join(import.meta.dirname, '../packaging');
const textOf = (name: string): string => fs.readFileSync(path.join(PACKAGING, name), 'utf8');
const lacks = (program: string): string | false =>
  spawnSync('sh', ['-c', `command -v ${program}`]).status === 0 ? false : `needs ${program}`;

test('systemd has nothing to say against the unit of the page', { skip: lacks('systemd-analyze') }, () => {
  const file = path.join(temporary(), 'tacho-serve.service');
  fs.writeFileSync(file, textOf('systemd/tacho-serve.service').replaceAll('/opt/tacho/tacho', TACHO));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
});

test('nginx takes its example', { skip: lacks('nginx') || lacks('openssl') }, () => {
  const folder = temporary();
  const [key, certificate, users] = ['key', 'pem', 'users'].map((name) => path.join(folder, name));
  const subject = ['-subj', '/CN=tacho.site', '-keyout', key!, '-out', certificate!];
  assert.equal(spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject]).status, 0);
  fs.writeFileSync(users!, '');
  const site = textOf('nginx/tacho-serve.conf')
    .replaceAll('/etc/ssl/certs/tacho.site.pem', certificate!)
    .replaceAll('/etc/ssl/private/tacho.site.key', key!)
    .replaceAll('/etc/nginx/tacho.users', users!)
    .replaceAll(/listen \d+ ssl/g, (line) => line.replace(/\d+/, (port) => `127.0.0.1:${Number(port) + 40_000}`));
  const temporaries = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  fs.writeFileSync(
    path.join(folder, 'nginx.conf'),
    `pid ${folder}/pid; events {} http { access_log off; ${temporaries.join(' ')} ${site} }`,
  );
  const { status, stderr } = spawnSync('nginx', ['-t', '-e', 'stderr', '-c', path.join(folder, 'nginx.conf')], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
});

test('nginx sets the user itself wherever it passes a request on', () => {
  const passes = textOf('nginx/tacho-serve.conf').split('proxy_pass').slice(1);
  assert.equal(passes.length, 2);
  assert.match(passes[0]!, /proxy_set_header X-Remote-User \$remote_user;/);
  assert.match(passes[1]!, /proxy_set_header X-Remote-User "";/);
});

test('the scripts of the Open OnDemand app are shell, and its flags are those of the program', () => {
  for (const name of ['before.sh.erb', 'script.sh.erb']) {
    const script = textOf(`ondemand/template/${name}`).replaceAll(/<%=.*?%>/g, 'x');
    const { status, stderr } = spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, ''], name);
  }
  const help = spawnSync(TACHO, ['serve', '--help'], { encoding: 'utf8' }).stdout;
  for (const file of ['ondemand/template/script.sh.erb', 'systemd/tacho-serve.service'])
    for (const [flag] of textOf(file).matchAll(/--serve-[\w-]+|--archive/g))
      assert.ok(help.includes(flag), `${file}: ${flag}`);
  assert.deepEqual(
    [...textOf('ondemand/form.yml').matchAll(/^ {2}- (\w+)$/gm)].map(([, name]) => name),
    ['folder', 'bc_num_hours', 'bc_queue'],
  );
});

test('below a path of a proxy, all that the page names lies below it', async () => {
  const page = temporary();
  fs.copyFileSync(path.join(import.meta.dirname, '../web/index.html'), path.join(page, 'index.html'));
  const folder = path.dirname(await makeRecording());
  const url = new URL('https://ondemand.site/rnode/c1/8080');
  const { app, shares } = await makeServer({
    collection: new FolderCollection([folder]),
    token: 'secret-token',
    page,
    url,
  });
  const get = (address: string) => app.inject({ url: address, headers: { authorization: 'Bearer secret-token' } });
  const { body } = await get('/');
  assert.match(body, /<meta name="tacho-base" content="\/rnode\/c1\/8080">/);
  assert.deepEqual(
    [...body.matchAll(/(?:href|src)="(\/[^"]*)"/g)].map(([, each]) => each),
    ['/rnode/c1/8080/app.css', '/rnode/c1/8080/app.js'],
  );
  const first = await app.inject({ url: '/?token=secret-token' });
  assert.equal(first.headers.location, '/rnode/c1/8080/');
  assert.match(String(first.headers['set-cookie']), /Path=\/rnode\/c1\/8080$/);
  const { secret } = shares.add({ job: 'x', name: '', by: '', expires: Date.now() * 1000 + 1e9 });
  assert.equal((await app.inject({ url: `/share/${secret}` })).headers.location, '/rnode/c1/8080/job/x');
  const evil = new URL('https://site/"><script>');
  const made = makeServer({ collection: new FolderCollection([folder]), token: 'secret-token', page, url: evil });
  await made.then(
    async ({ app: server }) =>
      assert.doesNotMatch(
        (await server.inject({ url: '/', headers: { authorization: 'Bearer secret-token' } })).body,
        /"><script>/,
      ),
    (error: Error) => assert.match(error.message, /cannot be the path of a page/),
  );
  await app.close();
});
