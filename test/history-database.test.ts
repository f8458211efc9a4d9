import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Advice } from '../src/advise/advise.ts';
import { connect, type Database } from '../src/database/connect.ts';
import { retire } from '../src/database/retire.ts';
import { migrate } from '../src/database/schema.ts';
import { submitRecording } from '../src/database/submit.ts';
import { writeDemo } from '../src/demo/demo.ts';
import { constantEmissions } from '../src/history/ask/emissions.ts';
import { type History, openHistory } from '../src/history/ask/history.ts';
import { METRICS } from '../src/history/ask/metrics.ts';
import { GROUPS } from '../src/history/ask/usage.ts';
import { buildIndex } from '../src/history/index/build.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { makeRecording, temporary } from './make-recording.ts';
import { type Server, sharedPostgres, whyNoPostgres } from './postgres/server.ts';
import { makeProcessRecording } from './process-recording.ts';
import { tacho } from './tacho.ts';

const at = (text: string): number => Date.parse(text) * 1000;

/** Engines add up in different orders, and paths begin elsewhere. */
function near(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, each) =>
      key === 'recording' ? undefined : typeof each === 'number' ? Number(each.toPrecision(9)) : each,
    ),
  );
}

describe('the history in PostgreSQL', { skip: whyNoPostgres() }, () => {
  let server: Server;
  let database: Database;
  let index: History;
  let stored: History;

  before(async () => {
    const archive = temporary();
    await writeDemo({ folder: path.join(archive, 'demo'), nodes: 2, gpus: 2, seconds: 5400, interval: 10 });
    const processes = { c1: [{ pid: 1, start: 0, end: 50, exename: 'solve', cpu: 40 }] };
    const folder = await makeProcessRecording(processes, { id: '9', user: "o'neil", account: 'p%1' });
    server = await sharedPostgres();
    database = await connect(server.fresh());
    await migrate(database);
    for (const one of [path.join(archive, 'demo'), folder]) await submitRecording(database, openRecording(one));
    await buildIndex(archive);
    index = await openHistory({ folders: [archive, folder] });
    stored = await openHistory({ database: { query: (sql) => database.query(sql) } });
  });
  after(async () => {
    await index?.close();
    await stored?.close();
    await database?.close();
    await server?.remove();
  });

  test('every question has the same answer as from the index', async () => {
    const period = { from: at('2026-01-01T00:00:00Z'), to: at('2027-01-01T00:00:00Z'), zone: 'Europe/Oslo' };
    const all = await index.selectJobs();
    assert.equal(all.length, 2);
    assert.deepEqual(near(await stored.selectJobs()), near(all));
    for (const filter of [
      { users: ["o'*"] },
      { accounts: ['p%*'] },
      { nodes: ['node0?'] },
      { tags: { demo: 'synthetic' } },
      { findings: ['gpu-*'] },
      { gpu: false, ranges: { cpu_seconds: { min: 1 } } },
      { order: { by: 'core_hours' as const, descending: true }, limit: 1 },
    ]) {
      const wanted = near(await index.selectJobs(filter));
      assert.deepEqual(near(await stored.selectJobs(filter)), wanted, JSON.stringify(filter));
    }
    const findings = { findings: ['*'], from: period.from, to: period.to };
    const sorted = async (history: History): Promise<unknown> =>
      near((await history.selectFindings(findings)).sort((a, b) => (a.finding < b.finding ? -1 : 1)));
    assert.ok((await index.selectFindings(findings)).length > 0);
    assert.deepEqual(await sorted(stored), await sorted(index));
    const hourly = new Map([[Math.floor(at('2026-03-02T08:00:00Z') / 3600e6), 700]]);
    const factors = { factor: 100, hourly, at: (moment: number) => hourly.get(Math.floor(moment / 3600e6)) ?? 100 };
    for (const by of GROUPS)
      for (const { name: metric } of METRICS)
        for (const emissions of metric === 'CO2' ? [constantEmissions(400), factors] : [constantEmissions(1)]) {
          const question = { by, metric, ...period, emissions };
          assert.deepEqual(near(await stored.usage(question)), near(await index.usage(question)), `${metric} by ${by}`);
        }
    for (const every of ['hour', 'day'] as const)
      assert.deepEqual(near(await stored.load({ ...period, every })), near(await index.load({ ...period, every })));
    const gap = { ...period, gap: 600 };
    assert.deepEqual(near(await stored.uptime(gap)), near(await index.uptime(gap)));
    assert.deepEqual(near(await stored.waste('user', period)), near(await index.waste('user', period)));
    assert.deepEqual(
      near(await stored.hogs({ by: 'job', ...period })),
      near(await index.hogs({ by: 'job', ...period })),
    );
  });

  /** An hour on four CPUs, as sacct prints it. */
  const sacct = (...jobs: [id: string, partition: string, start: number][]): string => {
    const file = path.join(temporary(), 'sacct.txt');
    const lines = jobs.map(([id, partition, start]) => {
      const [from, to] = [start / 1e6, start / 1e6 + 3600];
      return `${id}|lab|ada|physics|${partition}|COMPLETED|${from - 60}|${from}|${to}|3600|cpu=4,mem=8G,node=1|cpu=4,mem=8G,node=1|120|c1|02:00:00`;
    });
    const head =
      'JobID|Cluster|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|AllocTRES|ReqTRES|TimelimitRaw|NodeList|TotalCPU';
    fs.writeFileSync(file, `${[head, ...lines].join('\n')}\n`);
    return file;
  };
  const period = { from: at('2026-01-01T00:00:00Z'), to: at('2027-01-01T00:00:00Z'), zone: 'UTC' };

  test('jobs of accounting are the same rows as in an archive, before, after and without their recordings', async () => {
    const archive = temporary();
    const start = at('2026-06-01T10:00:00Z');
    const address = server.fresh();
    const other = await connect(address);
    await migrate(other);
    const recording = (id: string): Promise<string> =>
      makeRecording({
        folder: path.join(archive, `tacho-${id}`),
        seconds: 2,
        job: { id, user: 'ada', cluster: 'lab', start, end: start + 3600e6, state: 'completed' },
      });
    const submit = async (id: string): Promise<void> =>
      void (await submitRecording(other, openRecording(path.join(archive, `tacho-${id}`))));
    const asked = await openHistory({ database: { query: (sql) => other.query(sql) } });
    const both = async (what: string): Promise<{ job: string; origin?: string; partition?: string }[]> => {
      await buildIndex(archive);
      const own = await openHistory({ archive });
      const rows = await own.selectJobs();
      assert.deepEqual(near(await asked.selectJobs()), near(rows), what);
      for (const metric of ['core-hours', 'waste', 'wait', 'jobs'] as const) {
        const question = { by: 'account' as const, metric, ...period, emissions: constantEmissions(1) };
        assert.deepEqual(near(await asked.usage(question)), near(await own.usage(question)), `${what}: ${metric}`);
      }
      assert.deepEqual(near(await asked.waste('user', period)), near(await own.waste('user', period)), what);
      await own.close();
      return rows;
    };
    const add = (file: string): { jobs: number; added: number; recorded: number } => {
      const imported = tacho(['import', 'slurm', file, '--timezone', 'UTC', '--archive', archive, '--format', 'json']);
      assert.equal(imported.code, 0, imported.err);
      const done = tacho(['import', 'slurm', file, '--timezone', 'UTC', '--db', address, '--format', 'json']);
      assert.equal(done.code, 0, done.err);
      assert.deepEqual(JSON.parse(done.out), JSON.parse(imported.out));
      return JSON.parse(done.out) as ReturnType<typeof add>;
    };
    await recording('1');
    await submit('1');
    const first = add(sacct(['1', 'cpu', start], ['2', 'cpu', start], ['3', 'cpu', start]));
    assert.deepEqual([first.jobs, first.added, first.recorded], [3, 3, 1]);
    assert.deepEqual(
      (await both('imported')).map(({ job, origin, partition }) => [job, origin, partition]),
      [
        ['1', 'recorded', 'cpu'],
        ['2', 'accounting', 'cpu'],
        ['3', 'accounting', 'cpu'],
      ],
    );
    assert.equal(add(sacct(['1', 'cpu', start], ['2', 'cpu', start])).added, 0);
    // what has changed follows, also in the rows of recordings
    assert.equal(add(sacct(['1', 'gpu', start], ['2', 'gpu', start])).added, 2);
    assert.deepEqual(
      (await both('changed')).map(({ partition }) => partition),
      ['gpu', 'gpu', 'cpu'],
    );
    // a recording that comes later takes the place of the row
    await recording('2');
    await submit('2');
    assert.deepEqual(
      (await both('recorded later')).map(({ job, origin, partition }) => [job, origin, partition]),
      [
        ['1', 'recorded', 'gpu'],
        ['2', 'recorded', 'gpu'],
        ['3', 'accounting', 'cpu'],
      ],
    );
    // advice asks either of them
    const adviseCommand = ['advise', '--user', 'ada', '--for', 'pbs', '--format', 'json'];
    const advised = tacho([...adviseCommand, '--db', address]);
    assert.equal(advised.code, 0, advised.err);
    assert.deepEqual(near(JSON.parse(advised.out)), near(JSON.parse(tacho([...adviseCommand, archive]).out)));
    const [advice] = JSON.parse(tacho(['advise', '3', '--db', address, '--format', 'json']).out) as Advice[];
    assert.deepEqual([advice!.jobs, advice!.request.cpus, advice!.request.time_seconds], [['3'], 3, 4500]);
    // the oldest go, recorded or not
    const { accounted, jobs } = await retire(other, { before: at('2026-06-02T00:00:00Z') });
    assert.deepEqual([accounted, jobs], [1, 2]);
    assert.deepEqual(await asked.selectJobs(), []);
    await asked.close();
    await other.close();
    const wrong = tacho(['import', 'slurm', '--db', address, '--archive', archive]);
    assert.deepEqual([wrong.code, /an archive or a database, not both/.test(wrong.err)], [2, true], wrong.err);
  });

  test('rows go with their job', async () => {
    await database.query('delete from tacho.jobs');
    assert.deepEqual(await stored.selectJobs(), []);
  });
});
