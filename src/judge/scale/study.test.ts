import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Report } from '../report-schema.ts';
import { amdahl, usl } from './laws.ts';
import { runOf, type ScaleRun } from './run.ts';
import { type Study, studyOf } from './study.ts';

const run = (size: number, wall: number, about: Partial<ScaleRun> = {}): ScaleRun => ({
  job: `${size}`,
  recording: `tacho-${size}`,
  name: 'solve',
  program: 'solver',
  size,
  size_source: 'tag cores',
  wall_seconds: wall,
  cpu_seconds: 100,
  nodes: 1,
  core_hours: (size * wall) / 3600,
  ...about,
});

const study = (runs: ScaleRun[], options: Partial<Parameters<typeof studyOf>[2]> = {}): Study =>
  studyOf(runs, [], { by: 'cores', efficiency: 0.7, ...options });

const SIZES = [1, 2, 4, 8, 16];

test('strong scaling: speed-up, efficiency, the law, and the size to ask for', () => {
  // a tenth of the work is serial: T(n) = 10 + 90 / n
  const scalingStudy = study(SIZES.map((n) => run(n, 100 / amdahl.speedup(n, [0.1]))));
  assert.equal(scalingStudy.kind, 'strong');
  assert.equal(scalingStudy.kind_source, 'cpu time');
  assert.deepEqual(
    scalingStudy.sizes.map(({ size, wall_seconds, efficiency }) => [
      size,
      Number(wall_seconds.toFixed(3)),
      Number(efficiency.toFixed(3)),
    ]),
    [
      [1, 100, 1],
      [2, 55, 0.909],
      [4, 32.5, 0.769],
      [8, 21.25, 0.588],
      [16, 15.625, 0.4],
    ],
  );
  const best = scalingStudy.laws.find((law) => law.best)!;
  assert.equal(best.law, 'Amdahl');
  assert.equal(best.estimates[0]!.value.toFixed(6), '0.100000');
  assert.equal(best.limit_speedup!.value.toFixed(3), '10.000');
  assert.equal(scalingStudy.laws.find(({ law }) => law === 'Gustafson')!.describes, false);
  // efficiency of n: 1 / (1 + 0.1 (n - 1)) is 0.714 at 5 and 0.667 at 6
  assert.equal(scalingStudy.recommended!.size, 5);
  assert.equal(scalingStudy.recommended!.beyond, false);
  assert.equal(study(scalingStudy.runs, { efficiency: 0.2 }).recommended!.size, 41);
  assert.equal(study(scalingStudy.runs, { efficiency: 0.2 }).recommended!.beyond, true);
  assert.equal(study(scalingStudy.runs, { efficiency: 0.1 }).recommended!.more, true);
});

test('runs of the recommended size that were slower than the law: their own efficiency stands beside it', () => {
  // of three runs on one core one was held up, so the law is too kind to two cores
  const walls = [1.17, 1.16, 5.12].map((wall) => run(1, wall));
  const recommended = study([...walls, ...[1.22, 0.96, 2.12].map((wall) => run(2, wall))]).recommended!;
  assert.equal(recommended.size, 2);
  assert.equal(recommended.efficiency_there.toFixed(2), '0.70');
  assert.equal(recommended.efficiency_measured!.toFixed(2), '0.48');
  assert.equal(study(SIZES.map((n) => run(n, 100 / n))).recommended!.efficiency_measured, undefined);
});

test('coherency: more makes it slower, and USL says from where', () => {
  const scalingStudy = study(SIZES.map((n) => run(n, 100 / usl.speedup(n, [0.02, 0.01]))));
  const best = scalingStudy.laws.find((law) => law.best)!;
  assert.equal(best.law, 'USL');
  assert.equal(best.peak_size!.toFixed(3), Math.sqrt(0.98 / 0.01).toFixed(3));
});

test('weak scaling: the work grows with the size', () => {
  // Gustafson: a tenth of the time on one is serial
  const walls = SIZES.map((n) => run(n, (100 * n) / (0.1 + 0.9 * n), { cpu_seconds: 100 * n }));
  const scalingStudy = study(walls);
  assert.equal(scalingStudy.kind, 'weak');
  const best = scalingStudy.laws.find((law) => law.best)!;
  assert.equal(best.law, 'Gustafson');
  assert.equal(best.estimates[0]!.value.toFixed(6), '0.100000');
  assert.equal(scalingStudy.sizes.at(-1)!.efficiency.toFixed(4), (14.5 / 16).toFixed(4));
  // said otherwise, it is otherwise
  assert.equal(study(walls, { kind: 'strong' }).kind_source, 'user');
  // work that was stated decides, whatever CPU time does
  const stated = SIZES.map((n) => run(n, 100 / n, { cpu_seconds: 100 * n, work: 7 }));
  assert.deepEqual([study(stated).kind, study(stated).kind_source], ['strong', 'work']);
  // active waiting: CPU time grows, and the time falls all the same
  const spinning = SIZES.map((n) => run(n, 100 / n ** 0.5, { cpu_seconds: 100 * n ** 0.6 }));
  assert.equal(study(spinning).kind, 'strong');
  // CPU time that fell a little did not grow "to the power -0.03"
  const flat = SIZES.map((n) => run(n, 100 / n, { cpu_seconds: 100 * n ** -0.03 }));
  assert.equal(study(flat).kind_why, 'CPU time did not grow with the size: the same work at every size');
});

