import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { START, temporary } from './make-recording.ts';
import { type Server, startPostgres, whyNoPostgres } from './postgres/server.ts';
import { type GivenProcess, makeProcessRecording } from './process-recording.ts';
import { TACHO, tacho } from './tacho.ts';

/** A job is named by its recording, its folder or its id, in every verb. */

const PROCESSES: GivenProcess[] = [
  { pid: 100, start: 0, end: 20, exename: 'bash', cpu: 0.5, tags: 'op:all' },
  { pid: 101, ppid: 100, start: 1, end: 9, exename: 'solver', cpu: 8, tags: 'op:solve', threads: [4, 4] },
];

async function make(folder: string, id: string, job: object = {}): Promise<string> {
  const facts = { id, name: `job ${id}`, tags: {}, start: START, end: START + 20e6, ...job };
  await makeProcessRecording({ c1: PROCESSES }, facts, folder);
  return folder;
}

/** This folder, the configured one and an archive, each with a job. */
const top = temporary();
const cwd = path.join(top, 'here');
const recordings = path.join(top, 'scratch');
const archive = path.join(top, 'archive');
const env = {
  ...process.env,
  NO_COLOR: '1',
  TZ: 'UTC',
  TACHO_RECORDINGS: recordings,
  TACHO_HUB_ARCHIVE: archive,
  XDG_DATA_HOME: path.join(top, 'data'),
};
const ask = (text: string, more: object = {}) => tacho(text.split(' '), { cwd, env: { ...env, ...more } });

before(async () => {
  await make(path.join(cwd, 'runs', 'first'), '4711');
  await make(path.join(recordings, 'tacho-4712'), '4712');
  await make(path.join(archive, 'user=ada', 'job=4713'), '4713');
  await make(path.join(recordings, 'tacho-50_1'), '50_1');
  await make(path.join(recordings, 'tacho-50_2'), '50_2');
  await make(path.join(recordings, 'twice-a'), '60');
  await make(path.join(recordings, 'twice-b'), '60');
});

describe('by its name', () => {
  const [cwd, recordings] = ['here', 'scratch'].map((name) => path.join(top, 'named', name)) as [string, string];
  const ask = (text: string) => tacho(text.split(' '), { cwd, env: { ...env, TACHO_RECORDINGS: recordings } });
  before(async () => {
    await make(path.join(cwd, 'runs', 'a'), '8001', { name: 'slow' });
    await make(path.join(recordings, 'b'), '8002', { name: 'fast' });
    await make(path.join(cwd, 'runs', 'c'), '8003', { name: 'twin' });
    await make(path.join(recordings, 'd'), '8004', { name: 'twin', start: START + 60e6, end: START + 80e6 });
    await make(path.join(cwd, 'runs', 'e'), '8005', { name: '8001' });
  });

  test('though the script that it is called after is a file here', () => {
    fs.writeFileSync(path.join(cwd, 'slow'), '#!/bin/sh\n');
    fs.writeFileSync(path.join(cwd, 'notes.txt'), '');
    try {
      assert.match(ask('report slow').out, /^slow +COMPLETED|^8001 slow/);
      assert.equal(ask('processes slow').code, 0);
      assert.match(ask('annotate slow why=disk').out, /why=disk/);
      assert.match(
        ask('report notes.txt').err,
        /^tacho: cannot open notes\.txt: not a folder, and no job with this id/,
      );
    } finally {
      for (const file of ['slow', 'notes.txt']) fs.rmSync(path.join(cwd, file));
      ask('annotate slow --remove why');
    }
  });

  test('when one job is called so', () => {
    const { code, out, err } = ask('compare slow fast --format json');
    assert.equal(code, 0, err);
    assert.deepEqual(
      (JSON.parse(out) as { jobs: { id: string }[] }).jobs.map(({ id }) => id),
      ['8001', '8002'],
    );
    assert.equal(ask('annotate slow note=checked').out, 'job 8001\n  note=checked\n');
  });

  test('an id comes before a name', () => {
    assert.equal(JSON.parse(ask('report 8001 --format json').out).job.id, '8001');
  });

  test('of several the ids are listed, the newest first', () => {
    const { code, err } = ask('report twin');
    assert.equal(code, 2);
    assert.match(
      err,
      /^tacho: 2 jobs are called twin\n {7}name one of them by its id:\n {7}8004 {2}started .*\n {7}8003 {2}started /,
    );
  });

  test('copies of one recording are named by their folders', async () => {
    const [a, b] = ['copy-a', 'copy-b'].map((name) => path.join(cwd, 'runs', name)) as [string, string];
    await make(a, '8006', { name: 'copied' });
    fs.cpSync(a, b, { recursive: true });
    const { err } = ask('report copied');
    assert.match(err, /2 jobs are called copied\n {7}name one of them by its folder:\n {7}runs\/copy-[ab] {2}started /);
  });

  test('of none, it is said where was looked, and that databases have jobs too', () => {
    const { code, err } = ask('annotate nope note=x');
    assert.equal(code, 2);
    assert.match(
      err,
      /^tacho: cannot open nope: no such file or folder, and no job with this id or name\n {7}looked in this folder/,
    );
    assert.match(err, /of a job in a database: name one with --db postgres:/);
  });
});

