import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { frozen } from '../../../test/frozen.ts';
import { cgroupJobs } from '../../jobs/on-node/cgroup-jobs.ts';
import { endedCgroups } from './ended-cgroups.ts';
import { NodeJobs } from './node-jobs.ts';

const V1_MOUNT = '40 30 0:40 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n';
const CGROUP = '/sys/fs/cgroup/freezer/slurm/uid_1001';

function watched(t: TestContext, failures = 0) {
  const machine = frozen(t, { '/proc/self/mountinfo': V1_MOUNT, '/etc/passwd': 'ada:x:1001:0::/:\n' });
  const folder = path.join(machine.host.root, 'jobs');
  fs.mkdirSync(folder);
  const events: string[] = [];
  /** What comes while a job is begun. */
  const meanwhile = { come: (): void => {} };
  const time = { now: 1_800_000_000e6, ahead: 0 };
  let failing = failures;
  const closing = Promise.withResolvers<void>();
  const closed = closing.promise;
  const memory = path.join(machine.host.root, 'ended.json');
  const start = () =>
    new NodeJobs({
      folder,
      endedCgroups: endedCgroups(memory),
      cgroups: cgroupJobs(machine.host, 'c1'),
      now: () => time.now,
      ahead: () => time.ahead,
      begun(name, job, by, cgroup) {
        if (failing-- > 0) throw new Error('no room');
        events.push(`begun ${name} ${job.user ?? '?'} by ${by}${cgroup === undefined ? '' : ` ${cgroup.path}`}`);
        meanwhile.come();
      },
      announced: (name, job) => void events.push(`told ${name} ${job.begin ?? '?'}`),
      inCgroup: (name, { path }) => void events.push(`cgroup ${name} ${path}`),
      ended(name, end, why) {
        const when = end.end === undefined || time.ahead === 0 ? '' : ` at ${(end.end - 1_800_000_000e6) / 1e6}`;
        events.push(`ended ${name} ${end.exitCode ?? '?'}${when}: ${why}`);
        return closed;
      },
      missed(name) {
        events.push(`missed ${name}`);
        return closed;
      },
      refused: (file, why) => void events.push(`refused ${path.basename(file)}: ${why}`),
    });
  let jobs = start();
  const write = (name: string, text: string): void => fs.writeFileSync(path.join(folder, name), text);
  return {
    machine,
    folder,
    time,
    write,
    meanwhile,
    /** What a look sees. */
    look(): string[] {
      events.length = 0;
      jobs.look();
      time.now += 500_000;
      return [...events];
    },
    /** Another agent, which knows what is written down. */
    restart(): void {
      jobs = start();
    },
    left: () => fs.readdirSync(folder),
    /** Everything that has ended is safely written down. */
    async close(): Promise<void> {
      closing.resolve();
      await setImmediate();
    },
  };
}

test('the end of a job that could not be begun yet waits until it can', async (t) => {
  const { look, write, left, close } = watched(t, 2);
  write('17', 'SLURM_JOB_ID=17\nSLURM_JOB_USER=ada\nBEGIN=1800000001\n');
  assert.deepEqual(look(), ['refused 17: the job is not recorded yet: no room']);
  write('17.end', 'SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=3:0\nEND=1800000002\n');
  assert.deepEqual(look(), []);
  assert.deepEqual(left(), ['17', '17.end']);
  assert.deepEqual(look(), ['begun 17 ada by file', 'ended 17 3: the job has ended']);
  await close();
  assert.deepEqual(left(), []);
});

test('a job file begins a job and its end ends it; both files go when all is written down', async (t) => {
  const { look, write, left, close } = watched(t);
  write('17', 'SLURM_JOB_ID=17\nSLURM_JOB_USER=ada\n');
  write('18', 'SLURM_JOB_ID=18\nSLURM_JOB_USER=bob\n');
  write('.19.4', 'SLURM_JOB_ID=19\n');
  assert.deepEqual(look(), ['begun 17 ada by file', 'begun 18 bob by file']);
  assert.deepEqual(look(), []);
  write('17.end', 'SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=2:0\n');
  assert.deepEqual(look(), ['ended 17 2: the job has ended']);
  assert.deepEqual(look(), [], 'it is being closed');
  assert.deepEqual(left().sort(), ['.19.4', '17', '17.end', '18'], 'an agent that is killed now finds them again');
  await close();
  assert.deepEqual(left(), ['.19.4', '18']);
});

