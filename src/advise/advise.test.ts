import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { JobSummary } from '../history/tables/summary.ts';
import { type Advice, adviceOf } from './advise.ts';
import type { ResourceName } from './resources.ts';

const GIB = 2 ** 30;
const HOUR = 3600;

/** A job that asked for 16 CPUs, 64 GiB and 10 h, and used 15, 50 and 8; only what is told is otherwise. */
function job(id: number, about: Partial<JobSummary> = {}): JobSummary {
  const wall = about.wall_seconds ?? 8 * HOUR;
  const cpus = about.cpus ?? about.asked_cpus ?? 16;
  const memory = about.asked_memory_bytes ?? 64 * GIB;
  return {
    time: id * 1e9,
    job: String(id),
    cluster: 'c',
    user: 'ada',
    state: 'completed',
    name: 'train',
    program: 'train.py',
    scheduler: 'slurm',
    origin: 'recorded',
    nodes: 1,
    cpus,
    asked_nodes: 1,
    asked_cpus: cpus,
    asked_memory_bytes: memory,
    time_limit_seconds: 10 * HOUR,
    wall_seconds: wall,
    cpus_busy: 15,
    memory_peak_bytes: 50 * GIB,
    memory_peaks_bytes: 50 * GIB,
    memory_limit_bytes: 64 * GIB,
    core_hours: (cpus * wall) / HOUR,
    memory_byte_hours: (memory * wall) / HOUR,
    quality: 'A',
    ...about,
  };
}

const only = (jobs: JobSummary[], options: Parameters<typeof adviceOf>[1] = {}): Advice => {
  const all = adviceOf(jobs, options);
  assert.equal(all.length, 1);
  return all[0]!;
};
const of = ({ resources }: Advice, name: ResourceName) => resources.find(({ resource }) => resource === name)!;
const runs = (number: number, about: (i: number) => Partial<JobSummary> = () => ({})): JobSummary[] =>
  Array.from({ length: number }, (_, i) => job(i + 1, about(i)));

test('jobs that use what they ask for: nothing to change', () => {
  const advice = only(runs(20));
  assert.deepEqual(
    advice.resources.map(({ resource, verdict }) => [resource, verdict]),
    [
      ['time', 'keep'],
      ['memory', 'keep'],
      ['CPUs', 'keep'],
      ['nodes', 'keep'],
    ],
  );
  assert.deepEqual(advice.savings.core_hours, 0);
  assert.equal(advice.confidence, 'high');
  assert.deepEqual(advice.script, [
    '#SBATCH --nodes=1',
    '#SBATCH --ntasks=1',
    '#SBATCH --cpus-per-task=16',
    '#SBATCH --mem=64G',
    '#SBATCH --time=10:00:00',
  ]);
});

test('less of everything, and what it saves', () => {
  const advice = only(runs(20, () => ({ cpus_busy: 3.6, memory_peak_bytes: 10 * GIB, wall_seconds: 2 * HOUR })));
  assert.equal(of(advice, 'CPUs').advised, 4);
  assert.equal(of(advice, 'memory').advised, 12 * GIB);
  assert.equal(of(advice, 'time').advised, 2.5 * HOUR);
  // 12 CPUs and 52 GiB less, in 20 runs of two hours
  assert.equal(advice.savings.core_hours, 480);
  assert.equal(advice.savings.memory_byte_hours, 20 * 2 * 52 * GIB);
  assert.equal(advice.savings.core_share, 0.75);
  assert.ok(advice.uncertain.some((text) => /CPUs busy are a mean/.test(text)));
  assert.deepEqual(advice.script.slice(2), [
    '#SBATCH --cpus-per-task=4',
    '#SBATCH --mem=12G',
    '#SBATCH --time=02:30:00',
  ]);
});

test('what fits is no reason to ask for more, however coarse the steps', () => {
  const MIB = 2 ** 20;
  const small = only(
    runs(5, () => ({
      asked_memory_bytes: 200 * MIB,
      memory_limit_bytes: 200 * MIB,
      memory_peak_bytes: 15 * MIB,
      time_limit_seconds: 120,
      wall_seconds: 20,
    })),
  );
  assert.deepEqual(
    [of(small, 'memory').verdict, of(small, 'memory').advised, of(small, 'time').verdict, of(small, 'time').advised],
    ['keep', 200 * MIB, 'keep', 120],
  );
  assert.match(of(small, 'memory').why, /at most 15\.0 MiB, .* with a margin of 20 %$/);
  // what does not fit with the margin is
  const tight = only(runs(5, () => ({ time_limit_seconds: 120, wall_seconds: 110 })));
  assert.deepEqual([of(tight, 'time').verdict, of(tight, 'time').advised], ['more', 300]);
});