test('threads without a process names those with most threads', async () => {
  // a process that became another program is named once
  const facts = { id: '4720', name: 'x', tags: {}, start: START, end: START + 20e6 };
  const shim: GivenProcess = {
    pid: 101,
    ppid: 100,
    start: 0.5,
    end: 1,
    exename: 'shim',
    execs: true,
    threads: [1, 1, 1],
  };
  await makeProcessRecording({ c1: [...PROCESSES, shim] }, facts, path.join(top, 'execs'));
  assert.match(ask(`threads ${path.join(top, 'execs')}`).err, / most threads have 101 \(shim\), 100 \(bash\);/);
  const { code, err } = ask('threads 4711');
  assert.equal(code, 2);
  assert.match(err, /^tacho: tacho threads needs --process PID\n {7}most threads have 101 \(solver\), 100 \(bash\);/);
});

test('cause without a model says how one is made', () => {
  const { code, err } = ask('cause 4711');
  assert.equal(code, 2);
  assert.match(err, /^tacho: tacho cause needs --model NAME\n {7}tacho model list .* tacho model create NAME/);
});

test('list names the folders that may not be read', { skip: process.getuid!() !== 0 && 'needs root' }, (t) => {
  const folder = temporary();
  fs.chmodSync(folder, 0o755);
  fs.mkdirSync(path.join(folder, 'private'), { mode: 0o700 });
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const [uid, gid] = [65534, 65534];
  const { status, stderr } = spawnSync(TACHO, ['list', folder], {
    uid,
    gid,
    encoding: 'utf8',
    env: { ...env, HOME: folder },
  });
  assert.equal(status, 0);
  assert.match(stderr, /^tacho: not looked into, as you may not read them: .*\/private\n/);
});

