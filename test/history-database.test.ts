import assert from 'node:assert/strict';
import * as path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect, type Database } from '../src/database/connect.ts';
import { migrate } from '../src/database/schema.ts';
import { submitRecording } from '../src/database/submit.ts';
import { writeDemo } from '../src/demo/demo.ts';
import { constantEmissions } from '../src/history/ask/emissions.ts';
import { type History, openHistory } from '../src/history/ask/history.ts';
import { METRICS } from '../src/history/ask/metrics.ts';
import { GROUPS } from '../src/history/ask/usage.ts';
import { buildIndex } from '../src/history/index/build.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { temporary } from './make-recording.ts';
import { type Server, startPostgres, whyNoPostgres } from './postgres/server.ts';
import { makeProcessRecording } from './process-recording.ts';

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
    server = await startPostgres();
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

  test('rows go with their job', async () => {
    await database.query('delete from tacho.jobs');
    assert.deepEqual(await stored.selectJobs(), []);
  });
});
