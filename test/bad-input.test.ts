import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, test } from 'node:test';
import { verbs } from '../src/cli/verbs.ts';
import { FORMAT } from '../src/recording/folder/job.ts';
import { makeRecording } from './make-recording.ts';
import { TACHO, tacho } from './tacho.ts';

/** Wrong use and bad surroundings: what the user reads, and what the shell sees. The folder below is made for it. */

let folder: string;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bad-'));
  const write = (name: string, text: string, mode = 0o644): void => {
    fs.mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text, { mode });
  };
  await makeRecording({ folder: path.join(folder, 'runs/sampled'), seconds: 20 });
  write('not-a-recording/notes.txt', 'nothing');
  write('newer/job.json', JSON.stringify({ format: FORMAT + 1, id: '1', tacho: '99.0.0' }));
  write('torn/job.json', '{"format": 1, "id"');
  write('plain-file', '#!/bin/sh\n');
  write('wrong.toml', '# mine\ninterval = "1s"\n\n[sources]\ndisabel = ["nfs"]\n');
  write('wrong-type.toml', 'interval = true\n');
  write('no-toml.toml', 'interval = = 1\n');
  write('rules.toml', '[rules.cpu-seriall]\nfrom = 0.9\n');
  write('sacct.json', '{"jobs": [{"job_id": 1');
  write('other.csv', 'name,value\nx,1\n');
  write('worker-files/worker_0.csv', 'job,dag,timestamp,tasks,total-mem,mem-util,compute-util\n1,0,0.2,inc,,,\n');
  write('slow/scontrol', '#!/bin/sh\nexec sleep 60\n', 0o755);
  for (const name of ['sacct', 'squeue', 'srun', 'scancel'])
    fs.copyFileSync(path.join(folder, 'slow/scontrol'), path.join(folder, 'slow', name));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

interface Case {
  args: string;
  code: number;
  /** All of these are in what is printed on stderr. */
  says: (string | RegExp)[];
}

