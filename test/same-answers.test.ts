import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { verbs } from '../src/cli/verbs.ts';
import { importEpmt } from '../src/import/epmt/import.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { threadedTsv } from './made/epmt-archive.ts';
import { START, temporary } from './make-recording.ts';
import { type Server, sharedPostgres, whyNoPostgres } from './postgres/server.ts';
import { type GivenProcess, makeProcessRecording } from './process-recording.ts';
import { type Answer, tacho } from './tacho.ts';

/** Every question about processes and jobs, asked of recordings and of the database: the same words come back. */

const EPMT = path.join(import.meta.dirname, '../../shared/data/epmt');
const REAL = ['685000.tgz', '685003.tgz', 'collated-tsv-2220.tgz'].map((name) => path.join(EPMT, name));

/** A job of two nodes that builds and tests; some are slower than others. */
function processesOf(slow: number): Record<string, readonly GivenProcess[]> {
  const node = (shift: number): GivenProcess[] => [
    { pid: 100, start: shift, end: 50 + slow, exename: 'bash', args: '-c "make; make test"', cpu: 0.5, tags: 'op:all' },
    ...Array.from({ length: 12 }, (_, k) => ({
      pid: 200 + k,
      ppid: 100,
      start: shift + 1 + k,
      end: shift + 3 + k + (k === 5 ? slow : 0),
      exename: k % 2 === 0 ? 'cc1' : 'as',
      args: `-o 'file ${k}.o' 100%:x`,
      tags: `op:build;seq:${k % 3}`,
      cpu: 1 + k / 10 + (k === 5 ? slow : 0),
      exitcode: k === 7 ? 1 : 0,
      threads: k === 5 ? [0.5, 0.4 + slow, 0.1] : [1 + k / 10],
      metrics: { instructions: 1e9 + k * 1e6 },
    })),
    { pid: 300, ppid: 100, start: shift + 20, exename: 'killed', tags: 'op:test' },
    ...[0, 1].map((k) => ({
      pid: 400 + k,
      ppid: 100,
      start: 40,
      end: 45 + k,
      exename: 'solver',
      cpu: 1 + k,
      rank: k + (shift === 0 ? 0 : 2),
      ranks: 4,
      world: '17',
    })),
    { pid: 200, ppid: 100, start: shift + 30, end: shift + 34 + slow / 2, exename: 'ctest', tags: 'op:test', cpu: 3 },
  ];
  return { c1: node(0), c2: node(0.5) };
}

const SLOW = [0, 0.1, 0.2, 0.05, 0.15, 8, 0.12, 0.02];

interface Question {
  /** `JOBS` stands for all jobs, `JOB` for the first, `TWO` for two of them, `SLOW` for the one that is unlike them. */
  ask: string;
  code?: number;
}

const QUESTIONS: readonly Question[] = [
  { ask: 'processes JOB' },
  { ask: 'processes JOB --tree' },
  { ask: 'processes TWO --format csv' },
  { ask: 'processes JOBS --format json --filter cpu>1s' },
  { ask: 'processes JOB --filter tag:op=build --sort rss --columns pid,start,end,rss,instructions,command' },
  { ask: 'processes JOB --filter source=start' },
  { ask: 'processes JOB --columns nonsense', code: 2 },
  { ask: 'threads JOB --process 205' },
  { ask: 'threads JOB --process 205 --format json' },
  { ask: 'threads JOB --process 1', code: 1 },
  { ask: 'timeline JOB' },
  { ask: 'timeline JOB --by operation' },
  { ask: 'ranks JOB' },
  { ask: 'ranks TWO --format json --sort cpu' },
  { ask: 'ranks JOB --format csv --world 1' },
  { ask: 'ranks JOB --world 2', code: 1 },
  { ask: 'operations JOB' },
  { ask: 'operations TWO --format json' },
  { ask: 'operations JOB --op-tag seq' },
  { ask: 'operations JOB --op-tag op:build;seq:1 --format csv' },
  { ask: 'compare TWO' },
  { ask: 'compare JOBS --by metric --format csv' },
  { ask: 'compare TWO --by process --format json' },
  { ask: 'compare JOB', code: 2 },
  { ask: 'outliers JOBS' },
  { ask: 'outliers JOBS --format json --all --features all' },
  { ask: 'outliers JOBS --of operations --format json' },
  { ask: 'outliers JOBS --of processes --votes' },
  { ask: 'outliers JOBS --of threads --format json' },
  { ask: 'outliers JOBS --tag case:1', code: 1 },
  { ask: 'outliers TWO', code: 1 },
  { ask: 'model create usual JOBS --op-tag op' },
  { ask: 'model create usual JOBS', code: 1 },
  { ask: 'model list' },
  { ask: 'model show usual' },
  { ask: 'cause SLOW --model usual' },
  { ask: 'cause SLOW --model usual --format json' },
  { ask: 'outliers SLOW --model usual' },
  { ask: 'model disable usual' },
  { ask: 'cause SLOW --model usual', code: 1 },
  { ask: 'model enable usual' },
  { ask: 'model delete usual' },
  { ask: 'model show usual', code: 2 },
  { ask: 'explore sweep JOBS' },
  { ask: 'explore sweep JOBS --metric cpu_time --format json' },
  { ask: 'explore swep JOBS', code: 2 },
];