test('runs of one id stay apart: the next one ends the one before, a late end ends nobody else', (t) => {
  const { look, write } = watched(t);
  write('17', 'SLURM_JOB_ID=17\nSLURM_RESTART_COUNT=0\n');
  assert.deepEqual(look(), ['begun 17 ? by file']);
  write('17r1', 'SLURM_JOB_ID=17\nSLURM_RESTART_COUNT=1\n');
  assert.deepEqual(look(), ['ended 17 ?: the scheduler started the job again', 'begun 17r1 ? by file']);
  write('17.end', 'SLURM_JOB_ID=17\nSLURM_RESTART_COUNT=0\n');
  assert.deepEqual(look(), []);
  write('17.end', 'SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=0:0\n');
  assert.deepEqual(look(), ['ended 17r1 0: the job has ended'], 'an epilog that does not know the run');
});

test('an id that begins again while the first job of it is being closed keeps its own file', async (t) => {
  const { look, write, left, time, close } = watched(t);
  const at = (seconds: number): string => String(time.now / 1e6 + seconds);
  write('17', `SLURM_JOB_ID=17\nSLURM_JOB_USER=ada\nBEGIN=${at(0)}\n`);
  assert.deepEqual(look(), ['begun 17 ada by file']);
  // both come between two looks
  write('17.end', `SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=0:0\nEND=${at(1)}\n`);
  write('17', `SLURM_JOB_ID=17\nSLURM_JOB_USER=bob\nBEGIN=${at(2)}\n`);
  assert.deepEqual(look(), ['ended 17 0: the job has ended']);
  assert.deepEqual(look(), ['begun 17 bob by file']);
  await close();
  assert.deepEqual(left(), ['17']);
  write('17.end', `SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=3:0\nEND=${at(3)}\n`);
  assert.deepEqual(look(), ['ended 17 3: the job has ended']);
  await close();
  assert.deepEqual(left(), []);
});

test('an agent that starts does not take the end of a run before for that of the run that goes on', async (t) => {
  const { look, write, left, time, close } = watched(t);
  write('17', `SLURM_JOB_ID=17\nBEGIN=${time.now / 1e6 - 100}\n`);
  write('17.end', `SLURM_JOB_ID=17\nEND=${time.now / 1e6 - 200}\n`);
  assert.deepEqual(look(), ['missed 17', 'begun 17 ? by file']);
  await close();
  assert.deepEqual(left(), ['17']);
});

test('what began and ended before this agent was missed; what did so between two looks was not', async (t) => {
  const { look, write, left, time, close } = watched(t);
  write('16', `SLURM_JOB_ID=16\nBEGIN=${time.now / 1e6 - 100}\n`);
  write('16.end', 'SLURM_JOB_ID=16\n');
  write('17', `SLURM_JOB_ID=17\nBEGIN=${time.now / 1e6 + 0.1}\n`);
  write('17.end', 'SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=0:0\n');
  assert.deepEqual(look(), ['missed 16', 'begun 17 ? by file', 'ended 17 0: the job has ended']);
  await close();
  assert.deepEqual(left(), []);
});

test('without a file the cgroup shows the job, from the second look on', (t) => {
  const { look, machine } = watched(t);
  machine.write(`${CGROUP}/job_17/cgroup.procs`, '5\n');
  assert.deepEqual(look(), []);
  assert.deepEqual(look(), ['begun 17 ada by cgroup /slurm/uid_1001/job_17']);
  assert.deepEqual(look(), []);
  machine.remove(`${CGROUP}/job_17`);
  assert.deepEqual(look(), ['ended 17 ?: its cgroup has gone']);
});

