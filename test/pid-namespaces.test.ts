import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { ours } from '../src/base/ours.ts';
import { readProcesses } from '../src/query/processes/processes.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { tacho, temporaryFolder } from './tacho.ts';

const built = fs.existsSync(ours('native/build/libtacho-record.so'));
const may = spawnSync('unshare', ['-p', '-f', '--mount-proc', 'true']).status === 0;
const skip = !built ? 'needs native/build/libtacho-record.so' : !may && 'may not make PID namespaces here';

/** About a third of a second of work for a shell, and three quarters of a second. */
const SHORT = 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done';
const LONG = 'i=0; while [ $i -lt 350000 ]; do i=$((i+1)); done';
const IN_SPACE = 'unshare -p -f --mount-proc';

interface Seen {
  /** CPU time by all processes, by wait4 and as the report has it, in seconds. */
  processes: number;
  waited: number;
  reported: number;
  source: string;
  /** Programs with the depth that each has in the tree. */
  tree: string[];
}

function recorded(t: TestContext, script: string): Seen {
  const cwd = temporaryFolder(t);
  const result = tacho(['run', '-i', '0.1s', '--no-report', '-o', 'r', '--', 'sh', '-c', script], { cwd });
  assert.equal(result.err, '');
  const recording = openRecording(path.join(cwd, 'r'));
  const set = readProcesses([recording]);
  const { user_seconds, system_seconds } = recording.job.usage!;
  const { summary } = JSON.parse(tacho(['report', 'r', '--format', 'json'], { cwd }).out);
  return {
    processes: set.cpu_time.reduce((sum, one) => sum + (one || 0), 0) / 1e6,
    waited: user_seconds + system_seconds,
    reported: summary.cpu_seconds,
    source: summary.cpu_source,
    tree: Array.from(set.exename, (name, i) => `${set.depth[i]} ${name}`).sort(),
  };
}

const CASES: Record<string, { script: string; tree: string[] }> = {
  'a short one': {
    script: `${IN_SPACE} sh -c '${SHORT}'; true`,
    tree: ['0 sh', '1 unshare', '2 sh'],
  },
  'one that is sampled': {
    script: `${IN_SPACE} sh -c '${LONG}'; true`,
    tree: ['0 sh', '1 unshare', '2 sh'],
  },
  'one that sees the processes of the node': {
    script: `unshare -p -f sh -c '${LONG}'; true`,
    tree: ['0 sh', '1 unshare', '2 sh'],
  },
  'one within another': {
    script: `${IN_SPACE} ${IN_SPACE} sh -c '${LONG}'; true`,
    tree: ['0 sh', '1 unshare', '2 unshare', '3 sh'],
  },
  'a shell with a child that was killed and two that end': {
    script: `${IN_SPACE} sh -c '(while :; do :; done) & p=$!; (${SHORT}); (${LONG}); kill -9 $p; wait $p; true' 2>/dev/null; true`,
    tree: ['0 sh', '1 unshare', '2 sh', '3 sh', '3 sh', '3 sh'],
  },
  'four at once with the same ids': {
    script: `for n in 1 2 3 4; do ${IN_SPACE} sh -c '(${SHORT}); true' & done; wait`,
    tree: ['0 sh', ...Array(4).fill('1 unshare'), ...Array(4).fill('2 sh'), ...Array(4).fill('3 sh')],
  },
};

for (const [name, { script, tree }] of Object.entries(CASES)) {
  test(`processes in a PID namespace count once: ${name}`, { skip }, (t) => {
    const recordedTree = recorded(t, script);
    assert.deepEqual(recordedTree.tree, tree);
    assert.equal(recordedTree.source, 'wait4');
    assert.equal(recordedTree.reported.toFixed(6), recordedTree.waited.toFixed(6));
    const ratio = recordedTree.processes / recordedTree.waited;
    assert.ok(ratio > 0.9 && ratio < 1.02, `${recordedTree.processes} s of ${recordedTree.waited} s`);
  });
}
