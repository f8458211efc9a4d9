import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agentOf, jobOf, START, temporary } from '../../../test/make-recording.ts';
import type { RuleSettings } from '../../judge/rules/shared/settings.ts';
import type { Job } from '../../recording/folder/job.ts';
import { openHistory } from '../ask/history.ts';
import { findingsTable } from '../tables/findings.ts';
import { jobsTable } from '../tables/jobs.ts';
import { buildIndex } from './build.ts';
import { dayOf, daysOf, indexFolder, JOURNAL, partsIn } from './index-files.ts';
import { changeIndex } from './index-writer.ts';
import { readRows } from './row-file.ts';
import { verifyIndex } from './verify.ts';

const DAY = 86_400e6;

function archiveOf(count: number): string {
  const archive = temporary();
  for (let i = 0; i < count; i++) addJob(archive, i);
  return archive;
}

function addJob(archive: string, i: number, more: Partial<Job> = {}): string {
  const folder = path.join(archive, `job-${i}`);
  const start = START + i * (DAY / 4);
  fs.mkdirSync(path.join(folder, 'node=c1'), { recursive: true });
  fs.writeFileSync(
    path.join(folder, 'job.json'),
    JSON.stringify(jobOf({ id: String(i), start, end: start + 60e6, ...more })),
  );
  fs.writeFileSync(path.join(folder, 'node=c1/agent.json'), JSON.stringify(agentOf('c1', [])));
  return folder;
}

/** All job rows of an index. */
function rowsIn(archive: string) {
  const index = indexFolder(archive);
  return daysOf(index, 'jobs').flatMap((day) => {
    const folder = path.join(index, 'jobs', `day=${day}`);
    return partsIn(folder).flatMap(({ name }) => readRows(path.join(folder, name), jobsTable));
  });
}

test('an index has one row per recording, filed under the day of the end', async () => {
  const archive = archiveOf(6);
  const built = await buildIndex(archive);
  assert.deepEqual(built, { recordings: 6, added: 6, changed: 0, removed: 0, troubles: [], damaged: [] });
  assert.deepEqual(
    rowsIn(archive).map(({ job, recording }) => [job, recording]),
    Array.from({ length: 6 }, (_, i) => [String(i), `job-${i}`]),
  );
  assert.deepEqual(daysOf(indexFolder(archive), 'jobs'), [
    ...new Set(Array.from({ length: 6 }, (_, i) => dayOf(START + i * (DAY / 4) + 60e6))),
  ]);
  assert.deepEqual(verifyIndex(archive).wrong, []);
});

test('only what is new, has changed or is gone is done again', async () => {
  const archive = archiveOf(4);
  await buildIndex(archive);
  assert.deepEqual(await buildIndex(archive), {
    recordings: 4,
    added: 0,
    changed: 0,
    removed: 0,
    troubles: [],
    damaged: [],
  });
  fs.rmSync(path.join(archive, 'job-1'), { recursive: true });
  fs.rmSync(path.join(archive, 'job-2'), { recursive: true });
  addJob(archive, 2, { name: 'renamed', exit_code: 3, state: 'failed' });
  addJob(archive, 9);
  const built = await buildIndex(archive);
  assert.deepEqual(
    { ...built, troubles: [] },
    { recordings: 4, added: 1, changed: 1, removed: 1, troubles: [], damaged: [] },
  );
  const rows = new Map(rowsIn(archive).map((row) => [row.job, row]));
  assert.deepEqual([...rows.keys()].sort(), ['0', '2', '3', '9']);
  assert.equal(rows.get('2')!.name, 'renamed');
  assert.equal(rows.get('2')!.exit_code, 3);
  assert.deepEqual(verifyIndex(archive).wrong, []);
});

test('one more is added without a look at the others, and stands in the place of what there was', async () => {
  const archive = archiveOf(2);
  await buildIndex(archive);
  const folder = addJob(archive, 7);
  await buildIndex(archive, { only: [folder] });
  await buildIndex(archive, { only: ['job-7'] });
  assert.deepEqual(
    rowsIn(archive).map(({ job }) => job),
    ['0', '1', '7'],
  );
  await assert.rejects(buildIndex(archive, { only: [temporary()] }), /does not lie in/);
});

test('a damaged recording is named, and the others are in the index', async () => {
  const archive = archiveOf(3);
  fs.writeFileSync(path.join(archive, 'job-1/job.json'), '{"format": 99}');
  const built = await buildIndex(archive);
  assert.equal(built.recordings, 3);
  assert.deepEqual(
    built.troubles.map(({ recording }) => recording),
    ['job-1'],
  );
  assert.match(built.troubles[0]!.why, /job-1.*newer Tacho/);
  assert.deepEqual(
    rowsIn(archive).map(({ job }) => job),
    ['0', '2'],
  );
  const again = await buildIndex(archive);
  assert.deepEqual(again.troubles, built.troubles, 'it is named until it is mended');
});

