import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Report } from '../src/judge/report-schema.ts';
import { interruptsTable } from '../src/sources/tables.ts';
import { agentOf, appendRows, jobOf, START, temporary } from './make-recording.ts';

const HOME = path.join(import.meta.dirname, '..');

/** The example of CONTRIBUTING.md, and the file that it is to be. */
function example(): { file: string; text: string } {
  const section = fs.readFileSync(path.join(HOME, 'CONTRIBUTING.md'), 'utf8').split('\n## Adding a rule\n')[1]!;
  const [, file, text] = /`(src\/judge\/rules\/[a-z-]+\.ts)`:\n\n```ts\n(.*?)```/s.exec(section)!;
  return { file: file!, text: text! };
}

/** A minute on two nodes; the CPUs of c2 were too hot. */
async function recorded(): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  for (const [name, events] of [
    ['c1', 0],
    ['c2', 2],
  ] as const) {
    const place = path.join(folder, `node=${name}`);
    const rows = Array.from({ length: 7 }, (_, i) => ({
      time: START + i * 10e6,
      interrupt: 'TRM',
      device: 'Thermal event interrupts',
      count: 100 + i * events,
    }));
    await appendRows(place, interruptsTable, rows);
    const record = agentOf(name, [interruptsTable], { last_sample: START + 60e6 });
    fs.writeFileSync(path.join(place, 'agent.json'), JSON.stringify(record));
  }
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ nodes: ['c1', 'c2'] })));
  return folder;
}

test('a rule that is added as CONTRIBUTING.md says is in the report and in the reference', async () => {
  const copy = path.join(temporary(), 'tacho');
  for (const name of ['src', 'scripts', 'docs', 'packaging', 'package.json'])
    fs.cpSync(path.join(HOME, name), path.join(copy, name), { recursive: true });
  fs.symlinkSync(path.join(HOME, 'node_modules'), path.join(copy, 'node_modules'));
  const { file, text } = example();
  fs.writeFileSync(path.join(copy, file), text);
  const node = (...args: string[]): string =>
    execFileSync(process.execPath, args, { cwd: copy, encoding: 'utf8', maxBuffer: 2 ** 26 });
  const options = { extends: path.join(HOME, 'tsconfig.json'), include: [file] };
  fs.writeFileSync(path.join(copy, 'tsconfig.json'), JSON.stringify(options));
  node('node_modules/typescript/bin/tsc', '--noEmit', '-p', '.');
  node('scripts/rules-index.ts');
  node('scripts/docs.ts');

  const told = JSON.parse(node('src/cli/main.ts', 'report', '--format', 'json', await recorded())) as Report;
  assert.deepEqual(
    told.findings.filter(({ id }) => id === 'cpu-heat'),
    [
      {
        id: 'cpu-heat',
        severity: 'warning',
        text: 'Heat slowed down the CPUs of c2',
        evidence: [{ text: 'c2: 12 thermal events', from: 'interrupts.count', node: 'c2', value: 12, threshold: 10 }],
        advice: 'Tell the administrators: cooling needs a look.',
        confidence: 'high',
        confidence_reason: 'counted by the kernel',
      },
    ],
  );
  const ids = told.checks.map(({ id }) => id);
  assert.deepEqual(ids.slice(ids.indexOf('cpu-heat') - 1, ids.indexOf('cpu-heat') + 2), [
    'cpu-throttled',
    'cpu-heat',
    'memory-unused',
  ]);
  const reference = fs.readFileSync(path.join(copy, 'docs/findings.md'), 'utf8');
  assert.match(reference, /\n## cpu-heat\n\nLooks for CPUs slowed down by heat\.\n[^#]*\nNeeds: interrupts\.count\.\n/);
});
