import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from '../src/database/connect.ts';
import { SUBMITTING } from '../src/database/submitting.ts';
import { watch } from '../src/database/watch.ts';
import { importEpmt } from '../src/import/epmt/import.ts';
import type { Job } from '../src/recording/folder/job.ts';
import { CSV_COLUMNS, csvText, madeProcess, metadataOf, pickle3, tgzOf } from './made/epmt-archive.ts';
import { eventually } from './made/eventually.ts';
import { START, temporary } from './make-recording.ts';
import { type Server, sharedPostgres, startPostgres, whyNoPostgres } from './postgres/server.ts';
import { makeProcessRecording } from './process-recording.ts';
import { type Answer, onTerminal, TACHO, tacho, whyNoTerminal } from './tacho.ts';

/** submit, watch, db and annotate as a user types them, against a real PostgreSQL. */

const PROCESSES = { c1: [{ pid: 100, start: 0, end: 5, tags: 'op:build' }] };
const make = (id: string, more: Partial<Job> = {}, folder?: string): Promise<string> =>
  makeProcessRecording(PROCESSES, { id, ...more }, folder);

/** tacho-1 in a folder: what is imported is sealed at once, as Parquet. */
async function imported(folder: string): Promise<string> {
  const { imported: done } = await importEpmt([stagedArchive(temporary())], { folder });
  return done[0]!.recording;
}

/** An archive as EPMT stages it, of job 1. */
function stagedArchive(folder: string): string {
  const archive = path.join(folder, '1.tgz');
  const bytes = csvText([madeProcess(7), madeProcess(8)], CSV_COLUMNS[48]);
  const entries = [
    { name: 'job_metadata', bytes: pickle3(metadataOf({ id: '1' })) },
    { name: 'c1-papiex-7-0.csv', bytes },
  ];
  fs.writeFileSync(archive, tgzOf(entries));
  return archive;
}

/** Waits until a program has said these words. */
const saying =
  (child: ChildProcess, outputText: () => string) =>
  async (text: string): Promise<void> => {
    await eventually(
      () => `${text} in:\n${outputText()}`,
      () => {
        assert.equal(child.exitCode, null, outputText());
        return outputText().includes(text);
      },
    );
  };

/** A fault as users see it: one sentence, perhaps what to do, no stack trace, no password. */
function assertFault(result: Answer, exit: number, ...says: (string | RegExp)[]): void {
  const shown = `exit ${result.code}\n${result.out}${result.err}`;
  assert.equal(result.code, exit, shown);
  for (const text of says) {
    assert.ok(typeof text === 'string' ? result.err.includes(text) : text.test(result.err), `lacks ${text}: ${shown}`);
  }
  assert.match(result.err, /^tacho: /);
  assert.doesNotMatch(result.err, /\n\s+at |internal error|node:internal/, 'a stack trace is not for users');
  assert.doesNotMatch(shown, /s3cret/, 'a password is never printed');
}

