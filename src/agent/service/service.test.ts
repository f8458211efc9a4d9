import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import rawFs, * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { eventually } from '../../../test/made/eventually.ts';
import { recorded } from '../../../test/made/scheduler-answers.ts';
import { serviceOptions } from '../../../test/made/service-options.ts';
import { writeMarks } from '../../control/mark.ts';
import type { CommandResult } from '../../jobs/schedulers/command.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { readTable } from '../../recording/read/read.ts';
import { Service, type ServiceOptions } from './service.ts';

const NOT_INSTALLED: CommandResult = { stdout: '', trouble: 'scontrol is not installed' };

function setUp(t: TestContext, more: Partial<ServiceOptions> = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-service-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const log: string[] = [];
  const jobs = path.join(folder, 'jobs');
  const spool = path.join(folder, 'spool');
  const options = serviceOptions(folder, log, {
    idleIntervalSeconds: 60,
    only: ['loadavg', 'process'],
    run: async () => NOT_INSTALLED,
    ...more,
  });
  return { spool, jobs, log, options, recording: (name: string) => openRecording(path.join(spool, name)) };
}

const times = (recording: ReturnType<typeof openRecording>, table = 'loadavg'): number[] => {
  const rows = readTable(recording.nodes[0]!, table, { columns: [] });
  return [...rows.time.subarray(0, rows.rows)];
};

test('the node has a recording a day, which changes at midnight UTC', async (t) => {
  const midnight = Date.parse('2026-11-16T00:00:00Z');
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: midnight - 2_500 });
  const { options, recording, spool } = setUp(t, {
    idleIntervalSeconds: 1,
    clock: { now: () => Date.now() * 1000, jumps: [], ahead: () => 0, settle: () => {} },
  });
  const service = new Service(options);
  assert.equal(service.fleet.day, '2026-11-15');
  for (let i = 0; i < 40; i++) t.mock.timers.tick(100);
  assert.equal(service.fleet.day, '2026-11-16');
  await service.stop('SIGTERM');
  assert.deepEqual(
    fs.readdirSync(spool).filter((name) => !name.startsWith('.')),
    ['fleet-2026-11-15', 'fleet-2026-11-16'],
  );
  const [old, now] = [recording('fleet-2026-11-15'), recording('fleet-2026-11-16')];
  const seconds = (time: number): number => (time / 1000 - midnight) / 1000;
  assert.deepEqual(times(old).map(seconds), [-2.5, -2, -1, 0]);
  assert.deepEqual(times(now).map(seconds), [0, 1, 1.5]);
  assert.deepEqual(
    [old, now].map(({ job }) => [job.id, job.user, job.uid, job.state, job.end === undefined]),
    [
      ['fleet-2026-11-15', '', -1, 'completed', false],
      ['fleet-2026-11-16', '', -1, 'running', true],
    ],
    'the day goes on with the next agent',
  );
  assert.deepEqual([...old.nodes[0]!.tables.keys()].sort(), ['agent', 'loadavg'], 'no processes: they are of jobs');
  assert.equal(old.nodes[0]!.agent!.end_reason, 'the day has ended');
});

test('users come through the folder of the agent to what is theirs, and see no job files', async (t) => {
  const { options, jobs } = setUp(t, { only: ['loadavg', 'process_end'] });
  const run = path.join(jobs, 'run');
  const service = new Service({ ...options, jobs: path.join(run, 'jobs') });
  const modes = ['', 'jobs', 'records'].map((name) => fs.statSync(path.join(run, name)).mode & 0o777);
  assert.deepEqual(modes, [0o711, 0o700, 0o700]);
  await service.stop('SIGTERM');
});