const cases: Case[] = [
  { args: 'report runs/sampled -o no/such/folder.txt', code: 1, says: ['cannot write no/such/folder.txt'] },
  { args: 'top runs/sampled', code: 1, says: ['has ended: there is nothing to follow', 'tacho report'] },
  { args: 'top runs/sampled --interval 1ms', code: 2, says: ['--interval must be from 0.5s to 1h'] },
  { args: 'top --hub 127.0.0.1:1', code: 2, says: ['tacho top --hub needs the id of a job'] },
  { args: 'top not-here', code: 1, says: ['cannot open not-here'] },
  { args: 'plot pie .', code: 2, says: ['kind: "pie" is none of lines, boxes, heatmap'] },
  { args: 'plot heatmapp .', code: 2, says: ['did you mean "heatmap"?'] },
  { args: 'report ', code: 1, says: ['cannot open "": no such file or folder'] },
  { args: 'report --format jsn', code: 2, says: ['--format: "jsn" is none of text, markdown', 'did you mean "json"?'] },
  { args: 'jobs 4711', code: 1, says: ['cannot open 4711', 'tacho jobs --job 4711'] },
  { args: 'sql q', code: 2, says: ['the current folder has no index'] },
  { args: 'show runs/sampled --table gpu', code: 2, says: [/no table "gpu" was recorded\n +there are [a-z, ]+$/m] },
  { args: 'show runs/sampled --table laod', code: 2, says: ['did you mean "load"?'] },
  { args: 'list --state happy', code: 2, says: [/there are running, (?!.*running)/] },
  { args: 'completion bsh', code: 2, says: ['shell: "bsh" is none of bash, zsh', 'did you mean "bash"?'] },
  { args: 'plot lines runs/sampled', code: 2, says: ['tacho plot lines needs --table', 'tables of job', 'disk, load'] },
  { args: 'plot runs/sampled', code: 2, says: ['needs the kind of chart', 'lines, boxes', 'disk, load'] },
  { args: 'plot runs/sampled --table load', code: 2, says: ['tacho plot lines runs/sampled --table load'] },
  {
    args: 'plot lines . --table load --save a.gif',
    code: 2,
    says: ['cannot be saved as "a.gif"', '.svg, .png or .pdf'],
  },
  { args: 'plot boxes . --table load --freq 0', code: 2, says: ['"0" is no number of records', '--freq 15'] },
  { args: 'plot lines . --table load --width 0', code: 2, says: ['"0" is no size in inches'] },
  { args: 'plot lines runs/sampled --table load --node c9', code: 1, says: ['nothing of load.load1 was recorded'] },
  { args: 'plot scaling runs/sampled', code: 2, says: ['needs runs of several sizes'] },
  { args: 'report . --short --format json', code: 2, says: ['--short is text', 'leave out --short'] },
  { args: 'show runs/sampled', code: 2, says: ['tacho show needs --table', 'tables of job', 'disk, load'] },
  { args: 'show runs/sampled --table gpuu', code: 2, says: ['no table "gpuu" was recorded', 'there are disk, load'] },
  {
    args: 'show runs/sampled --table load --columns none',
    code: 2,
    says: ['has no column "none"', 'there are: load1'],
  },
  { args: 'show runs/sampled --table load --interval 10ms', code: 2, says: ['is less than the time between samples'] },
  { args: 'show runs/sampled --table load --key x', code: 2, says: ['"x" is no key with a value', '--key disk=sda'] },
  { args: 'show runs/sampled --table load --node c9', code: 1, says: ['nothing of this was recorded in table load'] },
  {
    args: 'dask attach tcp://127.0.0.1:1',
    code: 1,
    says: ['cannot reach the Dask scheduler tcp://127.0.0.1:1', 'nobody listens there'],
  },
  {
    args: 'dask attach http://127.0.0.1:2/status',
    code: 1,
    says: ['cannot reach a Dask dashboard at http://127.0.0.1:2: nobody'],
  },
  { args: 'dask attach nowhere', code: 2, says: ['"nowhere" is neither an address nor a file', 'tcp://HOST:8786'] },
  { args: 'dask attach other.csv', code: 1, says: ['cannot read the scheduler file other.csv: it is no JSON'] },
  {
    args: 'dask attach inproc://10.0.0.1/1/1',
    code: 1,
    says: ['is inside one Python process', 'LocalCluster(processes=True)'],
  },
  {
    args: 'dask attach tcp://x:1 --tracking tasks,gpu',
    code: 2,
    says: ['--tracking', '"gpu" cannot be tracked', 'compute-util'],
  },
  { args: 'dask attach tcp://x:1 --interval 1ms', code: 2, says: ['--interval', 'too short'] },
  {
    args: 'dask attach tcp://127.0.0.1:1 --custom metrics.txt',
    code: 2,
    says: ['metrics.txt is neither Python nor TypeScript', 'FILE.py or FILE.ts'],
  },
  { args: 'dask attach tls://127.0.0.1:1 --tls-ca missing', code: 1, says: ['cannot read missing: no such file'] },
  { args: 'dask status', code: 1, says: ['no monitor is attached in a recording here', 'tacho dask attach'] },
  { args: 'dask stop torn', code: 1, says: ['no monitor is attached in torn'] },
  { args: 'dask csv', code: 2, says: ['--output', 'tacho dask csv --help explains the use'] },
  {
    args: 'dask peaks worker-files --metric compute-util',
    code: 1,
    says: ['the workers have no value of "compute-util"', 'no GPU was found on them'],
  },
  { args: 'dask peaks not-a-recording --metric x', code: 1, says: ['no recording in not-a-recording'] },
  { args: 'dask peaks csv --metric x --workers 0;1', code: 2, says: ['"0;1" names no workers', '--workers 0,8'] },
  { args: 'dask new-job --job x', code: 2, says: ['"x" is not the number of a job'] },
  { args: 'import slurm sacct.json', code: 1, says: ['sacct.json cannot be imported: its JSON is cut off'] },
  { args: 'import slurm other.csv', code: 1, says: ['other.csv cannot be imported', 'no column JobID', 'sacct -aDP'] },
  { args: 'import slurm missing', code: 1, says: ['cannot read missing: no such file'] },
  { args: 'import slurm other.csv --timezone Mars', code: 2, says: ['there is no time zone "Mars"', 'Europe/Oslo'] },
  { args: 'import slurm --archive a -o b', code: 2, says: ['--archive and -o mean the same'] },
  { args: 'history --from 2026-03-02 --to 2026-03-01', code: 2, says: ['the period ends before it begins', '--from'] },
  {
    args: 'import sonar other.csv',
    code: 1,
    says: ['other.csv cannot be imported: nothing in it is a record of Sonar'],
  },
  { args: 'import sonar worker-files', code: 1, says: ['nothing in worker-files is a record of Sonar', 'CSV'] },
  { args: 'import sonar not-a-recording', code: 1, says: ['there are no files of Sonar in not-a-recording'] },
  { args: 'import sonar other.csv --min-samples 0', code: 2, says: ['"0" is not a number of samples'] },
  {
    args: 'serve not-a-recording --store http://vm:8428',
    code: 2,
    says: ['folders and --store cannot be shown together', 'start one server for each'],
  },
  {
    args: 'serve --serve-listen 0.0.0.0:0',
    code: 2,
    says: ['whoever has the token sees everything', '--serve-access header or oidc'],
  },
  { args: 'serve --serve-access header --port 0', code: 2, says: ['no address of a proxy is known', 'unix:'] },
  { args: 'serve --serve-access header --serve-proxies proxy', code: 2, says: ['"proxy" is no address'] },
  { args: 'serve --serve-access oidc', code: 2, says: ['serve.oidc_issuer is needed', 'docs/serve-site.md'] },
  { args: 'serve --serve-access magic', code: 2, says: ['"magic" is none of token, header and oidc'] },
  { args: 'serve --store vm', code: 2, says: ['"vm" is not the address of a store'] },
  { args: 'serve --archive missing', code: 2, says: ['missing is no folder', '--archive'] },
  { args: 'serve --hub http://a?b', code: 2, says: ['is not the address of a hub'] },
  { args: 'reprot', code: 2, says: ['unknown verb "reprot"; did you mean "report"?', 'tacho --help'] },
  { args: 'frobnicate', code: 2, says: ['unknown verb "frobnicate"\n'] },
  { args: './a.out', code: 2, says: ['tacho run -- ./a.out'] },
  { args: '--verison', code: 2, says: ["unknown option '--verison'; did you mean --version?"] },
  {
    args: 'run --intervall 1 -- true',
    code: 2,
    says: ["unknown option '--intervall'; did you mean --interval?", 'tacho run --help'],
  },
  { args: 'run --strict --interval 0 -- true', code: 2, says: ['--interval: "0" is not between 100ms and 1d'] },
  { args: 'run --strict --interval 50ms -- true', code: 2, says: ['--interval: "50ms" is not between 100ms and 1d'] },
  { args: 'run --strict --interval abc -- true', code: 2, says: ['--interval: "abc" is not a duration', '500ms'] },
  { args: 'run --strict --interval -1 -- true', code: 2, says: ['--interval'] },
  { args: 'run', code: 2, says: ['no command given'] },
  {
    args: 'run --strict --hosts c1,-oProxyCommand=x -- true',
    code: 2,
    says: ['"-oProxyCommand=x" is not the name of a machine'],
  },
  {
    args: 'start --strict --hosts a/../c',
    code: 2,
    says: ['--hosts: "a/../c" is not the name of a machine', '--hosts c1,c2'],
  },
  { args: 'run --strict --allow-missing x -- true', code: 2, says: ['--allow-missing: "x" is not a number of nodes'] },
  { args: 'run --strict --output= -- true', code: 2, says: ['the name of the recording is empty'] },
  { args: 'run -- /', code: 126, says: ['cannot run /: it is a folder'] },
  { args: 'run --strict --tag novalue -- true', code: 2, says: ['"novalue" is not a tag', 'key:value'] },
  { args: 'run --strict --without nsf -- true', code: 2, says: ['there is no table "nsf"; did you mean "nfs"?'] },
  { args: 'run -- /no/such/command', code: 127, says: ['cannot run /no/such/command: no such file'] },
  { args: 'run -- no-such-command-at-all', code: 127, says: ['cannot run no-such-command-at-all'] },
  { args: 'run -- ./plain-file', code: 126, says: ['cannot run ./plain-file: permission denied'] },
  { args: 'run -- ./not-a-recording', code: 126, says: ['cannot run ./not-a-recording'] },
  {
    args: 'run --strict -o /proc/tacho/x -- true',
    code: 1,
    says: ['cannot write /proc/tacho/x: no such file or folder'],
  },
  { args: 'run --strict -o plain-file/x -- true', code: 1, says: ['cannot write', 'not a folder'] },
  { args: 'run --strict --config none.toml -- true', code: 2, says: ['--config: there is no file none.toml'] },
  {
    args: 'report . --config rules.toml',
    code: 2,
    says: ['rules.toml:2: there is no rule "cpu-seriall"; did you mean "cpu-serial"?'],
  },
  {
    args: 'run --strict --config wrong.toml -- true',
    code: 2,
    says: ['wrong.toml:5: unknown key "sources.disabel"; did you mean "sources.disable"?'],
  },
  {
    args: 'run --strict --config wrong-type.toml -- true',
    code: 2,
    says: ['wrong-type.toml:1: interval must be a duration', 'not true'],
  },
  { args: 'run --strict --config no-toml.toml -- true', code: 2, says: ['no-toml.toml:1: not valid TOML'] },
  { args: 'start --strict --interval abc', code: 2, says: ['--interval: "abc" is not a duration'] },
  { args: 'start --hosts', code: 2, says: ['argument missing'] },
  { args: 'stop --strict', code: 1, says: ['nothing to stop', 'tacho start'] },
  { args: 'status', code: 1, says: ['nothing is being recorded'] },
  { args: 'mark --strict begin phase', code: 1, says: ['nothing is being recorded'] },
  { args: 'mark middle phase', code: 2, says: ['middle'] },
  { args: 'fom --strict loss', code: 2, says: ['"loss" is not a figure of merit', 'name=number'] },
  { args: 'fom --strict loss=1e-400', code: 2, says: ['"loss=1e-400" is too close to zero to be kept'] },
  {
    args: 'fom --strict big=12345678901234567890',
    code: 2,
    says: [
      '"big=12345678901234567890" has more digits than can be kept: it would become 12345678901234567000',
      'whole numbers are exact up to 9007199254740992',
    ],
  },
  { args: 'fom --strict loss=low', code: 2, says: ['"loss=low" is not a figure of merit'] },
  { args: 'report nowhere', code: 1, says: ['cannot open nowhere: no such file or folder'] },
  { args: 'report not-a-recording', code: 1, says: ['no recording in not-a-recording'] },
  { args: 'report newer', code: 1, says: ['newer'] },
  { args: 'report --format xml not-a-recording', code: 2, says: ['xml', 'markdown'] },
  { args: 'export nowhere --to out', code: 1, says: ['cannot open nowhere'] },
  { args: 'export newer --to out', code: 1, says: ['newer'] },
  { args: 'list nowhere', code: 1, says: ['cannot open nowhere'] },
  { args: 'seal', code: 2, says: ["missing required argument 'recording'", 'tacho seal --help'] },
  { args: 'seal nowhere', code: 1, says: ['cannot open nowhere'] },
  { args: 'verify nowhere', code: 1, says: ['cannot open nowhere'] },
  { args: 'demo --nodes 0 -o out', code: 2, says: ['--nodes must be at least 1'] },
  { args: 'demo --interval soon -o out', code: 2, says: ['--interval', '"soon" is not a duration'] },
  { args: 'completion ksh', code: 2, says: ['ksh', 'bash, zsh, fish'] },
  { args: 'check --format yaml', code: 2, says: ['yaml', 'text, json'] },
  { args: 'check surplus', code: 2, says: ['too many arguments'] },
];