describe('the database from the command line', { skip: whyNoPostgres() }, () => {
  let server: Server;
  let db: string;
  let recording: string;
  const fresh = (): string => {
    const url = server.fresh();
    const made = tacho(['db', 'migrate', '--db', url]);
    assert.equal(made.code, 0, made.err);
    return url;
  };
  const nameOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1);
  const jobsIn = (url: string): string =>
    server.sql(nameOf(url), "select coalesce(string_agg(id, ',' order by id), '') from tacho.jobs");

  before(async () => {
    server = await sharedPostgres();
    db = fresh();
    recording = await make('17');
  });
  after(() => server?.remove());

  test('submit, again, as JSON, by TACHO_DB', async () => {
    const first = tacho(['submit', recording, '--db', db]);
    assert.equal(first.code, 0, first.err);
    assert.equal(first.out, `${recording}: job 17 stored (#1, 1 process, 1 thread)\n`);
    const folder = temporary();
    const env = { ...process.env, TACHO_DB: db };
    const again = tacho(['submit', recording, '--format', 'json'], { env });
    assert.equal(again.code, 0, again.err);
    assert.deepEqual(JSON.parse(again.out), [
      { path: recording, id: '17', outcome: 'present', job: 1, processes: 1, threads: 1, troubles: [] },
    ]);
    if (whyNoTerminal === false) {
      const name = `tacho-${'long-name-'.repeat(7)}`;
      fs.cpSync(recording, path.join(folder, name), { recursive: true });
      const shown = onTerminal(80, `submit ${name}`, { env, cwd: folder });
      assert.deepEqual(shown, [`${name}:`, '  job 17 is there already (#1, 1 process, 1 thread)', '']);
    }
    assertFault(tacho(['submit', path.join(import.meta.dirname, 'x.tgz')], { env }), 1, 'no such file');
    fs.writeFileSync(path.join(folder, 'x.tgz'), '');
    assertFault(tacho(['submit', path.join(folder, 'x.tgz')], { env }), 1, 'x.tgz cannot be imported: it is empty');
    fs.writeFileSync(path.join(folder, 'tacho.toml'), `db = "${db}"\n`);
    const listed = tacho(['db', 'jobs', '--format', 'json'], { cwd: folder });
    assert.equal(listed.code, 0, listed.err);
    assert.deepEqual(
      JSON.parse(listed.out).map(({ id, user, start, processes }: Record<string, unknown>) => [
        id,
        user,
        start,
        processes,
      ]),
      [['17', 'ada', START, 1]],
    );
    assert.match(
      tacho(['db', 'jobs', '--db', db]).out,
      /1 +17 +train +ada +2026-\S+ \S+ \S+ +1 min 00 s +completed +1\n/,
    );
    assert.equal(tacho(['db', 'jobs', '--db', db, '--user', 'eve']).out, '');
  });

  test('of several recordings the good ones are stored, and the bad one is told', async () => {
    const url = fresh();
    const folder = temporary();
    await make('1', {}, path.join(folder, 'tacho-1'));
    await make('2', { state: 'running', end: undefined as unknown as number }, path.join(folder, 'tacho-2'));
    // an agent is writing at this moment
    const agent = path.join(folder, 'tacho-2/node=c1/agent.json');
    fs.writeFileSync(agent, JSON.stringify({ ...JSON.parse(fs.readFileSync(agent, 'utf8')), end: undefined }));
    const started = path.join(folder, 'tacho-2/node=c1/process_start.csv');
    const line = fs.readFileSync(started, 'utf8').split('\n')[1]!;
    fs.appendFileSync(started, `${line.replace(/^\d+/, String(Date.now() * 1000))}\n`);
    await make('3', {}, path.join(folder, 'tacho-3'));
    const result = tacho(['submit', folder, '--db', url]);
    assertFault(result, 1, 'job 2 still runs', 'tacho watch');
    assert.equal(jobsIn(url), '1,3');
  });

  const bad: [what: string, address: () => string, exit: number, ...says: (string | RegExp)[]][] = [
    [
      'nobody there',
      () => 'postgres://ada:s3cret@127.0.0.1:9/x',
      1,
      'cannot open the database postgres://ada@127.0.0.1:9/x: nobody answers there',
    ],
    [
      'no such host',
      () => 'postgres://ada:s3cret@no-such-host.invalid/x',
      1,
      /no host of that name|could not be looked up/,
    ],
    ['no such database', () => server.address('nowhere'), 1, 'there is no such database'],
    ['a wrong password', () => server.address('postgres', 'guarded', 's3cret'), 1, 'wrong password', '~/.pgpass'],
    ['no password', () => server.address('postgres', 'guarded'), 1, 'a password is needed'],
    ['something else', () => 'mysql://ada:s3cret@host/x', 2, '--db: "mysql://ada@host/x" is not the address'],
    [
      'a password with letters that addresses do not have',
      () => 'postgres://ada:s3cret/@#%@127.0.0.1:9/x',
      1,
      'cannot open the database',
    ],
    ['no tables', () => server.fresh(), 1, "has no tables of Tacho's yet", 'tacho db migrate --db'],
    [
      'a newer schema',
      () => changed((name) => server.sql(name, "insert into tacho.schema_versions values (999, 'later', '9.0')")),
      1,
      'newer Tacho (schema 999',
      'update Tacho',
    ],
    [
      'a read-only database',
      () => changed((name) => server.sql('postgres', `alter database ${name} set default_transaction_read_only = on`)),
      1,
      'the database is read-only',
    ],
  ];
  const changed = (change: (name: string) => void): string => {
    const url = fresh();
    change(nameOf(url));
    return url;
  };
  test('a password is asked for by the server', () => {
    server.sql('postgres', "create role guarded login password 'right'");
  });
  for (const [what, address, exit, ...says] of bad) {
    test(`submit to ${what}: a clear word, nothing lost`, () => {
      const before = fs.readFileSync(path.join(recording, 'job.json'), 'utf8');
      assertFault(tacho(['submit', recording, '--db', address()]), exit, ...says);
      assert.equal(fs.readFileSync(path.join(recording, 'job.json'), 'utf8'), before);
    });
  }

  const noOpenssl = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl';
  test('encrypted connections: as psql understands sslmode', { skip: noOpenssl }, async () => {
    assertFault(
      tacho(['db', 'status', '--db', `${db}?sslmode=require`]),
      1,
      'The server does not support SSL',
      'sslmode',
    );
    const keys = temporary();
    const make = '-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=elsewhere -keyout key.pem -out cert.pem';
    execFileSync('openssl', ['req', ...make.split(' ')], { cwd: keys, stdio: 'pipe' });
    const pem = (name: string): string => fs.readFileSync(path.join(keys, name), 'utf8');
    const guarded = await startPostgres(['ssl = on'], {
      'server.crt': pem('cert.pem'),
      'server.key': pem('key.pem'),
      'pg_hba.conf': 'local all all trust\nhostssl all all 127.0.0.1/32 trust\n',
    });
    try {
      const url = guarded.fresh();
      assertFault(tacho(['db', 'status', '--db', url]), 1, 'not let in', 'add ?sslmode=require to the address');
      const open = tacho(['db', 'status', '--db', `${url}?sslmode=require`]);
      assert.deepEqual([open.code, open.err], [0, '']);
      assertFault(tacho(['db', 'status', '--db', `${url}?sslmode=verify-full`]), 1, /self.signed certificate/);
      const verifyingUrl = `${url}?sslmode=verify-ca&sslrootcert=${path.join(keys, 'cert.pem')}`;
      assert.equal(tacho(['db', 'status', '--db', verifyingUrl]).code, 0);
      assertFault(tacho(['db', 'status', '--db', `${url}?sslmode=verify-ca&sslrootcert=/nowhere`]), 1, '/nowhere');
    } finally {
      await guarded.remove();
    }
  });

  test('the right password is used, from the address, PGPASSWORD or a file', () => {
    server.sql('postgres', 'create database guarded owner guarded');
    const result = tacho(['db', 'migrate', '--db', server.address('guarded', 'guarded', 'right')]);
    assert.equal(result.code, 0, result.err);
    const without = server.address('guarded', 'guarded');
    assert.equal(tacho(['db', 'status', '--db', without], { env: { ...process.env, PGPASSWORD: 'right' } }).code, 0);
    const file = path.join(temporary(), 'pgpass');
    fs.writeFileSync(file, '*:*:*:guarded:right\n', { mode: 0o600 });
    assert.equal(tacho(['db', 'status', '--db', without], { env: { ...process.env, PGPASSFILE: file } }).code, 0);
  });

  test('the status of a database that is read-only says so', () => {
    const url = fresh();
    server.sql('postgres', `alter database ${nameOf(url)} set default_transaction_read_only = on`);
    const { may_submit, read_only } = JSON.parse(tacho(['db', 'status', '--db', url, '--format', 'json']).out);
    assert.deepEqual([may_submit, read_only], [false, true]);
    assert.match(tacho(['db', 'status', '--db', url]).out, /submit +not possible: the database is read-only/);
  });

  test('who may only read can ask, and is told that submitting needs more', () => {
    const url = fresh();
    tacho(['submit', recording, '--db', url]);
    const name = nameOf(url);
    server.sql('postgres', 'create role reader login');
    const reader = server.address(name, 'reader');
    assertFault(tacho(['db', 'jobs', '--db', reader]), 1, 'you lack a privilege', 'permission denied for schema tacho');
    server.sql(name, 'grant usage on schema tacho to reader; grant select on all tables in schema tacho to reader');
    assert.equal(JSON.parse(tacho(['db', 'jobs', '--db', reader, '--format', 'json']).out).length, 1);
    assert.equal(JSON.parse(tacho(['db', 'status', '--db', reader, '--format', 'json']).out).may_submit, false);
    assertFault(
      tacho(['submit', '--replace', recording, '--db', reader]),
      1,
      'you lack a privilege',
      'docs/database.md',
    );
    assert.equal(jobsIn(url), '17');
  });

  test('with row-level security, as documented, people see and submit their own jobs only', async () => {
    const url = fresh();
    const name = nameOf(url);
    const page = fs.readFileSync(path.join(import.meta.dirname, '../docs/database.md'), 'utf8');
    const policies = /```sql\n([^`]+)```/.exec(page)![1]!;
    const grants = [...page.matchAll(/^ {4}(grant .*;)$/gm)].map(([, line]) =>
      line!.replace(/to \w+;/, 'to ada, bob;'),
    );
    assert.equal(grants.length, 3);
    server.sql('postgres', 'create role ada login; create role bob login');
    server.sql(name, `${grants.join('\n')}\n${policies}`);
    const [ada, bob] = [server.address(name, 'ada'), server.address(name, 'bob')];
    const ofBob = await make('18', { user: 'bob' });
    assert.equal(tacho(['submit', recording, ofBob, '--db', url]).code, 0);
    const ids = (who: string): string[] =>
      JSON.parse(tacho(['db', 'jobs', '--db', who, '--format', 'json']).out).map(({ id }: { id: string }) => id);
    assert.deepEqual([ids(ada), ids(bob)], [['17'], ['18']]);
    assert.equal(tacho(['processes', '17', '--db', ada]).code, 0);
    assertFault(tacho(['processes', '17', '--db', bob]), 1, 'there is no job 17 in the database');
    const count = (who: string): string =>
      execFileSync('psql', ['-XAtc', 'select count(*) from tacho.threads', who], { encoding: 'utf8' });
    assert.deepEqual([count(ada), count(bob)], ['1\n', '1\n']);
    // the history of others is as closed as their jobs
    const jobsSeenBy = (who: string): string[] =>
      JSON.parse(tacho(['jobs', '--db', who, '--format', 'json']).out).map(({ job }: { job: string }) => job);
    assert.deepEqual([jobsSeenBy(ada), jobsSeenBy(bob), jobsSeenBy(url).sort()], [['17'], ['18'], ['17', '18']]);
    const tables = ['job_nodes', 'findings', 'node_hours'].map(
      (table) => `select count(*) from tacho.summary_${table}`,
    );
    const rows = (who: string): number[] =>
      tables.map((sql) => Number(execFileSync('psql', ['-XAtc', sql, who], { encoding: 'utf8' })));
    const [all, hers, his] = [rows(url), rows(ada), rows(bob)] as [number[], number[], number[]];
    assert.ok(all[0]! > hers[0]! && hers[0]! > 0, String(all));
    assert.deepEqual(
      hers.map((number, i) => number + his[i]!),
      all,
    );
    const own = await make('19', { user: 'bob' });
    assert.match(tacho(['submit', own, '--db', bob]).out, /job 19 stored \(#\d+, 1 process, 1 thread\)/);
    assert.deepEqual(ids(bob), ['18', '19']);
    assert.equal(count(bob), '2\n');
    assertFault(tacho(['submit', await make('20'), '--db', bob]), 1, 'you lack a privilege', 'row-level security');
    assert.equal(jobsIn(url), '17,18,19');
  });

  test('the examples of SQL in the documentation work', () => {
    const url = fresh();
    tacho(['submit', recording, '--db', url]);
    const page = fs.readFileSync(path.join(import.meta.dirname, '../docs/database.md'), 'utf8');
    const examples = [...page.matchAll(/^ {4}-- (?!and to).*\n((?: {4}.*\n)+?)(?=\n)/gm)].map(([, text]) => text!);
    assert.equal(examples.length, 3);
    const outputs = examples.map((text) => server.sql(nameOf(url), text));
    assert.match(outputs[1]!, /^17\|.*\|1\|5$/);
  });

  test('a database that has not all letters is not taken', () => {
    const url = server.fresh("encoding 'LATIN1' locale 'C' template template0");
    assertFault(tacho(['db', 'migrate', '--db', url]), 1, 'keeps text as LATIN1', 'createdb --encoding UTF8');
  });

  test('no database named; no word after db; a wrong one', () => {
    const cwd = temporary();
    assertFault(tacho(['submit', recording], { cwd }), 2, 'no database is named', 'TACHO_DB');
    assertFault(tacho(['db', 'statsu'], { cwd }), 2, "unknown command 'statsu'; did you mean status?");
    assert.match(tacho(['db'], { cwd }).err, /\ntacho: tacho db needs to know what to do\n$/);
    assertFault(
      tacho(['db', 'status'], { cwd, env: { ...process.env, TACHO_DB: 'http://ada:s3cret@x' } }),
      2,
      'TACHO_DB',
    );
    fs.writeFileSync(path.join(cwd, 'tacho.toml'), 'db = "http://ada:s3cret@host/x"\n');
    assertFault(tacho(['db', 'status'], { cwd }), 2, 'tacho.toml:1: db must be an address');
  });

  test('drop asks; without a terminal it needs --yes', () => {
    const url = fresh();
    tacho(['submit', recording, '--db', url]);
    assertFault(tacho(['db', 'drop', '--db', url], { input: 'yes\n' }), 2, 'this would remove 1 job,', '--yes');
    assert.equal(jobsIn(url), '17');
    const dropped = tacho(['db', 'drop', '--yes', '--db', url]);
    assert.equal(dropped.code, 0, dropped.err);
    assert.match(dropped.out, /^1 job removed from postgres:/);
    assertFault(tacho(['db', 'drop', '--yes', '--db', url]), 1, 'there is nothing to drop');
  });

  test('the tables of a newer Tacho are not dropped', () => {
    const url = fresh();
    const change = "insert into tacho.schema_versions (version, what, tacho) values (99, 'later', '9.0')";
    server.sql(nameOf(url), change);
    assertFault(tacho(['db', 'drop', '--yes', '--db', url]), 1, 'newer Tacho (schema 99');
    assert.equal(jobsIn(url), '', 'still there');
  });

  test('any table can be had, whole or of some jobs', () => {
    const csv = tacho(['db', 'table', 'hosts', '--columns', 'name', '--db', db]);
    assert.equal(csv.out, 'name\nc1\n', csv.err);
    const processes = tacho([
      'db',
      'table',
      'processes',
      '17',
      '--columns',
      'pid',
      '--columns',
      'start_time',
      '-f',
      'json',
      '--db',
      db,
    ]);
    assert.deepEqual(JSON.parse(processes.out), [{ pid: 100, start_time: START }]);
    assert.equal(tacho(['db', 'table', 'models', '-f', 'json', '--db', db]).out, '[]\n');
    assertFault(tacho(['db', 'table', 'proceses', '--db', db]), 2, 'did you mean processes?');
  });

  test('drop believes only a whole yes', () => {
    const url = fresh();
    const ask = (word: string): Answer => {
      const line = `"${TACHO}" db drop --db ${url}`;
      return tacho(
        ['run', '--no-report', '-o', path.join(temporary(), 'r'), '--', 'script', '-qec', line, '/dev/null'],
        {
          input: `${word}\n`,
        },
      );
    };
    assert.match(ask('y').out, /nothing was removed/);
    assert.equal(server.sql(nameOf(url), "select to_regclass('tacho.jobs') is not null"), 't');
    assert.match(ask('yes').out, /0 jobs removed/);
    assert.equal(server.sql(nameOf(url), "select to_regclass('tacho.jobs') is null"), 't');
  });

  test('Ctrl-C at the question of drop removes nothing', async () => {
    const url = fresh();
    const child = spawn('script', ['-qec', `"${TACHO}" db drop --db ${url}`, '/dev/null']);
    let text = '';
    child.stdout.on('data', (chunk) => {
      if (!text.includes('Type yes') && `${text}${chunk}`.includes('Type yes')) child.stdin.write('\x03');
      text += chunk;
    });
    const [status] = await once(child, 'close');
    assert.deepEqual([status, /nothing was removed\s+$/.test(text), /Abort/.test(text)], [130, true, false], text);
    assert.equal(server.sql(nameOf(url), "select to_regclass('tacho.jobs') is not null"), 't');
  });

  test('a repeated submit says that annotations differ', async () => {
    const url = fresh();
    const one = await make('1', { end: START + 1e6 });
    assert.equal(tacho(['submit', one, '--db', url]).err, '');
    assert.equal(tacho(['annotate', one, 'n=1']).code, 0);
    assert.match(tacho(['submit', one, '--db', url]).err, /job 1 is there with other annotations; --replace/);
    assert.equal(tacho(['submit', one, '--replace', '--db', url]).err, '');
    assert.equal(tacho(['submit', one, '--db', url]).err, '');
    assert.match(tacho(['db', 'status', '--db', url]).out, /jobs +1 of 1 user on 1 host,/);
    assert.equal(tacho(['db', 'retire', '--older-than', '1s', '--db', url]).code, 0);
    assert.equal(server.sql(nameOf(url), 'select count(*) from tacho.users, tacho.hosts'), '0');
  });

  for (const state of ['running', 'unknown'] as const)
    test(`a job that was stored as ${state} is stored again once its end is known, with what was said of it`, async () => {
      const url = fresh();
      const one = await make('1', { state, end: START + 1e6 });
      assert.match(tacho(['submit', one, '--db', url]).out, /job 1 stored \(#1,/);
      assert.match(tacho(['submit', one, '--db', url]).out, /job 1 is there already \(#1,/);
      assert.equal(tacho(['annotate', '1', 'why=slow', '--tag', 'exp:D151', '--db', url]).code, 0);
      const file = path.join(one, 'job.json');
      const ended = { ...JSON.parse(fs.readFileSync(file, 'utf8')), state: 'failed', exit_code: 3 };
      fs.writeFileSync(file, JSON.stringify({ ...ended, annotations: { who: 'ada' } }));
      const { out, err } = tacho(['submit', one, '--db', url]);
      assert.equal(out + err, `${one}: job 1 replaced (#2, 1 process, 1 thread)\n`);
      assert.equal(
        server.sql(
          nameOf(url),
          `select state, exit_code, annotations, tags->>'exp', facts->'annotations'->>'why', report->'job'->>'state'
          from tacho.jobs`,
        ),
        'failed|3|{"who": "ada", "why": "slow"}|D151|slow|failed',
      );
      assert.match(tacho(['submit', one, '--db', url]).out, /job 1 is there already \(#2,/);
    });

  test('of a job that was recorded twice each is told with where it comes from', async () => {
    const url = fresh();
    const both = [await make('1'), await make('1', { start: START - 2e6 })];
    assert.equal(tacho(['submit', ...both, '--db', url]).code, 0);
    const { err } = tacho(['processes', '1', '--db', url]);
    assert.match(err, /^tacho: job 1 is there 2 times\n {7}name one by its number:\n/);
    assert.deepEqual(
      [...err.matchAll(/ {7}#\d {2}began .*, from (.*)\n/g)].map(([, from]) => from).sort(),
      both.sort(),
    );
  });

  test('retire says what would be removed, then removes it', async () => {
    const url = fresh();
    const old = await make('old', { start: START - 400 * 86_400e6, end: START - 399 * 86_400e6 });
    const now = await make('new', { start: Date.now() * 1000 - 5e6, end: Date.now() * 1000 });
    tacho(['submit', old, now, '--db', url]);
    assert.match(
      tacho(['db', 'retire', '--older-than', '90d', '--dry-run', '--db', url]).out,
      /^would be removed: 1 job /,
    );
    assert.equal(jobsIn(url), 'new,old');
    assert.match(tacho(['db', 'retire', '--older-than', '90d', '--db', url]).out, /^removed: 1 job /);
    assert.equal(jobsIn(url), 'new');
    assertFault(tacho(['db', 'retire', '--db', url]), 2, '--older-than');
    assertFault(tacho(['db', 'retire', '--older-than', 'long', '--db', url]), 2, '--older-than', 'is not a duration');
  });

  test('delete takes named jobs away, jobs are found by host, note and moment, and sizes are told', async () => {
    const url = fresh();
    const ask = (...args: string[]) => tacho(['db', ...args, '--db', url]);
    const ids = (...args: string[]): string[] =>
      JSON.parse(ask('jobs', ...args, '--format', 'json').out).map(({ id }: { id: string }) => id);
    const noted = await make('b', { start: START + 3600e6, end: START + 3660e6, annotations: { why: 'new Compiler' } });
    const other = path.join(temporary(), 'c');
    await makeProcessRecording({ c9: [{ pid: 1, end: 2 }] }, { id: 'c', end: START + 60e6 }, other);
    // two at a time would be numbered as they come
    for (const each of [await make('a'), noted, other]) tacho(['submit', each, '--db', url]);
    assert.deepEqual([ids('--host', 'c9'), ids('--host', 'c7')], [['c'], []]);
    assert.deepEqual(
      [ids('--note', 'compiler'), ids('--note', 'why=new Compiler'), ids('--note', 'why=x')],
      [['b'], ['b'], []],
    );
    assert.deepEqual(ids('--at', new Date(START / 1000 + 3_610_000).toISOString()), ['b']);
    assert.match(ask('delete', 'a', 'c', '--dry-run').out, /^would be removed: a \(#1\), c \(#3\): 2 processes, /);
    assert.equal(jobsIn(url), 'a,b,c');
    assert.match(ask('delete', 'a', '#3').out, /^removed: a /);
    assert.equal(jobsIn(url), 'b');
    assert.equal(server.sql(nameOf(url), 'select count(*) from tacho.processes'), '1');
    assertFault(ask('delete', 'b', 'nope'), 1, 'there is no job nope');
    assert.equal(jobsIn(url), 'b', 'all or none');
    const { tables, indexes, bytes } = JSON.parse(ask('status', '--format', 'json').out);
    const sum = [...tables, ...indexes].reduce((total: number, one: { bytes: number }) => total + one.bytes, 0);
    assert.equal(sum, bytes);
    assert.match(ask('status').out, /\ntable, index +size.*\n(.*\n)*processes +\S+ .iB/);
  });

  test('archives of EPMT are submitted as they are; --dry-run stores nothing', () => {
    const url = fresh();
    const folder = temporary();
    const archive = stagedArchive(folder);
    fs.mkdirSync(path.join(folder, 'lost'));
    fs.writeFileSync(path.join(folder, 'lost/c1-papiex-7-0.csv'), 'x');
    const submit = (...args: string[]) => tacho(['submit', ...args, '--db', url]);
    const dry = submit(folder, '--dry-run');
    assert.deepEqual([dry.code, dry.out], [1, `${archive}: job 1 would be stored (2 processes)\n`]);
    assert.match(dry.err, /lost cannot be imported: it has no job_metadata/);
    const planned = tacho(['watch', folder, '--dry-run', '--settle', '0', '--db', url]);
    assert.equal(planned.out, `${archive}: job 1 would be stored\n`);
    assert.equal(jobsIn(url), '');
    assert.match(submit(archive).out, /1\.tgz: job 1 stored \(#1, 2 processes, 2 threads\)\n/);
    assert.equal(server.sql(nameOf(url), 'select recording from tacho.jobs'), archive);
    assert.deepEqual(
      JSON.parse(server.sql(nameOf(url), "select facts->'imported' from tacho.jobs")).from,
      'EPMT, 1.tgz',
      'what was wrong with it is kept with the job',
    );
    const nothing = tacho(['watch', folder, '--dry-run', '--settle', '0', '--db', url]);
    assert.deepEqual([nothing.code, nothing.out, nothing.err], [0, '', ''], 'it is there already');
    const watched = tacho(['watch', folder, '--once', '--settle', '0', '--done', `${folder}/done`, '--db', url]);
    assert.equal(watched.code, 0, watched.err);
    assert.ok(fs.existsSync(path.join(folder, 'done/1.tgz')));
    const left = tacho(['import', 'epmt', folder, '-o', path.join(folder, 'out')]);
    assert.match(left.err, /lost cannot be imported: it has no job_metadata/);
  });

  test('annotate a recording, a job in the database, and nothing', async () => {
    const url = fresh();
    const folder = await make('note', { tags: { case: 'a' } });
    const result = tacho(['annotate', folder, 'note=slow = bad', 'reviewed=yes']);
    assert.equal(result.code, 0, result.err);
    assert.equal(result.out, 'job note\n  note=slow = bad\n  reviewed=yes\n  case:a\n');
    const job = (): Job => JSON.parse(fs.readFileSync(path.join(folder, 'job.json'), 'utf8'));
    assert.deepEqual(job().annotations, { note: 'slow = bad', reviewed: 'yes' });
    tacho(['annotate', folder, '--remove', 'reviewed', '--tag', 'kind:test']);
    assert.deepEqual([job().annotations, job().tags], [{ note: 'slow = bad' }, { case: 'a', kind: 'test' }]);
    tacho(['submit', folder, '--db', url]);
    const stored = tacho(['annotate', 'note', 'later=1', '--tag', 'case:b', '--db', url, '--format', 'json']);
    assert.deepEqual(JSON.parse(stored.out), {
      id: 'note',
      annotations: { note: 'slow = bad', later: '1' },
      tags: { case: 'b', kind: 'test' },
    });
    assert.equal(
      server.sql(
        nameOf(url),
        "select annotations, tags, facts->'tags'->>'case', report->'job'->'tags'->>'case' from tacho.jobs",
      ),
      '{"note": "slow = bad", "later": "1"}|{"case": "b", "kind": "test"}|b|b',
    );
    assert.equal(JSON.parse(tacho(['db', 'jobs', '--tag', 'case:b', '--db', url, '--format', 'json']).out).length, 1);
    assertFault(tacho(['annotate', 'nothing', 'a=b', '--db', url]), 1, 'there is no job nothing in the database');
    assertFault(tacho(['annotate', 'nothing', 'a=b']), 2, 'no such file or folder, and no job with this id or name');
    assert.equal(tacho(['annotate', folder]).out, 'job note\n  note=slow = bad\n  case:a\n  kind:test\n');
    assert.equal(
      tacho(['annotate', 'note', '--db', url]).out,
      'job note\n  note=slow = bad\n  later=1\n  case:b\n  kind:test\n',
    );
    assert.deepEqual(job().annotations, { note: 'slow = bad' });
    assertFault(tacho(['annotate', folder, 'word']), 2, '"word" is not an annotation');
    assertFault(tacho(['annotate', 'a=b']), 1, 'nothing is being recorded');
  });

  test('annotate a job from inside while it runs: it is still there at the end', () => {
    const folder = path.join(temporary(), 'run');
    const result = tacho(['run', '--no-report', '-o', folder, '--', TACHO, 'annotate', 'phase=warm up']);
    assert.equal(result.code, 0, result.err);
    const job = JSON.parse(fs.readFileSync(path.join(folder, 'job.json'), 'utf8')) as Job;
    assert.deepEqual([job.annotations, job.state], [{ phase: 'warm up' }, 'completed']);
  });

  describe('watch', () => {
    const watching: ChildProcess[] = [];
    after(() => {
      for (const child of watching) if (child.exitCode === null) child.kill('SIGKILL');
    });
    const settled = ['--settle', '0', '--interval', '100ms'];

    test('--once submits what has ended and moves aside what is refused', async () => {
      const url = fresh();
      const folder = temporary();
      await make('1', {}, path.join(folder, 'a/tacho-1'));
      await make('2', {}, path.join(folder, 'tacho-2'));
      fs.writeFileSync(path.join(folder, 'tacho-2/job.json'), '{"format');
      await make('3', {}, path.join(folder, 'tacho-3'));
      fs.writeFileSync(path.join(folder, 'tacho-3/job.json'), JSON.stringify({ format: 99, id: '3' }));
      const result = tacho(['watch', folder, '--once', '--settle', '0', '--db', url]);
      assertFault(
        result,
        1,
        'job.json: it is damaged',
        'newer Tacho (format 99',
        `moved to ${path.join(folder, 'failed/tacho-2')}`,
      );
      assert.match(result.out, /job 1 stored/);
      assert.deepEqual(fs.readdirSync(path.join(folder, 'failed')).sort(), [
        'tacho-2',
        'tacho-2.reason.txt',
        'tacho-3',
        'tacho-3.reason.txt',
      ]);
      const why = fs.readFileSync(path.join(folder, 'failed/tacho-2.reason.txt'), 'utf8');
      const moved = path.join(folder, 'failed/tacho-2');
      assert.ok(why.includes(`${moved}/job.json: it is damaged`), why);
      assert.ok(why.includes(`\ntacho verify ${moved} says more\n`), why);
      assert.equal(jobsIn(url), '1');
      const again = tacho(['watch', folder, '--once', '--settle', '0', '--db', url]);
      assert.deepEqual([again.code, again.out, again.err], [0, '', '']);
    });

    test('what is still written, or was changed just now, is left in peace', async () => {
      const url = fresh();
      const folder = temporary();
      await make('1', {}, path.join(folder, 'tacho-1'));
      const result = tacho(['watch', folder, '--once', '--settle', '1h', '--db', url]);
      const left = `tacho: ${path.join(folder, 'tacho-1')} changed less than 1 h 00 min ago: left for later (--settle)\n`;
      assert.deepEqual([result.code, result.out, result.err], [0, '', left]);
      assert.equal(jobsIn(url), '');
    });

    test('stored recordings go where they are wanted', async () => {
      const url = fresh();
      const folder = temporary();
      await make('1', {}, path.join(folder, 'in/tacho-1'));
      tacho([
        'watch',
        path.join(folder, 'in'),
        '--once',
        '--settle',
        '0',
        '--done',
        path.join(folder, 'done'),
        '--db',
        url,
      ]);
      assert.deepEqual(
        [fs.readdirSync(path.join(folder, 'in')), fs.readdirSync(path.join(folder, 'done'))],
        [[], ['tacho-1']],
      );
    });

    test('it lives through the loss of the database, submits what came meanwhile, and ends at Ctrl-C', async () => {
      const url = fresh();
      const folder = temporary();
      const child = spawn(TACHO, ['watch', folder, ...settled, '--db', url], { stdio: ['ignore', 'pipe', 'pipe'] });
      watching.push(child);
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
      const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
      const until = saying(child, () => text);
      // made elsewhere, then moved: as if it was copied here whole
      fs.renameSync(await make('1'), path.join(folder, 'tacho-1'));
      await until('job 1 stored');
      await server.stop();
      fs.renameSync(await make('2'), path.join(folder, 'tacho-2'));
      await until('trying again in');
      await server.start();
      await until('the database is back');
      await until('job 2 stored');
      child.kill('SIGINT');
      assert.equal(await ended, 0);
      assert.equal(jobsIn(url), '1,2');
      assert.ok(!fs.existsSync(path.join(folder, 'failed')));
    });

    test('a folder or database that is not there is said at once', () => {
      assertFault(tacho(['watch', 'nowhere', '--once', '--db', db]), 1, 'cannot open nowhere');
      const nobody = ['--db', 'postgres://ada:s3cret@127.0.0.1:9/x'];
      assertFault(tacho(['watch', temporary(), '--once', ...nobody]), 1, 'nobody answers there');
      assertFault(tacho(['watch', temporary(), '--db', `${db}nowhere`]), 1, 'there is no such database');
    });

    test('a database that is away when it begins is waited for; a bad archive of EPMT goes aside', async () => {
      const url = fresh();
      const folder = temporary();
      fs.writeFileSync(path.join(folder, '4711.tgz'), '');
      await server.stop();
      const child = spawn(TACHO, ['watch', folder, ...settled, '--db', url], { stdio: ['ignore', 'pipe', 'pipe'] });
      watching.push(child);
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
      const until = saying(child, () => text);
      await until('trying again in');
      await server.start();
      fs.renameSync(await make('1'), path.join(folder, 'tacho-1'));
      await until('job 1 stored');
      assert.match(text, /4711\.tgz cannot be imported: it is empty/);
      assert.ok(fs.existsSync(path.join(folder, 'failed/4711.tgz')));
      child.kill('SIGINT');
    });

    test('a broken line is told with its place and reason, and nothing is stored', async () => {
      const url = fresh();
      const folder = temporary();
      const recording = await make('1', {}, path.join(folder, 'tacho-1'));
      fs.appendFileSync(path.join(recording, 'node=c1/process_end.csv'), 'gar,bage\n');
      const why = /process_end\.csv: 1 line could not be read, the first is line 3: "gar" is no number|line 3: /;
      assertFault(tacho(['submit', recording, '--db', url]), 1, why, 'tacho verify');
      assertFault(tacho(['watch', folder, '--once', '--settle', '0', '--db', url]), 1, why);
      const aside = path.join(folder, 'failed/tacho-1');
      assert.match(fs.readFileSync(`${aside}.reason.txt`, 'utf8'), why);
      assert.equal(jobsIn(url), '');
      tacho(['verify', aside]);
      assert.equal(tacho(['submit', aside, '--db', url]).code, 0);
      fs.appendFileSync(path.join(await make('2', {}, path.join(folder, 'tacho-2')), 'node=c1/thread_end.csv'), 'x\n');
      assertFault(tacho(['submit', path.join(folder, 'tacho-2'), '--db', url]), 1, 'thread_end.csv: 1 line could not');
      assert.equal(jobsIn(url), '1');
    });

    test('a sealed file that is cut off is told, and neither stored nor put in the place of what is there', async () => {
      const url = fresh();
      const folder = temporary();
      const recording = await imported(folder);
      assert.equal(tacho(['submit', recording, '--db', url]).code, 0);
      for (const table of ['process_end', 'thread_end']) {
        const file = path.join(recording, `node=c1/${table}.parquet`);
        const whole = fs.readFileSync(file);
        fs.truncateSync(file, 100);
        const why = `${table}.parquet: it is not a whole Parquet file`;
        assertFault(tacho(['submit', recording, '--replace', '--db', url]), 1, why, 'is there a copy of the file?');
        assert.equal(server.sql(nameOf(url), 'select processes > 0 and threads > 0 from tacho.jobs'), 't');
        fs.writeFileSync(file, whole);
      }
      fs.truncateSync(path.join(recording, 'node=c1/process_end.parquet'), 100);
      server.sql(nameOf(url), 'delete from tacho.jobs');
      assertFault(tacho(['watch', folder, '--once', '--settle', '0', '--db', url]), 1, 'not a whole Parquet file');
      assert.ok(fs.existsSync(path.join(folder, 'failed/tacho-1')));
      assert.equal(jobsIn(url), '');
    });

    test('what is damaged or missing for good is left out with --incomplete, and the job says what it was', async () => {
      const lost: [file: string, harm: (file: string) => void, why: string][] = [
        ['process_end.parquet', (file) => fs.truncateSync(file, 100), 'it is not a whole Parquet file'],
        ['process_end.parquet', (file) => fs.rmSync(file), 'it is missing'],
        ['thread_end.parquet', (file) => fs.truncateSync(file, 100), 'it is not a whole Parquet file'],
        ['agent.json', (file) => fs.truncateSync(file, 100), 'it is damaged'],
        ['agent.json', (file) => fs.rmSync(file), 'it is missing'],
      ];
      for (const [name, harm, why] of lost) {
        const url = fresh();
        const recording = await imported(temporary());
        harm(path.join(recording, 'node=c1', name));
        const message = `${path.join(recording, 'node=c1', name)}: ${why}`;
        assertFault(tacho(['submit', recording, '--db', url]), 1, message, '--incomplete submits what can be read');
        assert.equal(jobsIn(url), '');
        const stored = tacho(['submit', recording, '--incomplete', '--db', url]);
        assert.equal(stored.code, 0, stored.err);
        assert.equal(stored.err.split(message).length, 2, stored.err);
        assert.equal(jobsIn(url), '1');
        assert.match(server.sql(nameOf(url), "select array_to_string(troubles, '|') from tacho.jobs"), new RegExp(why));
        assert.ok(server.sql(nameOf(url), 'select report from tacho.jobs').includes(why));
      }
    });

    test('what somebody else who watches has moved meanwhile is theirs', async () => {
      const url = fresh();
      const folder = temporary();
      const elsewhere = temporary();
      for (const id of ['1', '2']) await make(id, {}, path.join(folder, `tacho-${id}`));
      const messages: string[] = [];
      await watch({
        address: url,
        folder,
        once: true,
        every: 100,
        settle: 0,
        done: path.join(elsewhere, 'done'),
        tell(event) {
          messages.push(event.what);
          fs.renameSync(path.join(folder, 'tacho-2'), path.join(elsewhere, 'tacho-2'));
        },
      });
      assert.deepEqual(messages, ['stored']);
      assert.equal(jobsIn(url), '1');
      assert.deepEqual(fs.readdirSync(path.join(elsewhere, 'done')), ['tacho-1']);
    });

    test('a recording that somebody else moves while it is being submitted is passed over, the next one is stored', async () => {
      const url = fresh();
      const folder = temporary();
      for (const id of ['1', '2']) await make(id, {}, path.join(folder, `tacho-${id}`));
      const messages: string[] = [];
      const other = await connect(url);
      try {
        await other.query('select pg_advisory_lock($1)', [SUBMITTING]);
        const watched = watch({
          address: url,
          folder,
          once: true,
          every: 100,
          settle: 0,
          tell: (event) => messages.push(`${event.what} ${'id' in event ? event.id : ''}`),
        });
        // its processes are read, the rest is not yet
        const waits = 'select from pg_locks where locktype = $1 and not granted';
        let over = false;
        const ends = (): boolean => (over = true);
        watched.then(ends, ends);
        await eventually(
          'a lock that is waited for',
          async () => over || (await other.query(waits, ['advisory'])).rows.length > 0,
        );
        fs.renameSync(path.join(folder, 'tacho-1'), path.join(temporary(), 'tacho-1'));
        await other.query('select pg_advisory_unlock($1)', [SUBMITTING]);
        await watched;
      } finally {
        await other.close();
      }
      assert.deepEqual(messages, ['stored 2']);
      assert.equal(jobsIn(url), '2');
      assert.deepEqual(fs.readdirSync(folder), ['tacho-2']);
    });

    test('a last line that is torn is told of every table that is stored, once', async () => {
      const url = fresh();
      const folder = await make('1');
      const files = ['process_end', 'thread_end'].map((table) => path.join(folder, `node=c1/${table}.csv`));
      for (const file of files) fs.appendFileSync(file, '17637');
      const stored = tacho(['submit', folder, '--db', url]);
      assert.deepEqual(
        [stored.code, stored.err],
        [0, files.map((file) => `tacho: ${file}: the last line is torn and was left out\n`).join('')],
      );
      const again = tacho(['submit', folder, '--db', url]);
      assert.deepEqual([again.code, again.err], [0, '']);
    });

    test('a recording that was mended after it had been stored incomplete is told; --replace stores it whole', async () => {
      const url = fresh();
      const folder = temporary();
      const recording = await imported(folder);
      const file = path.join(recording, 'node=c1/process_end.parquet');
      const whole = fs.readFileSync(file);
      fs.truncateSync(file, 100);
      assert.equal(tacho(['submit', recording, '--incomplete', '--db', url]).code, 0);
      const same = tacho(['submit', recording, '--db', url]);
      assert.deepEqual([same.code, same.err], [0, '']);
      fs.writeFileSync(file, whole);
      const lacks = `job 1 is there without what could not be read then (${file}: it is not a whole Parquet file)`;
      const later = tacho(['submit', recording, '--db', url]);
      assert.equal(later.code, 0);
      assert.equal(later.err, `tacho: ${lacks}; --replace puts the recording in its place\n`);
      const done = path.join(temporary(), 'done');
      const watched = tacho(['watch', folder, '--once', '--settle', '0', '--done', done, '--db', url]);
      const moved = path.join(done, path.basename(recording));
      assert.deepEqual(
        [watched.code, watched.out, watched.err],
        [0, '', `tacho: ${lacks}; tacho submit ${moved} --replace changes that\n`],
      );
      assert.match(tacho(['submit', moved, '--replace', '--db', url]).out, /job 1 replaced \(#\d+, 2 processes/);
      assert.equal(tacho(['submit', moved, '--db', url]).err, '');
    });
  });
});
