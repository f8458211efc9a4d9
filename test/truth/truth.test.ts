import assert from 'node:assert/strict';
import { test } from 'node:test';
import { truthTable } from '../../scripts/truth-reference.ts';
import { isWithin, ratioOf, verdictOf } from '../../scripts/truth-verdict.ts';
import { hasCompiler } from '../fake-gpu/build.ts';
import { type Figure, onGround } from './ground.ts';
import { jobs } from './jobs.ts';

const skip = !hasCompiler() && 'needs a C compiler for the jobs';

test('jobs of known size: what Tacho says is what others measured of the same run', { skip }, async (t) => {
  await onGround(
    async (ground) => {
      for (const job of jobs.filter(({ quick }) => quick)) {
        await t.test(job.name, (t) => {
          const figures = job.run(ground);
          for (const figure of figures) assert.ok(isWithin(figure), textOf(figure));
          if (figures.length === 0) t.skip('nothing here can measure it independently');
        });
      }
    },
    (what, why) => t.diagnostic(`left out: ${what}: ${why}`),
  );
});

const textOf = ({ what, tacho, truth, by }: Figure): string => `${what}: ${tacho}, but ${truth} (${by})`;

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
  const reported = (one: Figure) => [isWithin(one), verdictOf(one)];
  assert.deepEqual(reported(figure(1.01, 1)), [true, 'within 1 %']);
  assert.deepEqual(reported(figure(1.014, 1)), [true, 'within 2 %']);
  assert.deepEqual(reported(figure(1.016, 1)), [false, 'within 2 %']);
  assert.deepEqual(reported(figure(0.03, 0.02)), [false, 'off']);
  assert.deepEqual(reported(figure(0.024, 0.02)), [true, 'within its bound']);
  assert.deepEqual(reported(figure(undefined, 1)), [false, 'not measured']);
  assert.deepEqual(reported(figure(5, 1)), [false, 'off']);
  assert.equal(ratioOf(figure(0, 0)), 1);
});

test('the table of docs/truth.md: figures of the same kind in one row, what is beyond its bound and what was left out named', () => {
  const figure = (job: string, what: string, tacho: number | undefined): Figure => ({
    job,
    what,
    tacho,
    truth: 2,
    by: 'cgroup',
    share: 0.01,
    beside: 0,
  });
  const run = { machine: '2 CPUs', date: '2026-01-31', load: '0.1 to 0.9', left: ['Go: no compiler'] };
  const figures = [figure('spin', 'CPU time', 2), figure('fork', 'CPU time', 2.1), figure('leak', 'growth', undefined)];
  assert.equal(
    truthTable({ ...run, figures }),
    `All jobs on 2026-01-31. The machine had 2 CPUs; its load was 0.1 to 0.9.
3 figures: 1 within 1 %, 1 off, 1 not measured; 2 beyond their bounds.

Left out, as the machine lacked what they need: Go: no compiler.

| figure | measured by | Tacho ÷ truth |
| --- | --- | --- |
| CPU time | cgroup | spin 1.0000; fork 1.0500 **beyond its bound** |
| growth | cgroup | leak - **beyond its bound** |`,
  );
  assert.match(
    truthTable({ ...run, left: [], figures: figures.slice(0, 1) }),
    /^1 figures: 1 within 1 %; none beyond/m,
  );
});