describe('by its id', () => {
  test('in this folder, in the configured folder, and in the archive', () => {
    for (const id of ['4711', '4712', '4713']) {
      const { code, out, err } = ask(`report ${id}`);
      assert.equal(code, 0, err);
      assert.match(out, new RegExp(`job ${id}\\b`));
    }
    assert.match(ask('report tacho-4712').out, /job 4712\b/);
  });

  // every verb that takes recordings
  for (const verb of [
    'report',
    'processes',
    'threads --process 101',
    'timeline',
    'operations',
    'outliers --of processes --features cpu_time',
    'list',
    'list --tables',
    'export --table process_end',
    'verify --dry-run',
    'scale',
    'advise',
    'status',
    'annotate',
  ])
    test(`tacho ${verb} 4712`, () => {
      const [by, here] = ['4712', path.join(recordings, 'tacho-4712')].map((name) => ask(`${verb} ${name}`));
      assert.deepEqual([by!.code, by!.out, by!.err], [here!.code, here!.out, here!.err]);
      assert.doesNotMatch(by!.err, /cannot open|unknown/);
    });

  test('tacho seal 4713', () => {
    assert.match(ask('seal 4713').out, /user=ada\/job=4713: 3 tables, 7 rows, /);
  });

  test('two jobs of different places are compared', () => {
    const { code, out, err } = ask('compare 4711 4713 --format json');
    assert.equal(code, 0, err);
    assert.deepEqual(
      (JSON.parse(out) as { jobs: { id: string }[] }).jobs.map(({ id }) => id),
      ['4711', '4713'],
    );
  });

  test('an array means all of its tasks', () => {
    const reports = JSON.parse(ask('report 50 --format json').out) as { job: { id: string } }[];
    assert.deepEqual(
      reports.map(({ job }) => job.id),
      ['50_1', '50_2'],
    );
  });

  test('an id of two recordings: both are named', () => {
    const { code, err } = ask('report 60');
    assert.equal(code, 2);
    assert.match(err, /job 60 has 2 recordings/);
    assert.match(err, /scratch\/twice-a +started 2026-11-15 20:49:12 UTC\n.*scratch\/twice-b /);
  });

  test('an unknown one: where was looked', () => {
    const { code, err } = ask('processes 9999');
    assert.equal(code, 1);
    assert.match(err, /cannot open 9999: no such file or folder, and no job with this id/);
    for (const folder of ['this folder', recordings, archive])
      assert.ok(err.replaceAll(/\s+/g, ' ').includes(folder), err);
    const { err: bare } = ask('report 9999', { TACHO_RECORDINGS: '', TACHO_HUB_ARCHIVE: '' });
    assert.match(bare.replaceAll(/\s+/g, ' '), /settings recordings and hub\.archive name other places/);
  });

  test('one that is not there keeps no other from being shown', () => {
    const { code, out, err } = ask('report 4712 9999');
    assert.equal(code, 1);
    assert.match(out, /job 4712\b/);
    assert.match(err, /left out: cannot open 9999/);
  });
});

describe('without a name', () => {
  const listed = (text: string, more: object = {}, where = cwd): string[] => {
    const { out } = tacho(text.split(' '), { cwd: where, env: { ...env, ...more } });
    return (JSON.parse(out) as { job: string | { id: string } }[]).map(({ job }) =>
      typeof job === 'string' ? job : job.id,
    );
  };
  const all = ['4712', '50_1', '50_2', '60', '60'];

  test('list and report look where run writes', () => {
    for (const verb of ['list', 'report']) assert.deepEqual(listed(`${verb} --format json`).sort(), all);
  });

  test('and here, where this folder holds recordings', () => {
    assert.deepEqual(listed('list --format json', {}, path.join(cwd, 'runs')).sort(), ['4711', ...all]);
    assert.deepEqual(listed('list --format json', {}, path.join(cwd, 'runs', 'first')), ['4711']);
    assert.deepEqual(listed('list --format json', {}, path.join(recordings, 'tacho-4712')), ['4712']);
  });

  test('only here, when nothing is configured', () => {
    assert.deepEqual(listed('list --format json', { TACHO_RECORDINGS: '' }), ['4711']);
  });

  test('a configuration that is wrong hides no recording', () => {
    const folder = temporary();
    fs.writeFileSync(path.join(folder, 'tacho.toml'), `recordings = "${recordings}"\nintervall = 3\n`);
    const { TACHO_RECORDINGS: _, ...rest } = env;
    const { out, err } = tacho(['list', '--format', 'json'], { cwd: folder, env: rest });
    assert.equal((JSON.parse(out) as object[]).length, 5);
    assert.match(err, /intervall.*it is not used/s);
  });
});

