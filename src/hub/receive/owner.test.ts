import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { fitting } from './owner.ts';

const ROOT = process.getuid?.() === 0 ? false : 'needs root';

test('a name that is known has its own number; an unknown one must not take somebody else’s', () => {
  const ada = { uid: 1000, gid: 100 };
  assert.deepEqual(
    fitting('ada', 1000, ada, () => ada),
    { uid: 1000, gid: 100 },
  );
  assert.throws(() => fitting('ada', 0, ada, () => ({ uid: 0, gid: 0 })), /is number 1000 here/);
  assert.throws(() => fitting('eve', 1000, undefined, () => ada), /is not user eve/);
  assert.deepEqual(
    fitting('eve', 2000, undefined, () => undefined),
    { uid: 2000, gid: 2000 },
  );
  assert.deepEqual(
    fitting('ada', -1, ada, () => undefined),
    { uid: 1000, gid: 100 },
  );
  for (const uid of [-1, 1.5, Number.NaN, 0xffffffff]) {
    assert.throws(() => fitting('eve', uid, undefined, () => undefined), /has no number/);
  }
});

test('what is done as a user is done with the rights of the user, and ends', { skip: ROOT }, (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-owner-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  fs.chmodSync(folder, 0o777);
  fs.writeFileSync(path.join(folder, 'secret'), 'x', { mode: 0o600 });
  // in a process of its own: it gives up its groups for good
  const script = `
    const fs = await import('node:fs');
    const { separateOwners } = await import(${JSON.stringify(path.join(import.meta.dirname, 'owner.ts'))});
    const owners = await separateOwners();
    const nobody = owners.find('nobody', 65534);
    const said = [];
    owners.as(nobody, () => {
      fs.writeFileSync('made', '');
      try { fs.readFileSync('secret'); said.push('read'); } catch (error) { said.push(error.code); }
    });
    try { owners.as(nobody, () => { throw new Error('stop'); }); } catch (error) { said.push(error.message); }
    said.push(fs.readFileSync('secret', 'utf8'), fs.statSync('made').uid, fs.statSync('made').gid);
    console.log(JSON.stringify(said));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    encoding: 'utf8',
  });
  assert.deepEqual(JSON.parse(stdout || stderr), ['EACCES', 'stop', 'x', 65534, 65534]);
});