test('CPUs: the 95th percentile and the margin, never below any run, and the tail', () => {
  const advice = only(runs(40, (i) => ({ cpus_busy: i === 7 ? 8.5 : 3.6 })));
  const cpus = of(advice, 'CPUs');
  assert.deepEqual([cpus.advised, cpus.usual, cpus.tail], [9, 4, [{ job: '8', value: 8.5 }]]);
  assert.match(cpus.why, /on average, with a margin of 10 %$/);
  const serial = of(only(runs(5, () => ({ cpus_busy: 0.99 }))), 'CPUs');
  assert.deepEqual([serial.advised, serial.tail], [1, []]);
  assert.match(serial.why, /1 CPU.* on average: one CPU at a time is enough$/);
});

test('the tail is named: most would need less', () => {
  const advice = only(runs(40, (i) => ({ memory_peak_bytes: (i === 7 ? 48 : 8) * GIB })));
  const memory = of(advice, 'memory');
  // never below what was used: 48 GiB, though 95 % used 8
  assert.equal(memory.advised, 48 * GIB);
  assert.equal(memory.usual, 10 * GIB);
  assert.deepEqual(memory.tail, [{ job: '8', value: 48 * GIB }]);
});

test('runs that did not complete are the least that is needed, not how much', () => {
  const killed = only([
    ...runs(6, () => ({ memory_peak_bytes: 20 * GIB })),
    job(7, { state: 'out_of_memory', memory_peak_bytes: 63 * GIB }),
  ]);
  const memory = of(killed, 'memory');
  assert.equal(memory.verdict, 'more');
  assert.equal(memory.advised, 80 * GIB);
  assert.deepEqual(memory.evidence.at_least, [{ job: '7', value: 64 * GIB, why: 'killed because memory ran out' }]);
  assert.equal(memory.evidence.p95, 20 * GIB);
  assert.match(
    memory.why,
    /job 7 was killed because memory ran out at 64\.0 GiB: it needed at least that, how much more/,
  );
  const late = only([...runs(3), job(4, { state: 'timeout', wall_seconds: 10 * HOUR })]);
  assert.equal(of(late, 'time').verdict, 'more');
  assert.equal(of(late, 'time').advised, 12.5 * HOUR);
  assert.ok(late.uncertain.some((text) => /1 run did not complete: it shows the least/.test(text)));
  // nobody can say how much a program needs that never ended
  const never = only([job(1, { state: 'failed', memory_peak_bytes: 2 * GIB, wall_seconds: 60 })]);
  assert.deepEqual(
    [of(never, 'memory').verdict, of(never, 'time').verdict, of(never, 'CPUs').verdict],
    ['unknown', 'unknown', 'unknown'],
  );
  assert.match(of(never, 'memory').why, /no run completed: at least 2\.0 GiB is needed/);
  assert.match(never.uncertain[0]!, /No run completed/);
  assert.deepEqual(never.script.slice(3), ['#SBATCH --mem=64G', '#SBATCH --time=10:00:00']);
  // one that somebody cancelled may have hung
  const hung = only([
    ...runs(5, () => ({ wall_seconds: HOUR })),
    job(6, { state: 'cancelled', wall_seconds: 9 * HOUR }),
  ]);
  assert.equal(of(hung, 'time').advised, 75 * 60);
  assert.ok(hung.uncertain.some((text) => /6 ran longer than any that completed, and was cancelled/.test(text)));
});

test('few runs: how uncertain', () => {
  const advice = only(runs(3));
  assert.equal(advice.confidence, 'low');
  assert.match(advice.uncertain[0]!, /3 runs completed: by that alone, one of 4 further runs may use more/);
  assert.equal(only(runs(7)).confidence, 'medium');
});

test('GPUs: none used, some used, spread over nodes', () => {
  const gpus = { gpus: 4, asked_gpus: 4, gpu_hours: 32, gpu_use: 0.4 };
  const none = only(runs(5, () => ({ ...gpus, gpus_unused: 4, gpu_use: 0 })));
  assert.equal(of(none, 'GPUs').advised, 0);
  assert.ok(!none.script.some((line) => /gpu/.test(line)));
  assert.equal(none.savings.gpu_hours, 160);
  const half = only(runs(5, (i) => ({ ...gpus, gpus_unused: i === 2 ? 2 : 3 })));
  assert.equal(of(half, 'GPUs').advised, 2);
  assert.equal(half.savings.gpu_hours, 80);
  const unknown = only(runs(5, () => ({ gpus: 4, asked_gpus: 4 })));
  assert.equal(of(unknown, 'GPUs').verdict, 'unknown');
  assert.ok(unknown.script.includes('#SBATCH --gpus=4'));
});

