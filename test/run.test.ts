import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import type { AgentRecord } from '../src/recording/folder/agent-record.ts';
import type { Job } from '../src/recording/folder/job.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { eventually } from './made/eventually.ts';
import { fileFace } from './made/file-face.ts';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

function only(folder: string): string {
  const names = fs.readdirSync(folder).filter((name) => name.startsWith('tacho-'));
  assert.equal(names.length, 1, names.join(' '));
  return path.join(folder, names[0]!);
}

const jobOf = (recording: string): Job => JSON.parse(fs.readFileSync(path.join(recording, 'job.json'), 'utf8')) as Job;

function nodeOf(recording: string): string {
  return path.join(recording, fs.readdirSync(recording).find((name) => name.startsWith('node='))!);
}

function samples(recording: string, table: string): string[][] {
  const text = fs.readFileSync(path.join(nodeOf(recording), `${table}.csv`), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
}

/** The folder of this machine in a recording of its own. */
const HERE = `node=${os.hostname()}`;

/** A command that goes on for as long as this file is there, at most as long as the test's folder. */
function hold(cwd: string): { command: string[]; release: () => void } {
  const file = path.join(cwd, 'hold');
  fs.writeFileSync(file, '');
  return {
    command: ['sh', '-c', `while [ -e '${file}' ]; do sleep 0.1; done; echo done >'${path.join(cwd, 'finished')}'`],
    release: () => fs.rmSync(file),
  };
}

const lineCount = (file: string): number =>
  fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').length - 1 : 0;

test('the card of a run as JSON is all that goes to stderr', (t) => {
  const cwd = temporaryFolder(t);
  const { code, err } = tacho(['run', '--format', 'json', '-o', 'rec', '--', 'sh', '-c', 'exit 3'], { cwd });
  assert.equal(code, 3);
  assert.equal(JSON.parse(err).job.exit_code, 3);
});

test('processes that outlive the command are named on its card', (t) => {
  const cwd = temporaryFolder(t);
  const left = 'sleep 61 >/dev/null 2>&1 & echo $! >pid; sleep 0.2';
  const { err } = tacho(['run', '--format', 'json', '-o', 'rec', '--', 'sh', '-c', left], { cwd });
  process.kill(Number(fs.readFileSync(path.join(cwd, 'pid'), 'utf8')));
  const { findings } = JSON.parse(err);
  const finding = findings.find((each: { id: string }) => each.id === 'left-running');
  assert.equal(finding?.text, '1 process still running when the recording ended: sleep');
  assert.match(finding.evidence[0].text, /: sleep 61 \(process \d+ of /);
  const alone = tacho(['run', '--format', 'json', '-o', 'alone', '--', 'sh', '-c', 'sleep 2; exit 0'], { cwd });
  const check = JSON.parse(alone.err).checks.find((each: { id: string }) => each.id === 'left-running');
  assert.equal(check.outcome, 'fine');
});

test('input, output and exit code are the command’s own; the report goes to stderr', (t) => {
  const cwd = temporaryFolder(t);
  const result = tacho(['run', '--', 'sh', '-c', 'cat; echo to-stderr >&2; exit 41'], {
    cwd,
    input: 'through\0bytes\n',
  });
  assert.equal(result.code, 41);
  assert.equal(result.out, 'through\0bytes\n');
  assert.match(result.err, /^to-stderr$/m);
  assert.match(result.err, /41/);
  const job = jobOf(only(cwd));
  assert.equal(job.exit_code, 41);
  assert.equal(job.state, 'failed');
});

test('a signal that ends the command ends tacho run the same way', (t) => {
  const cwd = temporaryFolder(t);
  assert.equal(tacho(['run', '--no-report', '--', 'sh', '-c', 'kill -TERM $$'], { cwd }).signal, 'SIGTERM');
  const killed = tacho(['run', '--no-report', '-o', 'second', '--', 'sh', '-c', 'kill -KILL $$'], { cwd });
  assert.equal(killed.code, 137);
  assert.equal(jobOf(path.join(cwd, 'second')).signal, 'SIGKILL');
  // Node itself ignores this one
  assert.equal(tacho(['run', '--no-report', '--', 'sh', '-c', 'kill -PIPE $$'], { cwd }).code, 141);
});

test('a signal sent to tacho run reaches the command, and its own end counts', async (t) => {
  const cwd = temporaryFolder(t);
  const child = spawn(
    TACHO,
    [
      'run',
      '--no-report',
      '--',
      'sh',
      '-c',
      'trap "echo got it; exit 5" USR1; echo ready; while :; do sleep 0.05; done',
    ],
    {
      cwd,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let out = '';
  child.stdout.on('data', (bytes) => {
    out += bytes;
    if (out === 'ready\n') child.kill('SIGUSR1');
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(out, 'ready\ngot it\n');
  assert.equal(code, 5);
});

test('a command of 50 ms has true wall time, CPU time and memory', (t) => {
  const cwd = temporaryFolder(t);
  const burn =
    'const b = Buffer.alloc(150 << 20, 1); const t = process.cpuUsage(); while (process.cpuUsage(t).user < 50_000) b[0]++;';
  assert.equal(tacho(['run', '--', process.execPath, '-e', burn], { cwd }).code, 0);
  const { usage, start, end } = jobOf(only(cwd));
  assert.ok(usage!.user_seconds >= 0.05);
  assert.ok(usage!.max_rss_bytes! > 150 << 20 && usage!.max_rss_bytes! < 300 << 20, String(usage!.max_rss_bytes));
  assert.equal(end! - start, Math.round(usage!.wall_seconds * 1e6));
});

test('a recording is private, and complete: first and last sample, processes, how it ended', (t) => {
  const cwd = temporaryFolder(t);
  const rowCount = 'cat tacho-*/node=*/loadavg.csv | wc -l';
  const script = `until [ $(${rowCount}) -gt 4 ] && grep -q ',sleep,' tacho-*/node=*/process.csv; do sleep 0.1; done`;
  const args = ['--interval', '0.1s', '--tag', 'case:a', '--name', 'nap', '--', 'sh', '-c', script];
  assert.equal(tacho(['run', '--no-report', ...args], { cwd }).code, 0);
  const recording = only(cwd);
  assert.match(path.basename(recording), /^tacho-\d{8}-\d{6}-nap$/);
  assert.equal(fs.statSync(recording).mode & 0o777, 0o700);
  const job = jobOf(recording);
  assert.deepEqual([job.name, job.tags, job.state, job.exit_code], ['nap', { case: 'a' }, 'completed', 0]);
  const agent = JSON.parse(fs.readFileSync(path.join(nodeOf(recording), 'agent.json'), 'utf8')) as AgentRecord;
  assert.equal(agent.end_reason, 'the command has ended');
  const times = samples(recording, 'loadavg')
    .slice(1)
    .map((row) => Number(row[0]));
  // the clock of samples is allowed to be so far from the kernel's
  const apart = 2000;
  assert.ok(times[0]! <= job.start + apart && times.at(-1)! >= job.end! - apart, 'from the start to the end');
  assert.ok(times.length >= 4, `${times.length} samples`);
  const [header, ...rows] = samples(recording, 'process');
  assert.ok(rows.some((row) => row[header!.indexOf('name')] === 'sleep'));
});

test('--redact keeps arguments out of everything that is written', (t) => {
  const cwd = temporaryFolder(t);
  assert.equal(tacho(['run', '--redact', '--', 'sh', '-c', 'sleep 0.2; : my-secret-password'], { cwd }).code, 0);
  const filesWithSecret = spawnSync('grep', ['-r', '-l', 'my-secret-password', cwd], { encoding: 'utf8' });
  assert.equal(filesWithSecret.stdout, '');
});

test('the environment is kept by allow-list only', (t) => {
  const cwd = temporaryFolder(t);
  tacho(['run', '--no-report', '--', 'true'], {
    cwd,
    env: { ...process.env, OMP_NUM_THREADS: '3', MY_TOKEN: 'hunter2' },
  });
  assert.equal(jobOf(only(cwd)).environment.OMP_NUM_THREADS, '3');
  assert.equal(spawnSync('grep', ['-r', 'hunter2', cwd]).status, 1);
});

test('a command that cannot be run leaves nothing behind, not even in a folder that was there', (t) => {
  const cwd = temporaryFolder(t);
  const unknown = tacho(['run', '--', 'no-such-command'], { cwd });
  assert.equal(unknown.code, 127);
  assert.match(unknown.err, /cannot run no-such-command: command not found/);
  assert.doesNotMatch(unknown.err, /\n\s+at /);
  assert.deepEqual(fs.readdirSync(cwd), []);
  fs.mkdirSync(path.join(cwd, 'mine'), { mode: 0o755 });
  assert.equal(tacho(['run', '-o', 'mine', '--', '/etc/passwd'], { cwd }).code, 126);
});

test('kill -9 of tacho run: the command goes on, and what was written is readable', async (t) => {
  const cwd = temporaryFolder(t);
  const { command, release } = hold(cwd);
  const child = spawn(TACHO, ['run', '-i', '0.1s', '-o', 'rec', '--', ...command], { cwd, stdio: 'ignore' });
  const gone = new Promise((resolve) => child.once('close', resolve));
  await eventually('four samples', () => lineCount(path.join(cwd, 'rec', HERE, 'loadavg.csv')) > 4);
  child.kill('SIGKILL');
  await gone;
  const written = samples(path.join(cwd, 'rec'), 'loadavg').length;
  assert.ok(written > 3);
  const report = tacho(['report', 'rec', '--format', 'json'], { cwd });
  assert.equal(report.code, 0, report.err);
  release();
  await eventually('the command ends', () => lineCount(path.join(cwd, 'finished')) === 1);
  assert.equal(fs.readFileSync(path.join(cwd, 'finished'), 'utf8'), 'done\n');
});

test('a terminal stays a terminal for the command', {
  skip: spawnSync('script', ['--version']).error !== undefined && 'needs script(1)',
}, (t) => {
  const cwd = temporaryFolder(t);
  const searchResult = spawnSync(
    'script',
    ['-qec', `${TACHO} run --no-report -- sh -c 'test -t 0 && test -t 1 && test -t 2 && echo all-three'`, '/dev/null'],
    {
      cwd,
      encoding: 'utf8',
      input: '',
    },
  );
  assert.match(searchResult.stdout, /all-three/);
  assert.equal(searchResult.status, 0);
});

test('a new recording never overwrites an old one', (t) => {
  const cwd = temporaryFolder(t);
  assert.equal(tacho(['run', '--no-report', '-o', 'rec', '--', 'true'], { cwd }).code, 0);
  const before = fs.readFileSync(path.join(cwd, 'rec/job.json'), 'utf8');
  const again = tacho(['run', '--strict', '-o', 'rec', '--', 'true'], { cwd });
  assert.equal(again.code, 1);
  assert.match(again.err, /rec is a recording already/);
  assert.equal(fs.readFileSync(path.join(cwd, 'rec/job.json'), 'utf8'), before);
});

test('a folder that holds something else is refused and stays as it is; an empty one keeps its rights', (t) => {
  const cwd = temporaryFolder(t);
  fs.mkdirSync(path.join(cwd, 'full'));
  fs.writeFileSync(path.join(cwd, 'full/keep'), 'x');
  fs.chmodSync(path.join(cwd, 'full'), 0o775);
  const refused = tacho(['run', '--strict', '-o', 'full', '--', 'true'], { cwd });
  assert.equal(refused.code, 1);
  assert.match(refused.err, /full is not empty/);
  assert.deepEqual(fs.readdirSync(path.join(cwd, 'full')), ['keep']);
  fs.mkdirSync(path.join(cwd, 'empty'));
  fs.chmodSync(path.join(cwd, 'empty'), 0o750);
  assert.equal(tacho(['run', '--no-report', '-o', 'empty', '--', 'true'], { cwd }).code, 0);
  for (const name of ['full', 'empty']) {
    assert.equal(fs.statSync(path.join(cwd, name)).mode & 0o777, name === 'full' ? 0o775 : 0o750);
  }
});

test('descriptors that were open stay open for the command: locks, logs, the job server of make', (t) => {
  const cwd = temporaryFolder(t);
  const run = (...args: string[]): string => `${TACHO} run --no-report -o rec-${args.length} -- ${args.join(' ')}`;
  const script = `exec 3>three 9>nine; ${run('sh', '-c', '"echo a >&3; echo b >&9; test ! -e /proc/self/fd/4"')}`;
  const done = spawnSync('bash', ['-c', script], { cwd, encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  assert.equal(fs.readFileSync(path.join(cwd, 'three'), 'utf8'), 'a\n');
  assert.equal(fs.readFileSync(path.join(cwd, 'nine'), 'utf8'), 'b\n');
});

test('an output that is closed is closed for the command, too', (t) => {
  const cwd = temporaryFolder(t);
  const done = spawnSync('bash', ['-c', `${TACHO} run --no-report -o rec -- sh -c 'echo x' >&-`], {
    cwd,
    encoding: 'utf8',
  });
  assert.notEqual(done.status, 0);
  assert.match(done.stderr, /echo: /);
  assert.equal(JSON.parse(fs.readFileSync(path.join(cwd, 'rec/job.json'), 'utf8')).state, 'failed');
});

test('one of several tasks of a Slurm step records itself alone, and asks and starts nobody else', (t) => {
  const cwd = temporaryFolder(t);
  const called = path.join(cwd, 'called');
  for (const name of ['srun', 'scontrol', 'sacct']) {
    fs.mkdirSync(path.join(cwd, 'bin'), { recursive: true });
    fs.writeFileSync(path.join(cwd, 'bin', name), `#!/bin/sh\necho "${name} $*" >>${called}\nexit 1\n`, {
      mode: 0o755,
    });
  }
  const step = { SLURM_JOB_ID: '21', SLURM_JOB_NODELIST: 'c[1-2]', SLURM_STEP_ID: '0', SLURM_STEP_NUM_TASKS: '4' };
  const share = { SLURM_GTIDS: '2,3', SLURM_CPUS_PER_TASK: '1', SLURM_MEM_PER_NODE: '1024' };
  const env = { ...process.env, PATH: `${cwd}/bin:${process.env.PATH}`, ...step, ...share, SLURMD_NODENAME: 'c2' };
  const run = (rank: string, ...more: string[]) =>
    tacho(['run', ...more, '--', 'sh', '-c', 'echo $SLURM_PROCID'], {
      cwd,
      env: { ...env, SLURM_PROCID: rank },
      input: '',
    });
  const last = run('3');
  assert.deepEqual([last.code, last.out], [0, '3\n']);
  assert.doesNotMatch(last.err, /records itself alone/);
  const job = JSON.parse(fs.readFileSync(path.join(cwd, 'tacho-21-task3/job.json'), 'utf8'));
  assert.deepEqual([job.id, job.nodes, job.tags, job.state], ['21.0.3', ['c2'], { step: '0', task: '3' }, 'completed']);
  // its card names the job, and what is this task's: a CPU and its share of the node's memory
  assert.match(last.err, /^21\.0\.3 sh -c 'echo \$SLURM_PROCID' +COMPLETED$/m);
  assert.match(last.err, /node c2, 1 CPU$/m);
  assert.deepEqual(job.asked, { cpus: 1, memory_bytes: 512 * 1024 ** 2 });
  assert.deepEqual(
    fs.readdirSync(path.join(cwd, 'tacho-21-task3')).filter((name) => name.startsWith('node=')),
    ['node=c2'],
  );
  for (const rank of ['1', '2']) assert.equal(run(rank, '-o', 'same').code, 0);
  assert.deepEqual(
    fs.readdirSync(cwd).filter((name) => name.startsWith('same')),
    ['same-task1', 'same-task2'],
  );
  // said once, not by every task
  assert.match(
    run('0').err,
    /each of these 4 tasks records itself alone; tacho run -- srun .* records the whole job, once/,
  );
  // the only task of a step that is a part of the job
  const single = spawnSync('setsid', ['-w', TACHO, 'run', '--', 'true'], {
    cwd,
    env: { ...env, SLURM_PROCID: '0', SLURM_STEP_ID: '5', SLURM_STEP_NUM_TASKS: '1', SLURM_GTIDS: '0' },
    input: '',
    encoding: 'utf8',
  });
  assert.match(single.stderr, /^tacho: this step \(21\.5\) records itself alone; /);
  const own = JSON.parse(fs.readFileSync(path.join(cwd, 'tacho-21-step5/job.json'), 'utf8'));
  assert.deepEqual([own.id, own.nodes, own.tags, own.asked.cpus], ['21.5', ['c2'], { step: '5' }, 1]);
  assert.equal(fs.existsSync(called), false);
});

test('two that begin at once get a folder each', async (t) => {
  const cwd = temporaryFolder(t);
  const codes = await Promise.all(
    Array.from({ length: 4 }, () => {
      const child = spawn(TACHO, ['run', '--no-report', '--', 'true'], { cwd, stdio: 'ignore' });
      return new Promise((resolve) => child.once('close', resolve));
    }),
  );
  assert.deepEqual(codes, [0, 0, 0, 0]);
  assert.equal(fs.readdirSync(cwd).length, 4);
});

const root = process.getuid?.() === 0;
test('a full disk: the exit code is the command’s, and how it ended is written', {
  skip: !root && 'needs root to mount a small disk',
}, (t) => {
  const cwd = path.join(temporaryFolder(t), 'small');
  fs.mkdirSync(cwd);
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=192k', 'tmpfs', cwd]);
  try {
    const result = tacho(
      [
        'run',
        '-i',
        '0.1s',
        '-o',
        'rec',
        '--',
        'sh',
        '-c',
        'dd if=/dev/zero of=ballast bs=1k 2>/dev/null; sleep 1; exit 3',
      ],
      { cwd },
    );
    assert.equal(result.code, 3, result.err);
    assert.match(result.err, /samples could not be written since .+: no space left on the device \(\d+ of \w+/);
    assert.doesNotMatch(result.err, /internal error/);
    const job = jobOf(path.join(cwd, 'rec'));
    assert.deepEqual([job.exit_code, job.state], [3, 'failed']);
  } finally {
    spawnSync('umount', [cwd]);
  }
});

test('a disk that is full before the job’s tables are described: everybody names it, since when and what it cost', {
  skip: !root && 'needs root to mount a small disk',
}, (t) => {
  const cwd = path.join(temporaryFolder(t), 'small');
  fs.mkdirSync(cwd);
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=160k', 'tmpfs', cwd]);
  try {
    // some ticks more than it takes to fill the disk
    const script = 'until [ "$(stat -f -c %a .)" = 0 ]; do sleep 0.1; done; sleep 2';
    const ran = tacho(['run', '-i', '0.1s', '-o', 'rec', '--', 'sh', '-c', script], { cwd });
    // where the lines of the card are folded depends on numbers, and on what the time zone is called
    assert.match(
      ran.err.replace(/\s+/g, ' '),
      /samples could not be written since [^:]+:\d+:\d+ [^:]+: no space left on the device\. /,
    );
    assert.doesNotMatch(ran.err, /agent was killed/);
    const { quality, unmeasured, job } = JSON.parse(tacho(['report', 'rec', '--format', 'json'], { cwd }).out);
    const [lost] = quality.lost_samples;
    assert.ok(lost.rows > 0 && lost.since > job.start && lost.since < job.end, JSON.stringify(lost));
    assert.match(unmeasured[0].what, /^\d+ samples on .+ \(.*\d+ of vmstat/);
    assert.match(unmeasured[0].why, /no space left on the device, since 2/);
    assert.ok(quality.grade > 'A', quality.grade);
    assert.match(
      tacho(['verify', 'rec'], { cwd }).out,
      /note: .*agent\.json says: \d+ samples could not be written since/,
    );
    assert.match(
      tacho(['status', 'rec'], { cwd }).out,
      /ended .*\n.*: \d+ samples could not be written since .+ of vmstat/,
    );
  } finally {
    spawnSync('umount', [cwd]);
  }
});

test('a disk with too little room for the agent’s record: nothing is begun', {
  skip: !root && 'needs root to mount a small disk',
}, (t) => {
  const cwd = path.join(temporaryFolder(t), 'small');
  fs.mkdirSync(cwd);
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=48k', 'tmpfs', cwd]);
  try {
    const { code, err } = tacho(['run', '--strict', '-o', 'rec', '--', 'touch', 'ran'], { cwd });
    assert.equal(code, 1);
    assert.match(err, /^tacho: cannot record in .*rec: no space left on the device\n +free some space/);
    assert.deepEqual(fs.readdirSync(cwd), []);
  } finally {
    spawnSync('umount', [cwd]);
  }
});

test('a recorder that was killed is said so at once, by report and list alike', async (t) => {
  const cwd = temporaryFolder(t);
  const { command, release } = hold(cwd);
  const child = spawn(TACHO, ['run', '-o', 'r', '--no-processes', '--interval', '0.2', '--', ...command], {
    cwd,
    stdio: 'ignore',
  });
  const gone = once(child, 'exit');
  const samplesFile = path.join(cwd, 'r', HERE, 'loadavg.csv');
  await eventually('some samples', () => lineCount(samplesFile) > 3);
  child.kill('SIGKILL');
  await gone;
  const { summary, job } = JSON.parse(tacho(['report', 'r', '--format', 'json'], { cwd }).out);
  assert.equal(job.state, 'unknown');
  assert.match(job.reason, /the recorder was killed/);
  const [listed] = JSON.parse(tacho(['list', '.', '--format', 'json'], { cwd }).out);
  assert.deepEqual([listed.state, listed.job_state], ['ended', 'unknown']);
  assert.equal((listed.end - listed.start) / 1e6, summary.wall_seconds);
  assert.ok(Number.isInteger(job.end), `${job.end}`);
  release();
  await eventually('the command ends', () => lineCount(path.join(cwd, 'finished')) === 1);
});

const unbuilt =
  !fs.existsSync(path.join(path.dirname(TACHO), 'native/build/libtacho-record.so')) &&
  'needs native/build/libtacho-record.so';
test('what processes have recorded after their recorder was killed is reported where it lies, and filed by seal', {
  skip: unbuilt,
}, async (t) => {
  const cwd = temporaryFolder(t);
  const { command, release } = hold(cwd);
  const child = spawn(TACHO, ['run', '-o', 'r', '--interval', '0.2', '--', ...command], { cwd, stdio: 'ignore' });
  const gone = once(child, 'exit');
  const node = path.join(cwd, 'r', HERE);
  await eventually('its processes record themselves', () => fs.existsSync(path.join(node, 'process_start.csv')));
  const records = path.dirname(jobOf(path.join(cwd, 'r')).process_records!.file);
  child.kill('SIGKILL');
  await gone;
  const list = () => JSON.parse(tacho(['list', '.', '--format', 'json'], { cwd }).out)[0];
  const before = list();
  assert.equal(before.job_state, 'unknown');
  assert.ok(fs.existsSync(records), 'its process still runs, and will say its end there');
  // while a process may still write there, other recordings that begin now leave it alone
  const writer = spawn('sleep', ['300'], { env: { ...process.env, TACHO_RECORD: path.join(records, 'events') } });
  t.after(() => writer.kill('SIGKILL'));
  release();
  const report = () => JSON.parse(tacho(['report', 'r', '--format', 'json'], { cwd }).out);
  const face = () => [...fileFace(path.join(cwd, 'r')), ...fileFace(records)];
  await eventually('the command has ended', () => report().processes[0].exit_code === 0);
  const unfiled = face();
  const { job, processes, ...rest } = report();
  const ends = exported(cwd, 'process_end');
  assert.ok(ends.length > 1, 'the end of its process is exported');
  for (const verb of ['processes', 'list']) assert.equal(tacho([verb, 'r'], { cwd }).code, 0);
  assert.equal(list().end, before.end, 'what is written later is no sign of life');
  assert.deepEqual(face(), unfiled, 'who reads changes nothing');

  writer.kill('SIGKILL');
  await once(writer, 'exit');
  assert.equal(tacho(['seal', 'r'], { cwd }).code, 0);
  assert.ok(!fs.existsSync(records), 'seal files it');
  const sealed = report();
  assert.deepEqual(sealed.processes, processes);
  assert.deepEqual(sealed.summary, rest.summary);
  assert.deepEqual(exported(cwd, 'process_end'), ends);
  assert.equal(sealed.job.end, before.end);
  assert.equal(job.end, before.end);
});

/** The lines of a table, as the recording exports them. */
const exported = (cwd: string, table: string): string[] =>
  tacho(['export', 'r', '--table', table], { cwd }).out.split('\n').filter(Boolean);

test('a user whom no passwd file knows goes by the number', {
  skip: process.getuid!() === 0 ? false : 'needs root',
}, (t) => {
  const cwd = temporaryFolder(t);
  fs.chmodSync(cwd, 0o777);
  const { status, stderr } = spawnSync(
    'setpriv',
    ['--reuid=12345', '--regid=12345', '--clear-groups', TACHO, 'run', '-o', 'r', '--no-report', '--', 'true'],
    { cwd, encoding: 'utf8', env: { PATH: process.env.PATH, HOME: cwd, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME } },
  );
  assert.equal(status, 0, stderr);
  assert.equal(jobOf(path.join(cwd, 'r')).user, '12345');
});

test('what recording cost holds the start, sealing and the card of tacho run, on the card and later', (t) => {
  const cwd = temporaryFolder(t);
  const { code, err } = tacho(['run', '-o', 'r', '--format', 'json', '--', 'true'], { cwd });
  assert.equal(code, 0, err);
  const onCard = (JSON.parse(err) as { cost: { cpu_seconds: number } }).cost.cpu_seconds;
  const { finish_seconds } = JSON.parse(fs.readFileSync(path.join(cwd, 'r/job.json'), 'utf8'));
  const sampled = openRecording(path.join(cwd, 'r')).nodes[0]!.agent!.cost.cpu_seconds;
  const later = (
    JSON.parse(tacho(['report', 'r', '--format', 'json'], { cwd }).out) as { cost: { cpu_seconds: number } }
  ).cost.cpu_seconds;
  assert.ok(finish_seconds > 0, String(finish_seconds));
  assert.ok(Math.abs(later - sampled - finish_seconds) < 2e-6, `${later} is not ${sampled} + ${finish_seconds}`);
  // the card was made before its own end
  assert.ok(onCard > sampled && onCard <= later, `${sampled} < ${onCard} <= ${later}`);
});