test('of jobs that begin together each has its first sample before any has the rest', async (t) => {
  const { options, jobs, spool } = setUp(t);
  const service = new Service(options);
  const ids = ['1', '2', '3'];
  for (const id of ids)
    fs.writeFileSync(path.join(jobs, id), `SLURM_JOB_ID=${id}\nSLURM_JOB_UID=${process.getuid!()}\n`);
  service.look();
  const has = (file: string): boolean[] =>
    ids.map((id) => fs.existsSync(path.join(spool, `job-${id}`, 'node=c1', file)));
  const agentOf = (id: string) => openRecording(path.join(spool, `job-${id}`)).nodes[0]!.agent!;
  assert.deepEqual([has('loadavg.csv'), has('agent.json')], [ids.map(() => true), ids.map(() => true)]);
  assert.deepEqual(
    ids.map((id) => agentOf(id).first_sample),
    ids.map(() => undefined),
    'the rest comes later',
  );
  await eventually('the first samples', () => ids.every((id) => agentOf(id).first_sample !== undefined));
  const agentRecord = agentOf('1');
  assert.deepEqual(
    [agentRecord.shared_with, agentRecord.written],
    [
      ['2', '3'],
      ['agent', 'loadavg'],
    ],
  );
  await service.stop('SIGTERM');
});

test('two jobs on one node have recordings of their own, which say so', async (t) => {
  const { options, jobs, recording, log } = setUp(t);
  const service = new Service(options);
  fs.writeFileSync(
    path.join(jobs, '17'),
    'SLURM_JOB_ID=17\nSLURM_JOB_USER=ada\nSLURM_JOB_UID=1001\nSLURM_NODELIST=c[1-2]\n',
  );
  service.look();
  fs.writeFileSync(path.join(jobs, '18r1'), 'SLURM_JOB_ID=18\nSLURM_RESTART_COUNT=1\nTACHO_INTERVAL=0.1\n');
  service.look();
  assert.deepEqual([...service.jobs.keys()], ['17', '18r1']);
  fs.writeFileSync(path.join(jobs, '17.end'), 'SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=0:0\n');
  service.look();
  await service.stop('SIGTERM');
  const [first, second] = [recording('job-17'), recording('job-18r1')];
  const { state, user, uid, nodes, asked, exit_code } = first.job;
  assert.deepEqual(
    [state, user, uid, nodes, asked, exit_code],
    ['completed', 'ada', 1001, ['c1', 'c2'], { nodes: 2 }, 0],
  );
  assert.deepEqual([second.job.state, second.job.restart, second.job.interval_seconds], ['running', 1, 0.1]);
  assert.deepEqual(
    second.nodes[0]!.agent!.unmeasured.map(({ table, why }) => `${table}: ${why}`),
    [
      'process: the job file does not say whose job it is (SLURM_JOB_UID)',
      'job: scontrol is not installed; the environment alone was used',
    ],
  );
  assert.deepEqual(first.nodes[0]!.agent!.shared_with, ['18r1']);
  assert.deepEqual(second.nodes[0]!.agent!.shared_with, ['17']);
  assert.equal(second.nodes[0]!.agent!.end_reason, 'SIGTERM');
  assert.ok(times(first).length >= 2, 'a sample at once and one at the end');
  assert.equal(log.filter((line) => line.startsWith('job 17 has ended')).length, 1);
});

test('jobs that begin together are written down once each, not once for each of the others', async (t) => {
  const { options, jobs, recording } = setUp(t);
  const service = new Service(options);
  const ids = Array.from({ length: 8 }, (_, i) => String(100 + i));
  for (const id of ids) fs.writeFileSync(path.join(jobs, id), `SLURM_JOB_ID=${id}\nTACHO_SCHEDULER=none\n`);
  const renamed = t.mock.method(rawFs, 'renameSync');
  syncBuiltinESMExports();
  service.look();
  const records = renamed.mock.calls.filter((call) => String(call.arguments[1]).endsWith('/agent.json'));
  renamed.mock.restore();
  syncBuiltinESMExports();
  const begun = service.jobs.size;
  await service.stop('SIGTERM');
  assert.equal(begun, 8);
  assert.ok(records.length <= 3 * ids.length, `${records.length} times`);
  assert.equal(recording('job-100').nodes[0]!.agent!.shared_with?.length, 7);
});

