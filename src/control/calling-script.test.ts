import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { temporary } from '../../test/make-recording.ts';
import { callingScript } from './calling-script.ts';

const cases: [commandLine: string[], script: string | undefined][] = [
  [['/bin/bash', './train.sh', '--epochs', '3'], 'train.sh'],
  [['/bin/sh', '-eu', '/home/ada/run'], 'run'],
  [['bash', '-c', 'tacho start; ./a.out'], undefined],
  [['bash', '-ec', 'tacho start'], undefined],
  [['bash', '-o', 'pipefail', 'x.sh'], undefined],
  [['-bash'], undefined],
  [['zsh', '-l'], undefined],
  [['python3', 'train.py'], undefined],
];

for (const [commandLine, script] of cases)
  test(`${commandLine.join(' ')}: ${script ?? 'no script'}`, () => {
    const proc = temporary();
    fs.mkdirSync(path.join(proc, '17'));
    fs.writeFileSync(path.join(proc, '17/cmdline'), `${commandLine.join('\0')}\0`);
    assert.equal(callingScript(17, proc), script);
  });

test('a shell that has gone has no script', () => assert.equal(callingScript(17, temporary()), undefined));
