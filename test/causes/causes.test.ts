import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckResult, Finding } from '../../src/judge/report-schema.ts';
import type { Cause } from './cause.ts';
import { goFirst } from './cgroup.ts';
import { causes, mistakesIn } from './index.ts';
import { useOf } from './meanwhile.ts';
import { whyLeftOut } from './requirements.ts';
import { Stage } from './stage.ts';
import { brokenResult, isRight, isWarned, matrixOf, resultOf, totalsOf } from './verdict.ts';

const LOADED = ['cpu-starved', 'recording-gaps', 'recording-quality'];

test('a sample of jobs of known cause: what must be found is found, and nothing else', async (t) => {
  goFirst();
  const stage = new Stage();
  t.after(() => stage.close());
  for (const cause of causes.filter(({ quick }) => quick))
    await t.test(cause.name, { skip: whyLeftOut(cause) ?? false }, async () => {
      const { findings, checks } = await stage.record(cause);
      // other tests run beside it: that the job, or its recorder, had no CPU is true then
      const result = resultOf(cause, { findings: findings.filter(({ id }) => !LOADED.includes(id)), checks });
      assert.ok(isRight(result), JSON.stringify({ ...result, judged: undefined }, null, 1));
    });
});

test('the list of cases names rules that exist, and each case once', () => {
  assert.deepEqual(mistakesIn(causes), []);
  const one: Cause = { name: 'one', what: '', script: '', must: ['cpu-serail'] };
  assert.deepEqual(mistakesIn([one, { ...one, must: [] }]), [
    'two cases have the name one',
    'one: there is no rule cpu-serail',
    'one: either healthy, or with a cause',
  ]);
});

const finding = (id: string, severity: Finding['severity']): Finding => ({
  id,
  severity,
  text: `${id}!`,
  evidence: [],
  advice: '',
  confidence: 'high',
  confidence_reason: '',
});
const check = (id: string, outcome: CheckResult['outcome'], why?: string): CheckResult => ({
  id,
  title: id,
  outcome,
  ...(why === undefined ? {} : { why }),
});

test('found, missed and false are told apart, and each rule has its row', () => {
  const busy: Cause = { name: 'busy', what: '', script: '', must: ['a', 'b'], may: ['c'] };
  const result = resultOf(busy, {
    findings: [finding('a', 'info'), finding('c', 'warning'), finding('d', 'advice'), finding('a', 'critical')],
    checks: [
      check('a', 'found'),
      check('b', 'skipped', 'too short'),
      check('c', 'found'),
      check('d', 'found'),
      check('e', 'fine'),
    ],
  });
  assert.deepEqual(
    [result.missed, result.false, result.judged, result.silent],
    [['b'], ['d'], ['a', 'c', 'd', 'e'], { b: 'too short' }],
  );
  assert.deepEqual(result.findings[0], { id: 'a', severity: 'critical', text: 'a!' });
  assert.equal(isRight(result), false);
  assert.deepEqual(matrixOf(['a', 'b', 'd'], [result]), [
    { rule: 'a', causes: 1, found: 1, missed: 0, false: 0, judged: 1 },
    { rule: 'b', causes: 1, found: 0, missed: 1, false: 0, judged: 0 },
    { rule: 'd', causes: 0, found: 0, missed: 0, false: 1, judged: 1 },
  ]);
});

test('the bar: 95 % of the causes, 1 % false, and no healthy job with a warning', () => {
  const result = resultOf(
    { name: 'x', what: '', script: '', must: ['a'] },
    { findings: [finding('a', 'info')], checks: [] },
  );
  const judged = { ...result, judged: Array.from({ length: 100 }, (_, i) => `r${i}`) };
  const missed = { ...result, missed: ['a'] };
  const twenty = Array.from({ length: 19 }, () => judged);
  assert.equal(totalsOf([...twenty, missed]).isGood, true);
  assert.equal(totalsOf([...twenty, missed, missed]).isGood, false);
  assert.equal(totalsOf([{ ...judged, false: ['b'] }]).isGood, true);
  assert.equal(totalsOf([{ ...judged, false: ['b', 'c'] }]).isGood, false);
  const healthy: Cause = { name: 'fine', what: '', healthy: true, script: '', must: [], may: ['w', 'i'] };
  const resultWith = (severity: Finding['severity']) =>
    resultOf(healthy, { findings: [finding('w', severity)], checks: [] });
  assert.deepEqual([isWarned(resultWith('warning')), isWarned(resultWith('advice'))], [true, false]);
  assert.deepEqual(totalsOf([resultWith('warning')]).warned, ['fine']);
  assert.equal(totalsOf([resultWith('warning')]).isGood, false);
});

