import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agent, cgroup, job, material, node, sleep, span, training } from '../../../test/made/report-jobs.ts';
import type { Material } from '../../query/material.ts';
import { report } from '../report.ts';
import type { LimitName } from './limits.ts';
import { type OneRun, oneRun } from './one-run.ts';

const GIB = 2 ** 30;

const of = (jobMaterial: Material): OneRun => oneRun(jobMaterial, report(jobMaterial), 'solver');
const limit = (run: OneRun, name: LimitName) => run.limits.find(({ what }) => what === name)!;
const gain = (run: OneRun, name: string) => run.gains.find(({ what }) => what === name)!;

/** An hour of 16 CPUs and 64 GiB, as its statistics tell it. */
function hour(busy: number, memory: number, cpus = 16): Material {
  const lifetime = span(3600);
  return material(job(3600, { asked: { nodes: 1, cpus, memory_bytes: 64 * GIB } }), [
    node('c1', agent('c1', lifetime), [cgroup(lifetime, busy, memory * GIB)]),
  ]);
}

test('cores: busy, idle, one alone', () => {
  const full = of(hour(15.8, 10));
  assert.equal(limit(full, 'cores').state, 'saturated');
  assert.deepEqual(full.saturated, ['cores']);
  assert.equal(gain(full, 'cores').helps, 'unknown');
  const idle = of(hour(3, 10));
  assert.equal(limit(idle, 'cores').state, 'free');
  assert.deepEqual(gain(idle, 'cores'), {
    what: 'cores',
    helps: 'no',
    text: '3 of 16 CPUs were busy: more would be idle, too',
  });
  const one = of(hour(0.99, 10, 1));
  assert.match(gain(one, 'cores').text, /a run on two cores tells/);
  assert.match(limit(one, 'serial phase').text, /a run on one core does not show which part of it is serial/);
});

test('memory: how much larger a problem fits, and when it is at its end', () => {
  const small = of(hour(15, 10));
  assert.equal(limit(small, 'memory').state, 'free');
  assert.match(gain(small, 'memory').text, /a problem with 6 times the memory would fit/);
  const full = of(hour(15, 62));
  assert.equal(limit(full, 'memory').state, 'saturated');
  assert.equal(gain(full, 'memory').helps, 'yes');
});

test('what was not measured is not known, never free', () => {
  const run = of(hour(15, 10));
  assert.deepEqual([limit(run, 'memory bandwidth').state, limit(run, 'network').state], ['unknown', 'unknown']);
  assert.equal(limit(run, 'GPU').state, 'none');
  assert.equal(
    run.gains.find(({ what }) => what === 'GPUs'),
    undefined,
  );
});

test('GPUs: busy ones may gain, idle ones not', () => {
  const run = of(training());
  const gpu = limit(run, 'GPU');
  const bound = 1 / (1 - gpu.use! + gpu.use! / 2);
  const { helps, at_most } = gain(run, 'GPUs');
  if (gpu.use! >= 0.5) assert.deepEqual([helps, at_most!.toFixed(6)], ['yes', bound.toFixed(6)]);
  else assert.equal(helps, 'no');
});

test('a job that only sleeps is held up by nothing that was measured', () => {
  const run = of(sleep());
  assert.deepEqual(run.saturated, []);
  assert.notEqual(gain(run, 'cores').helps, 'yes');
});
