import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { NotPlain, openPlain, readPlain } from './plain-file.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-plain-'));
test.after(() => fs.rmSync(folder, { recursive: true }));

const at = (name: string): string => path.join(folder, name);

test('an ordinary file is read up to its limit', () => {
  fs.writeFileSync(at('a'), 'abc');
  assert.equal(readPlain(at('a'), 3).toString(), 'abc');
  assert.throws(() => readPlain(at('a'), 2), { message: 'it has 3 bytes; more than 2 are not read' });
  assert.throws(() => readPlain(at('none'), 2), { code: 'ENOENT' });
});

test('pipes, devices, sockets and folders are refused at once', () => {
  execFileSync('mkfifo', [at('pipe')]);
  fs.mkdirSync(at('folder'));
  for (const file of [at('pipe'), at('folder'), '/dev/zero']) {
    assert.throws(() => readPlain(file, 100), NotPlain, file);
    assert.throws(() => openPlain(file, fs.constants.O_WRONLY), NotPlain, file);
  }
});

test('a huge sparse file costs nothing', () => {
  fs.closeSync(fs.openSync(at('huge'), 'w'));
  fs.truncateSync(at('huge'), 2 ** 40);
  assert.throws(() => readPlain(at('huge'), 1 << 20), /1099511627776 bytes/);
});

test('links: one’s own is followed where that is asked for, others’ never', {
  skip: process.getuid!() !== 0 && 'needs root',
}, () => {
  fs.writeFileSync(at('target'), 'kept elsewhere');
  fs.symlinkSync(at('target'), at('own'));
  fs.symlinkSync(at('target'), at('foreign'));
  fs.lchownSync(at('foreign'), 65534, 65534);
  fs.symlinkSync(at('pipe'), at('to-pipe'));
  assert.equal(readPlain(at('own'), 100).toString(), 'kept elsewhere');
  assert.throws(() => readPlain(at('foreign'), 100), { message: 'it is a link, and links are not followed' });
  assert.throws(() => readPlain(at('to-pipe'), 100), NotPlain);
  assert.throws(() => openPlain(at('own')), NotPlain);
});