describe('in a database', { skip: whyNoPostgres() }, () => {
  let server: Server;
  let db: string;

  before(async () => {
    server = await startPostgres();
    db = server.fresh();
    assert.equal(tacho(['db', 'migrate', '--db', db]).code, 0);
    await make(path.join(top, 'stored', 'tacho-4799'), '4799', { annotations: { note: 'slow disk' } });
    const stored = tacho(['submit', path.join(top, 'stored'), '--db', db]);
    assert.equal(stored.code, 0, stored.err);
  });
  after(() => server?.remove());

  test('report has the card of the recording', () => {
    for (const format of ['text', 'json', 'markdown', 'html']) {
      const there = ask(`report 4799 --db ${db} --format ${format}`);
      assert.equal(there.code, 0, there.err);
      const here = ask(`report ${path.join(top, 'stored', 'tacho-4799')} --format ${format}`);
      // of a recording the page also has charts and processes behind the report
      const plain = (text: string): string =>
        (/<article[\s\S]*<\/article>/.exec(text)?.[0] ?? text).replaceAll(
          /postgres:[^\s"<]*|[^\s"<>]*stored\/tacho-4799/g,
          'PLACE',
        );
      assert.equal(plain(there.out), plain(here.out), format);
    }
  });

  test('of the configured one, too; all jobs without a name', () => {
    assert.match(ask('report 4799', { TACHO_DB: db }).out, /job 4799\b/);
    // a recording that is here comes first
    assert.match(ask('report 4712', { TACHO_DB: 'postgres://nobody@127.0.0.1:1/x' }).out, /job 4712\b/);
    const { job } = JSON.parse(ask(`report --db ${db} --format json`).out) as { job: { id: string } };
    assert.equal(job.id, '4799');
  });

  test('advise takes a job of the database where no recording has it', () => {
    const { code, out, err } = ask('advise 4799', { TACHO_DB: db });
    assert.equal(code, 0, err);
    assert.match(out, /^job 4799 /);
  });

  test('a recording and a job of the database are not named together, which is said', () => {
    const { code, err } = ask('compare 4711 4799', { TACHO_DB: db });
    assert.equal(code, 1);
    assert.match(err, /cannot open 4799: .*\n.*jobs of the database have no samples, and are not named together/);
  });

  test('parts of a job are not there', () => {
    const { code, err } = ask(`report 4799 --db ${db} --from -1h`);
    assert.equal(code, 2);
    assert.match(err, /the database has the report cards of whole jobs/);
  });
});