test('a recording whose job.json is damaged is named, and in the index with the rest of it', async () => {
  const archive = archiveOf(2);
  fs.writeFileSync(path.join(archive, 'job-1/job.json'), '{"id": brok');
  const built = await buildIndex(archive);
  assert.deepEqual(built.troubles, []);
  assert.deepEqual(
    built.damaged.map(({ recording }) => recording),
    ['job-1'],
  );
  assert.match(built.damaged[0]!.why, /job-1\/job\.json: it is damaged/);
  assert.deepEqual((await buildIndex(archive)).damaged, built.damaged, 'it is named until it is mended');
});

test('a change that was interrupted is made again', async () => {
  const archive = archiveOf(1);
  await buildIndex(archive);
  const index = indexFolder(archive);
  const [dayFile] = partsIn(path.join(index, 'jobs', `day=${dayOf(START + 60e6)}`));
  const name = `jobs/day=${dayOf(START + 60e6)}/${dayFile!.name}`;
  const moved = name.replace('part-1-', 'part-1-new');
  // the new file is there under its temporary name, the old one has not been removed
  fs.copyFileSync(path.join(index, name), path.join(index, `${moved}.tmp`));
  const journal = { add: [[`${moved}.tmp`, moved]], remove: [name], lines: [{ id: 'ghost', gone: true }] };
  fs.writeFileSync(path.join(index, JOURNAL), JSON.stringify(journal));
  await changeIndex(archive, async () => {});
  assert.equal(rowsIn(archive).length, 1);
  assert.equal(fs.existsSync(path.join(index, name)), false);
  assert.equal(fs.existsSync(path.join(index, JOURNAL)), false);
  assert.deepEqual(verifyIndex(archive).wrong, []);
});

test('a day never has many files, and no row is lost on the way', async () => {
  const archive = temporary();
  for (let i = 0; i < 70; i++) {
    const folder = addJob(archive, 0);
    fs.renameSync(folder, path.join(archive, `same-${i}`));
    await buildIndex(archive, { only: [`same-${i}`] });
  }
  const [day] = daysOf(indexFolder(archive), 'jobs');
  assert.ok(partsIn(path.join(indexFolder(archive), 'jobs', `day=${day}`)).length <= 32);
  assert.equal(new Set(rowsIn(archive).map(({ recording }) => recording)).size, 70);
  assert.deepEqual(verifyIndex(archive).wrong, []);
});

test('damage of the index is found', async () => {
  const archive = archiveOf(2);
  await buildIndex(archive);
  const index = indexFolder(archive);
  const [day] = daysOf(index, 'jobs');
  const folder = path.join(index, 'jobs', `day=${day}`);
  for (const { name } of partsIn(folder)) fs.truncateSync(path.join(folder, name), 100);
  assert.match(
    verifyIndex(archive).wrong.join('\n'),
    /it is not a whole Parquet file[\s\S]*the row of job-\d is missing/,
  );
  await buildIndex(archive, { rebuild: true });
  assert.deepEqual(verifyIndex(archive).wrong, []);
});

/** The findings of an index, by their job. */
function findingsIn(archive: string): string[] {
  const index = indexFolder(archive);
  return daysOf(index, 'findings').flatMap((day) => {
    const folder = path.join(index, 'findings', `day=${day}`);
    return partsIn(folder).flatMap(({ name }) =>
      readRows(path.join(folder, name), findingsTable).map(({ job, finding }) => `${job} ${finding}`),
    );
  });
}

test('rules that the configuration switches off find nothing in the history, with and without an index', async () => {
  const off: RuleSettings = { thresholds: new Map(), off: new Map([['job-failed', 'tacho.toml:2']]) };
  // so many that other processes summarise them
  const archive = temporary();
  for (let i = 0; i < 20; i++) addJob(archive, i, { state: 'failed', exit_code: 3 });
  await buildIndex(archive, { workers: 1 });
  assert.equal(findingsIn(archive).filter((each) => each.endsWith(' job-failed')).length, 20);
  await buildIndex(archive, { workers: 1, rebuild: true, rules: off });
  assert.equal(findingsIn(archive).filter((each) => each.endsWith(' job-failed')).length, 0);
  for (const [settings, count] of [
    [{}, 1],
    [{ rules: async () => off }, 0],
  ] as const) {
    const history = await openHistory({ folders: [path.join(archive, 'job-3')], ...settings });
    const [job] = await history.selectJobs({});
    assert.equal((job!.findings ?? '').split(/[, ]+/).filter((id) => id === 'job-failed').length, count);
    await history.close();
  }
});
