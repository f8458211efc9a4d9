import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rankReports } from '../../src/judge/facts/ranks.ts';
import { ranksOf } from '../../src/query/ranks/ranks.ts';
import { ranksCsv, ranksJson, ranksText } from '../../src/show/process/ranks-table.ts';
import { rankPart } from '../../src/show/report/rank-rows.ts';
import { type Told, testJob, testSet } from '../made/processes.ts';
import { job, material } from '../made/report-jobs.ts';

/** Ranks on nodes of 100; the slowest one is the 7,777th of 10,000. */
const ranks = (n: number, worlds = 1): Told[] =>
  Array.from({ length: n * worlds }, (_, i): Told => {
    const cpu = i === 7777 ? 90 : 50 + (i % 10) / 10;
    return {
      ...{
        pid: 100 + (i % 100),
        node: `c${Math.floor(i / 100)}`,
        from: 1 + Math.floor(i / n),
        to: 99,
        cpu,
        exename: 'solver',
      },
      ...{
        rank: String(i % n),
        ranks: n,
        world: String(Math.floor(i / n)),
        step: '0',
        exitcode: i % n === 4321 ? 3 : 0,
      },
      metrics: { usertime: cpu * 1e6, systemtime: 0, rssmax: 1000 + i, rchar: i, wchar: 0 },
    };
  });

test('10,000 ranks are a page: those at the ends and those that failed', () => {
  const set = testSet(ranks(10_000), [testJob()]);
  const facts = rankReports(material(job(100), [], { processes: set }))!;
  const [world] = facts.largest;
  assert.deepEqual([facts.worlds, facts.ranks, world!.recorded, world!.nodes], [1, 10_000, 10_000, 100]);
  assert.deepEqual(world!.slowest, { rank: 7777, node: 'c77' });
  assert.equal(world!.cpu_seconds!.max, 90);
  assert.ok(Math.abs(world!.cpu_seconds!.mean - 50.45393) < 1e-9);
  assert.ok(world!.ranks.length <= 64 && world!.ranks.some(({ rank }) => rank === 4321));
  const ranksPart = rankPart({ ranks: facts })!;
  assert.match(ranksPart.title, /^Ranks \(10.000 of srun on 100 nodes\)$/);
  assert.ok(ranksPart.rows.length <= 19);
  assert.deepEqual(ranksPart.rows.find(([rank]) => rank === '4321')!.at(-1), 'exit 3');
  assert.match(ranksPart.notes[0]!, /^9.99\d more ranks \(tacho ranks shows them\)$/);
  assert.equal(ranksPart.notes[1], 'slowest: rank 7777 on c77');
  const worlds = ranksOf(set);
  const text = ranksText(set, worlds, { limit: 32, width: 80 }).split('\n');
  assert.ok(text.length < 45 && text.every((line) => line.length <= 80), text.join('\n'));
  assert.equal(ranksCsv(set, worlds).split('\n').length, 10_002);
  assert.equal(JSON.parse(ranksJson(set, worlds)).length, 10_000);
});

test('a rank whose memory took more than 1 % of its CPU time to free: the card says that this is missing', () => {
  const notes = (kibibytes: number, seconds: number): string[] => {
    const all = ranks(2).map((each) => ({
      ...each,
      cpu: seconds,
      metrics: { ...each.metrics, usertime: seconds * 1e6, rssmax: kibibytes },
    }));
    const set = testSet(all, [testJob()]);
    return rankPart({ ranks: rankReports(material(job(100), [], { processes: set }))! })!.notes;
  };
  const missing = 'CPU time lacks what freeing the memory took at the end: more than 1 %';
  assert.equal(notes(105_000, 1.1).includes(missing), true);
  assert.equal(notes(105_000, 5).includes(missing), false);
  assert.equal(notes(50_000, 0.1).includes(missing), false);
});

test('1,000 worlds are a page, too', () => {
  const set = testSet(ranks(2, 1000), [testJob()]);
  const facts = rankReports(material(job(100), [], { processes: set }))!;
  assert.deepEqual([facts.worlds, facts.ranks, facts.largest.length], [1000, 2000, 20]);
  const ranksPart = rankPart({ ranks: facts })!;
  assert.equal(ranksPart.rows.length, 8);
  assert.match(ranksPart.notes[0]!, /^992 more worlds/);
  assert.ok(ranksText(set, ranksOf(set), { limit: 32, width: 80 }).split('\n').length < 50);
});
