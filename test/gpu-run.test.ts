import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Report } from '../src/judge/report-schema.ts';
import { fakeGpu, hasCompiler } from './fake-gpu/build.ts';
import { tacho, temporaryFolder } from './tacho.ts';

const skip = !hasCompiler() && 'needs a C compiler for the stand-in GPU library';

const report = (cwd: string): Report =>
  JSON.parse(tacho(['report', path.join(cwd, 'rec'), '--format', 'json'], { cwd }).out) as Report;

test('tacho run on a machine with NVIDIA cards: every card is in the report', { skip }, (t) => {
  fakeGpu(t, 'nvml', 'cards 2\n');
  const cwd = temporaryFolder(t);
  const script = 'until grep -qs "^[0-9]" rec/node=*/gpu.csv; do sleep 0.2; done';
  const run = tacho(['run', '-i', '0.2s', '-o', 'rec', '--', 'sh', '-c', script], { cwd });
  assert.equal(run.code, 0, run.err);
  const { gpus } = report(cwd);
  assert.deepEqual(
    gpus.map((g) => g.gpu),
    ['0', '1'],
  );
  assert.match(run.err, /GPU/);
});

test('a card that hangs or falls off the bus stops neither the command nor the other cards', { skip }, (t) => {
  fakeGpu(t, 'nvml', 'cards 3\nhang 1 6 3600\nlost 2 4\nlacks 0 fan\n');
  const cwd = temporaryFolder(t);
  // the hung card is not waited for: its hour would be too long
  const waitForNote = (noteText: string): string => `grep -qs '${noteText}' rec/node=*/agent.json`;
  const script = `until ${waitForNote('does not answer')} && ${waitForNote('lost at')}; do sleep 0.2; done`;
  const run = tacho(['run', '-i', '0.2s', '-o', 'rec', '--', 'sh', '-c', script], { cwd });
  assert.equal(run.code, 0, run.err);
  const { gpus, unmeasured } = report(cwd);
  assert.deepEqual(
    gpus.map((g) => g.gpu),
    ['0', '1', '2'],
  );
  const output = unmeasured.map((u) => `${u.what}: ${u.why}`).join('\n');
  assert.match(output, /1.*(hung|answer)/i);
  assert.match(output, /2.*(lost|bus)/i);
  assert.match(output, /fan/i);
});