test('the next agent goes on with a job in its recording, and closes what has ended meanwhile', async (t) => {
  const { options, jobs, recording } = setUp(t);
  fs.mkdirSync(jobs);
  for (const id of ['17', '18', '19']) fs.writeFileSync(path.join(jobs, id), `SLURM_JOB_ID=${id}\nBEGIN=1700000000\n`);
  fs.writeFileSync(path.join(jobs, '20'), 'SLURM_JOB_ID=20\nTACHO_SCHEDULER=none\nBEGIN=1700000000\n');
  const service = new Service(options);
  await service.stop('SIGTERM');
  const before = recording('job-17');
  const samples = times(before);
  // 18 has ended while nobody looked, and its epilog said so; 19's file was lost with the node
  fs.writeFileSync(path.join(jobs, '18.end'), 'SLURM_JOB_ID=18\nSLURM_JOB_EXIT_CODE2=0:9\nEND=1700000100\n');
  fs.rmSync(path.join(jobs, '19'));
  fs.writeFileSync(path.join(jobs, '20.end'), 'SLURM_JOB_ID=20\nSLURM_JOB_EXIT_CODE2=3:0\nEND=1700000100\n');
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const next = new Service(options);
  t.mock.timers.tick(3000);
  await next.stop('SIGTERM');
  const [first, second, third] = ['job-17', 'job-18', 'job-19'].map(recording) as [
    typeof before,
    typeof before,
    typeof before,
  ];
  assert.deepEqual([...next.jobs.keys()], ['17']);
  assert.equal(first.job.start, 1_700_000_000e6);
  assert.equal(first.nodes[0]!.agent!.first_sample, before.nodes[0]!.agent!.first_sample);
  assert.ok(first.nodes[0]!.agent!.ticks > before.nodes[0]!.agent!.ticks);
  assert.deepEqual(times(first).slice(0, samples.length), samples, 'nothing that was written is lost');
  assert.ok(times(first).length > samples.length);
  assert.deepEqual([second.job.state, second.job.signal, second.job.end], ['failed', 'SIGKILL', 1_700_000_100e6]);
  assert.equal(third.job.state, 'unknown');
  assert.equal(third.job.reason, 'it ended while no agent was running on this node');
  const { job: plain } = recording('job-20');
  assert.deepEqual([plain.state, plain.exit_code], ['failed', 3], 'no scheduler is needed to know that');
  assert.deepEqual(fs.readdirSync(jobs), ['17']);
});

test('a job that began and ended while no agent was there has a recording without samples', async (t) => {
  const { options, jobs, recording, log } = setUp(t);
  fs.mkdirSync(jobs);
  const facts =
    'SLURM_JOB_ID=17\nSLURM_JOB_USER=ada\nSLURM_JOB_UID=1001\nSLURM_NODELIST=c[1-2]\nSLURM_JOB_NAME=short\n';
  fs.writeFileSync(path.join(jobs, '17'), `${facts}BEGIN=1700000000.25\n`);
  fs.writeFileSync(path.join(jobs, '17.end'), 'SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=3:0\nEND=1700000004.5\n');
  const service = new Service(options);
  await service.stop('SIGTERM');
  assert.ok(log.some((line) => line.includes('job 17 has begun and ended while no agent was running')));
  const { job, nodes } = recording('job-17');
  assert.deepEqual(
    [job.user, job.uid, job.name, job.nodes, job.start, job.end, job.state, job.exit_code],
    ['ada', 1001, 'short', ['c1', 'c2'], 1_700_000_000_250_000, 1_700_000_004_500_000, 'failed', 3],
  );
  const { agent, tables } = nodes[0]!;
  assert.deepEqual([agent!.ticks, tables.size, agent!.first_sample], [0, 0, undefined]);
  assert.equal(agent!.end_reason, 'no agent was running on this node while the job ran');
  assert.deepEqual(fs.readdirSync(jobs), []);
  const { options: own } = setUp(t, { spool: options.spool, jobs });
  const next = new Service(own);
  await next.stop('SIGTERM');
  assert.equal(fs.readdirSync(options.spool).filter((name) => name.startsWith('job-')).length, 1, 'once');
});

