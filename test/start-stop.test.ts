import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { type TestContext, test } from 'node:test';
import { openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { TACHO } from './tacho.ts';

/** A user's shell in an empty folder: `tacho …` as it would be typed. */
function shell(t: TestContext): { folder: string; sh: (line: string) => SpawnSyncReturns<string> } {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-start-stop-'));
  fs.mkdirSync(path.join(folder, 'run'), { mode: 0o700 });
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const env = {
    PATH: `${path.dirname(TACHO)}:${process.env.PATH}`,
    HOME: folder,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
    XDG_RUNTIME_DIR: path.join(folder, 'run'),
  };
  return { folder, sh: (line) => spawnSync('bash', ['-c', line], { cwd: folder, env, encoding: 'utf8' }) };
}

/** Shell: how it goes, once no machine with much to do keeps it from a fresh sample; at most for two minutes. */
const STATUS =
  'for i in $(seq 240); do tacho status --format json >now || :; ! grep -q silent now || { sleep 0.5; continue; }; break; done; cat now';

test('start, phases, figures, status, stop in one script', (t) => {
  const { folder, sh } = shell(t);
  const { stdout, stderr, status } = sh(`set -e
    tacho start -o r --interval 0.2s --tag case:a --name demo
    sleep 62 >/dev/null 2>&1 & pid=$!
    trap 'kill $pid' EXIT
    tacho mark begin outer
    tacho mark begin 'inner, 1'
    tacho fom loss=0.125 speed=3e4
    tacho mark end
    tacho mark end outer
    ${STATUS}
    tacho stop --format json`);
  assert.equal(status, 0, stderr);
  const [state, report] = stdout
    .split('\n{')
    .map((outputPart, i) => JSON.parse(i === 0 ? outputPart : `{${outputPart}`));
  assert.equal(state.nodes.length, 1);
  assert.equal(state.nodes[0].state, 'recording');
  assert.equal(report.job.name, 'demo');
  assert.deepEqual(report.job.tags, { case: 'a' });
  assert.equal(report.job.state, 'completed');
  // not the script itself, which was there before
  assert.deepEqual(
    report.nodes[0].left_running.map(({ command }: { command: string }) => command),
    ['sleep 62'],
  );
  assert.match(stderr, /recording 1 node every 0.2 s in r /);
  const node = fs.readdirSync(path.join(folder, 'r')).find((name) => name.startsWith('node='))!;
  assert.ok(fs.existsSync(path.join(folder, 'r', node, 'marker.csv.zst')), 'sealed');
  assert.equal(fs.statSync(path.join(folder, 'r')).mode & 0o777, 0o700);
});

test('a job without a name is called like its script', (t) => {
  const { folder, sh } = shell(t);
  const script = '#!/bin/bash -e\ntacho start --interval 0.2s\ntacho stop --no-report\n';
  fs.writeFileSync(path.join(folder, 'train.sh'), script, { mode: 0o755 });
  const { stderr, status } = sh('./train.sh');
  assert.equal(status, 0, stderr);
  const [recording] = fs.readdirSync(folder).filter((name) => name.startsWith('tacho-'));
  assert.match(recording!, /^tacho-\d{8}-\d{6}-train\.sh$/);
  assert.equal(openRecording(path.join(folder, recording!)).job.name, 'train.sh');
  // which is an argument of its shell
  fs.rmSync(path.join(folder, recording!), { recursive: true });
  assert.equal(sh('TACHO_REDACT=true ./train.sh').status, 0);
  const [redacted] = fs.readdirSync(folder).filter((name) => name.startsWith('tacho-'));
  assert.equal(openRecording(path.join(folder, redacted!)).job.name, 'shell');
});

test('what waits for tacho stop, or reads what it prints, is not left running', (t) => {
  const { sh } = shell(t);
  const { stdout, stderr, status } = sh(`set -e
    tacho start -o r --interval 0.2s
    sleep 61 >/dev/null 2>&1 & pid=$!
    trap 'kill $pid' EXIT
    ${STATUS} >/dev/null
    timeout 60 tacho stop --format json | tee log | cat`);
  assert.equal(status, 0, stderr);
  assert.deepEqual(
    JSON.parse(stdout).nodes[0].left_running.map(({ command }: { command: string }) => command),
    ['sleep 61'],
  );
});

test('outside of a scheduler the script may say how it ended', (t) => {
  const { sh } = shell(t);
  const { stdout, stderr, status } = sh(`tacho start -o r
    trap 'tacho stop --format json --exit-code $?' EXIT
    exit 4`);
  assert.equal(status, 4, stderr);
  const { job } = JSON.parse(stdout);
  assert.deepEqual([job.state, job.exit_code], ['failed', 4]);
});

test('--offset moves the samples of start and run', (t) => {
  const { folder, sh } = shell(t);
  const ticks = (recording: string): string =>
    `for i in $(seq 300); do [ "$(cat ${recording}/node=*/agent.csv | wc -l)" -gt 4 ] && break; sleep 0.2; done`;
  const { status, stderr } = sh(`set -e
    tacho start -o started --interval 0.4s --offset 0.1s
    ${ticks('started')}
    tacho stop --no-report
    tacho run -o ran --interval 0.4s --offset 0.1s --no-report -- sh -c '${ticks('ran')}'`);
  assert.equal(status, 0, stderr);
  for (const recording of ['started', 'ran']) {
    const { time, numbers } = readTable(openRecording(path.join(folder, recording)).nodes[0]!, 'agent');
    // the first and the last are taken when recording begins and ends
    const due = [...time.map((at, i) => at - numbers.get('late_us')![i]!)].slice(1, -1);
    assert.ok(due.length > 1, recording);
    assert.deepEqual(new Set(due.map((at) => at % 400_000)), new Set([100_000]), recording);
  }
});

/** Shell: the recording r has a process with this command (not the one that looks for it). */
const hasSampled = (command: string): string => `grep -qs ',[${command[0]}]${command.slice(1)},' r/node=*/process.csv`;

test('start by way of a wrapper records the shell, which goes on, not the wrapper', (t) => {
  const { folder, sh } = shell(t);
  const { status, stdout, stderr } = sh(`set -e
    timeout 120 tacho start -o r --interval 0.1s
    until ${hasSampled('sleep 0.81')}; do sleep 0.81; done
    ${STATUS}
    tacho stop --no-report`);
  assert.equal(status, 0, stderr);
  assert.equal(JSON.parse(stdout).nodes[0].state, 'recording');
  const [node] = openRecording(path.join(folder, 'r')).nodes;
  assert.equal(node!.agent!.end_reason, 'SIGTERM');
  const commands = readTable(node!, 'process', { columns: ['command'] }).texts.get('command')!.values;
  assert.ok(commands.includes('sleep 0.81'), `${commands}`);
});

test("outside of a scheduler the job is what the calling shell starts, not everybody's", (t) => {
  const { folder, sh } = shell(t);
  const stranger = spawn('sleep', ['12.34']);
  t.after(() => stranger.kill());
  const { status, stderr } = sh(`tacho start -o r --interval 0.1s
    until ${hasSampled('sleep 0.71')}; do sleep 0.71 & wait $!; done
    until ${hasSampled('sleep 0.72')}; do sh -c 'sleep 0.72; :'; done
    tacho mark begin x
    until ${hasSampled('sleep 0.73')}; do sleep 0.73; done
    tacho status
    tacho stop --no-report; exit $?`);
  assert.equal(status, 0, stderr);
  const [node] = openRecording(path.join(folder, 'r')).nodes;
  assert.equal(node!.agent!.scope.members, 'tree');
  const commands = readTable(node!, 'process', { columns: ['command'] }).texts.get('command')!.values;
  for (const each of ['sleep 0.71', 'sleep 0.72', 'sleep 0.73'])
    assert.ok(commands.includes(each), `${each} in ${commands}`);
  assert.ok(!commands.includes('sleep 12.34'), 'a stranger');
  assert.deepEqual(
    commands.filter((command) => command.includes('main.ts')),
    [],
    "Tacho's own",
  );
});

test('what Tacho says on a pipe has no escape characters, and its own signs are ASCII', (t) => {
  const { sh } = shell(t);
  const { status, stdout, stderr } = sh(
    `tacho start -o $'st\\e[31m' && tacho stop --no-report; tacho seal st*; tacho check`,
  );
  assert.equal(status, 0, stderr);
  assert.match(stderr, /recording 1 node every 1 s in st\\x1b\[31m /);
  assert.match(stderr, /tacho report st\\x1b\[31m shows/);
  assert.doesNotMatch(stdout + stderr, /[^\x20-\x7e\n]/);
});

/** A stand-in for ssh that reaches every machine but "bad". */
const SSH = `#!/bin/sh
while [ $# -gt 2 ]; do shift; done
if [ "$1" = bad ]; then echo "ssh: no route to host bad" >&2; exit 255; fi
exec sh -c "$2"
`;

test('run on named machines: a missing one is warned about, or refused beyond --allow-missing', (t) => {
  const { folder, sh } = shell(t);
  fs.mkdirSync(path.join(folder, 'bin'));
  fs.writeFileSync(path.join(folder, 'bin/ssh'), SSH, { mode: 0o755 });
  const run = (flags: string): SpawnSyncReturns<string> =>
    sh(
      `PATH=$PWD/bin:$PATH; tacho run --no-report --hosts far,bad --timeout 120s ${flags} -- sh -c 'echo ran; exit 3'`,
    );
  const warned = run('-o r1');
  assert.deepEqual([warned.status, warned.stdout], [3, 'ran\n'], warned.stderr);
  assert.match(warned.stderr, /node bad is not recorded: .*no route to host bad/);
  const refused = run('-o r2 --allow-missing 0');
  assert.deepEqual([refused.status, refused.stdout], [1, ''], refused.stderr);
  assert.match(refused.stderr, /1 of 2 nodes did not begin to record: bad\n/);
  assert.match(refused.stderr, /--allow-missing 1 records the others/);
  const allowed = run('-o r3 --allow-missing 1');
  assert.deepEqual([allowed.status, allowed.stdout], [3, 'ran\n'], allowed.stderr);
  assert.deepEqual(openRecording(path.join(folder, 'r3')).job.nodes, ['far', 'bad']);
});

test('run on a named machine: what its processes had used before is not the job’s', (t) => {
  const { folder, sh } = shell(t);
  fs.mkdirSync(path.join(folder, 'bin'));
  fs.writeFileSync(path.join(folder, 'bin/ssh'), SSH, { mode: 0o755 });
  const { status, stdout, stderr } = sh(`PATH=$PWD/bin:$PATH
    until [ "$(cut -d' ' -f14 /proc/$$/stat)" -ge 70 ]; do for i in {1..40000}; do :; done; done
    sleep 1.2; cut -d' ' -f14 /proc/$$/stat > spent
    tacho run --no-report --interval 0.2s --hosts far -o r -- sleep 0.6 || exit 1
    tacho processes r --format json --filter pid=$$; exit $?`);
  assert.equal(status, 0, stderr);
  const [shellItself] = JSON.parse(stdout);
  assert.ok(shellItself.cpu_time < 0.3e6, `${shellItself.cpu_time} of ${fs.readFileSync(path.join(folder, 'spent'))}`);
});

test('run on this very machine, whatever it is called, records its command once and without ssh', (t) => {
  const { folder, sh } = shell(t);
  fs.mkdirSync(path.join(folder, 'bin'));
  fs.writeFileSync(path.join(folder, 'bin/ssh'), '#!/bin/sh\ntouch ../asked\nexit 255\n', { mode: 0o755 });
  const { status, stderr } = sh(`PATH=$PWD/bin:$PATH
    tacho run --no-report --interval 0.1s --hosts localhost,$(hostname) -o r -- sleep 4.3`);
  assert.deepEqual([status, stderr], [0, '']);
  const { job, nodes } = openRecording(path.join(folder, 'r'));
  assert.deepEqual(job.nodes, ['localhost']);
  assert.notEqual(nodes[0]!.agent!.scope.members, 'node');
  const commands = readTable(nodes[0]!, 'process', { columns: ['command'] }).texts.get('command')!.values;
  assert.deepEqual(commands.filter(Boolean), ['sleep 4.3']);
  assert.ok(!fs.existsSync(path.join(folder, 'asked')));
});

test('what commands of Tacho used in a command is not the command’s, and a shell that became one has an end', (t) => {
  const { folder, sh } = shell(t);
  const { status, stdout, stderr } = sh(
    `tacho run --no-report -o r -- bash -c 'tacho mark begin a; tacho status >status; tacho fom x=1; tacho mark end a'
    tacho report r --format json`,
  );
  assert.equal(status, 0, stderr);
  const { job } = openRecording(path.join(folder, 'r'));
  const [own] = Object.values(job.own_use!);
  const all = job.usage!.user_seconds + job.usage!.system_seconds;
  assert.equal(own!.commands, 4);
  const { summary, records, processes, cost } = JSON.parse(stdout);
  assert.ok(summary.cpu_seconds < all / 2, `${summary.cpu_seconds} of ${all}`);
  assert.ok(summary.memory_peak_bytes < 30 * 2 ** 20, `${summary.memory_peak_bytes}`);
  assert.equal(cost.commands, 4);
  assert.equal(records.starts, 0);
  assert.deepEqual(
    processes.map(({ command }: { command: string }) => command.split(' ')[0]),
    ['bash'],
  );
  assert.ok(!fs.existsSync(path.join(folder, 'r/own.log')));
});

test('a shell that becomes Tacho’s last command has used what it did before as the job', (t) => {
  const { folder, sh } = shell(t);
  const spin = 'timeout 2 sh -c "while :; do :; done"';
  const { stderr } = sh(`bash -c 'tacho start -o r; ${spin}; tacho stop --no-report'`);
  const [own] = Object.values(openRecording(path.join(folder, 'r')).job.own_use ?? {});
  assert.equal(own?.commands, 1, stderr);
  assert.ok(own.cpu_seconds < 1, `${own.cpu_seconds}`);
});

test('a recording that has ended takes no marks', (t) => {
  const { folder, sh } = shell(t);
  const { stderr } = sh(`tacho start -o r --interval 0.2s && tacho stop --no-report
    export TACHO_RECORDING=r
    tacho mark begin late; echo "mark: $?" >&2
    tacho fom late=1; echo "fom: $?" >&2`);
  assert.match(stderr, /r has ended: there is nothing to mark; .*\nmark: 0\n/);
  assert.match(stderr, /r has ended: there is nowhere to put a figure; .*\nfom: 0\n/);
  const node = fs.readdirSync(path.join(folder, 'r')).find((name) => name.startsWith('node='))!;
  assert.ok(!fs.existsSync(path.join(folder, 'r', node, 'marker.csv')));
});

test('the agent ends with the shell that started it', (t) => {
  const { folder, sh } = shell(t);
  const { status } = sh('tacho start -o r --interval 0.2s; exit $?');
  assert.equal(status, 0);
  const node = fs.readdirSync(path.join(folder, 'r')).find((name) => name.startsWith('node='))!;
  const agent = (): { end_reason?: string } =>
    JSON.parse(fs.readFileSync(path.join(folder, 'r', node, 'agent.json'), 'utf8'));
  for (let tries = 0; agent().end_reason === undefined && tries < 2400; tries++) spawnSync('sleep', ['0.05']);
  assert.equal(agent().end_reason, 'the shell that started it has ended');
  const { stdout } = sh('tacho report r --format json');
  const [job] = [JSON.parse(stdout)].flat().map((each: { job: { state: string; reason: string } }) => each.job);
  assert.deepEqual([job!.state, job!.reason], ['unknown', 'recording ended: the shell that started it has ended']);
});

test('with --strict wrong use is exit 2, failure is exit 1, both with what to do', (t) => {
  const { sh } = shell(t);
  const cases: [line: string, exit: number, said: RegExp][] = [
    ['tacho start --strict --interval 0', 2, /--interval: "0" is not between/],
    ['tacho start --strict --interval abc', 2, /"abc" is not a duration/],
    ['tacho start --strict --allow-missing x', 2, /"x" is not a number of nodes/],
    ["tacho start --strict --hosts ''", 2, /--hosts "" names no machine\n.*--hosts c1,c2/],
    ['tacho start --strict --hosts , ', 2, /--hosts "," names no machine/],
    ['tacho start --strict --tag nonsense', 2, /"nonsense" is not a tag\n.*key:value/],
    ['tacho start --strict --job-file none', 1, /cannot read the job file none: no such file/],
    ['touch f; tacho start --strict -o f/r', 1, /cannot write .*f\/r: not a folder/],
    ['tacho stop --strict', 1, /nothing is being recorded in this session.*\n.*tacho start begins/],
    ['tacho stop --strict nowhere', 1, /cannot open .*nowhere/],
    ['tacho status', 1, /nothing is being recorded/],
    ['tacho mark', 2, /action/],
    ['tacho mark pause x', 2, /action: "pause" is none of begin, end/],
    ['tacho mark begin --strict', 2, /a phase needs a name/],
    ['tacho mark begin --strict x', 1, /nothing is being recorded.*\n.*; TACHO_RECORDING=FOLDER names one\n/],
    ['tacho fom --strict speed', 2, /"speed" is not a figure of merit\n.*name=number/],
    ['tacho fom --strict speed=fast', 2, /"speed=fast" is not a figure of merit/],
    ['TACHO_RECORDING=/tmp tacho mark begin --strict x', 1, /TACHO_RECORDING is \/tmp, which is no recording/],
  ];
  for (const [line, exit, pattern] of cases) {
    const { status, stderr } = sh(line);
    assert.equal(status, exit, `${line}: ${stderr}`);
    assert.match(stderr, pattern, line);
    assert.ok(!stderr.includes('    at '), line);
  }
  // else it is only said, so that a script goes on
  for (const [line, exit, pattern] of cases) {
    if (!line.includes('--strict') || line.startsWith('tacho start')) continue;
    const { status, stderr } = sh(`set -e; ${line.replace('--strict ', '').replace('--strict', '')}; exit 7`);
    assert.deepEqual([status, exit > 0], [7, true], `${line}: ${stderr}`);
    assert.match(stderr.replace('; ', '\n'), new RegExp(pattern.source.split('\\n')[0]!), line);
  }
});

const wrong: [what: string, before: string, flags: string, folder: string, says: RegExp][] = [
  ['the folder exists', 'mkdir r; touch r/theirs;', '-o r', 'r-2', /^tacho: r exists already: the recording is r-2\n/],
  [
    'a typo in tacho.toml',
    'echo intervall=5 >tacho.toml;',
    '-o r',
    'r',
    /tacho.toml:1: unknown key "intervall"; .* not used/,
  ],
  [
    'a wrong variable',
    'export TACHO_INTERVAL=foo;',
    '-o r',
    'r',
    /TACHO_INTERVAL in the environment: "foo" is not a dur/,
  ],
  [
    'only a job id (Slurm)',
    'export SLURM_JOB_ID=17;',
    '',
    'tacho-17',
    /slurm does not say which nodes job 17 has: only this/,
  ],
  [
    'only a job id (PBS)',
    'export PBS_JOBID=18.x;',
    '',
    'tacho-18',
    /pbs does not say which nodes job 18 has: only this/,
  ],
];
for (const [what, before, flags, made, says] of wrong) {
  test(`start records, and the script goes on: ${what}`, (t) => {
    const { folder, sh } = shell(t);
    const { status, stdout, stderr } = sh(
      `${before} set -e; tacho start ${flags} >&2; trap 'tacho stop >&2' EXIT; echo ran; exit 7`,
    );
    assert.deepEqual([status, stdout], [7, 'ran\n'], stderr);
    assert.match(stderr.replace(/\n {7}/g, ' '), says);
    const { job, nodes } = openRecording(path.join(folder, made));
    assert.deepEqual([job.nodes, nodes.length], [[os.hostname()], 1]);
    assert.ok(nodes[0]!.agent!.ticks > 0);
    assert.notEqual(sh(`${before} tacho start --strict ${flags}`).status, 0);
  });
}

test('start beyond --allow-missing ends with 1, and a script that asked for it with it', (t) => {
  const { folder, sh } = shell(t);
  fs.mkdirSync(path.join(folder, 'bin'));
  fs.writeFileSync(path.join(folder, 'bin/ssh'), SSH, { mode: 0o755 });
  const start = (flags: string): SpawnSyncReturns<string> =>
    sh(
      `PATH=$PWD/bin:$PATH; set -e; tacho start --hosts far,bad --timeout 120s ${flags} >&2; tacho stop >&2; echo ran`,
    );
  const refused = start('-o r1 --allow-missing 0');
  assert.deepEqual([refused.status, refused.stdout], [1, ''], refused.stderr);
  assert.match(refused.stderr, /1 of 2 nodes did not begin to record: bad\n/);
  const allowed = start('-o r2 --allow-missing 1');
  assert.deepEqual([allowed.status, allowed.stdout], [0, 'ran\n'], allowed.stderr);
});

test('a scheduler that hangs or is missing does not stop a recording', (t) => {
  const { folder, sh } = shell(t);
  fs.mkdirSync(path.join(folder, 'bin'));
  // srun runs its command here, and every other command of Slurm hangs
  const srun =
    '#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift\nexport SLURMD_NODENAME=$(hostname -s) SLURM_STEP_ID=0\nexec "$@"\n';
  fs.writeFileSync(path.join(folder, 'bin/srun'), srun, { mode: 0o755 });
  for (const name of ['scontrol', 'sacct', 'scancel']) {
    fs.writeFileSync(path.join(folder, 'bin', name), '#!/bin/bash\nexec sleep 60\n', { mode: 0o755 });
  }
  const { stderr, status } =
    sh(`export PATH=${folder}/bin:$PATH SLURM_JOB_ID=17 SLURM_JOB_NODELIST=$(hostname -s) SLURM_JOB_NUM_NODES=1
    tacho start --interval 0.2s && sleep 0.5 && tacho stop --no-report`);
  assert.equal(status, 0, stderr);
  assert.match(
    stderr,
    /what Slurm gave to the job: scontrol gave no answer within 5 s; the environment alone was used/,
  );
  const job = JSON.parse(fs.readFileSync(path.join(folder, 'tacho-17/job.json'), 'utf8'));
  assert.deepEqual([job.id, job.scheduler, job.asked], ['17', 'slurm', { nodes: 1 }]);
  const node = fs.readdirSync(path.join(folder, 'tacho-17')).find((name) => name.startsWith('node='))!;
  const agent = JSON.parse(fs.readFileSync(path.join(folder, 'tacho-17', node, 'agent.json'), 'utf8'));
  assert.equal(agent.end_reason, 'SIGTERM');
});

/** A Slurm that does not let this user have steps. */
const DENIED = 'srun: error: Unable to create step for job 17: Access/permission denied';

function deniedSlurm(t: TestContext) {
  const { folder, sh } = shell(t);
  fs.mkdirSync(path.join(folder, 'bin'));
  for (const name of ['srun', 'scontrol', 'sacct', 'scancel']) {
    const text = `#!/bin/sh\necho "${DENIED}" >&2\nexit 1\n`;
    fs.writeFileSync(path.join(folder, 'bin', name), text, { mode: 0o755 });
  }
  // as in `srun --pty bash`: the step is the user's, and not to be signalled
  const job = (nodes: string): string =>
    `export PATH=${folder}/bin:$PATH SLURM_JOB_ID=17 SLURM_JOB_NODELIST=${nodes} SLURM_STEP_ID=3`;
  const agentOf = (recording: string, node: string) => {
    const file = path.join(folder, recording, `node=${node}`, 'agent.json');
    return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : undefined;
  };
  return { folder, sh, job, agentOf };
}

const short = os.hostname().split('.')[0]!;

test('start without the permission to use srun: this node is recorded, others are named', (t) => {
  const { folder, sh, job, agentOf } = deniedSlurm(t);
  const one = sh(`${job(short)}; set -e
    tacho start --interval 0.2s -o one; tacho mark begin x; sleep 0.5; tacho stop --no-report`);
  assert.equal(one.status, 0, one.stderr);
  assert.match(one.stderr, new RegExp(`the agent of ${short} was started without slurm: ${DENIED}`));
  assert.match(one.stderr, /recording 1 node every 0\.2 s in one /);
  const agent = agentOf('one', short);
  assert.ok(agent.ticks > 1);
  assert.deepEqual([agent.end_reason, agent.step], ['SIGTERM', undefined]);
  const two = sh(`${job(`${short},c9`)}; set -e
    tacho start --interval 0.2s -o two; sleep 0.5; tacho stop --no-report`);
  assert.equal(two.status, 0, two.stderr);
  assert.match(two.stderr, /c9 does not record\n.*Access\/permission denied/);
  assert.match(two.stderr, /recording 1 node every/);
  const recorded = openRecording(path.join(folder, 'two'));
  assert.deepEqual([recorded.job.nodes, Object.keys(recorded.job.not_recorded!)], [[short, 'c9'], ['c9']]);
  assert.equal(agentOf('two', short).end_reason, 'SIGTERM');
  const strict = sh(`${job(`${short},c9`)}; tacho start --strict -o three; exit $?`);
  assert.equal(strict.status, 1, strict.stderr);
  assert.match(strict.stderr, /1 of 2 nodes did not begin to record: c9/);
  const none = sh(`${job('c8,c9')}; set -e; tacho start -o four; exit 7`);
  assert.equal(none.status, 7, none.stderr);
  assert.match(none.stderr, /start: 2 of 2 nodes did not begin to record: c8, c9/);
});

test('of very many nodes without an agent one line is said, and the command runs', (t) => {
  const { sh, job } = deniedSlurm(t);
  const many = `${job(`${short},c[1-2000]`)}; unset SLURM_STEP_ID; set -e`;
  const begun = sh(`${many}; tacho start --interval 0.2s -o s; tacho stop --no-report`);
  assert.equal(begun.status, 0, begun.stderr.slice(0, 2000));
  assert.match(begun.stderr, /^tacho: c\[1-2000\] do not record\n.*denied$/m);
  assert.match(begun.stderr, /^tacho: c\[1-2000\] were not recorded: srun: error/m);
  const run = sh(`${many}; tacho run --no-report --interval 0.2s -o r -- sh -c 'echo ran; exit 7'`);
  assert.deepEqual([run.status, run.stdout], [7, 'ran\n'], run.stderr.slice(0, 2000));
  assert.match(run.stderr, /^tacho: nodes c\[1-2000\] are not recorded: srun: error/m);
  const none = sh(`${job('c[1-200000]')}; unset SLURM_STEP_ID
    timeout 60 tacho run -o none -- sh -c 'echo ran; exit 7'`);
  assert.deepEqual([none.status, none.stdout], [7, 'ran\n'], none.stderr.slice(0, 2000));
  assert.match(none.stderr, /: 200,000 of 200,000 nodes did not begin to record: c\[1-200000\]/);
  for (const { stderr } of [begun, run, none]) assert.ok(stderr.length < 2000, stderr.slice(0, 2000));
});

test('run without the permission to use srun: this node is recorded, others are named', (t) => {
  const { folder, sh, job, agentOf } = deniedSlurm(t);
  const command = `sh -c 'sleep 0.5; echo ran; exit 7'`;
  const { status, stdout, stderr } = sh(`${job(`${short},c9`)}; unset SLURM_STEP_ID
    tacho run --no-report --interval 0.2s -o r -- ${command}`);
  assert.deepEqual([status, stdout], [7, 'ran\n'], stderr);
  assert.match(stderr, new RegExp(`the agent of ${short} was started without slurm: ${DENIED}`));
  assert.match(stderr, /node c9 is not recorded: .*Access\/permission denied/);
  assert.ok(agentOf('r', short).ticks > 1);
  assert.equal(agentOf('r', short).end_reason, 'SIGTERM');
  assert.deepEqual(Object.keys(openRecording(path.join(folder, 'r')).job.not_recorded!), ['c9']);
});

test('an agent without the scheduler ends with the script that it records', (t) => {
  const { sh, job, agentOf } = deniedSlurm(t);
  assert.equal(sh(`${job(short)}; tacho start --interval 0.2s -o r; exit $?`).status, 0);
  for (let tries = 0; agentOf('r', short).end_reason === undefined && tries < 2400; tries++)
    spawnSync('sleep', ['0.05']);
  assert.equal(agentOf('r', short).end_reason, 'the shell that started it has ended');
});

test('on another node of the job its agent has left a note of the recording, wherever that lies', (t) => {
  const { folder, sh } = shell(t);
  fs.mkdirSync(path.join(folder, 'bin'));
  fs.mkdirSync(path.join(folder, 'other'), { mode: 0o700 });
  // the node that srun reaches has a folder of its own for notes
  const srun = `#!/bin/bash
while [ "$1" != -- ]; do shift; done; shift
export SLURM_JOB_ID=17 SLURMD_NODENAME=$(hostname -s) SLURM_STEP_ID=0 XDG_RUNTIME_DIR=${folder}/other
exec "$@"
`;
  fs.writeFileSync(path.join(folder, 'bin/srun'), srun, { mode: 0o755 });
  for (const name of ['scontrol', 'sacct', 'scancel']) {
    fs.writeFileSync(path.join(folder, 'bin', name), '#!/bin/bash\nexit 1\n', { mode: 0o755 });
  }
  const { stderr } =
    sh(`export PATH=${folder}/bin:$PATH SLURM_JOB_ID=17 SLURM_JOB_NODELIST=$(hostname -s) SLURM_JOB_NUM_NODES=1 SLURM_CLUSTER_NAME=lab
    tacho start --interval 0.2s -o deep/er/r
    cd /; XDG_RUNTIME_DIR=${folder}/other tacho mark begin there; echo "mark: $?" >&2; ls ${folder}/other/tacho >&2
    tacho stop --no-report; echo "stop: $?" >&2; ls -A ${folder}/other/tacho >&2; echo left >&2`);
  assert.match(stderr, /mark: 0\nslurm-lab-17\.json\n/);
  assert.match(stderr, /stop: 0\nleft\n/);
  const [node] = openRecording(path.join(folder, 'deep/er/r')).nodes;
  assert.ok(readTable(node!, 'marker').texts.get('name')?.values.includes('there'));
});
