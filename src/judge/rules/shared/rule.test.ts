import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { agent, job, material, node, START, span } from '../../../../test/made/report-jobs.ts';
import { level, series, table } from '../../../../test/made/report-statistics.ts';
import { loadavgTable, powerTable } from '../../../sources/tables.ts';
import { report } from '../../report.ts';
import cpuStarved from '../cpu-starved.ts';
import { rules } from '../index.ts';
import { high } from './confidence.ts';
import { findingsOf } from './judge.ts';
import { questionsOf } from './questions.ts';
import { type Fact, type Need, type RuleContext, rule } from './rule.ts';

/** An hour on one node with a load of 20. */
function crowded() {
  const hour = span(3600);
  const load = table('loadavg', [series(hour, {}, { load1: level(hour, 20) })]);
  const steps = [
    { id: '1', start: START + 60e6, end: START + 90e6 },
    { id: '0', name: 'prepare', start: START, end: START + 60e6 },
    { id: '2' },
  ];
  const jobMaterial = material(job(3600, { steps }), [node('c1', agent('c1', hour), [load])]);
  const mark = { node: 'c1', name: 'solve' } as const;
  jobMaterial.markers = [
    { ...mark, time: START + 5e6, action: 'begin' },
    { ...mark, time: START + 9e6, action: 'end' },
    { ...mark, time: START + 12e6, action: 'begin' },
  ];
  return jobMaterial;
}

const facts = () => ({ ...report(crowded()), ...questionsOf(crowded()) });

const highLoad = (needs: readonly Need[] = [loadavgTable.col.load1]) =>
  rule({
    id: 'high-load',
    title: 'load above a limit',
    help: 'The mean load of a node was high.',
    kind: 'trouble',
    order: 1,
    needs,
    thresholds: { load: 16 },
    when(facts, { load }) {
      return facts.statistics(loadavgTable.col.load1).filter(({ statistics }) => statistics.mean > load);
    },
    severity: ({ statistics }, _, { load }) => (statistics.mean > 2 * load ? 'warning' : 'info'),
    say: ({ node, statistics }) => `${node} had a load of ${statistics.mean}`,
    evidence: ({ node, statistics }, _, { load }) => [
      { text: `load ${statistics.mean}`, from: 'loadavg', node, value: statistics.mean, threshold: load },
    ],
    advise: 'Start fewer threads.',
    confidence: high('sampled'),
  });

test('a rule is what it needs, when it holds and what it says', () => {
  const { findings, checks } = findingsOf([highLoad()], facts());
  assert.deepEqual(findings, [
    {
      id: 'high-load',
      severity: 'info',
      text: 'c1 had a load of 20',
      evidence: [{ text: 'load 20', from: 'loadavg', node: 'c1', value: 20, threshold: 16 }],
      advice: 'Start fewer threads.',
      confidence: 'high',
      confidence_reason: 'sampled',
    },
  ]);
  assert.deepEqual(checks, [{ id: 'high-load', title: 'load above a limit', outcome: 'found' }]);
});

const alone = (): RuleContext => ({ ...facts(), judgedBy: () => [] });

test('thresholds may be others than the rule’s own', () => {
  const strict = highLoad().judge(alone(), { load: 9 });
  assert.equal(Array.isArray(strict) && strict[0]?.severity, 'warning');
  assert.deepEqual(highLoad().judge(alone(), { load: 30 }), []);
});

test('limits that several rules go by are thresholds of each: those that are set count', () => {
  const waited = { cpu_utilization: 0.5, cpu_seconds: 200, cpu_wait_seconds: 150, cpu_window_seconds: 100 };
  const n = { node: 'c1', status: 'recorded', cpus: 4, cpus_source: 'asked', ...waited };
  const facts = { nodes: [n], summary: { wall_seconds: 3600 } } as unknown as RuleContext;
  const judgedWith = (limits: object): unknown => cpuStarved.judge(facts, { ...cpuStarved.thresholds, ...limits });
  assert.equal((judgedWith({}) as unknown[]).length, 1);
  for (const limits of [{ full: 0.5 }, { pressure: 0.5 }, { waited_cpus: 2 }, { wanted: 1 }])
    assert.deepEqual(judgedWith(limits), [], JSON.stringify(limits));
  for (const { id, thresholds } of rules)
    for (const [name, value] of Object.entries(thresholds)) assert.ok(Number.isFinite(value), `${id} ${name}`);
});

test('what a rule needs and the recording lacks makes it not measurable, with the reason', () => {
  const why = (need: Need) => findingsOf([highLoad([need])], facts()).checks[0];
  const about = { id: 'high-load', title: 'load above a limit' };
  const lacking: Fact = { what: 'the phase of the moon', has: () => false };
  assert.deepEqual(why(powerTable.col.power_watts), {
    ...about,
    outcome: 'unmeasurable',
    why: 'power.power_watts was not recorded',
  });
  assert.equal(why(lacking)?.why, 'the phase of the moon was not recorded');
  assert.deepEqual(why({ ...lacking, otherwise: { unmeasurable: 'it was cloudy', hint: 'look again' } }), {
    ...about,
    outcome: 'unmeasurable',
    why: 'it was cloudy',
    hint: 'look again',
  });
  const skipped = why({ ...lacking, otherwise: ({ job }) => ({ skipped: `job ${job.id} has no sky` }) });
  assert.deepEqual(skipped, { ...about, outcome: 'skipped', why: `job ${crowded().job.id} has no sky` });
});

test('a rule sees the job, its steps and its phases in the order of time', () => {
  const { spans } = facts();
  const spanRows = (kind: Parameters<typeof spans>[0]) =>
    spans(kind).map(({ name, from, to, open }) => [name, (from - START) / 1e6, (to - START) / 1e6, open === true]);
  assert.deepEqual(spanRows('job'), [[crowded().job.id, 0, 3600, false]]);
  assert.deepEqual(spanRows('step'), [
    ['prepare', 0, 60, false],
    ['1', 60, 90, false],
  ]);
  assert.deepEqual(spanRows('phase'), [
    ['solve', 5, 9, false],
    ['solve', 12, 3600, true],
  ]);
});

test('every file of the folder is a rule with its name, and each has its own place', () => {
  const files = fs
    .readdirSync(path.join(import.meta.dirname, '..'))
    .filter((name) => /^(?!index)[^.]*\.ts$/.test(name));
  assert.deepEqual(rules.map(({ id }) => `${id}.ts`).sort(), files.sort());
  assert.equal(new Set(rules.map(({ order }) => order)).size, rules.length);
});
