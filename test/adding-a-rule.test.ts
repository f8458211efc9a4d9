import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import type { Report } from '../src/judge/report-schema.ts';
import { networkTable } from '../src/sources/tables.ts';
import { IN_MEMORY } from './made/in-memory.ts';
import { agentOf, appendRows, jobOf, START, temporary } from './make-recording.ts';

const HOME = path.join(import.meta.dirname, '..');

/** The example of CONTRIBUTING.md, and the file that it is to be. */
function example(): { file: string; text: string } {
  const section = fs.readFileSync(path.join(HOME, 'CONTRIBUTING.md'), 'utf8').split('\n## Adding a rule\n')[1]!;
  const [, file, text] = /`(src\/judge\/rules\/[a-z-]+\.ts)`:\n\n```ts\n(.*?)```/s.exec(section)!;
  return { file: file!, text: text! };
}

/** A minute on two nodes; eth0 of c2 dropped packets. */
async function recorded(): Promise<string> {
  const folder = path.join(temporary(), 'tacho-17');
  for (const [name, drops] of [
    ['c1', 0],
    ['c2', 150],
  ] as const) {
    const nodePath = path.join(folder, `node=${name}`);
    const rows = Array.from({ length: 7 }, (_, i) => ({
      time: START + i * 10e6,
      interface: 'eth0',
      receive_drops: 100 + i * drops,
    }));
    await appendRows(nodePath, networkTable, rows);
    const record = agentOf(name, [networkTable], { last_sample: START + 60e6 });
    fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(record));
  }
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf({ nodes: ['c1', 'c2'] })));
  return folder;
}

test('a rule that is added as CONTRIBUTING.md says is in the report and in the reference', async () => {
  const copy = path.join(temporary(IN_MEMORY), 'tacho');
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

  const jobReport = JSON.parse(node('src/cli/main.ts', 'report', '--format', 'json', await recorded())) as Report;
  assert.deepEqual(
    jobReport.findings.filter(({ id }) => id === 'packets-dropped'),
    [
      {
        id: 'packets-dropped',
        severity: 'warning',
        text: 'Packets were dropped by eth0 of c2',
        evidence: [
          {
            text: 'c2: eth0 dropped 900 packets',
            from: 'network.receive_drops',
            node: 'c2',
            value: 900,
            threshold: 500,
          },
        ],
        advice: 'Tell the administrators: the node is too slow for its network, or its buffers are too small.',
        confidence: 'high',
        confidence_reason: 'counted by the interface',
      },
    ],
  );
  const ids = jobReport.checks.map(({ id }) => id);
  assert.deepEqual(ids.slice(ids.indexOf('packets-dropped') - 1, ids.indexOf('packets-dropped') + 2), [
    'network-bound',
    'packets-dropped',
    'left-running',
  ]);
  const reference = fs.readFileSync(path.join(copy, 'docs/findings.md'), 'utf8');
  assert.match(
    reference,
    /\n## packets-dropped\n\nLooks for packets that a node dropped\.\n[^#]*\nNeeds: network\.receive_drops\.\n/,
  );
});