for (const { args, code, says } of cases) {
  test(`tacho ${args}`, () => {
    const result = tacho(args.split(' '), { cwd: folder, input: '' });
    const shown = `exit ${result.code}\n${result.out}${result.err}`;
    assert.equal(result.code, code, shown);
    for (const text of says) {
      if (typeof text === 'string') assert.ok(result.err.includes(text), `lacks ${text}: ${shown}`);
      else assert.match(result.err, text);
    }
    assert.match(result.err, /^tacho: /);
    assert.doesNotMatch(result.err, /\n\s+at |internal error|node:internal/, 'a stack trace is not for users');
    assert.equal(result.out, '');
  });
}

test('what goes to a file or a pipe is ASCII', () => {
  for (const args of [['run'], ['run', '--help'], ['export', '--help'], ['report', folder], ['operations', '--help']]) {
    const { out, err } = tacho(args);
    assert.match(out + err, /^[\n\x20-\x7e]+$/, args.join(' '));
  }
});

test('what failed has left nothing behind', () => {
  assert.deepEqual(fs.readdirSync(folder).sort(), [
    'newer',
    'no-toml.toml',
    'not-a-recording',
    'other.csv',
    'plain-file',
    'rules.toml',
    'runs',
    'sacct.json',
    'slow',
    'torn',
    'worker-files',
    'wrong-type.toml',
    'wrong.toml',
  ]);
});