test('nodes: what fits on fewer, with the memory of all of them', () => {
  const wide = { nodes: 4, asked_nodes: 4, cpus: 64, asked_cpus: 64, asked_memory_bytes: 256 * GIB };
  const advice = only(
    runs(20, () => ({ ...wide, cpus_busy: 12, memory_peak_bytes: 6 * GIB, memory_peaks_bytes: 20 * GIB })),
  );
  assert.equal(of(advice, 'CPUs').advised, 16);
  assert.equal(of(advice, 'nodes').advised, 1);
  // all of it on one node
  assert.equal(of(advice, 'memory').advised, 24 * GIB);
  const full = only(runs(20, () => ({ ...wide, cpus_busy: 60 })));
  assert.equal(of(full, 'nodes').verdict, 'keep');
});

test('arrays and names with numbers are one; other sizes are another', () => {
  const tasks = runs(10, (i) => ({ job: `4711_${i}`, array: '4711', name: `sweep_${i}` }));
  const advice = only(tasks);
  assert.deepEqual([advice.arrays, advice.runs], [['4711'], 10]);
  const large = runs(3, () => ({ cpus: 32, asked_cpus: 32 }));
  assert.deepEqual(
    adviceOf([...tasks, ...large]).map((one) => [one.name, one.runs]),
    [
      ['sweep_9', 10],
      ['train', 3],
    ],
  );
  assert.equal(adviceOf([...runs(3), ...large]).length, 2);
  assert.deepEqual(adviceOf([job(1, { state: 'running' })]), []);
});

test('Flux and PBS say the same in their own words', () => {
  const jobs = runs(5, () => ({
    nodes: 2,
    asked_nodes: 2,
    ranks: 8,
    gpus: 4,
    asked_gpus: 4,
    gpus_unused: 0,
    asked_memory_bytes: 128 * GIB,
  }));
  assert.deepEqual(only(jobs, { system: 'pbs' }).script, [
    '#PBS -l select=2:ncpus=8:mpiprocs=4:ngpus=2:mem=64gb',
    '#PBS -l walltime=10:00:00',
  ]);
  assert.deepEqual(only(jobs, { system: 'flux' }).script, [
    '# flux: --nodes=2',
    // four GPUs, not eight: two ranks share a slot
    '# flux: --nslots=4',
    '# flux: --cores-per-slot=4',
    '# flux: --gpus-per-slot=1',
    '# flux: --time-limit=600m',
  ]);
  assert.deepEqual(only(jobs.map((one) => ({ ...one, scheduler: 'none' }))).script, []);
});

test('memory that only file cache filled is left as it is', () => {
  const full = { memory_peak_bytes: 64 * GIB };
  assert.equal(of(only(runs(5, () => full)), 'memory').verdict, 'keep');
  const near = only(runs(5, () => ({ ...full, findings: 'cpu-serial,memory-near-limit' })));
  assert.deepEqual([of(near, 'memory').verdict, of(near, 'memory').advised], ['more', 80 * GIB]);
});

test('CPUs that threads waited for are not taken away', () => {
  const advice = only(runs(5, () => ({ cpus_busy: 4, findings: 'cpu-starved' })));
  assert.equal(of(advice, 'CPUs').verdict, 'keep');
});

test('never less than what any run used, whatever became of it', () => {
  const states = ['completed', 'failed', 'timeout', 'out_of_memory', 'preempted', 'node_fail'];
  const one = fc.record({
    state: fc.constantFrom(...states),
    wall_seconds: fc.integer({ min: 1, max: 40 * HOUR }),
    memory_peak_bytes: fc.integer({ min: 1, max: 64 * GIB }),
    cpus_busy: fc.double({ min: 0, max: 16, noNaN: true }),
    gpus_unused: fc.integer({ min: 0, max: 4 }),
  });
  fc.assert(
    fc.property(fc.array(one, { minLength: 1, maxLength: 30 }), (all) => {
      const jobs = all.map((about, i) =>
        job(i + 1, { ...about, gpus: 4, asked_gpus: 4, ...(i % 2 === 0 ? { findings: 'memory-near-limit' } : {}) }),
      );
      const advice = only(jobs);
      const most = (of: (one: JobSummary) => number): number => Math.max(...jobs.map(of));
      const { request } = advice;
      if (of(advice, 'time').advised !== undefined)
        assert.ok(request.time_seconds! >= most((each) => each.wall_seconds!));
      if (of(advice, 'memory').advised !== undefined)
        assert.ok(request.memory_bytes! >= most((each) => each.memory_peak_bytes!));
      const completed = jobs.filter(({ state }) => state === 'completed');
      if (completed.length > 0) {
        assert.ok(request.cpus! >= Math.floor(most((each) => each.cpus_busy!)));
        assert.ok(request.gpus! >= most((each) => 4 - each.gpus_unused!));
      }
      assert.ok(Object.values(request).every((value) => Number.isFinite(value)));
    }),
  );
});
