import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { connect, type Database } from '../src/database/connect.ts';
import { copyIn, copyOut } from '../src/database/copy.ts';
import { copyReader } from '../src/database/copy-read.ts';
import { storable } from '../src/database/copy-write.ts';
import { findJobs, namedJobs } from '../src/database/find-jobs.ts';
import { measuredJobs, storedReports } from '../src/database/measured-jobs.ts';
import { migrations, SCHEMA } from '../src/database/migrations/index.ts';
import { databaseModels } from '../src/database/models.ts';
import { retire } from '../src/database/retire.ts';
import { drop, migrate, needSchema, schemaVersion } from '../src/database/schema.ts';
import { databaseSource } from '../src/database/source.ts';
import { databaseStatus } from '../src/database/status.ts';
import { submitRecording } from '../src/database/submit.ts';
import { isDatabaseTrouble } from '../src/database/trouble.ts';
import { importEpmt } from '../src/import/epmt/import.ts';
import { gather } from '../src/judge/facts/gather.ts';
import { jobFeatures } from '../src/judge/outliers/features.ts';
import { measuredRecordings } from '../src/judge/outliers/measured-job.ts';
import { report } from '../src/judge/report.ts';
import { readColumns, recordingsSource } from '../src/query/processes/processes.ts';
import type { ProcessColumns } from '../src/query/processes/set.ts';
import { readAllThreads } from '../src/query/processes/threads.ts';
import { openRecording, type Recording } from '../src/recording/folder/open.ts';
import { CSV_COLUMNS, csvText, JOB_START, madeProcess, metadataOf, pickle3, tgzOf } from './made/epmt-archive.ts';
import { START } from './make-recording.ts';
import { type Server, sharedPostgres, whyNoPostgres } from './postgres/server.ts';
import { type GivenProcess, makeProcessRecording } from './process-recording.ts';

/** Two nodes: a shell that started two programs, one of which was killed; on the other node the same pids again. */
const JOB: Record<string, readonly GivenProcess[]> = {
  c1: [
    { pid: 100, start: 0, end: 50, exename: 'bash', cpu: 1, tags: 'op:all' },
    {
      pid: 101,
      ppid: 100,
      start: 1,
      end: 20,
      exename: 'cc1',
      argv0: '/usr/bin/cc1',
      cpu: 18,
      tags: 'op:build;seq:1',
      step: '4',
      threads: [10, 5, 3],
    },
    { pid: 102, ppid: 100, start: 21, exename: 'ld', tags: 'op:link' },
    {
      pid: 101,
      ppid: 100,
      start: 30,
      end: 31,
      exename: 'cp',
      args: 'a b',
      exitcode: 2,
      metrics: { instructions: 7e9 },
    },
  ],
  c2: [
    { pid: 100, start: 0, end: 40, exename: 'bash', cpu: 2 },
    { pid: 101, ppid: 100, start: 2, end: 30, exename: 'cc1', cpu: 20, tags: 'op:build;seq:2' },
  ],
};

/** What anybody else sees of the job: everything but where it comes from. */
const plain = (columns: ProcessColumns): object => ({
  ...columns,
  jobs: columns.jobs.map((job) => ({ ...job, origin: '' })),
});

