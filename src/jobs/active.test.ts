import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { Fault } from '../base/fault.ts';
import { findActive } from './active.ts';

test('where recordings in progress cannot be noted, that is said with what to do', (t) => {
  const run = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-active-'));
  t.after(() => fs.rmSync(run, { recursive: true }));
  const place = path.join(run, 'tacho');
  const refused = (): Fault => {
    try {
      findActive({ XDG_RUNTIME_DIR: run });
    } catch (error) {
      assert.ok(error instanceof Fault);
      return error;
    }
    throw new Error('it was not refused');
  };
  fs.writeFileSync(place, '');
  assert.equal(refused().message, `cannot use ${place} to note which recordings go on: it is not a folder`);
  assert.match(refused().hint!, /set TACHO_RECORDING/);
  fs.rmSync(place);
  fs.mkdirSync(place);
  fs.chmodSync(place, 0o777);
  assert.match(refused().message, /: others may write there$/);
  fs.rmdirSync(place);
  assert.equal(findActive({ XDG_RUNTIME_DIR: run }), undefined);
  assert.equal(fs.statSync(place).mode & 0o777, 0o700);
});
