import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { tlsOptions, userName } from './trust.ts';

test('TLS needs both files, and a private key that not everybody can read', (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const [certificate, key] = [path.join(folder, 'cert'), path.join(folder, 'key')];
  fs.writeFileSync(certificate, 'C');
  fs.writeFileSync(key, 'K', { mode: 0o640 });
  const ask = (values: object) => tlsOptions(values as Parameters<typeof tlsOptions>[0]);
  assert.equal(ask({}), undefined);
  assert.throws(() => ask({ 'trust.certificate': certificate }), /both a certificate and its private key/);
  const both = { 'trust.certificate': certificate, 'trust.private_key': key };
  assert.deepEqual(ask(both), { cert: Buffer.from('C'), key: Buffer.from('K') });
  fs.chmodSync(key, 0o644);
  assert.throws(() => ask(both), /can be read by everybody/);
  assert.throws(() => ask({ ...both, 'trust.private_key': '/nowhere' }), /no such file/);
});

test('a user whom nobody knows goes by the number', async () => {
  assert.equal(await userName(0), 'root');
  assert.equal(await userName(3_999_999), '3999999');
});
