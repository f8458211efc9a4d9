import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasCompiler } from '../fake-gpu/build.ts';
import { type Figure, onGround } from './ground.ts';
import { jobs } from './jobs.ts';
import { isWithin, ratioOf, verdictOf } from './verdict.ts';

const skip = !hasCompiler() && 'needs a C compiler for the jobs';

test('jobs of known size: what Tacho says is what others measured of the same run', { skip }, async (t) => {
  await onGround(
    async (ground) => {
      for (const job of jobs.filter(({ quick }) => quick)) {
        await t.test(job.name, (t) => {
          const figures = job.run(ground);
          for (const figure of figures) assert.ok(isWithin(figure), words(figure));
          if (figures.length === 0) t.skip('nothing here can measure it independently');
        });
      }
    },
    (what, why) => t.diagnostic(`left out: ${what}: ${why}`),
  );
});

const words = ({ what, tacho, truth, by }: Figure): string => `${what}: ${tacho}, but ${truth} (${by})`;

test('a figure keeps its bound or not, and is told by its ratio', () => {
  const figure = (tacho: number | undefined, truth: number): Figure => ({
    job: 'spin',
    what: 'CPU time',
    tacho,
    truth,
    by: 'cgroup',
    share: 0.01,
    beside: 0.005,
  });
  const told = (one: Figure) => [isWithin(one), verdictOf(one)];
  assert.deepEqual(told(figure(1.01, 1)), [true, 'within 1 %']);
  assert.deepEqual(told(figure(1.014, 1)), [true, 'within 2 %']);
  assert.deepEqual(told(figure(1.016, 1)), [false, 'within 2 %']);
  assert.deepEqual(told(figure(0.03, 0.02)), [false, 'off']);
  assert.deepEqual(told(figure(0.024, 0.02)), [true, 'within its bound']);
  assert.deepEqual(told(figure(undefined, 1)), [false, 'not measured']);
  assert.deepEqual(told(figure(5, 1)), [false, 'off']);
  assert.equal(ratioOf(figure(0, 0)), 1);
});
