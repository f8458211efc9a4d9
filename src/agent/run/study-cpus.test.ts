import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { cpusFor, usableCpus } from './study-cpus.ts';

test('one CPU of each core first, only those that are allowed', (t) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-cpus-'));
  t.after(() => fs.rmSync(root, { recursive: true, force: true }));
  const write = (name: string, text: string): void => {
    fs.mkdirSync(path.join(root, path.dirname(name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  };
  write('proc/self/status', 'Name:\tnode\nCpus_allowed_list:\t1-7\n');
  for (let cpu = 0; cpu < 8; cpu++)
    write(`sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`, `${cpu % 4},${(cpu % 4) + 4}\n`);
  // CPU 4 is the other thread of CPU 0, which is not ours: a core of its own
  assert.deepEqual(usableCpus(root), [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(cpusFor(5, usableCpus(root)), [1, 2, 3, 4, 5]);
  write('proc/self/status', 'Cpus_allowed_list:\t0,1,4,5\n');
  assert.deepEqual(usableCpus(root), [0, 1, 4, 5]);
  assert.throws(() => cpusFor(5, usableCpus(root)), /there are no 5 CPUs: this process may use 4 CPUs/);
});
