import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { HubLink } from '../src/sinks/hub/link.ts';
import { NO_CREDENTIALS } from '../src/trust/identity.ts';
import { type Certificate, issue, makeAuthority, whyNoCertificates } from './hub/certificates.ts';
import { startHubProcess } from './hub/hub-process.ts';
import { eventually } from './made/eventually.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

const skip = whyNoCertificates();
const HERE = 'IP:127.0.0.1';

const startTlsHub = (t: TestContext, archive: string, { certificate, key }: Certificate, args: string[] = []) =>
  startHubProcess(t, archive, ['--trust-certificate', certificate, '--trust-private-key', key, ...args]);

/** Why a link with these authorities gets no answer. */
async function refusal(address: string, ca?: string): Promise<string> {
  const trusted = ca === undefined ? {} : { ca: fs.readFileSync(ca) };
  const link = new HubLink(new URL(address), { credentials: NO_CREDENTIALS, node: 'c1', ...trusted });
  try {
    await link.post('/v1/append', Buffer.from('x'));
    return 'it answered';
  } catch (error) {
    return (error as Error).message;
  } finally {
    link.close();
  }
}

test('an agent sends over TLS, with a token, to a hub whose authority it was told of; tacho ls asks the same way', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string): string => path.join(folder, name);
  const ca = makeAuthority(folder, 'site');
  const key = at('hub.key');
  tacho(['token', 'key', key]);
  const token = (kind: string, name: string): string => {
    const { out } = tacho(['token', kind, name, '--trust-key-file', key]);
    fs.writeFileSync(at(`${name}.token`), out, { mode: 0o600 });
    return at(`${name}.token`);
  };
  const trust = ['--trust', 'token', '--trust-key-file', key];
  const hub = await startTlsHub(t, at('archive'), issue(folder, 'site', HERE), trust);
  assert.match(hub.address, /^https:/);
  const folderOptions = ['--spool', at('spool'), '--jobs', at('jobs'), '--node', 'c1', '--hooks-only'];
  const proof = (file: string): string[] => ['--trust', 'token', '--trust-token-file', file, '--trust-ca', ca];
  const agent = spawn(
    TACHO,
    [
      'agent',
      ...folderOptions,
      '--idle-interval',
      '1s',
      '--only',
      'loadavg',
      '--hub',
      hub.address,
      ...proof(token('node', 'c1')),
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => agent.once('exit', resolve));
  t.after(() => agent.kill('SIGKILL'));
  const files = (): string[] => fs.globSync('fleet/day=*/node=c1/loadavg.csv', { cwd: at('archive') });
  const rows = (): number =>
    files().reduce(
      (sum, file) => sum + fs.readFileSync(path.join(at('archive'), file), 'utf8').split('\n').length - 2,
      0,
    );
  await eventually('three samples at the hub', () => rows() >= 3);
  assert.ok(rows() >= 3, 'samples have come');
  const ls = tacho(['nodes', hub.address, '--format', 'json', ...proof(token('administrator', 'boss'))]);
  assert.equal(ls.code, 0, ls.err);
  assert.ok(
    JSON.parse(ls.out).some((line: { table: string; node: string }) => line.table === 'loadavg' && line.node === 'c1'),
  );
  // the same hub for somebody who was not told of the authority
  const stranger = tacho(['nodes', hub.address, '--trust', 'token', '--trust-token-file', at('boss.token')]);
  assert.equal(stranger.code, 1);
  assert.match(stranger.err, /not issued by an authority that is trusted here: give --trust-ca FILE/);
  agent.kill('SIGTERM');
  await ended;
  assert.equal(await hub.kill('SIGTERM'), 0);
});

test('certificates of another authority, of another name and of the past are refused, and it is said why', {
  skip,
}, async (t) => {
  const folder = temporaryFolder(t);
  const site = makeAuthority(folder, 'site');
  const other = makeAuthority(folder, 'other');
  const hub = (name: string, certificate: Certificate) => startTlsHub(t, path.join(folder, name), certificate);
  const good = await hub('good', issue(folder, 'site', HERE));
  assert.match(await refusal(good.address, site), /these are no samples/);
  assert.match(await refusal(good.address, other), /not issued by an authority that is trusted here/);
  assert.match(await refusal(good.address), /not issued by an authority that is trusted here/);
  const elsewhere = await hub('elsewhere', issue(folder, 'site', 'DNS:hub.example.org'));
  assert.equal(await refusal(elsewhere.address, site), 'its certificate is for another name (hub.example.org)');
  const old = await hub('old', issue(folder, 'site', HERE, true));
  assert.equal(await refusal(old.address, site), 'its certificate has expired');
  assert.match(tacho(['nodes', old.address, '--trust-ca', site]).err, /its certificate has expired/);
});

test('http where https is spoken, and the other way round', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  makeAuthority(folder, 'site');
  const secure = await startTlsHub(t, path.join(folder, 'secure'), issue(folder, 'site', HERE));
  const plain = await startHubProcess(t, path.join(folder, 'plain'));
  assert.match(
    await refusal(plain.address.replace('http:', 'https:')),
    /does not speak TLS|closed (the connection|it)/,
  );
  assert.match(
    await refusal(secure.address.replace('https:', 'http:')),
    /closed it without an answer: it speaks TLS \(https:.*or has too many connections/,
  );
});

test('a certificate without its key, or one that is none, keeps a hub from starting', { skip }, (t) => {
  const folder = temporaryFolder(t);
  makeAuthority(folder, 'site');
  const { certificate, key } = issue(folder, 'site', HERE);
  const start = (...args: string[]) =>
    tacho(['hub', '--listen', '127.0.0.1:0', '--archive', path.join(folder, 'archive'), ...args]);
  const alone = start('--trust-certificate', certificate);
  assert.equal(alone.code, 2);
  assert.match(alone.err, /both a certificate and its private key/);
  fs.chmodSync(certificate, 0o600);
  const swapped = start('--trust-certificate', key, '--trust-private-key', certificate);
  assert.equal(swapped.code, 1);
  assert.match(swapped.err, /certificate|private key/);
  assert.doesNotMatch(swapped.err, /\n\s+at /);
});
