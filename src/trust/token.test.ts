import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { openCredentials, openGatekeeper } from './gatekeeper.ts';
import { Refused } from './identity.ts';
import { isSameSecret, makeKey, makeToken, readKey, readToken } from './token.ts';

const nobody = (): Promise<string> => Promise.reject(new Error('not asked'));

test('a token says what it was made for, whatever the name', () => {
  const key = Buffer.alloc(32, 7);
  fc.assert(
    fc.property(fc.constantFrom('node', 'user', 'administrator'), fc.string({ unit: 'grapheme' }), (kind, name) => {
      assert.deepEqual(readToken(key, makeToken(key, { kind, name })), { kind, name });
    }),
  );
});

test('a token counts until its time has run out, and says when that was', () => {
  const key = Buffer.alloc(32, 7);
  const claim = { kind: 'node', name: 'c1', until: 1_800_000_000 } as const;
  const token = makeToken(key, claim);
  assert.match(token, /^node:c1:1800000000\.[\w-]{43}$/);
  assert.deepEqual(readToken(key, token, claim.until - 1), claim);
  assert.throws(
    () => readToken(key, token, claim.until),
    (error: unknown) => error instanceof Refused && /token of node c1 expired at 2027-01-1/.test(error.message),
  );
  // nobody makes it count longer
  assert.throws(() => readToken(key, token.replace('18', '19'), claim.until), /not made with the key/);
});

test('a token that was altered, or made with another key, is refused', () => {
  const key = Buffer.alloc(32, 7);
  const token = makeToken(key, { kind: 'node', name: 'c1' });
  assert.match(token, /^node:c1\.[\w-]{43}$/);
  const altered = [
    '',
    'x',
    token.replace('c1', 'c2'),
    token.replace('node', 'administrator'),
    token.slice(0, -1),
    `${token}A`,
  ];
  for (const each of altered) assert.throws(() => readToken(key, each), Refused);
  assert.throws(() => readToken(Buffer.alloc(32, 8), token), Refused);
});

test('the hub finds out who bears a token; keys and tokens that others can read are not used', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-test-'));
  try {
    const keyFile = path.join(folder, 'key');
    const tokenFile = path.join(folder, 'token');
    makeKey(keyFile);
    assert.equal(fs.statSync(keyFile).mode & 0o777, 0o600);
    assert.throws(() => makeKey(keyFile), /exists already/);
    fs.writeFileSync(tokenFile, `${makeToken(readKey(keyFile), { kind: 'node', name: 'c1' })}\n`, { mode: 0o600 });
    const { authorization } = await openCredentials({ method: 'token', tokenFile });
    const gate = await openGatekeeper({ method: 'token', keyFile }, nobody);
    assert.deepEqual(await gate.identify(await authorization('c1'), 'c1', '10.0.0.1'), { kind: 'node', nodes: ['c1'] });
    await assert.rejects(gate.identify(undefined, 'c1', '10.0.0.1'), /this hub asks for "Authorization: Token/);
    await assert.rejects(gate.identify('Bearer x', 'c1', '10.0.0.1'), Refused);
    fs.chmodSync(tokenFile, 0o644);
    await assert.rejects(authorization('c1'), /can be read by others/);
    fs.chmodSync(keyFile, 0o640);
    await assert.rejects(openGatekeeper({ method: 'token', keyFile }, nobody), /can be read by others/);
    await assert.rejects(openGatekeeper({ method: 'token' }, nobody), /needs the key/);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('a secret is the same only when all of it is', () => {
  assert.equal(isSameSecret('Bearer größe', 'Bearer größe'), true);
  for (const other of ['', 'Bearer größ', 'Bearer größer', 'bearer größe', 'Bearer gro\u0308ße'])
    assert.equal(isSameSecret(other, 'Bearer größe'), false, other);
});
