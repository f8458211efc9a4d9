import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { temporary } from '../../../test/make-recording.ts';
import { openHistory } from '../ask/history.ts';
import { askSql } from '../ask/sql.ts';
import type { JobSummary } from '../tables/summary.ts';
import type { Entry } from './entry.ts';
import { indexFolder } from './index-files.ts';
import { changeIndex } from './index-writer.ts';
import { joinMonths, MONTHS, partsBetween, verifyMonths } from './months.ts';

const at = (text: string): number => Date.parse(text) * 1000;
const HOUR = 3600e6;
const DAYS = Array.from({ length: 20 }, (_, i) => String(i + 1).padStart(2, '0'));

const entry = (id: string, time: number, more: Partial<JobSummary> = {}): Entry => ({
  id,
  stamp: '',
  summaries: {
    jobs: [
      {
        time,
        end_time: time + HOUR,
        job: id,
        cluster: '',
        user: Number(id) % 2 === 0 ? 'ada' : 'bob',
        state: 'completed',
        wall_seconds: 3600,
        core_hours: 4,
        recording: id,
        ...more,
      },
    ],
    job_nodes: [],
    node_hours: [],
    findings: [],
  },
});

/** One job on each of 20 days of January; one that began on the second has not ended. Three in February. */
async function archiveOf(): Promise<string> {
  const archive = temporary();
  const january = DAYS.map((day, i) => entry(String(i + 1), at(`2026-01-${day}T10:00:00Z`)));
  const { end_time: _, ...rest } = entry('30', at('2026-01-02T01:00:00Z')).summaries!.jobs[0]!;
  const open = entry('30', 0);
  open.summaries!.jobs = [{ ...rest, state: 'running', wall_seconds: 60 }];
  const february = ['01', '02', '03'].map((day, i) => entry(String(40 + i), at(`2026-02-${day}T10:00:00Z`)));
  await changeIndex(archive, (index) => index.change([...january, open, ...february]));
  return archive;
}

const copiesIn = (archive: string): string[] => fs.globSync(`${MONTHS}/*/*`, { cwd: indexFolder(archive) });

async function idsOf(archive: string, filter: { from?: string; to?: string; users?: string[]; limit?: number } = {}) {
  const history = await openHistory({ archive });
  const { from, to, ...rest } = filter;
  const jobs = await history.selectJobs({
    ...rest,
    ...(from === undefined ? {} : { from: at(from) }),
    ...(to === undefined ? {} : { to: at(to) }),
  });
  await history.close();
  return jobs;
}

const QUESTIONS = [
  {},
  { users: ['ada'] },
  { limit: 5 },
  { from: '2026-01-10T00:00:00Z' },
  { from: '2026-01-10T10:30:00Z', to: '2026-01-12T11:00:00Z' },
  { from: '2026-01-19T00:00:00Z', to: '2026-02-02T00:00:00Z' },
  { to: '2026-01-04T00:00:00Z' },
];

test('a month that is over gets a copy, which gives the same answers', async () => {
  const archive = await archiveOf();
  const before = await Promise.all(QUESTIONS.map((question) => idsOf(archive, question)));
  assert.deepEqual(before[0]!.length, 24);
  assert.deepEqual(
    before[3]!.map(({ job }) => Number(job)),
    [...DAYS.slice(9).map(Number), 40, 41, 42],
  );
  const index = indexFolder(archive);
  // in February, and on its third day, January may still get jobs
  assert.equal(await joinMonths(index, at('2026-02-03T12:00:00Z')), false);
  assert.equal(await joinMonths(index, at('2026-02-20T00:00:00Z')), true);
  assert.equal(copiesIn(archive).length, 1);
  assert.match(copiesIn(archive)[0]!, /^months\/jobs\/2026-01-[0-9a-f]{16}\.parquet$/);
  assert.equal(partsBetween(index, 'jobs', '', '9').months.length, 1);
  assert.equal(partsBetween(index, 'jobs', '', '9').days.length, 3);
  for (const [i, question] of QUESTIONS.entries())
    assert.deepEqual(await idsOf(archive, question), before[i], JSON.stringify(question));
  const { rows } = await askSql(
    "select day::varchar, count(*) from jobs where day < date '2026-01-04' group by 1 order by 1",
    {
      archives: [archive],
    },
  );
  assert.deepEqual(rows, [
    ['2026-01-01', 1],
    ['2026-01-02', 2],
    ['2026-01-03', 1],
  ]);
  assert.equal(await joinMonths(index, at('2026-02-20T00:00:00Z')), false, 'it is there already');
});

test('after a change of its days a copy is not used, and the next index replaces it', async () => {
  const archive = await archiveOf();
  const index = indexFolder(archive);
  await joinMonths(index, at('2026-02-20T00:00:00Z'));
  const [old] = copiesIn(archive);
  await changeIndex(archive, (writer) =>
    writer.change([entry('5', at('2026-01-05T10:00:00Z'), { core_hours: 99 })], ['6']),
  );
  const rows = new Map((await idsOf(archive)).map((row) => [row.job, row.core_hours]));
  assert.deepEqual([rows.get('5'), rows.has('6'), rows.size], [99, false, 23]);
  assert.equal(partsBetween(index, 'jobs', '', '9').months.length, 0);
  await joinMonths(index, at('2026-02-20T00:00:00Z'));
  assert.equal(copiesIn(archive).length, 1);
  assert.notEqual(copiesIn(archive)[0], old);
  assert.equal((await idsOf(archive)).find(({ job }) => job === '5')!.core_hours, 99);
});

test('a damaged copy is found, and made again with the index', async () => {
  const archive = await archiveOf();
  const index = indexFolder(archive);
  await joinMonths(index, at('2026-02-20T00:00:00Z'));
  assert.deepEqual(await verifyMonths(index), []);
  const file = path.join(index, copiesIn(archive)[0]!);
  fs.truncateSync(file, 200);
  const [wrong] = await verifyMonths(index);
  assert.ok(wrong!.startsWith(`${file}: `), wrong);
  await changeIndex(archive, async () => {}, { fresh: true });
  assert.deepEqual(copiesIn(archive), []);
});
