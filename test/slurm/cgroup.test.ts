import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { agentRecord } from '../../src/control/launch.ts';
import { openRecording } from '../../src/recording/folder/open.ts';
import { readTable } from '../../src/recording/read/read.ts';
import { eventually } from '../made/eventually.ts';
import { Lab, read, readJob, type User, whyNot } from './lab.ts';

const cgroups = fs.existsSync('/sys/fs/cgroup/freezer/release_agent');
const skip = whyNot() || (!cgroups && "Slurm's cgroups are tested with version 1 of them");
const lab = new Lab();

// one node: all nodes of a test cluster see the same cgroups
describe('jobs that Slurm has cgroups for', { skip }, () => {
  before(() => {
    lab.up(1, 'cgroup', 'hooks');
    // the second job is found by its cgroup alone: its prolog is the one that an administrator forgot
    const prolog = path.join(lab.folder, 'etc/prolog.d/50-tacho.sh');
    const forget = '#!/bin/sh\n[ "$SLURM_JOB_USER" != tacho-b ] || exit 0\n';
    fs.writeFileSync(prolog, `${forget}${read(prolog)}`, { mode: 0o755 });
    lab.hub();
    lab.agent('c1');
  });
  after(() => lab.down());

  test('two users on one node, one with a prolog and one without: apart by cgroup, daemons included', async () => {
    // a second of CPU time, however fast the machine is
    const burn = `sh -c 'until read -r line </proc/$$/stat; set -- $line; [ $((\${14} + \${15})) -ge 100 ]; do :; done'`;
    const script = (user: User): string =>
      `${burn}; (cd /; env -i setsid /bin/sleep 600.${user === 'tacho-a' ? 1 : 2} &); until [ -e go ]; do sleep 0.2; done`;
    const jobs = await Promise.all(
      (['tacho-a', 'tacho-b'] as const).map(async (user) => {
        const workFolder = await lab.workFolder(user, 'cgroup');
        return { user, workFolder, id: await lab.submit(user, workFolder, script(user), '-n1', '-t5') };
      }),
    );
    const at = (user: User, id: string) => openRecording(lab.archived(user, id)).nodes[0]!;
    const commands = (user: User, id: string): string[] =>
      readTable(at(user, id), 'process', { columns: ['command'] }).texts.get('command')?.values ?? [];
    const usages = (user: User, id: string): number[] =>
      [...readTable(at(user, id), 'cgroup', { columns: ['usage_us'] }).numbers.get('usage_us')!].filter(
        (value) => !Number.isNaN(value),
      );
    for (const { user, workFolder, id } of jobs) {
      const isSampled = (): boolean => {
        try {
          const all = usages(user, id);
          return commands(user, id).some((each) => each.startsWith('/bin/sleep 600.')) && all.length > 2;
        } catch {
          // not there yet, or being written
          return false;
        }
      };
      await eventually(`samples of job ${id}`, isSampled);
      fs.writeFileSync(path.join(workFolder, 'go'), '');
    }
    for (const { user, workFolder, id } of jobs) {
      assert.equal(await lab.ended(id), 'COMPLETED', read(workFolder, 'out'));
      const recording = lab.archived(user, id);
      const sealed = (): boolean =>
        fs.existsSync(path.join(recording, 'node=c1/loadavg.csv.zst')) && readJob(recording).end !== undefined;
      await eventually(`sealing ${recording}`, sealed);
      assert.equal(agentRecord(recording, 'c1')?.scope?.members, 'cgroup');
      const recordedCommands = commands(user, id);
      const own = user === 'tacho-a' ? '600.1' : '600.2';
      const other = user === 'tacho-a' ? '600.2' : '600.1';
      assert.ok(recordedCommands.includes(`/bin/sleep ${own}`), `${recordedCommands}`);
      assert.ok(!recordedCommands.includes(`/bin/sleep ${other}`), `${recordedCommands}`);
      // made by Slurm a moment after the cgroup by which the job was found
      const used = usages(user, id);
      assert.ok(used.length > 2, `${agentRecord(recording, 'c1')?.unmeasured.map(({ why }) => why)}`);
      const most = Math.max(...used);
      assert.ok(most >= 1_000_000 && most < 60_000_000, `${most} µs of a second that was burnt`);
      const { code, stdout, stderr } = await lab.on('login', user, 'tacho', 'report', recording);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /COMPLETED/);
    }
  });
});
