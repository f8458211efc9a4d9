import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Frame } from '../../table/frame.ts';
import { Host } from '../host.ts';
import type { Scope } from '../scope.ts';
import { type Source, Unavailable } from '../source.ts';
import { cgroup } from './cgroup.ts';

const fixture = (name: string): string => fileURLToPath(new URL(`../../../test/fixtures/${name}`, import.meta.url));

const V1 = '/slurm_c1/uid_1000/job_17';
const V2 = '/system.slice/slurmstepd.scope/job_17';

function scope(job: string, shared = false): Scope {
  return { members: { by: 'cgroup', path: job }, cgroup: { path: job, shared }, exclude: [], redact: false };
}

/** The rows of one read by cgroup, without what is missing. */
function rows(source: Source): Record<string, Record<string, number>> {
  const frame = new Frame(source.table);
  frame.clear(1);
  source.read(frame);
  const valuesByCgroup: Record<string, Record<string, number>> = {};
  for (let r = 0; r < frame.rows; r++) {
    const values = frame.table.columns.map((c, i) => [c.name, frame.numbers[r * frame.numberWidth + i]!] as const);
    valuesByCgroup[frame.texts[r * frame.textWidth]!] = Object.fromEntries(values.filter(([, v]) => !Number.isNaN(v)));
  }
  return valuesByCgroup;
}

function copy(t: { after(f: () => void): void }, name: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-cgroup-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  fs.cpSync(fixture(name), folder, { recursive: true });
  return folder;
}

test('version 2: every counter of the job, and its steps two levels deep', () => {
  const source = cgroup.open(new Host(fixture('cgroup-v2')), scope(V2));
  const valuesByCgroup = rows(source);
  assert.deepEqual(Object.keys(valuesByCgroup).sort(), ['.', 'step_0', 'step_0/slurm', 'step_0/user']);
  assert.deepEqual(valuesByCgroup['.'], {
    usage_us: 12345678,
    user_us: 9259258,
    system_us: 3086419,
    periods: 120,
    throttled_periods: 30,
    throttled_us: 4500000,
    cpu_limit: 2.5,
    memory_current_bytes: 536870912,
    memory_peak_bytes: 805306368,
    memory_limit_bytes: 8589934592,
    memory_anon_bytes: 268435456,
    memory_file_bytes: 134217728,
    memory_shmem_bytes: 20480,
    memory_kernel_bytes: 524288,
    memory_inactive_file_bytes: 8192,
    swap_current_bytes: 4096,
    page_faults: 52345,
    major_faults: 17,
    oom_events: 2,
    oom_kills: 1,
    // 253:0 lies on top of 8:0 and would count the same once more
    io_read_bytes: 5096,
    io_written_bytes: 10192,
    io_reads: 11,
    io_writes: 22,
    tasks: 9,
    tasks_peak: 14,
    cpu_stalled_us: 111,
    memory_stalled_us: 222,
    io_stalled_us: 333,
  });
  assert.equal(valuesByCgroup.step_0!.usage_us, 10000000);
  assert.equal(valuesByCgroup.step_0!.memory_limit_bytes, undefined, 'max is no limit');
  assert.equal(valuesByCgroup.step_0!.cpu_limit, undefined);
  assert.equal(valuesByCgroup['step_0/user']!.io_read_bytes, 0, 'an empty io.stat is no I/O');
  source.close();
});

test('version 1: totals with those below, no limit is missing, kills are added up', () => {
  const source = cgroup.open(new Host(fixture('cgroup-v1')), scope(V1));
  const valuesByCgroup = rows(source);
  assert.deepEqual(Object.keys(valuesByCgroup).sort(), ['.', 'step_0', 'step_0/task_0']);
  assert.deepEqual(valuesByCgroup['.'], {
    usage_us: 7531234,
    user_us: 7000000,
    system_us: 530000,
    periods: 40,
    throttled_periods: 4,
    throttled_us: 2500000,
    cpu_limit: 4,
    memory_current_bytes: 500000000,
    memory_peak_bytes: 600000000,
    memory_limit_bytes: 4294967296,
    memory_anon_bytes: 300000000,
    memory_file_bytes: 150000000,
    memory_shmem_bytes: 30,
    memory_kernel_bytes: 700000,
    memory_inactive_file_bytes: 80,
    swap_current_bytes: 50,
    page_faults: 60,
    major_faults: 70,
    oom_kills: 3,
    io_read_bytes: 4097,
    io_written_bytes: 12290,
    io_reads: 1,
    io_writes: 3,
    tasks: 5,
  });
  assert.equal(valuesByCgroup.step_0!.memory_limit_bytes, undefined);
  assert.equal(valuesByCgroup.step_0!.io_read_bytes, undefined, 'without a device nobody counted');
  assert.equal(valuesByCgroup.step_0!.oom_kills, 3);
  assert.equal(valuesByCgroup['step_0/task_0']!.oom_kills, 2);
  source.close();
});