test('cpu-steal is excused while the hypervisor of the machine took CPUs, and only then', () => {
  const healthy: Cause = { name: 'fine', what: '', healthy: true, script: '', must: [] };
  const jobReport = { findings: [finding('cpu-steal', 'warning')], checks: [check('cpu-steal', 'found')] };
  const [stolen, own] = [
    resultOf(healthy, jobReport, { stolen: 0.065 }),
    resultOf(healthy, jobReport, { stolen: 0.02 }),
  ];
  assert.deepEqual([stolen.stolen, stolen.false, isWarned(stolen)], [0.065, [], false]);
  assert.deepEqual([own.stolen, own.false, isWarned(own)], [undefined, ['cpu-steal'], true]);
  assert.deepEqual(totalsOf([stolen, own]).excused, ['fine']);
  // any other warning of a healthy job stays one
  const other = { findings: [finding('io-wait', 'warning')], checks: [] };
  assert.equal(isWarned(resultOf(healthy, other, { stolen: 0.5, others: 0.9 })), true);
});

test('cpu-starved is excused while programs that are not of the run used CPUs, and only then', () => {
  const healthy: Cause = { name: 'fine', what: '', healthy: true, script: '', must: [] };
  const jobReport = { findings: [finding('cpu-starved', 'warning')], checks: [check('cpu-starved', 'found')] };
  const shared = resultOf(healthy, jobReport, { others: 0.4213, by: ['tsc'] });
  assert.deepEqual([shared.others, shared.by, shared.false, isWarned(shared)], [0.421, ['tsc'], [], false]);
  const alone = resultOf(healthy, jobReport, { others: 0.09, by: ['tsc'] });
  assert.deepEqual([alone.others, alone.false, isWarned(alone)], [undefined, ['cpu-starved'], true]);
  // who else used the machine is no excuse for a rule that misses its cause
  const starved: Cause = { name: 'starved', what: '', script: '', must: ['cpu-starved'] };
  assert.deepEqual(resultOf(starved, { findings: [], checks: [] }, { others: 0.9 }).missed, ['cpu-starved']);
});

test('a case that could not be recorded misses all its causes, and the run is not good', () => {
  const result = brokenResult({ name: 'x', what: '', script: '', must: ['a'], cannot: ['b'] }, 'no such file');
  assert.equal(isRight(result), false);
  const { causes: all, found, broken, isGood } = totalsOf([result]);
  assert.deepEqual({ all, found, broken, isGood }, { all: 2, found: 0, broken: ['x'], isGood: false });
  const healthy = brokenResult({ name: 'y', what: '', healthy: true, script: '', must: [] }, 'no such file');
  assert.deepEqual([isRight(healthy), totalsOf([healthy]).isGood], [false, false]);
});

test('CPU time of others: ended children count as their parent, but not those that init inherits; no threads of the kernel', () => {
  const stat = '7 (a (b) c) S 1 7 7 0 -1 4194560 9 9 0 0 250 30 1000 200 20 0 1 0 5 6 7';
  assert.deepEqual(useOf(stat, 7), { program: 'a (b) c', ticks: 1480, isKernel: false });
  assert.deepEqual(useOf(stat, 1), { program: 'a (b) c', ticks: 280, isKernel: false });
  assert.equal(useOf(stat.replace('S 1 ', 'S 2 '), 7).isKernel, true);
});