test('a cgroup without processes is no job, and one that is empty for long has ended when the last one went', (t) => {
  const { look, machine, time } = watched(t);
  machine.write(`${CGROUP}/job_17/cgroup.procs`, '');
  machine.write(`${CGROUP}/job_18/step_0/task_0/cgroup.procs`, '');
  for (let i = 0; i < 4; i++) assert.deepEqual(look(), []);
  machine.write(`${CGROUP}/job_18/step_0/task_0/cgroup.procs`, '7\n');
  assert.deepEqual([...look(), ...look()], ['begun 18 ada by cgroup /slurm/uid_1001/job_18']);
  machine.write(`${CGROUP}/job_18/step_0/task_0/cgroup.procs`, '');
  assert.deepEqual([...look(), ...look()], [], 'the pause between two steps');
  machine.write(`${CGROUP}/job_18/step_0/task_0/cgroup.procs`, '8\n');
  assert.deepEqual(look(), []);
  machine.write(`${CGROUP}/job_18/step_0/task_0/cgroup.procs`, '');
  assert.deepEqual(look(), []);
  time.now += 30e6;
  assert.deepEqual(look(), ['ended 18 ?: its cgroup is empty']);
  assert.deepEqual(look(), []);
});

test('a job that has ended stays so for the next agent, although a daemon of it is left; a requeued one is another', async (t) => {
  const { look, machine, write, close, restart } = watched(t);
  write('17', 'SLURM_JOB_ID=17\nSLURM_JOB_USER=ada\n');
  machine.write(`${CGROUP}/job_17/cgroup.procs`, '5\n');
  assert.deepEqual(look(), ['begun 17 ada by file', 'cgroup 17 /slurm/uid_1001/job_17']);
  write('17.end', 'SLURM_JOB_ID=17\n');
  assert.deepEqual(look(), ['ended 17 ?: the job has ended']);
  await close();
  restart();
  for (let i = 0; i < 3; i++) assert.deepEqual(look(), []);
  machine.write(`${CGROUP}/other/cgroup.procs`, '9\n');
  fs.renameSync(machine.host.path(`${CGROUP}/job_17`), machine.host.path(`${CGROUP}/gone`));
  fs.renameSync(machine.host.path(`${CGROUP}/other`), machine.host.path(`${CGROUP}/job_17`));
  assert.deepEqual([...look(), ...look()], ['begun 17 ada by cgroup /slurm/uid_1001/job_17']);
});

test('a job with a file is one job, also when its cgroup was there first or is there for longer', (t) => {
  const { look, machine, write } = watched(t);
  write('17', 'SLURM_JOB_ID=17\nSLURM_JOB_USER=ada\n');
  assert.deepEqual(look(), ['begun 17 ada by file']);
  machine.write(`${CGROUP}/job_17/cgroup.procs`, '5\n');
  machine.write(`${CGROUP}/job_18/cgroup.procs`, '5\n');
  assert.deepEqual(look(), ['cgroup 17 /slurm/uid_1001/job_17']);
  assert.deepEqual(look(), ['begun 18 ada by cgroup /slurm/uid_1001/job_18']);
  write('18', 'SLURM_JOB_ID=18\nBEGIN=1799999999.5\n');
  write('17.end', 'SLURM_JOB_ID=17\n');
  assert.deepEqual(look(), ['told 18 1799999999500000', 'ended 17 ?: the job has ended']);
  machine.remove(`${CGROUP}/job_18`);
  assert.deepEqual(look(), [], 'its epilog will say so');
  assert.deepEqual(look(), [], 'a cgroup that is cleaned up late is no new job');
  write('18.end', 'SLURM_JOB_ID=18\n');
  assert.deepEqual(look(), ['ended 18 ?: the job has ended']);
});