test('a step that ends ends its series, and its kills stay with the job', (t) => {
  const root = copy(t, 'cgroup-v1');
  const source = cgroup.open(new Host(root), scope(V1));
  assert.equal(rows(source)['.']!.oom_kills, 3);
  for (const hierarchy of fs.readdirSync(path.join(root, 'sys/fs/cgroup'))) {
    fs.rmSync(path.join(root, 'sys/fs/cgroup', hierarchy, V1, 'step_0'), { recursive: true, force: true });
  }
  let valuesByCgroup = rows(source);
  // file systems without link counts show it at the next walk only
  for (let i = 0; i < 10 && 'step_0' in valuesByCgroup; i++) valuesByCgroup = rows(source);
  assert.deepEqual(Object.keys(valuesByCgroup), ['.']);
  assert.equal(valuesByCgroup['.']!.oom_kills, 3);
  source.close();
});

test('a step that begins is recorded', (t) => {
  const root = copy(t, 'cgroup-v2');
  const source = cgroup.open(new Host(root), scope(V2));
  rows(source);
  const job = path.join(root, 'sys/fs/cgroup', V2);
  fs.cpSync(path.join(job, 'step_0/slurm'), path.join(job, 'step_5'), { recursive: true });
  let valuesByCgroup = rows(source);
  for (let i = 0; i < 10 && !('step_5' in valuesByCgroup); i++) valuesByCgroup = rows(source);
  assert.equal(valuesByCgroup.step_5!.usage_us, 1000);
  source.close();
});

test('a shared cgroup is recorded as a whole only; none at all is nothing to miss', () => {
  const host = new Host(fixture('cgroup-v2'));
  const source = cgroup.open(host, scope(V2, true));
  assert.deepEqual(Object.keys(rows(source)), ['.']);
  source.close();
  assert.throws(() => cgroup.open(host, { members: { by: 'node' }, exclude: [], redact: false }), { why: 'absent' });
});

test('a cgroup that had gone is told so: a mount helps only where the file system is not there', (t) => {
  const root = copy(t, 'cgroup-v2');
  const mountinfo = path.join(root, 'proc/self/mountinfo');
  const whole = fs.readFileSync(mountinfo, 'utf8');
  const sourceOrTrouble = (job: string) => {
    try {
      return cgroup.open(new Host(root), scope(job));
    } catch (error) {
      assert.ok(error instanceof Unavailable && error.why === 'denied');
      return [error.message, error.hint];
    }
  };
  assert.deepEqual(sourceOrTrouble('/job_3'), ["the job's cgroup /job_3 had gone before it could be read", undefined]);
  const mount = 'mount the cgroup file system where the job runs';
  const unseen = (job: string, why: string) => [`the job's cgroup ${job} cannot be read: ${why}`, mount];
  assert.deepEqual(sourceOrTrouble('/../job_3'), unseen('/../job_3', 'what is mounted here does not show it'));
  fs.writeFileSync(mountinfo, whole.replace(' / /sys/fs/cgroup ', ' /docker/1 /sys/fs/cgroup '));
  assert.deepEqual(sourceOrTrouble('/job_3'), unseen('/job_3', 'what is mounted here does not show it'));
  fs.writeFileSync(mountinfo, '');
  assert.deepEqual(sourceOrTrouble('/job_3'), unseen('/job_3', 'no cgroup file system is mounted here'));
});

test('files that are cut off anywhere give no wrong names and never throw', (t) => {
  const root = copy(t, 'cgroup-v2');
  const file = path.join(root, 'sys/fs/cgroup', V2, 'memory.stat');
  const whole = fs.readFileSync(file);
  for (let length = 0; length < whole.length; length += 7) {
    fs.writeFileSync(file, whole.subarray(0, length));
    const source = cgroup.open(new Host(root), scope(V2));
    assert.equal(rows(source)['.']!.memory_current_bytes, 536870912);
    source.close();
  }
});

for (const version of [1, 2] as const) {
  test(`version ${version}: what a job used between the last tick and its end, if it was alone`, (t) => {
    const job = version === 1 ? V1 : V2;
    const top = version === 1 ? '/slurm_c1' : path.dirname(V2);
    for (const neighbour of [false, true]) {
      const root = copy(t, `cgroup-v${version}`);
      const mounts = path.join(root, 'sys/fs/cgroup');
      const counting = version === 1 ? path.join(mounts, 'cpu,cpuacct') : mounts;
      const counted = (cgroup: string, us: number): void => {
        fs.writeFileSync(path.join(counting, cgroup, 'cpuacct.usage'), `${us * 1000}\n`);
        fs.writeFileSync(path.join(counting, cgroup, 'cpu.stat'), `usage_usec ${us}\n`);
      };
      if (neighbour) fs.mkdirSync(path.join(counting, path.dirname(job), 'job_18'));
      counted(job, 5_000_000);
      counted(top, 7_000_000);
      const source = cgroup.open(new Host(root), scope(job));
      assert.equal(rows(source)['.']!.usage_us, 5_000_000);
      counted(top, 7_800_000);
      // version 1: the user's folder goes with the last job
      const gone = version === 1 && !neighbour ? path.dirname(job) : job;
      for (const mount of [mounts, ...fs.readdirSync(mounts).map((name) => path.join(mounts, name))]) {
        fs.rmSync(path.join(mount, gone), { recursive: true, force: true });
      }
      const last = rows(source)['.'];
      assert.equal(last?.usage_us, neighbour ? undefined : 5_800_000);
      assert.equal(last?.memory_current_bytes, undefined);
      assert.deepEqual(rows(source), {}, 'told once');
      source.close();
    }
  });
}
