import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { openCredentials, openGatekeeper } from '../src/trust/gatekeeper.ts';
import { Refused } from '../src/trust/identity.ts';
import { type MungeDaemon, startMunge, whyNoMunge } from './munge/daemon.ts';

const skip = whyNoMunge();
let munge: MungeDaemon;
before(async () => {
  if (skip === false) munge = await startMunge();
});
after(async () => {
  if (skip === false) await munge.stop();
});

/** Every machine knows itself by this name, whatever it is called. */
const HERE = 'localhost';
const named = (uid: number): Promise<string> => Promise.resolve(uid === 65534 ? 'nobody' : `uid${uid}`);
/** A credential made by another program, for another user, or with other words. */
const made = (uid: number, text: string): string => {
  const { stdout } = spawnSync('setpriv', [`--reuid=${uid}`, '--clear-groups', 'munge', '-S', munge.socket], {
    input: text,
    encoding: 'utf8',
  });
  return `Munge ${stdout.trim()}`;
};

test('MUNGE: the agent of this node proves that it is, once', { skip }, async () => {
  const options = { method: 'munge', mungeSocket: munge.socket } as const;
  const gate = await openGatekeeper(options, named);
  const { authorization } = await openCredentials(options);
  const credential = (await authorization(HERE))!;
  assert.deepEqual(await gate.identify(credential, HERE, '127.0.0.1'), { kind: 'node', nodes: [HERE] });
  // a credential that somebody overheard is worth nothing
  await assert.rejects(gate.identify(credential, HERE, '127.0.0.1'), /does not vouch for it: Replayed credential/);
});

test('MUNGE: no agent speaks for another node, and no user for a node', { skip }, async () => {
  const options = { method: 'munge', mungeSocket: munge.socket } as const;
  const gate = await openGatekeeper(options, named);
  const { authorization } = await openCredentials(options);
  await assert.rejects(
    gate.identify(await authorization('tacho-c9.invalid'), 'tacho-c9.invalid', '127.0.0.1'),
    /tacho-c9.invalid is (neither|not) at/,
  );
  await assert.rejects(gate.identify(await authorization('c1'), 'c2', '127.0.0.1'), /the credential is for node "c1"/);
  const user = await gate.identify(made(65534, `tacho-hub 1\n${HERE}`), HERE, '127.0.0.1');
  assert.deepEqual(user, { kind: 'user', user: 'nobody', uid: 65534 });
  const allowed = await openGatekeeper({ ...options, agentUids: [65534] }, named);
  const agent = await allowed.identify(made(65534, `tacho-hub 1\n${HERE}`), HERE, '127.0.0.1');
  assert.equal(agent.kind, 'node');
});

test('MUNGE: administrators, and what is no credential for a hub', { skip }, async () => {
  const options = { method: 'munge', mungeSocket: munge.socket } as const;
  const gate = await openGatekeeper(options, named);
  const { authorization } = await openCredentials(options);
  assert.deepEqual(await gate.identify(await authorization(''), undefined, '127.0.0.1'), {
    kind: 'administrator',
    user: 'uid0',
  });
  await assert.rejects(gate.identify(made(0, 'for something else'), undefined, '127.0.0.1'), /made for something else/);
  await assert.rejects(gate.identify('Munge MUNGE:AwQD:', undefined, '127.0.0.1'), Refused);
  await assert.rejects(gate.identify(`Munge ${'A'.repeat(100_000)}`, undefined, '127.0.0.1'), Refused);
  await assert.rejects(gate.identify('Token x', undefined, '127.0.0.1'), /this hub asks for "Authorization: Munge/);
});

test('MUNGE: a daemon that is away is said so', { skip }, async () => {
  const { authorization } = await openCredentials({ method: 'munge', mungeSocket: '/nowhere/munge' });
  await assert.rejects(authorization('c1'), /MUNGE cannot be used: .*(socket|munged|access)/i);
});