test('an agent that is killed while it closes what was left leaves it to the next one, at every stage', async (t) => {
  const { options, jobs, spool, recording } = setUp(t);
  fs.mkdirSync(jobs);
  fs.writeFileSync(path.join(jobs, '17'), 'SLURM_JOB_ID=17\nSLURM_NODELIST=c1\nBEGIN=1700000000\n');
  const service = new Service(options);
  await service.stop('SIGTERM');
  const end = path.join(jobs, '17.end');
  fs.writeFileSync(end, 'SLURM_JOB_ID=17\nSLURM_JOB_EXIT_CODE2=0:15\nEND=1700000100\n');
  const agentFile = path.join(spool, 'job-17/node=c1/agent.json');
  const { end: _, end_reason: __, ...killed } = JSON.parse(fs.readFileSync(agentFile, 'utf8'));
  fs.writeFileSync(agentFile, JSON.stringify(killed));
  const [jobFile, before] = [path.join(spool, 'job-17/job.json'), fs.readFileSync(path.join(spool, 'job-17/job.json'))];
  const closed = () => {
    const { job, nodes } = recording('job-17');
    return [job.state, job.signal, job.end, nodes[0]!.agent!.end_reason];
  };
  const wanted = ['failed', 'SIGTERM', 1_700_000_100e6, 'the agent was killed'];
  // killed while it asked the scheduler: the agent's record is written, the job's is not
  const asking = Promise.withResolvers<void>();
  const stuck = new Service({ ...options, run: () => asking.promise.then(() => NOT_INSTALLED) });
  assert.equal(recording('job-17').nodes[0]!.agent!.end_reason, 'the agent was killed');
  assert.equal(recording('job-17').job.end, undefined);
  const files = new Map([jobFile, agentFile, end, path.join(jobs, '17')].map((file) => [file, fs.readFileSync(file)]));
  asking.resolve();
  await stuck.stop('SIGTERM');
  assert.deepEqual(closed(), wanted);
  const finished = fs.readFileSync(jobFile);
  for (const [file, bytes] of files) fs.writeFileSync(file, bytes);
  await new Service(options).stop('SIGTERM');
  assert.deepEqual([closed(), fs.readdirSync(jobs)], [wanted, []]);
  // killed when all was written but the job's files not yet removed
  for (const [file, bytes] of files) fs.writeFileSync(file, bytes);
  fs.writeFileSync(jobFile, finished);
  await new Service(options).stop('SIGTERM');
  assert.deepEqual([closed(), fs.readdirSync(jobs)], [wanted, []]);
  assert.ok(!fs.existsSync(path.join(spool, 'job-17.2')));
  assert.notDeepEqual(before, finished);
});