describe('told apart', () => {
  test('three runs in one second have three ids', () => {
    const folder = temporary();
    const own = { ...env, TACHO_RECORDINGS: '' };
    const script = 'for d in a b c; do mkdir $d; (cd $d; exec "$0" run --no-report -- true) & done; wait';
    const { status, stderr } = spawnSync('sh', ['-c', script, TACHO], { cwd: folder, env: own, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const listed = JSON.parse(tacho(['list', '--format', 'json'], { cwd: folder, env: own }).out) as { job: string }[];
    assert.equal(new Set(listed.map(({ job }) => job)).size, 3, stderr);
    for (const { job } of listed) assert.match(job, /^\d{8}-\d{6}-true-[0-9a-z]{4}$/);
  });

  test('two recordings of one id', async () => {
    const folder = temporary();
    for (const name of ['r4', 'r5', 'r6', 'r7', 'r8'])
      await make(path.join(folder, name), 'nightly', { tags: { exp_name: 'x', exp_component: name, exp_time: '1' } });
    const own = (text: string): string => tacho(text.split(' '), { cwd: folder, env }).out;
    assert.match(own('processes r4 r5'), /nightly \(r4\)/);
    assert.match(own('operations r4 r5'), /nightly \(r5\)/);
    assert.match(own('timeline r4 r5'), /job nightly \(r5\)/);
    assert.match(own('explore x .'), /1 +nightly .* r4\n/);
    own('model create usual r4 r6 r7 r8');
    assert.match(own('cause r5 --model usual'), /^job nightly \(r5\) against/);
    const cause = JSON.parse(own('cause r5 --model usual --format json')) as { recording: string };
    assert.equal(cause.recording, 'r5');
  });
});

describe('what is listed', () => {
  const folder = temporary();
  const list = (text: string): string[] => {
    const { out, err } = tacho(['list', ...text.split(' '), '--format', 'json'], { cwd: folder, env });
    assert.equal(err, '');
    return (JSON.parse(out) as { job: string }[]).map(({ job }) => job);
  };

  before(async () => {
    const train = { name: 'train-a', user: 'ada', tags: { case: 'baseline', size: '7b' } };
    await make(path.join(folder, 'a'), '1', {
      ...train,
      command: ['python3', 'my train.py'],
      annotations: { note: 'slow disk' },
    });
    await make(path.join(folder, 'b'), '2', {
      ...train,
      user: 'bob',
      tags: { case: 'other' },
      state: 'failed',
      exit_code: 3,
    });
    await make(path.join(folder, 'c'), '3', { name: 'build', start: START + 3600e6, end: START + 3620e6 });
  });

  test('by tag, user, name, state, finding and time', () => {
    assert.deepEqual(list('. --tag case:baseline'), ['1']);
    assert.deepEqual(list('. --tag case:baseline --tag size:13b'), []);
    assert.deepEqual(list('. --user bob'), ['2']);
    assert.deepEqual(list('. --user bob,ada'), ['1', '2', '3']);
    assert.deepEqual(list('. --name train*'), ['1', '2']);
    assert.deepEqual(list('. --state failed'), ['2']);
    assert.deepEqual(list('. --finding job-failed'), ['2']);
    assert.deepEqual(list('. --from 2026-11-15T21:00Z'), ['3']);
    assert.deepEqual(list('. --to 2026-11-15T21:00Z --user ada'), ['1']);
    const none = tacho(['list', '.', '--tag', 'case:none'], { cwd: folder, env });
    assert.equal(none.err, 'none of 3 recordings matches\n');
  });

  test('a state or a finding that no job can have is refused, by list and jobs', () => {
    const refused = (line: string) => {
      const { code, err } = tacho(line.split(' '), { cwd: folder, env });
      assert.equal(code, 2, err);
      return err;
    };
    for (const verb of ['list', 'jobs']) {
      assert.match(
        refused(`${verb} . --state faild`),
        /^tacho: no job has the state "faild"; did you mean "failed"\?\n/,
      );
      assert.match(
        refused(`${verb} . --finding cpu-serail`),
        /^tacho: there is no finding "cpu-serail"; did you mean "cpu-serial"\?\n {7}docs\/findings\.md lists them\n/,
      );
    }
    for (const text of ['--state damaged', '--finding cpu-serial', '--finding xyz*', '--state time*'])
      assert.match(
        tacho(['list', '.', ...text.split(' ')], { cwd: folder, env }).err,
        /^none of 3 recordings matches$/m,
      );
  });

  test('with command, tags and, from an index, findings', () => {
    const text = (): string[] => tacho(['list', '.'], { cwd: folder, env }).out.split('\n');
    assert.match(text()[0]!, /state +command +tags +recording$/);
    assert.match(text()[1]!, / python3 'my train.py' +case:baseline size:7b +a$/);
    const [first] = JSON.parse(tacho(['list', '.', '--format', 'json'], { cwd: folder, env }).out) as object[];
    const { command, tags, annotations } = first as Record<string, unknown>;
    assert.deepEqual(
      { command, tags, annotations },
      {
        command: ['python3', 'my train.py'],
        tags: { case: 'baseline', size: '7b' },
        annotations: { note: 'slow disk' },
      },
    );
    assert.match(
      tacho(['list', '.', '--format', 'csv'], { cwd: folder, env }).out,
      /,a,python3 'my train.py',case:baseline;size:7b,note=slow disk,\n/,
    );
    assert.equal(tacho(['index', '.'], { cwd: folder, env }).code, 0);
    assert.match(text()[0]!, /tags +findings +recording$/);
    assert.match(text()[2]!, / case:other +job-failed,\S+ +b$/);
  });

  test('annotations are on the card, in every format', () => {
    for (const format of ['text', 'json', 'markdown', 'html'])
      assert.match(tacho(['report', 'a', '--format', format], { cwd: folder, env }).out, /note.*slow disk/, format);
    assert.equal(
      tacho(['annotate', 'a'], { cwd: folder, env }).out,
      'job 1\n  note=slow disk\n  case:baseline\n  size:7b\n',
    );
  });
});
