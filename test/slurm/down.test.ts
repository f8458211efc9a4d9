import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { temporary } from '../make-recording.ts';

const skip = process.getuid!() !== 0 && 'the test cluster needs root';

/** A lab with the nodes c1 and c2 that has been ended, and the cgroups of the machine (folders in their place). */
function ended(foreign: readonly string[] | undefined): string[] {
  const lab = temporary();
  const cgroups = temporary();
  fs.mkdirSync(path.join(lab, 'etc'));
  fs.mkdirSync(path.join(lab, 'run'));
  fs.writeFileSync(path.join(lab, 'etc/slurm.conf'), 'ClusterName=lab\nNodeName=c1 CPUs=4\nNodeName=c2 CPUs=4\n');
  const all = ['freezer/slurm_c1', 'freezer/slurm_c2', 'freezer/slurm_c3', 'memory/slurm_c1', 'slurm_c2'];
  for (const folder of all) fs.mkdirSync(path.join(cgroups, folder, 'uid_0'), { recursive: true });
  fs.writeFileSync(path.join(cgroups, 'memory/slurm_c1/cgroup.procs'), '4711\n');
  if (foreign !== undefined)
    fs.writeFileSync(
      path.join(lab, 'run/foreign-cgroups'),
      foreign.map((folder) => `${path.join(cgroups, folder)}\n`).join(''),
    );
  const env = { ...process.env, CLUSTER_CGROUPS: cgroups };
  execFileSync(path.join(import.meta.dirname, 'cluster'), ['down', lab], { env });
  return all.filter((folder) => fs.existsSync(path.join(cgroups, folder, 'uid_0')));
}

test('a test cluster that goes takes along its own cgroups and no others', { skip }, () => {
  assert.deepEqual(ended(['freezer/slurm_c2']), ['freezer/slurm_c2', 'freezer/slurm_c3', 'memory/slurm_c1']);
});

test('a test cluster that made no cgroups removes none', { skip }, () => {
  assert.equal(ended(undefined).length, 5);
});