test('an empty cgroup that was there before the job is not its own, until a process is in it', (t) => {
  const { look, machine, write } = watched(t);
  machine.write(`${CGROUP}/job_17/cgroup.procs`, '');
  machine.write(`${CGROUP}/job_18/cgroup.procs`, '');
  assert.deepEqual(look(), []);
  for (const id of ['17', '18', '19']) write(id, `SLURM_JOB_ID=${id}\nSLURM_JOB_USER=ada\n`);
  assert.deepEqual(look(), ['begun 17 ada by file', 'begun 18 ada by file', 'begun 19 ada by file']);
  assert.deepEqual(look(), []);
  machine.write(`${CGROUP}/job_17/cgroup.procs`, '5\n');
  // so short that its processes have gone by now
  machine.write(`${CGROUP}/job_19/cgroup.procs`, '');
  assert.deepEqual(look(), ['cgroup 17 /slurm/uid_1001/job_17', 'cgroup 19 /slurm/uid_1001/job_19']);
  assert.deepEqual(look(), []);
});

test('an agent that comes after the job takes an empty cgroup for the job’s own unless that is older than the job', (t) => {
  const { look, machine, write, time } = watched(t);
  const made = { 17: time.now / 1e6 - 99, 18: time.now / 1e6 - 200 };
  for (const [id, at] of Object.entries(made)) {
    const folder = `${CGROUP}/job_${id}`;
    machine.write(`${folder}/cgroup.procs`, '');
    for (const file of ['/cgroup.procs', '']) fs.utimesSync(machine.host.path(folder + file), at, at);
    write(id, `SLURM_JOB_ID=${id}\nSLURM_JOB_USER=ada\nBEGIN=${time.now / 1e6 - 100}\n`);
  }
  assert.deepEqual(look(), ['begun 17 ada by file', 'begun 18 ada by file', 'cgroup 17 /slurm/uid_1001/job_17']);
});

test('the tasks of an array that come together all begin by their files, also those that come while another begins', (t) => {
  const { look, machine, write, meanwhile } = watched(t);
  machine.write('/proc/5/environ', 'SLURM_JOB_ID=18\0');
  write('17', 'SLURM_JOB_ID=17\n');
  meanwhile.come = () => {
    write('18', 'SLURM_JOB_ID=18\n');
    for (const id of ['17', '18']) machine.write(`${CGROUP}/job_${id}/cgroup.procs`, '5\n');
  };
  assert.deepEqual(look(), ['begun 17 ? by file']);
  assert.deepEqual(look(), [
    'begun 18 ? by file',
    'cgroup 17 /slurm/uid_1001/job_17',
    'cgroup 18 /slurm/uid_1001/job_18',
  ]);
});

test('a file that is no job file is said once, and a job that cannot be recorded is tried again', (t) => {
  const { look, write } = watched(t, 2);
  write('bad', 'hello\n');
  write('17', 'SLURM_JOB_ID=17\n');
  assert.deepEqual(look(), [
    'refused 17: the job is not recorded yet: no room',
    'refused bad: it has no line SLURM_JOB_ID=',
  ]);
  assert.deepEqual(look(), []);
  assert.deepEqual(look(), ['begun 17 ? by file']);
});

test('a line of a job file that makes no sense is said, and the job begins', (t) => {
  const { look, write } = watched(t);
  write('17', 'SLURM_JOB_ID=17\nTACHO_INTERVAL=often\n');
  assert.deepEqual(look(), ['begun 17 ? by file', 'refused 17: TACHO_INTERVAL=often cannot be used']);
  assert.deepEqual(look(), []);
});

test('a folder that is not there, or comes later, is no trouble', (t) => {
  const { look, folder, write } = watched(t);
  fs.rmdirSync(folder);
  assert.deepEqual(look(), []);
  fs.mkdirSync(folder);
  write('17', 'SLURM_JOB_ID=17\n');
  assert.deepEqual(look(), ['begun 17 ? by file']);
});

for (const hours of [1, -1]) {
  test(`the end of a job is its own after the clock was set by ${hours} h, and by the agent's time`, (t) => {
    const { look, write, time } = watched(t);
    write('17', 'SLURM_JOB_ID=17\nSLURM_JOB_USER=ada\nBEGIN=1800000000.5\n');
    assert.deepEqual(look(), ['begun 17 ada by file']);
    time.ahead = hours * 3600e6;
    write('17.end', `SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=3:0\nEND=${1_800_000_020 + hours * 3600}.25\n`);
    assert.deepEqual(look(), ['ended 17 3 at 20.25: the job has ended']);
  });
}
