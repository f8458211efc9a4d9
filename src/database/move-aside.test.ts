import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { moveInto } from './move-aside.ts';

const USER = 65_534;
const notRoot = process.getuid!() !== 0 && 'needs root';

/** A watched folder with the recording of a user in a folder of the user's. */
function watched(t: test.TestContext): { folder: string; user: string; elsewhere: string } {
  const top = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-move-'));
  t.after(() => fs.rmSync(top, { recursive: true }));
  const [folder, elsewhere] = [path.join(top, 'watched'), path.join(top, 'elsewhere')];
  const user = path.join(folder, 'user');
  fs.mkdirSync(path.join(user, 'tacho-1'), { recursive: true });
  fs.mkdirSync(elsewhere);
  if (notRoot === false) for (const each of [user, path.join(user, 'tacho-1')]) fs.chownSync(each, USER, USER);
  return { folder, user, elsewhere };
}

test('a recording is moved, with the reason beside it, and another of its name beside that', (t) => {
  const { folder, user } = watched(t);
  const failed = path.join(folder, 'failed');
  const why = (to: string): string => `gone to ${to}`;
  assert.equal(moveInto(path.join(user, 'tacho-1'), folder, failed, why), path.join(failed, 'tacho-1'));
  fs.mkdirSync(path.join(user, 'tacho-1'));
  assert.equal(moveInto(path.join(user, 'tacho-1'), folder, failed), path.join(failed, 'tacho-1-2'));
  assert.deepEqual(fs.readdirSync(failed).sort(), ['tacho-1', 'tacho-1-2', 'tacho-1.reason.txt']);
  assert.equal(fs.readFileSync(path.join(failed, 'tacho-1.reason.txt'), 'utf8'), `gone to ${failed}/tacho-1`);
  assert.equal(moveInto(path.join(user, 'tacho-1'), folder, failed), undefined);
});

test('links that users put in the way lead nowhere', { skip: notRoot }, (t) => {
  const { folder, user, elsewhere } = watched(t);
  const failed = path.join(folder, 'failed');
  const refused = (why: RegExp): void => {
    assert.throws(() => moveInto(path.join(user, 'tacho-1'), folder, failed, () => 'x'), why);
    assert.deepEqual(fs.readdirSync(user), ['tacho-1']);
  };
  fs.symlinkSync(elsewhere, failed);
  fs.lchownSync(failed, USER, USER);
  refused(/somebody else has made a link of failed/);
  fs.unlinkSync(failed);
  fs.mkdirSync(failed);
  fs.chownSync(failed, USER, USER);
  refused(/failed belongs to user number 65534/);
  fs.rmdirSync(failed);
  // the way to the recording leads to a folder of somebody else's, with something of that name
  fs.renameSync(user, `${user}.real`);
  fs.mkdirSync(path.join(elsewhere, 'tacho-1'));
  fs.symlinkSync(elsewhere, user);
  fs.lchownSync(user, USER, USER);
  refused(/a link that somebody made is in the way/);
  // a text that is to be overwritten
  fs.unlinkSync(user);
  fs.renameSync(`${user}.real`, user);
  fs.mkdirSync(failed);
  fs.writeFileSync(path.join(elsewhere, 'precious'), 'kept');
  fs.symlinkSync(path.join(elsewhere, 'precious'), path.join(failed, 'tacho-1.reason.txt'));
  moveInto(path.join(user, 'tacho-1'), folder, failed, () => 'why');
  assert.equal(fs.readFileSync(path.join(elsewhere, 'precious'), 'utf8'), 'kept');
  assert.equal(fs.readFileSync(path.join(failed, 'tacho-1.reason.txt'), 'utf8'), 'why');
});