test('a wrong variable in the environment is named', () => {
  const result = tacho(['run', '--strict', '--', 'true'], {
    cwd: folder,
    env: { ...process.env, TACHO_INTERVAL: 'soon' },
  });
  assert.equal(result.code, 2);
  assert.match(result.err, /^tacho: TACHO_INTERVAL in the environment: "soon" is not a duration/);
});

test('a scheduler that does not answer is said, and the command runs all the same', () => {
  const environment = { ...process.env, PATH: `${path.join(folder, 'slow')}:${process.env.PATH}` };
  const job = { SLURM_JOB_ID: '17', SLURM_JOB_NODELIST: os.hostname(), SLURM_NNODES: '1' };
  const result = tacho(['run', '-o', 'hung', '--', 'echo', 'done'], { cwd: folder, env: { ...environment, ...job } });
  fs.rmSync(path.join(folder, 'hung'), { recursive: true, force: true });
  assert.equal(result.code, 0, result.err);
  assert.equal(result.out, 'done\n');
  assert.match(result.err, /gave no answer within/);
});

test('a reader that stops reading is no error', () => {
  const line = `"$TACHO" demo --nodes 1 --gpus 1 --hours 0.01 -o demo >/dev/null && "$TACHO" export demo --to - --table loadavg 2>err | head -n 1 >/dev/null; echo "\${PIPESTATUS[0]}"`;
  const result = tacho(['run', '-o', 'piped', '--no-report', '--', 'bash', '-c', line], {
    cwd: folder,
    env: { ...process.env, TACHO },
  });
  const output = fs.existsSync(path.join(folder, 'err')) ? fs.readFileSync(path.join(folder, 'err'), 'utf8') : '';
  for (const name of ['demo', 'err', 'piped']) fs.rmSync(path.join(folder, name), { recursive: true, force: true });
  assert.equal(result.out, '0\n', result.err + output);
});

test('TACHO_DEBUG shows where it happened', () => {
  const result = tacho(['report', 'nowhere'], { cwd: folder, env: { ...process.env, TACHO_DEBUG: '1' } });
  assert.match(result.err, /\n\s+at .*\.(ts|cjs):\d+/);
});

test("every verb's help has an example", () => {
  for (const { name, hidden } of verbs) {
    if (hidden) continue;
    const result = tacho([name, '--help'], { cwd: folder });
    assert.equal(result.code, 0);
    assert.match(result.out, /\nExamples?:\n {2}\S/, name);
  }
});

test('a folder that was deleted below the user is said in words', () => {
  const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" run --strict -- true';
  const done = spawnSync('/bin/sh', ['-c', script, TACHO], { cwd: folder, encoding: 'utf8' });
  assert.equal(done.status, 1);
  assert.match(done.stderr, /tacho: the folder you are in is not there any more\n/);
});