describe('PostgreSQL', { skip: whyNoPostgres() }, () => {
  let server: Server;
  let address: string;
  let database: Database;
  const folders = new Map<string, string>();

  /** The same job under another id. */
  const recordingOf = async (id: string, more: object = {}): Promise<Recording> => {
    const folder = await makeProcessRecording(JOB, { id, ...more });
    folders.set(id, folder);
    return openRecording(folder);
  };
  /** Everything that Tacho's tables hold, as text; but not when it was stored. */
  const contents = (name: string): string =>
    ['users', 'hosts', 'jobs', 'job_hosts', 'processes', 'threads', 'operations', 'models']
      .map((table) => server.sql(name, `select to_jsonb(t) from tacho.${table} t order by 1`))
      .join('\n');
  const nameOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1);

  before(async () => {
    server = await sharedPostgres();
    address = server.fresh();
    database = await connect(address);
  });
  after(async () => {
    await database?.close();
    await server?.remove();
  });

  test('tables are made once, however many try at the same time', async () => {
    assert.equal(await schemaVersion(database), 0);
    await assert.rejects(needSchema(database), /has no tables of Tacho's yet/);
    const others = await Promise.all([connect(address), connect(address), connect(address)]);
    const made = await Promise.all(others.map((other) => migrate(other)));
    assert.deepEqual(made.map((steps) => steps.length).sort(), [0, 0, migrations.length]);
    for (const other of others) await other.close();
    assert.equal(await schemaVersion(database), SCHEMA);
    await needSchema(database);
  });

  test('tables of an earlier schema are brought forward with what they hold', async () => {
    const fresh = server.fresh();
    const old = await connect(fresh);
    await migrate(old, migrations.slice(0, 1));
    await assert.rejects(needSchema(old), /are of an older Tacho \(schema 1; this one has 8\)/);
    await old.query(
      "insert into tacho.processes (job, process, node, source, depth, descendants) values (1, 0, 'c1', 'record', 0, 0)",
    );
    await migrate(old);
    await needSchema(old);
    const { rows } = await old.query<Record<string, string | null>>('select argv0, step from tacho.processes');
    assert.deepEqual(rows, [{ argv0: null, step: null }]);
    await old.close();
  });

  test('who might read the threads of an earlier schema still may, and has them all', async () => {
    const fresh = server.fresh();
    const old = await connect(fresh);
    await migrate(old, migrations.slice(0, 7));
    server.sql('postgres', 'create role "A reader" login; create role stranger login');
    server.sql(
      nameOf(fresh),
      `grant usage on schema tacho to public; grant select on tacho.processes, tacho.threads to "A reader";
       insert into tacho.threads (job, process, thread, tid, cstime) values (1, 0, 0, 17, 3), (1, 0, 1, 18, 4)`,
    );
    await migrate(old);
    await old.close();
    const sql = 'select job, process, thread, tid, cstime from tacho.threads order by 3';
    const reader = await connect(server.address(nameOf(fresh), '%41%20reader'));
    const { rows } = await reader.query(sql);
    assert.deepEqual(
      rows.map((row) => Object.values(row).map(Number)),
      [
        [1, 0, 0, 17, 3],
        [1, 0, 1, 18, 4],
      ],
    );
    await reader.close();
    const stranger = await connect(server.address(nameOf(fresh), 'stranger'));
    await assert.rejects(stranger.query(sql), /you lack a privilege/);
    await stranger.close();
  });

  test('a thread that says what its process says takes no row, and is answered all the same', async () => {
    const fresh = server.fresh();
    const connection = await connect(fresh);
    await migrate(connection);
    const others = [{ tid: 102, start: JOB_START + 5, end: JOB_START + 6, metrics: { usertime: 3, systemtime: 4 } }];
    const made = [madeProcess(1), madeProcess(2), madeProcess(3)];
    made[1]!.threads.push(...others);
    // its only thread has another number
    made[2]!.threads[0]!.tid = 4711;
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-lone-'));
    try {
      const archive = path.join(folder, 'job.tgz');
      const data = { name: './c1-papiex-1-0.csv', bytes: csvText(made, CSV_COLUMNS[46]) };
      fs.writeFileSync(archive, tgzOf([{ name: './job_metadata', bytes: pickle3(metadataOf()) }, data]));
      const { imported } = await importEpmt([archive], { folder });
      const recording = openRecording(imported[0]!.recording);
      const done = await submitRecording(connection, recording);
      assert.deepEqual([done.processes, done.threads], [3, 4]);
      const counts = 'select (select count(*) from tacho.thread_rows), (select count(*) from tacho.threads)';
      assert.equal(server.sql(nameOf(fresh), counts), '3|4');
      const here = recordingsSource([recording]);
      const { id } = recording.job;
      const stored = await databaseSource(connection, [id]);
      const columns = await here.processes();
      for (let i = 0; i < columns.length; i++) {
        const one = { job: 0, node: columns.node[i]!, pid: columns.pid[i]!, start: columns.start[i]! };
        assert.deepEqual(await stored.threads(one), await here.threads(one), `threads of process ${i}`);
      }
      const [measured] = measuredJobs(connection, await namedJobs(connection, [id]));
      assert.deepEqual(await measured!.threads(columns), readAllThreads(recording, columns));
      // what only processes have is no thread's
      assert.equal(server.sql(nameOf(fresh), 'select count(cutime), count(usertime) from tacho.threads'), '0|4');
      // whoever may not see the processes does not see them as threads
      server.sql('postgres', 'create role onlooker login');
      server.sql(
        nameOf(fresh),
        `grant usage on schema tacho to onlooker; grant select on all tables in schema tacho to onlooker;
         alter table tacho.processes enable row level security`,
      );
      const onlooker = await connect(server.address(nameOf(fresh), 'onlooker'));
      const { rows } = await onlooker.query<{ tid: string }>('select tid from tacho.threads order by tid');
      assert.deepEqual(
        rows.map(({ tid }) => Number(tid)),
        [made[1]!.pid, 102, 4711],
      );
      await onlooker.close();
      await submitRecording(connection, recording, { replace: true });
      assert.equal(server.sql(nameOf(fresh), counts), '3|4');
    } finally {
      fs.rmSync(folder, { recursive: true, force: true });
    }
    await connection.close();
  });

  test('a step that fails leaves the tables as they were; the next one that works is taken', async () => {
    const next = { version: SCHEMA + 1, what: 'more', sql: 'create table tacho.more (a int); select 1 / 0' };
    await assert.rejects(migrate(database, [...migrations, next]), /division by zero/);
    assert.equal(await schemaVersion(database), SCHEMA);
    assert.equal(server.sql(nameOf(address), "select to_regclass('tacho.more') is null"), 't');
  });

  test('a job of two nodes comes back as it was recorded', async () => {
    const recording = await recordingOf('17', { cluster: 'alpha', tags: { case: 'a', b: 'x' }, exit_code: 3 });
    const done = await submitRecording(database, recording);
    assert.deepEqual([done.outcome, done.processes, done.threads], ['stored', 6, 7]);
    const source = await databaseSource(database, ['17']);
    const here = recordingsSource([recording]);
    const columns = await source.processes();
    assert.deepEqual(plain(columns), plain(await here.processes()));
    assert.equal(columns.jobs[0]!.origin, `${address}#1`);
    for (let i = 0; i < columns.length; i++) {
      const id = { job: 0, node: columns.node[i]!, pid: columns.pid[i]!, start: columns.start[i]! };
      assert.deepEqual(await source.threads(id), await here.threads(id), `threads of process ${i}`);
    }
    const [job] = await namedJobs(database, ['alpha:17']);
    const [measured] = measuredJobs(database, [job!]);
    const [expected] = measuredRecordings([recording]);
    assert.deepEqual(await measured!.threads(columns), await expected!.threads(columns));
    assert.deepEqual(await measured!.measured(), await expected!.measured());
    const unread = { ...measured!, processes: () => assert.fail('all rows are copied') };
    assert.deepEqual(await jobFeatures(unread, { jobOnly: true }), await jobFeatures(expected!, { jobOnly: true }));
    assert.deepEqual(
      await storedReports(database, [job!]),
      JSON.parse(JSON.stringify([{ ...report(gather(recording)), recording: `${address}#1` }]), (_, value) =>
        value === null ? Number.NaN : value,
      ),
    );
  });

  test('the tree, operations, hosts and users can be asked for in SQL', () => {
    const name = nameOf(address);
    assert.deepEqual(
      server
        .sql(
          name,
          `select p.node, p.exename, q.exename, p.depth, p.descendants, p.inclusive_cpu_time / 1e6
            from tacho.processes p left join tacho.processes q on q.job = p.job and q.process = p.parent
            order by p.node, p.start_time`,
        )
        .split('\n'),
      [
        'c1|bash||0|3|19.1',
        'c1|cc1|bash|1|0|18',
        'c1|ld|bash|1|0|',
        'c1|cp|bash|1|0|0.1',
        'c2|bash||0|1|22',
        'c2|cc1|bash|1|0|20',
      ],
    );
    assert.deepEqual(
      server
        .sql(name, 'select key, value, processes, cpu_time / 1e6, duration / 1e6 from tacho.operations order by 1, 2')
        .split('\n'),
      ['op|all|1|1|50', 'op|build|2|38|29', 'op|link|1|0|0', 'seq|1|1|18|19', 'seq|2|1|20|28'],
    );
    assert.equal(server.sql(name, "select string_agg(host, ',' order by host) from tacho.job_hosts"), 'c1,c2');
    assert.equal(server.sql(name, "select name, uid from tacho.users where name = 'ada'"), 'ada|1000');
    assert.equal(
      server.sql(name, "select more->>'instructions' from tacho.processes where exename = 'cp'"),
      '7000000000',
    );
    assert.equal(server.sql(name, "select facts->>'cpus' from tacho.hosts where name = 'c1'"), '4');
    assert.equal(
      server.sql(
        name,
        "select start_time at time zone 'UTC' from tacho.processes where node = 'c2' and exename = 'cc1'",
      ),
      new Date(START / 1000 + 2000).toISOString().replace('T', ' ').slice(0, 19),
    );
  });

  test('a repeated submit changes nothing; another start, restart or cluster is another job', async () => {
    const before = contents(nameOf(address));
    const recording = openRecording(folders.get('17')!);
    const again = await submitRecording(database, recording);
    assert.deepEqual([again.outcome, again.processes, again.threads], ['present', 6, 7]);
    assert.equal(contents(nameOf(address)), before);
    for (const change of [{ restart: 1 }, { cluster: 'beta' }, { start: START - 5e6 }]) {
      const other = { ...recording, job: { ...recording.job, ...change } };
      assert.equal((await submitRecording(database, other)).outcome, 'stored');
    }
    assert.equal((await findJobs(database)).length, 4);
    await assert.rejects(namedJobs(database, ['17']), /job 17 is there 4 times/);
    assert.equal((await namedJobs(database, ['beta:17']))[0]!.cluster, 'beta');
    const numbers = (await findJobs(database)).map(({ job }) => `#${job}`);
    assert.equal((await namedJobs(database, numbers)).length, 4);
  });

  test('with --replace the new one takes the place of the old one', async () => {
    const recording = openRecording(folders.get('17')!);
    const changed = { ...recording, job: { ...recording.job, name: 'renamed' } };
    assert.equal((await submitRecording(database, changed, { replace: true })).outcome, 'replaced');
    const storedJobs = await findJobs(database, { name: 'renamed' });
    assert.deepEqual([storedJobs.length, storedJobs[0]!.cluster], [1, 'alpha']);
    assert.equal((await findJobs(database)).length, 4);
  });

  test('two that submit at once do not mix: not with the same job, not with others', async () => {
    const fresh = server.fresh();
    const connections = await Promise.all([1, 2, 3, 4].map(() => connect(fresh)));
    await migrate(connections[0]!);
    const recordings = await Promise.all(['1', '2', '3', '4'].map((id) => recordingOf(id)));
    const outcomes = await Promise.all(
      connections.map(async (connection, k) => {
        const outcomes: string[] = [];
        // everybody submits all of them, each in another order
        for (let i = 0; i < 4; i++)
          outcomes.push((await submitRecording(connection, recordings[(i + k) % 4]!)).outcome);
        return outcomes;
      }),
    );
    assert.equal(outcomes.flat().filter((outcome) => outcome === 'stored').length, 4);
    assert.equal(server.sql(nameOf(fresh), 'select count(*), count(distinct job) from tacho.processes'), '24|4');
    for (const [i, id] of ['1', '2', '3', '4'].entries()) {
      const stored = await (await databaseSource(connections[0]!, [id])).processes();
      assert.deepEqual(plain(stored), plain(readColumns([recordings[i]!])));
    }
    for (const connection of connections) await connection.close();
  });

  test('a job that the database refuses leaves nothing behind', async () => {
    const fresh = server.fresh();
    const connection = await connect(fresh);
    await migrate(connection);
    server.sql(nameOf(fresh), 'alter table tacho.thread_rows add check (tid <> 103)');
    const before = contents(nameOf(fresh));
    const recording = await recordingOf('18');
    await assert.rejects(submitRecording(connection, recording), (error: Error) => {
      assert.match(
        error.message,
        /cannot use the database postgres:\/\/tacho@127\.0\.0\.1:\d+\/test_\d+: it refuses a value/,
      );
      // the recording is to blame, not the database
      return !isDatabaseTrouble(error);
    });
    assert.equal(contents(nameOf(fresh)), before);
    server.sql(nameOf(fresh), 'alter table tacho.thread_rows drop constraint thread_rows_tid_check');
    assert.equal((await submitRecording(connection, recording)).outcome, 'stored');
    await connection.close();
  });

  test('a connection that breaks in the middle leaves nothing behind', async () => {
    const fresh = server.fresh();
    const connection = await connect(fresh);
    await migrate(connection);
    const before = contents(nameOf(fresh));
    // the last thing that is stored: by then processes and threads are there
    const { query } = connection;
    const breaking: Database = {
      ...connection,
      async query(sql, values) {
        if (sql.includes('tacho.job_hosts')) {
          server.sql(
            'postgres',
            `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${nameOf(fresh)}'`,
          );
        }
        return query(sql, values);
      },
    };
    await assert.rejects(submitRecording(breaking, await recordingOf('19')), (error: Error) => {
      assert.match(error.message, /the database is shutting down|the connection broke/);
      return isDatabaseTrouble(error);
    });
    assert.equal(contents(nameOf(fresh)), before);
    await connection.close();
  });

  test('jobs that run, and recordings of which nobody knows the job, are refused', async () => {
    const running = await recordingOf('20', { state: 'running', end: undefined });
    await assert.rejects(submitRecording(database, running), /job 20 still runs/);
    const lost = await recordingOf('21');
    fs.rmSync(path.join(lost.path, 'job.json'));
    await assert.rejects(
      submitRecording(database, openRecording(lost.path)),
      /has no job\.json|cannot read .*job\.json/,
    );
    fs.writeFileSync(path.join(lost.path, 'job.json'), '{"id');
    await assert.rejects(submitRecording(database, openRecording(lost.path)), /job\.json: it is damaged/);
    assert.equal((await findJobs(database, {})).filter(({ id }) => id === '20' || id === '21').length, 0);
  });

  test('any text survives: colons, percents, quotes, newlines, backslashes, binary, 100 kB', async () => {
    const job = (await findJobs(database))[0]!.job;
    let next = 1_000_000;
    const anyChunk = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.constantFrom(
        ':',
        '%s',
        '%',
        "'",
        '"',
        '\\',
        '\\N',
        '\\.',
        '\n',
        '\r',
        '\t',
        '\0',
        '\x01',
        '$1',
        ';--',
        '\ud800',
      ),
    );
    const texts = fc.array(
      fc.array(anyChunk, { maxLength: 12 }).map((fragments) => fragments.join('')),
      { minLength: 1, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(texts, async (args) => {
        const first = next;
        next += args.length;
        await copyIn(database, 'processes', args.length, [
          { columns: ['job'], write: (to) => to.bigint(job) },
          { columns: ['process'], write: (to, row) => to.integer(first + row) },
          { columns: ['node'], write: (to) => to.text('c1') },
          { columns: ['source'], write: (to) => to.text('record') },
          { columns: ['depth'], write: (to) => to.integer(0) },
          { columns: ['descendants'], write: (to) => to.integer(0) },
          { columns: ['args'], write: (to, row) => to.text(args[row]!) },
        ]).ended;
        const reader = copyReader(
          await copyOut(
            database,
            `select args from tacho.processes where job = ${job} and process >= ${first} order by process`,
          ),
        );
        const back: string[] = [];
        while (reader.next()) back.push(reader.text());
        assert.deepEqual(back, args.map(storable));
      }),
      { numRuns: 60, examples: [[['x'.repeat(100_000), '\\'.repeat(100_000), 'ü€😀'.repeat(30_000)]]] },
    );
    server.sql(nameOf(address), 'delete from tacho.processes where process >= 1000000');
  });

  test('what PostgreSQL has no place for is written out, not lost and not refused', () => {
    assert.equal(storable('a\0b'), 'a\\x00b');
    assert.equal(storable('a\ud800b'), 'a\ufffdb');
    assert.equal(storable('a:b%c\\'), 'a:b%c\\');
  });

  test('arguments of a recorded process arrive unchanged', async () => {
    const args = [
      `a:b %s %(x)s 'single' "double" back\\slash \\n ü€😀 $1; drop table jobs;--`,
      'new\nline \\n',
      'x'.repeat(100_000),
    ];
    const folder = await makeProcessRecording(
      { c1: args.map((each, k) => ({ pid: 200 + k, start: k, end: k + 1, args: each })) },
      { id: 'args', name: "it's", tags: { 'k"e:y': 'v%1\n' } },
    );
    await submitRecording(database, openRecording(folder));
    const columns = await (await databaseSource(database, ['args'])).processes();
    assert.deepEqual(columns.args, args);
    assert.deepEqual(columns.jobs[0]!.tags, { 'k"e:y': 'v%1\n' });
  });

  test('old jobs go with all that belongs to them', async () => {
    const fresh = server.fresh();
    const connection = await connect(fresh);
    await migrate(connection);
    for (let i = 0; i < 3; i++) {
      await submitRecording(
        connection,
        await recordingOf(`old${i}`, { start: START - i * 86_400e6, end: START - i * 86_400e6 + 5 }),
      );
    }
    const before = START - 0.5 * 86_400e6;
    assert.deepEqual(await retire(connection, { before, dryRun: true }), { jobs: 2, processes: 12, threads: 14 });
    assert.equal((await findJobs(connection)).length, 3);
    assert.deepEqual(await retire(connection, { before }), { jobs: 2, processes: 12, threads: 14 });
    assert.deepEqual(
      (await findJobs(connection)).map(({ id }) => id),
      ['old0'],
    );
    const rest =
      'select (select count(*) from tacho.processes), (select count(*) from tacho.threads), (select count(*) from tacho.operations), (select count(*) from tacho.job_hosts)';
    assert.equal(server.sql(nameOf(fresh), rest), '6|7|5|2');
    assert.deepEqual(await retire(connection, { before }), { jobs: 0, processes: 0, threads: 0 });
    const status = await databaseStatus(connection);
    assert.deepEqual(
      [status.jobs, status.processes, status.threads, status.hosts, status.may_submit],
      [1, 6, 7, 2, true],
    );
    await drop(connection);
    assert.equal(await schemaVersion(connection), 0);
    await connection.close();
  });

  test('jobs are found by user, name, state, tags and time', async () => {
    const fresh = server.fresh();
    const connection = await connect(fresh);
    await migrate(connection);
    await submitRecording(connection, await recordingOf('a', { user: 'ada', tags: { exp: 'x', n: '1' } }));
    await submitRecording(connection, await recordingOf('b', { user: 'bob', start: START + 10, state: 'failed' }));
    const ids = async (filter: object): Promise<string[]> => (await findJobs(connection, filter)).map(({ id }) => id);
    assert.deepEqual(await ids({}), ['a', 'b']);
    assert.deepEqual(await ids({ limit: 1 }), ['b']);
    assert.deepEqual(await ids({ user: 'ada' }), ['a']);
    assert.deepEqual(await ids({ state: 'failed' }), ['b']);
    assert.deepEqual(await ids({ tags: { n: '1', exp: 'x' } }), ['a']);
    assert.deepEqual(await ids({ tags: { n: '2' } }), []);
    assert.deepEqual(await ids({ since: START + 10 }), ['b']);
    assert.deepEqual(await ids({ until: START + 10 }), ['a']);
    await connection.close();
  });

  test('models are kept in the database, each name once', async () => {
    const store = databaseModels(database);
    const model = { format: 1, name: 'usual', enabled: true, created: 5, jobs: [] };
    assert.deepEqual(await store.list(), []);
    assert.equal(await store.load('usual'), undefined);
    await store.add(model);
    assert.deepEqual(await store.load('usual'), model);
    await assert.rejects(store.add(model), /there is a model "usual" already in the database postgres:/);
    await store.save({ ...model, enabled: false });
    assert.deepEqual(await store.list(), [{ ...model, enabled: false }]);
    assert.equal(await store.delete('usual'), true);
    assert.equal(await store.delete('usual'), false);
  });
});