test('an id that is used again has a recording of its own, whatever became of the first', async (t) => {
  const { options, jobs, recording, log } = setUp(t);
  const begin = (id: string, when: number) => {
    fs.writeFileSync(path.join(jobs, id), `SLURM_JOB_ID=${id}\nSLURM_JOB_USER=ada\nBEGIN=${1_700_000_000 + when}\n`);
  };
  const end = (id: string, code: number, when: number) => {
    const text = `SLURM_JOB_ID=${id}\nSLURM_JOB_EXIT_CODE2=${code}:0\nEND=${1_700_000_000 + when}\n`;
    fs.writeFileSync(path.join(jobs, `${id}.end`), text);
  };
  const service = new Service(options);
  begin('17', 0);
  begin('18', 0);
  service.look();
  end('17', 1, 10);
  service.look();
  begin('17', 20);
  service.look();
  await service.stop('SIGTERM');
  // 18 ended and began again while no agent was there
  end('18', 4, 10);
  begin('18', 20);
  const next = new Service(options);
  assert.deepEqual([...next.jobs.keys()].sort(), ['17', '18']);
  end('17', 0, 30);
  next.look();
  await next.stop('SIGTERM');
  const jobFields = (name: string) => {
    const { job } = recording(name);
    return [job.id, job.restart, job.start / 1e6 - 1_700_000_000, job.state, job.exit_code];
  };
  assert.deepEqual(jobFields('job-17'), ['17', undefined, 0, 'failed', 1]);
  assert.deepEqual(jobFields('job-17.2'), ['17', undefined, 20, 'completed', 0]);
  assert.deepEqual(jobFields('job-18'), ['18', undefined, 0, 'failed', 4]);
  assert.deepEqual(jobFields('job-18.2'), ['18', undefined, 20, 'running', undefined]);
  assert.deepEqual(
    log.filter((line) => line.startsWith('job 17 of ada')).map((line) => line.replace(/: .*\//, ': ')),
    ['job 17 of ada begins: job-17', 'job 17 of ada begins: job-17.2', 'job 17 of ada goes on: job-17.2'],
  );
});

test('the first node of a job asks the scheduler, the others do not', async (t) => {
  const asked: string[] = [];
  const { options, jobs, recording } = setUp(t, {
    run: async (command, args) => {
      asked.push([command, ...args].join(' '));
      return command === 'scontrol' ? { stdout: recorded('slurm-scontrol-failed.txt') } : { stdout: '' };
    },
  });
  const service = new Service(options);
  fs.writeFileSync(
    path.join(jobs, '17'),
    'SLURM_JOB_ID=17\nSLURM_NODELIST=c[1-2]\nSLURM_ARRAY_JOB_ID=15\nSLURM_ARRAY_TASK_ID=2\nBEGIN=1700000000.25\n',
  );
  fs.writeFileSync(path.join(jobs, '18'), 'SLURM_JOB_ID=18\nSLURM_NODELIST=c[0-1]\n');
  service.look();
  for (const id of ['17', '18']) {
    fs.writeFileSync(path.join(jobs, `${id}.end`), `SLURM_JOB_ID=${id}\nEND=1700000003.75\n`);
  }
  service.look();
  await service.stop('SIGTERM');
  assert.deepEqual(
    [...new Set(asked.map((line) => line.split(' ').slice(0, 5).join(' ')))],
    ['scontrol show job -d 17', 'scontrol show job 17', 'sacct -j 17 -D -P'],
  );
  const { job } = recording('job-17');
  assert.equal(job.id, '17');
  assert.equal(job.state, 'failed');
  assert.deepEqual([job.start, job.end], [1_700_000_000_250_000, 1_700_000_003_750_000], "not Slurm's whole seconds");
  assert.notEqual(job.partition, undefined);
  assert.deepEqual(job.tags, { array_job: '15', array_task: '2' });
  assert.equal(recording('job-18').job.state, 'unknown');
});

test('a scheduler that was too busy when the job began is asked again at its end', async (t) => {
  let asked = 0;
  const { options, jobs, recording } = setUp(t, {
    run: async (_, args) => {
      const isBusy = args[2] === '-d' && asked++ === 0;
      if (isBusy) return { stdout: '', trouble: 'scontrol gave no answer within 5 s' };
      return { stdout: recorded('slurm-scontrol-failed.txt') };
    },
  });
  const service = new Service(options);
  fs.writeFileSync(path.join(jobs, '17'), 'SLURM_JOB_ID=17\nSLURM_JOB_UID=0\nSLURM_NODELIST=c1\n');
  service.look();
  await setImmediate();
  assert.deepEqual([recording('job-17').job.name, asked], ['17', 1]);
  fs.writeFileSync(path.join(jobs, '17.end'), 'SLURM_JOB_ID=17\nEND=1700000003.75\n');
  service.look();
  await service.stop('SIGTERM');
  const { job, nodes } = recording('job-17');
  assert.notEqual(job.name, '17');
  assert.notEqual(job.partition, undefined);
  assert.deepEqual(
    nodes[0]!.agent!.unmeasured.filter(({ table }) => table === 'job'),
    [],
  );
});

test('the next agent asks the scheduler where the one before was killed before it had the answer', async (t) => {
  let asked = 0;
  const { options, jobs, recording } = setUp(t, {
    run: (_, args) => {
      if (args[2] === '-d' && asked++ === 0) return new Promise(() => {});
      return Promise.resolve({ stdout: recorded('slurm-scontrol-failed.txt') });
    },
  });
  fs.mkdirSync(jobs);
  fs.writeFileSync(path.join(jobs, '17'), 'SLURM_JOB_ID=17\nSLURM_JOB_UID=0\nSLURM_NODELIST=c1\n');
  const first = new Service(options);
  first.look();
  await setImmediate();
  await first.stop('SIGTERM');
  assert.equal(recording('job-17').job.name, '17');
  const second = new Service(options);
  second.look();
  await setImmediate();
  await second.stop('SIGTERM');
  assert.deepEqual([recording('job-17').job.name === '17', asked], [false, 2]);
  // who knows it asks no more
  const third = new Service(options);
  third.look();
  await setImmediate();
  await third.stop('SIGTERM');
  assert.equal(asked, 2);
});

test('a component of a heterogeneous job says which it is, though its prolog does not know', async (t) => {
  const scontrolText = recorded('slurm-scontrol-het.txt');
  const { options, jobs, recording } = setUp(t, {
    node: 'c2',
    run: async (command) => ({
      stdout: command === 'scontrol' ? scontrolText.slice(scontrolText.indexOf('JobId=11')) : '',
    }),
  });
  const service = new Service(options);
  fs.writeFileSync(path.join(jobs, '11'), 'SLURM_JOB_ID=11\nSLURM_NODELIST=c2\nSLURM_HET_JOB_ID=10\n');
  service.look();
  await setImmediate();
  await service.stop('SIGTERM');
  assert.deepEqual(recording('job-11').job.tags, { het_job: '10', het_component: '1' });
});

test('two agents share neither a spool nor the folder around their jobs', async (t) => {
  const { options, spool } = setUp(t);
  const stat = fs.readFileSync(`/proc/${process.ppid}/stat`, 'latin1');
  const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  const around = path.dirname(path.resolve(options.jobs));
  for (const folder of [spool, around]) {
    fs.mkdirSync(folder, { recursive: true });
    const file = path.join(folder, '.agent.json');
    fs.writeFileSync(file, JSON.stringify({ pid: process.ppid, started, host: os.hostname() }));
    const already = `an agent (process ${process.ppid}) records in ${folder} already`;
    assert.throws(() => new Service(options), { message: already });
    fs.rmSync(file);
  }
  assert.deepEqual(fs.readdirSync(spool), []);
});

test('sinks are woken after ticks and closed last', async (t) => {
  const calls: string[] = [];
  const { options } = setUp(t, {
    outlet: { wake: () => void calls.push('wake'), close: async () => void calls.push('close') },
  });
  const service = new Service(options);
  await service.stop('SIGTERM');
  assert.equal(calls.at(-1), 'close');
  assert.ok(calls.includes('wake'));
});

test('a phase that a job marks begins and ends with a sample, however long the interval is', async (t) => {
  const { options, jobs, spool, recording } = setUp(t, { intervalSeconds: 60 });
  // it is no child of ours, as the agent's own are nobody's job, and ends with the folder
  const work = `while [ -e ${path.dirname(jobs)} ]; do :; done`;
  spawnSync('setsid', ['-f', 'sh', '-c', work], { stdio: 'ignore', env: { ...process.env, SLURM_JOB_ID: '17' } });
  const service = new Service(options);
  t.after(() => service.stop('SIGTERM'));
  const uid = process.getuid!();
  fs.writeFileSync(path.join(jobs, '17'), `SLURM_JOB_ID=17\nSLURM_JOB_UID=${uid}\n`);
  service.look();
  const marksLink = path.join(path.dirname(jobs), `users/${uid}/jobs/job-17.marks`);
  await eventually('the place of marks', () => fs.existsSync(marksLink));
  const around = path.dirname(fs.realpathSync(marksLink));
  t.after(() => fs.rmSync(around, { recursive: true }));
  const rounds = (): number => new Set(times(recording('job-17'), 'process')).size;
  const before = rounds();
  for (const action of ['begin', 'end'] as const) {
    const had = rounds();
    writeMarks(fs.realpathSync(marksLink), { SLURMD_NODENAME: 'c1' }, [{ action, name: 'phase' }]);
    await eventually(
      'a mark and a sample',
      () => fs.existsSync(path.join(spool, 'job-17/node=c1/marker.csv')) && rounds() > had,
    );
  }
  assert.equal(rounds(), before + 2);
});
