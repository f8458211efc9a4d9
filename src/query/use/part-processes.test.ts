import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BEGAN, type Told, testSet } from '../../../test/made/processes.ts';
import { agent, job, material, node, START, span } from '../../../test/made/report-jobs.ts';
import type { SampledCpu } from '../processes/sampled-cpu.ts';
import { partProcessesOf } from './part-processes.ts';

const LASTS = 100;
const lifetime = span(LASTS);
const c1 = node('c1', agent('c1', lifetime, { scope: { members: 'tree' } }), []);

/** Seconds that these processes used from second `from` to second `to` of a job of 100. */
function used(processRows: readonly Told[], sampled: readonly SampledCpu[], from: number, to: number) {
  const later = (seconds: number): number => seconds + (START - BEGAN) / 1e6;
  const processes = testSet(
    processRows.map((one) => ({
      ...one,
      from: later(one.from!),
      birth: later(one.birth ?? one.from!),
      to: later(one.to!),
    })),
  );
  const range = { what: 'the time asked for', from: START + from * 1e6, to: START + to * 1e6 };
  const samples = new Map([['c1', { series: new Map(), processes: sampled, damage: [] }]]);
  const whole = material(job(LASTS), [c1], { processes, samples });
  const partProcesses = partProcessesOf(material(job(LASTS), [c1], { range, whole }), c1);
  return partProcesses.measured === 0 ? undefined : partProcesses;
}

function sample(pid: number, start: number, points: readonly [when: number, used: number][]): SampledCpu {
  return {
    pid: String(pid),
    start: String(START / 1000 + start * 1000),
    times: points.map(([when]) => START + when * 1e6),
    used: points.map(([, seconds]) => seconds * 1e6),
  };
}

test('what a process used on both sides of an edge lies between its start, its samples and its end', () => {
  const burn = { pid: 2, from: 10.5, to: 13.5, cpu: 2.4 };
  const near = (processRows: readonly Told[], sampled: readonly SampledCpu[], from: number, to: number): number =>
    Number(used(processRows, sampled, from, to)?.seconds.toFixed(6));
  // nobody sampled it
  assert.deepEqual([near([burn], [], 0, 12), near([burn], [], 12, LASTS)], [1.2, 1.2]);
  const burnSamples = sample(2, 10.5, [
    [11, 0.1],
    [12, 1.1],
  ]);
  const cuts = [0, 10.75, 11.5, 13, LASTS];
  const secondsOfParts = cuts.slice(1).map((to, i) => near([burn], [burnSamples], cuts[i]!, to));
  assert.deepEqual(secondsOfParts, [0.05, 0.55, 1.15, 0.65]);
  // one that left no record counts as far as it was seen, and from its start
  const killed = cuts.slice(1).map((to, i) => near([], [burnSamples], cuts[i]!, to));
  assert.deepEqual(killed, [0.05, 0.55, 0.5, Number.NaN]);
  // of one that is older than the recording only what it was seen to use is the job's
  assert.equal(near([], [{ ...burnSamples, start: String(START / 1000 - 60_000) }], 0, LASTS), 1);
});

test('a process that changed nothing has no row: what it used since was in the last interval before the next one', () => {
  const late = sample(3, 10, [
    [11, 0.5],
    [31, 1.5],
  ]);
  assert.equal(used([], [late], 11, 30)?.seconds, 0);
  const processRow = { pid: 3, from: 10, to: 31, cpu: 1.5 };
  assert.equal(used([processRow], [{ ...late, times: late.times.slice(0, 1) }], 11, 30)?.seconds, 0);
});

test('a part in which no process lived has nothing to tell', () => {
  assert.equal(used([{ pid: 2, from: 1, to: 2, cpu: 1 }], [], 10, 20), undefined);
});

/** A process of up to three programs, with records or only sampled, every second or not. */
const life = (pid: number) =>
  fc
    .record({
      from: fc.double({ min: 0, max: 60, noNaN: true }),
      programs: fc.array(
        fc.record({
          lasts: fc.double({ min: 0.001, max: 12, noNaN: true }),
          busy: fc.double({ min: 0, max: 2, noNaN: true }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      isRecorded: fc.boolean(),
      isSampled: fc.boolean(),
      late: fc.double({ min: 0, max: 0.02, noNaN: true }),
    })
    .map(({ from, programs, isRecorded, isSampled, late }) => {
      const processRows: Told[] = [];
      let end = from;
      for (const { lasts, busy } of programs) {
        processRows.push({ pid, birth: from, from: end, to: end + lasts, cpu: lasts * busy, ended: 'exec' });
        end += lasts;
      }
      processRows.at(-1)!.ended = 'exit';
      const points: [number, number][] = [];
      for (let tick = Math.ceil(from); tick < end; tick++) {
        const sofar = processRows.map(
          (one) => one.cpu! * Math.min(1, Math.max(0, (tick - one.from!) / (one.to! - one.from!))),
        );
        // the kernel's clock of processes has steps of 10 ms
        points.push([tick + late, Math.ceil(sofar.reduce((a, b) => a + b, 0) * 100) / 100]);
      }
      const whole = isRecorded
        ? processRows.reduce((sum, { cpu }) => sum + cpu!, 0)
        : isSampled
          ? (points.at(-1)?.[1] ?? 0)
          : 0;
      return {
        processRows: isRecorded ? processRows : [],
        sampled: isSampled && points.length > 0 ? [sample(pid, from, points)] : [],
        whole,
      };
    });

test('adjacent parts add up to the whole, wherever a job is cut', () => {
  const jobs = fc
    .integer({ min: 1, max: 5 })
    .chain((n) => fc.tuple(...Array.from({ length: n }, (_, i) => life(i + 1))));
  const cuts = fc.array(fc.double({ min: 0, max: LASTS, noNaN: true }), { maxLength: 8 });
  fc.assert(
    fc.property(jobs, cuts, (lifetimes, between) => {
      const processRows = lifetimes.flatMap((one) => one.processRows);
      const sampled = lifetimes.flatMap((one) => one.sampled);
      const edges = [0, ...between.toSorted((a, b) => a - b), LASTS];
      const secondsOfParts = edges.slice(1).map((to, i) => used(processRows, sampled, edges[i]!, to)?.seconds ?? 0);
      const whole = lifetimes.reduce((sum, one) => sum + one.whole, 0);
      assert.ok(secondsOfParts.every((seconds) => seconds > -1e-9));
      const total = secondsOfParts.reduce((sum, seconds) => sum + seconds, 0);
      assert.ok(Math.abs(total - whole) < 1e-5, `${secondsOfParts.join(' + ')} = ${total}, not ${whole}`);
    }),
  );
});

test('what a process used in a repeated phase is what it used each time, without the gaps', () => {
  const busy = sample(
    2,
    0,
    Array.from({ length: 101 }, (_, i) => [i, i]),
  );
  const samples = new Map([['c1', { series: new Map(), processes: [busy], damage: [] }]]);
  const whole = material(job(LASTS), [c1], { samples });
  const intervals = [
    [START + 10e6, START + 20e6],
    [START + 50e6, START + 55e6],
  ] as const;
  const range = { what: 'phase "a", 2 times', from: START + 10e6, to: START + 55e6, intervals };
  assert.equal(partProcessesOf(material(job(LASTS), [c1], { range, whole }), c1).seconds, 15);
});
