import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { before, describe, test } from 'node:test';
import { gather } from '../src/judge/facts/gather.ts';
import type { Report } from '../src/judge/report-schema.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { jobSpansOf } from '../src/serve/data/spans.ts';
import { cgroupTable } from '../src/sources/cgroup/table.ts';
import { marker } from '../src/sources/own/marker.ts';
import { appendRows, type Row, START, temporary } from './make-recording.ts';
import { type GivenProcess, makeProcessRecording } from './process-recording.ts';
import { tacho } from './tacho.ts';

/** `--marker` of a phase that ran three times, with other work in the gaps: every verb means the same three stretches. */

/** Seconds of the job; 20 in all. */
const STRETCHES = [
  [5, 10],
  [20, 30],
  [45, 50],
] as const;
const GAPS = [
  [0, 5],
  [10, 20],
  [30, 45],
  [50, 60],
] as const;
/** CPUs that the job kept busy within the phase, and in the gaps. */
const [WITHIN, BETWEEN] = [2, 1];
const SECONDS = 20;
const CPU_SECONDS = WITHIN * SECONDS;

const isWithin = (second: number): boolean => STRETCHES.some(([from, to]) => second >= from && second <= to);
/** CPU seconds of the job up to a second of it. */
const usedUpTo = (second: number): number =>
  [...STRETCHES.map((each) => [...each, WITHIN]), ...GAPS.map((each) => [...each, BETWEEN])].reduce(
    (sum, [from, to, cpus]) => sum + cpus! * Math.max(0, Math.min(second, to!) - from!),
    0,
  );

async function makeJob(folder: string, id: string): Promise<void> {
  const solvers = STRETCHES.map(
    ([start, end], i): GivenProcess => ({
      ...{ pid: 201 + i, ppid: 100, start, end, exename: 'solve', tags: 'op:solve' },
      ...{ cpu: WITHIN * (end - start), threads: [end - start, end - start] },
    }),
  );
  // they do not touch the phase
  const others = GAPS.map(
    ([from, to], i): GivenProcess => ({
      ...{ pid: 301 + i, ppid: 100, start: from + 0.25, end: to - 0.25, exename: 'copy', tags: 'op:copy' },
      cpu: BETWEEN * (to - from),
    }),
  );
  await makeProcessRecording(
    { c1: [{ pid: 100, start: 0, end: 60, exename: 'bash', cpu: 0 }, ...solvers, ...others] },
    { id },
    folder,
  );
  const node = path.join(folder, 'node=c1');
  const usage = Array.from(
    { length: 61 },
    (_, second): Row => ({ time: START + second * 1e6, cgroup: '.', usage_us: usedUpTo(second) * 1e6 }),
  );
  await appendRows(node, cgroupTable, usage);
  const marks = STRETCHES.flatMap(([from, to]) => [
    { time: START + from * 1e6, action: 'begin', name: 'work' },
    { time: START + to * 1e6, action: 'end', name: 'work' },
  ]);
  await appendRows(node, marker.table, marks);
  const file = path.join(node, 'agent.json');
  const agent = JSON.parse(fs.readFileSync(file, 'utf8')) as { tables: unknown[]; scope: unknown };
  agent.tables.push(cgroupTable, marker.table);
  agent.scope = { members: 'cgroup', cgroup: '/job_17', cgroup_shared: false };
  fs.writeFileSync(file, JSON.stringify(agent));
}