/** Verbs of which there is nothing to ask a database. */
const NOT_ASKED =
  /^(run|start|stop|status|mark|fom|env|report|export|list|seal|verify|import|annotate|submit|watch|db|check|demo|completion|agent|notebook|hub|nodes|ls|job|slurm|token|serve|mcp|scale|index|advise|jobs|history|waste|hogs|load|uptime|sql|policy|dask|top|show|plot|push|share)$/;

test('every verb that asks about processes and jobs is in the list', () => {
  const asked = new Set(QUESTIONS.map(({ ask }) => ask.split(' ')[0]));
  assert.deepEqual(
    verbs.map(({ name }) => name).filter((name) => !NOT_ASKED.test(name) && !asked.has(name)),
    [],
  );
});

describe('the same answer', { skip: whyNoPostgres() }, () => {
  let server: Server;
  let db: string;
  const folder = temporary();
  const ids: string[] = [];

  before(async () => {
    server = await sharedPostgres();
    db = server.fresh();
    assert.equal(tacho(['db', 'migrate', '--db', db]).code, 0);
    for (const [i, slow] of SLOW.entries()) {
      const id = `j${i}`;
      const tags = {
        exp_name: 'sweep',
        exp_component: i % 2 === 0 ? 'ocean' : 'atmos',
        exp_time: `${1850 + 5 * Math.floor(i / 2)}0101`,
      };
      const facts = { id, name: `job ${i}`, tags, start: START - 1e6, end: START + (52 + slow) * 1e6 };
      await makeProcessRecording(processesOf(slow), facts, path.join(folder, id));
      ids.push(id);
    }
    const stored = tacho(['submit', folder, '--db', db]);
    assert.equal(stored.code, 0, stored.err);
  });
  after(() => server?.remove());

  /** Without what cannot be the same: the time when a model was made, and where things are. */
  const plain = ({ code, out, err }: Answer, placeNames: readonly string[]): object => {
    const withoutPlaces = (text: string): string =>
      placeNames
        .reduce((rest, placeName) => rest.replaceAll(placeName, 'PLACE'), text)
        .replaceAll(/PLACE[#/]\w+|postgres:\S+/g, 'PLACE')
        .replaceAll(/"created": \d+/g, '"created": NOW')
        .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+/g, 'MOMENT')
        .replaceAll(/there is one (recording|job) to compare/g, 'there is one to compare')
        .replaceAll(/tacho (list|db jobs|report FOLDER) [^\n]*/g, 'LIST');
    return { code, out: withoutPlaces(out), err: withoutPlaces(err) };
  };

  for (const { ask, code = 0 } of QUESTIONS) {
    test(`tacho ${ask}`, () => {
      const names = (word: string): string[] =>
        ({ JOBS: ids, JOB: [ids[0]!], TWO: [ids[0]!, ids[5]!], SLOW: [ids[5]!] })[word] ?? [];
      const argsIn = (folder: string): string[] =>
        ask.split(' ').flatMap((word) => (names(word).length > 0 ? names(word).map((name) => folder + name) : [word]));
      const models = path.join(folder, '.models');
      const asks = /^(model|cause|outliers)/.test(ask) ? ['--models', models] : [];
      const recorded = tacho([...argsIn(`${folder}/`), ...asks]);
      const stored = tacho([...argsIn(''), '--db', db]);
      assert.equal(recorded.code, code, recorded.out + recorded.err);
      assert.doesNotMatch(stored.err, /\n\s+at |internal error/);
      const placeNames = [models, `the database ${db}`, db, folder];
      assert.deepEqual(plain(stored, placeNames), plain(recorded, placeNames));
      if (code === 0) assert.ok(recorded.out.length > 12, recorded.out);
    });
  }

  test('without --db, names that are no folders are jobs in the database that TACHO_DB names', () => {
    const env = { ...process.env, TACHO_DB: db };
    const there = tacho(['operations', 'j1'], { cwd: temporary(), env });
    assert.equal(there.code, 0, there.err);
    assert.equal(there.out, tacho(['operations', 'j1'], { cwd: folder }).out);
    // a folder that is there is a recording, whatever TACHO_DB says
    const here = tacho(['operations', 'j1'], { cwd: folder, env: { ...process.env, TACHO_DB: 'postgres://h:1/x' } });
    assert.equal(here.out, there.out);
    assert.match(tacho(['operations', 'j99', '--db', db]).err, /there is no job j99 in the database/);
    assert.match(tacho(['processes', '--db', db]).err, /no job is named/);
  });

  test('outliers and experiments without names: all jobs of the database, or those with a tag', () => {
    const all = tacho(['explore', 'sweep', '--db', db, '--format', 'json']);
    assert.equal(all.code, 0, all.err);
    assert.equal(JSON.parse(all.out).jobs, 8);
    const some = tacho(['outliers', '--tag', 'exp_component:ocean', '--db', db, '--format', 'json', '--all']);
    assert.equal(JSON.parse(some.out).groups[0].rows, 4);
  });

  test('threads without a number', async () => {
    const temporaryPlace = temporary();
    const archive = path.join(temporaryPlace, '4711.tgz');
    fs.writeFileSync(archive, threadedTsv());
    const { imported } = await importEpmt([archive], { folder: temporaryPlace });
    const url = server.fresh();
    tacho(['db', 'migrate', '--db', url]);
    assert.equal(tacho(['submit', imported[0]!.recording, '--db', url]).code, 0);
    for (const question of ['threads --process 200', 'threads --process 200 --format json', 'outliers --of threads']) {
      const recorded = tacho([...question.split(' '), imported[0]!.recording]);
      const stored = tacho([...question.split(' '), '4711', '--db', url]);
      assert.match(recorded.out, /#3/);
      assert.deepEqual(plain(stored, [url]), plain(recorded, [temporaryPlace]), question);
    }
    const name = url.slice(url.lastIndexOf('/') + 1);
    const tids = 'select string_agg(tid::text, chr(44) order by process, thread) from tacho.threads where tid <= 200';
    assert.equal(server.sql(name, tids), '200,-2,-3');
  });

  test('jobs of EPMT', { skip: REAL.every((file) => fs.existsSync(file)) ? false : 'archives of EPMT' }, async () => {
    const jobs = path.join(temporary(), 'jobs');
    const { imported } = await importEpmt(REAL, { folder: jobs });
    const url = server.fresh();
    tacho(['db', 'migrate', '--db', url]);
    assert.equal(tacho(['submit', jobs, '--db', url]).code, 0);
    const large = { maxBuffer: 1e9 };
    const names = imported.map(({ recording }) => recording);
    const numbers = names.map((name) => openRecording(name).job.id);
    for (const question of [
      'processes --format csv',
      'processes --tree',
      'operations --format json',
      'timeline',
      'compare --format csv',
    ]) {
      const [verb, ...options] = question.split(' ') as [string, ...string[]];
      const recorded = tacho([verb, ...names, ...options], large);
      const stored = tacho([verb, ...numbers, ...options, '--db', url], large);
      assert.equal(recorded.code, 0, recorded.err);
      assert.deepEqual(plain(stored, [url]), plain(recorded, [jobs]), question);
    }
    const name = url.slice(url.lastIndexOf('/') + 1);
    const job = (id: string, what: string): string =>
      server.sql(name, `select ${what} from tacho.jobs where id = '${id}'`);
    assert.equal(job('685000', 'processes, threads, cpu_time'), '3480|3668|113135329');
    assert.equal(
      job('685000', "to_char(start_time at time zone 'US/Eastern', 'YYYY-MM-DD HH24:MI:SS.US')"),
      '2019-06-15 07:52:04.073965',
    );
    assert.equal(job('685003', 'processes, cpu_time'), '3785|93538033');
    assert.equal(
      server.sql(
        name,
        "select o.processes, o.threads, o.cpu_time, duration_sum, duration, runs, duration_span from tacho.operations o join tacho.jobs using (job) where id = '685000' and key = 'op' and value = 'timavg'",
      ),
      '57|62|17951212|41388496|21033390|11|51278054',
    );
    assert.equal(
      server.sql(
        name,
        "select count(*) from tacho.processes join tacho.jobs using (job) where id = '685000' and parent = (select process from tacho.processes p where p.job = jobs.job and pid = 6098)",
      ),
      '735',
    );
    assert.equal(
      server.sql(name, "select sum(rssmax) from tacho.threads join tacho.jobs using (job) where id = '2220'"),
      '9952',
    );
  });
});