test('a figure of merit instead of the time', () => {
  const runs = SIZES.map((n) => run(n, 60, { rate: 3 * amdahl.speedup(n, [0.05]) }));
  const scalingStudy = study(runs, { figure: 'ns_per_day', kind: 'strong' });
  assert.equal(scalingStudy.metric, 'ns_per_day');
  assert.equal(scalingStudy.sizes[1]!.speedup.toFixed(4), (2 / 1.05).toFixed(4));
  assert.equal(scalingStudy.laws.find((law) => law.best)!.estimates[0]!.value.toFixed(6), '0.050000');
});

test('what makes no study, and what to do', () => {
  assert.throws(() => study([]), /no run has a known size/);
  assert.throws(() => study([run(4, 10)]), /there is one run, of 4 cores: a study needs at least two sizes/);
  assert.throws(() => study([run(4, 10), run(4, 11)]), /all 2 runs have the same size, of 4 cores/);
  assert.throws(
    () => study([run(1, 10), run(2, 6, { program: 'other' })]),
    /these are runs of 2 programs: solver and other/,
  );
  assert.throws(
    () => studyOf([run(1, 9)], [{ job: '7', recording: 'r', why: 'it still runs' }], { by: 'cores', efficiency: 0.7 }),
    /left out: it still runs/,
  );
});

test('what is uncertain is said', () => {
  const notes = (runs: ScaleRun[]): string => study(runs).notes.join('\n');
  assert.match(notes([run(1, 10), run(2, 6)]), /Every size was run once.*\n.*no interval can be given/);
  assert.match(notes([run(1, 10), run(2, 6)]), /USL needs three/);
  assert.match(notes([run(1, 10, { waited: 0.4 }), run(2, 6)]), /In 1 run of 2, threads waited for a CPU \(up to 40 %/);
  const commands = [run(1, 10, { command: './a -t 1 big' }), run(2, 6, { command: './a -t 2 small' })];
  assert.match(notes(commands), /2 different commands/);
  const same = [
    run(1, 10, { command: 'taskset --cpu-list 0 ./a -t 1' }),
    run(2, 6, { command: 'taskset --cpu-list 0,1 ./a -t 2' }),
  ];
  assert.doesNotMatch(notes(same), /different commands/);
});

test('the size of a run: who says so, what is unknown, what contradicts', () => {
  const of = (about: {
    tags?: Record<string, string>;
    cpus?: number;
    source?: string;
    allowed?: number;
    threads?: string;
    state?: string;
  }): unknown => {
    const report = {
      recording: 'r',
      job: {
        id: '1',
        name: 'n',
        state: about.state ?? 'completed',
        tags: about.tags ?? {},
        environment: about.threads === undefined ? {} : { OMP_NUM_THREADS: about.threads },
      },
      summary: { wall_seconds: 10, nodes: 1, node_hours: 1, cpus: about.cpus, cpus_source: about.source },
      nodes: [
        { node: 'c1', status: 'recorded', cpus: about.cpus, ...(about.allowed ? { allowed_cpus: about.allowed } : {}) },
      ],
      figures: [],
    } as unknown as Report;
    const made = runOf(report, { by: 'cores' });
    return 'why' in made ? made.why : [made.size, made.size_source];
  };
  assert.deepEqual(of({ cpus: 8, source: 'asked' }), [8, 'CPUs asked for']);
  assert.deepEqual(of({ cpus: 8, source: 'limit' }), [8, 'CPUs of its cgroup']);
  assert.deepEqual(of({ cpus: 8, source: 'asked', tags: { cores: '4' } }), [4, 'tag cores']);
  assert.deepEqual(of({ cpus: 8, source: 'machine', allowed: 2 }), [2, 'CPUs that its processes may run on']);
  assert.deepEqual(of({ cpus: 8, source: 'machine', threads: '6' }), [6, 'OMP_NUM_THREADS']);
  assert.equal(of({ cpus: 8, source: 'machine' }), 'on how many cores it ran is not known');
  assert.equal(
    of({ cpus: 8, source: 'machine', allowed: 2, tags: { cores: '4' } }),
    'its tag cores says 4, but it could run on 2 CPUs',
  );
  assert.equal(of({ tags: { cores: 'many' } }), 'its tag cores is no number: "many"');
  assert.equal(of({ cpus: 8, source: 'asked', state: 'out_of_memory' }), 'it did not end well (out of memory)');
});
