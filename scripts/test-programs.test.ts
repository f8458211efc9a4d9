import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../test/tacho.ts';

test('without dpkg and apt-get, programs that are there are not called missing', (t) => {
  const folder = temporaryFolder(t);
  fs.mkdirSync(path.join(folder, 'scripts'));
  fs.mkdirSync(path.join(folder, 'bin'));
  fs.copyFileSync(path.join(import.meta.dirname, 'test-programs'), path.join(folder, 'scripts/test-programs'));
  fs.writeFileSync(
    path.join(folder, 'scripts/packages'),
    [
      '# comment',
      'there | there-package | the first test',
      `there no-such-program | no-package | the second test`,
      `${folder}/none:${folder}/bi*/there | file-package | the third test`,
      '/no/such/*.so | plugin-package | the fourth test',
      '',
    ].join('\n'),
  );
  const put = (name: string): void => fs.writeFileSync(path.join(folder, 'bin', name), '#!/bin/sh\n', { mode: 0o755 });
  put('there');
  for (const name of ['dirname', 'tr', 'id']) fs.symlinkSync(`/usr/bin/${name}`, path.join(folder, 'bin', name));
  const run = () =>
    spawnSync('/bin/sh', [path.join(folder, 'scripts/test-programs')], {
      env: { PATH: path.join(folder, 'bin') },
      encoding: 'utf8',
    });
  const expected =
    'these are missing; without them some tests are left out:\n  no-such-program: the second test\n  /no/such/*.so: the fourth test\n';
  assert.deepEqual({ out: run().stdout, err: run().stderr }, { out: expected, err: '' });
});