for (const kind of ['live', 'sealed']) {
  describe(`a phase that ran three times, in a ${kind} recording`, () => {
    const folder = temporary();
    const outputOf = (verb: string, ...args: string[]): string => {
      const { code, out, err } = tacho([verb, ...args, '--marker', 'work'], { cwd: folder });
      assert.equal(code, 0, err);
      return out;
    };
    const json = <T>(verb: string, ...args: string[]): T =>
      JSON.parse(outputOf(verb, ...args, '--format', 'json')) as T;

    before(async () => {
      for (const id of ['17', '18']) {
        await makeJob(path.join(folder, id), id);
        if (kind === 'sealed') assert.equal(tacho(['seal', path.join(folder, id)]).code, 0);
      }
    });

    test('report: time, CPU time and share of its CPUs, and the same of its phases one by one', () => {
      const { summary, phases, confined } = json<Report>('report', '17', '--phases');
      assert.equal(confined!.what, 'phase "work", 3 times');
      assert.deepEqual([summary.wall_seconds, summary.cpu_seconds], [SECONDS, CPU_SECONDS]);
      assert.equal(summary.cpu_utilization, CPU_SECONDS / SECONDS / 4);
      assert.deepEqual(
        phases.map(({ start, end, seconds, cpu_utilization }) => [start, end, seconds, cpu_utilization]),
        STRETCHES.map(([from, to]) => [START + from * 1e6, START + to * 1e6, to - from, WITHIN / 4]),
      );
    });

    test('export: samples of its stretches alone, whose counters grow by the CPU time of the report', () => {
      const columns = ['--table', 'cgroup', '--columns', 'usage_us', '--epoch', '-o', '-'];
      const [, ...lines] = outputOf('export', '17', ...columns)
        .trim()
        .split('\n');
      const samples = lines.map((line) => {
        const cells = line.split(',');
        return { second: (Number(cells[0]) - START) / 1e6, used: Number(cells.at(-1)) / 1e6 };
      });
      assert.deepEqual(
        samples.map(({ second }) => second),
        Array.from({ length: 61 }, (_, second) => second).filter(isWithin),
      );
      const growth = STRETCHES.map(([from, to]) => {
        const own = samples.filter(({ second }) => second >= from && second <= to);
        return own.at(-1)!.used - own[0]!.used;
      });
      assert.deepEqual(
        growth,
        STRETCHES.map(([from, to]) => WITHIN * (to - from)),
      );
    });

    test('export: records of processes that ended in it', () => {
      const [head, ...lines] = outputOf('export', '17', '--table', 'process_end', '-o', '-').trim().split('\n');
      const pid = head!.split(',').indexOf('pid');
      assert.deepEqual(
        lines.map((line) => line.split(',')[pid]),
        ['201', '202', '203'],
      );
    });

    test('processes: those that ran in it, with the CPU time of the report', () => {
      const processes = json<{ pid: number; cpu_time: number }[]>('processes', '17', '--sort', 'start');
      // bash lasted all the time, the others ran in gaps
      assert.deepEqual(
        processes.map(({ pid }) => pid),
        [100, 201, 202, 203],
      );
      assert.equal(
        processes.reduce((sum, { cpu_time }) => sum + cpu_time, 0),
        CPU_SECONDS * 1e6,
      );
    });

    test('operations: a tag of processes in the gaps is none', () => {
      const operations = json<{ operation: string; processes: number; cpu_time: number }[]>('operations', '17');
      assert.deepEqual(
        operations.map(({ operation, processes, cpu_time }) => [operation, processes, cpu_time]),
        [
          ['op:solve', 3, CPU_SECONDS * 1e6],
          // bash
          ['', 1, 0],
        ],
      );
    });

    test('threads: of a process in it, and none of one in a gap', () => {
      const all = STRETCHES.flatMap((_, i) =>
        json<{ usertime: number }[]>('threads', '17', '--process', String(201 + i)),
      );
      assert.equal(all.length, 6);
      assert.equal(
        all.reduce((sum, { usertime }) => sum + usertime, 0),
        CPU_SECONDS * 1e6,
      );
      for (const [i] of GAPS.entries()) {
        const threadsArgs = ['threads', '17', '--process', String(301 + i)];
        assert.equal(tacho(threadsArgs, { cwd: folder }).code, 0);
        assert.equal(tacho([...threadsArgs, '--marker', 'work'], { cwd: folder }).code, 1);
      }
    });

    test('compare: the same time, CPU time and processes', () => {
      const { metrics } = json<{ metrics: { name: string; values: number[] }[] }>('compare', '17', '18');
      const valuesOf = (name: string): number[] => metrics.find((metric) => metric.name === name)!.values;
      assert.deepEqual(valuesOf('duration'), [SECONDS * 1e6, SECONDS * 1e6]);
      assert.deepEqual(valuesOf('CPU time'), [CPU_SECONDS * 1e6, CPU_SECONDS * 1e6]);
      assert.deepEqual(valuesOf('processes'), [4, 4]);
    });

    test('compare: where the time went adds up to the time of its stretches', () => {
      type Part = { name: string; jobs: { time: number; duration: number }[] };
      const { parts, notes } = json<{ parts: Part[]; notes: string[] }>('compare', '17', '18', '--by', 'operation');
      assert.deepEqual(
        parts.map(({ name, jobs }) => [name, ...jobs.map(({ time, duration }) => [time / 1e6, duration / 1e6])]).sort(),
        [
          // bash lasted all the time, and waited for the others in it
          ['(no recorded process ran)', [0, 0], [0, 0]],
          ['(without the tag)', [0, SECONDS], [0, SECONDS]],
          ['op:solve', [SECONDS, SECONDS], [SECONDS, SECONDS]],
        ],
      );
      assert.match(notes.join(), /figures of processes are of their whole lives/);
    });

    test('the page: a band to click for each stretch', () => {
      const { spans } = jobSpansOf(gather(openRecording(path.join(folder, '17'))));
      assert.deepEqual(
        spans.filter(({ kind }) => kind === 'phase').map(({ name, from, to }) => [name, from, to]),
        STRETCHES.map(([from, to]) => ['work', START + from * 1e6, START + to * 1e6]),
      );
    });

    test('timeline: nothing of the gaps', () => {
      const timeline = outputOf('timeline', '17', '--format', 'json');
      assert.doesNotMatch(timeline, /copy/);
    });
  });
}
