import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { agentRecord } from '../../src/jobs/launch.ts';
import { openRecording } from '../../src/recording/open.ts';
import { readTable } from '../../src/recording/read.ts';
import { eventually, Lab, read, readJob, type User, whyNot } from './lab.ts';

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
    const script = (user: User): string =>
      `head -c 300M /dev/zero | md5sum; (cd /; env -i setsid /bin/sleep 7.${user === 'tacho-a' ? 1 : 2} &); sleep 6`;
    const jobs = await Promise.all(
      (['tacho-a', 'tacho-b'] as const).map(async (user) => {
        const place = await lab.place(user, 'cgroup');
        return { user, place, id: await lab.submit(user, place, script(user), '-n1', '-t5') };
      }),
    );
    for (const { user, place, id } of jobs) {
      assert.equal(await lab.ended(id), 'COMPLETED', read(place, 'out'));
      const recording = lab.archived(user, id);
      const sealed = (): boolean =>
        fs.existsSync(path.join(recording, 'node=c1/loadavg.csv.zst')) && readJob(recording).end !== undefined;
      await eventually(sealed, `sealing ${recording}`);
      assert.equal(agentRecord(recording, 'c1')?.scope?.members, 'cgroup');
      const node = openRecording(recording).nodes[0]!;
      const seen = readTable(node, 'process', { columns: ['command'] }).texts.get('command')?.values ?? [];
      const own = user === 'tacho-a' ? '7.1' : '7.2';
      const other = user === 'tacho-a' ? '7.2' : '7.1';
      assert.ok(seen.includes(`/bin/sleep ${own}`), `${seen}`);
      assert.ok(!seen.includes(`/bin/sleep ${other}`), `${seen}`);
      // made by Slurm a moment after the cgroup by which the job was found
      const { rows, numbers } = readTable(node, 'cgroup', { columns: ['usage_us'] });
      assert.ok(rows > 2, `${agentRecord(recording, 'c1')?.unmeasured.map(({ why }) => why)}`);
      const used = Math.max(...numbers.get('usage_us')!.filter((value) => !Number.isNaN(value)));
      assert.ok(used > 100_000 && used < 60_000_000, `${used} µs for a checksum of 300 MB`);
      const { code, stdout, stderr } = await lab.on('login', user, 'tacho', 'report', recording);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /COMPLETED/);
    }
  });
});
