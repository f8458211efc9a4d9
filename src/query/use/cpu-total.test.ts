import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Statistics } from '../../recording/sealed/statistics.ts';
import type { Material, NodeMaterial } from '../material.ts';
import { makeColumns } from '../processes/set.ts';
import { cpuOf } from './cpu.ts';
import { memoryOf } from './memory.ts';

test("what a job's cgroup counted before its first sample is the job's, unless it is older than the recording", () => {
  const usage = { count: 3, first: 0.3e6, last: 2.7e6, increase: 2.4e6 } as Statistics;
  const seconds = (service: boolean, range?: Material['range'], began?: number, older = false): number => {
    const node = {
      node: 'c1',
      agent: {
        scope: { members: 'cgroup', cgroup_older: older },
        facts: { cpus: 2 },
        ticks: 3,
        tables: [],
        unmeasured: [],
        ...(service ? { service } : {}),
      },
      tables: new Map([
        [
          'cgroup',
          { rows: 3, series: [{ start: began ?? 1, end: 3e6, keys: { cgroup: '.' }, columns: { usage_us: usage } }] },
        ],
      ]),
    } as unknown as NodeMaterial;
    const job = { nodes: ['c1'], start: 0, end: 3e6, asked: {}, ...(began === undefined ? {} : { restart: 1 }) };
    return cpuOf({ job, nodes: [node], range } as unknown as Material, node)!.seconds;
  };
  // the cgroup of a job that a node's agent records was made with the job
  assert.equal(seconds(true), 2.7);
  // `tacho start` came later: the shell's work before it is not in the recording
  assert.equal(seconds(false), 2.4);
  assert.equal(seconds(true, { from: 1 } as Material['range']), 2.4);
  assert.equal(seconds(true, { to: 3e6 } as Material['range']), 2.7);
  // a run before this one has left its cgroup: 0.3 s on two CPUs in a tenth of a second, or in a fifth
  assert.deepEqual([seconds(true, undefined, 0.1e6), seconds(true, undefined, 0.2e6)], [2.4, 2.7]);
  // another job with its id has left its cgroup
  assert.equal(seconds(true, undefined, undefined, true), 2.4);
});

test('a peak after the last sample of the cgroup is taken from the record of the process', () => {
  const MIB = 2 ** 20;
  /** Of a process that began at 3.3 s and had 200 MiB; the cgroup was last sampled at `last`. */
  const memory = (
    last: number,
    sampled?: { keys: { pid: string; start: string }; mib: number },
    missing = 0,
    first = 1,
  ): unknown => {
    const columns = {
      memory_current_bytes: { count: 3, missing, max: MIB } as Statistics,
      memory_peak_bytes: { count: 3, missing, first: first * MIB, max: 2 * MIB } as Statistics,
    };
    const cgroup = { start: 0, end: last, keys: { cgroup: '.' }, columns };
    const series = (sampled === undefined ? [] : [sampled]).map(({ keys, mib }) => ({
      start: 3.4e6,
      end: 3.5e6,
      keys,
      texts: {},
      columns: { rss_peak_bytes: { max: mib * MIB, first: 0, last: mib * MIB } as Statistics },
    }));
    const node = {
      node: 'c1',
      agent: { scope: { members: 'cgroup' }, start: 0 },
      tables: new Map<string, unknown>([
        ['cgroup', { series: [cgroup] }],
        ['process', { series }],
      ]),
    } as unknown as NodeMaterial;
    const processes = makeColumns(1, ['rssmax']);
    processes.node[0] = 'c1';
    processes.source[0] = 'record';
    [processes.pid[0], processes.start[0], processes.end[0]] = [7, 3.3e6, 3.6e6];
    processes.sampled_birth[0] = 3.3e6;
    processes.metrics.get('rssmax')![0] = 200 * 1024;
    const job = { nodes: ['c1'], start: 0, interval_seconds: 1 };
    return memoryOf({ job, nodes: [node], processes } as unknown as Material, node);
  };
  assert.deepEqual(memory(3e6), { bytes: 200 * MIB, source: 'process' });
  // the kernel's own count has the whole of it
  assert.deepEqual(memory(3.7e6), { bytes: 2 * MIB, source: 'cgroup' });
  // of the last sample only CPU time could be had
  assert.deepEqual(memory(3.7e6, undefined, 1), { bytes: 200 * MIB, source: 'process' });
  // it was as large when the cgroup was sampled: most of it is shared, and charged to another cgroup
  const keys = { pid: '7', start: '3300' };
  assert.deepEqual(memory(3.5e6, { keys, mib: 195 }), { bytes: 2 * MIB, source: 'cgroup' });
  assert.deepEqual(memory(3.5e6, { keys, mib: 50 }), { bytes: 200 * MIB, source: 'process' });
  // another process had its pid before
  assert.deepEqual(memory(3.5e6, { keys: { pid: '7', start: '9000' }, mib: 195 }), {
    bytes: 200 * MIB,
    source: 'process',
  });
  // the kernel's count is from before the recording: what came and went between two samples, only its record tells
  assert.deepEqual(memory(3.7e6, undefined, 0, 2), { bytes: 200 * MIB, source: 'process' });
  assert.deepEqual(memory(3.7e6, { keys, mib: 195 }, 0, 2), { bytes: MIB, source: 'cgroup' });
});

test('the peak of a cgroup from before the recording is not the recording’s', () => {
  const MIB = 2 ** 20;
  const memory = (first: number, max: number, service = false, restart?: number, older = false): number => {
    const peak = { count: 3, first: first * MIB, last: max * MIB, max: max * MIB };
    const columns = { memory_peak_bytes: peak, memory_current_bytes: { count: 3, max: 55 * MIB } };
    const node = {
      node: 'c1',
      agent: { scope: { members: 'cgroup', cgroup_older: older }, start: 0, service },
      tables: new Map([['cgroup', { series: [{ start: 0, end: 3e6, keys: { cgroup: '.' }, columns }] }]]),
    } as unknown as NodeMaterial;
    const job = { nodes: ['c1'], start: 0, interval_seconds: 1, ...(restart === undefined ? {} : { restart }) };
    return memoryOf({ job, nodes: [node] } as unknown as Material, node)!.bytes / MIB;
  };
  // the job had had 119 MiB before, and had no more since; or it had
  assert.deepEqual([memory(119, 119), memory(119, 120)], [55, 120]);
  // the agent of a node is there from the beginning of a job, but not of its earlier run
  assert.deepEqual([memory(119, 119, true), memory(119, 119, true, 1)], [119, 55]);
  assert.equal(memory(119, 119, true, undefined, true), 55, 'nor of another job that has left its cgroup');
});

test('from a store, too, what processes told at their end counts where the cgroup was gone before', () => {
  const cpu = (processes: number, range?: Material['range']): unknown => {
    const usage = { count: 3, first: 0, last: 0.8e6, increase: 0.8e6 } as Statistics;
    const total = { count: 3, first: 0, last: processes, increase: processes } as Statistics;
    const node = {
      node: 'c1',
      agent: { scope: { members: 'cgroup' }, facts: { cpus: 2 }, ticks: 3, tables: [], unmeasured: [] },
      tables: new Map([
        ['cgroup', { rows: 3, series: [{ start: 0, end: 2e6, keys: { cgroup: '.' }, columns: { usage_us: usage } }] }],
        ['process_total', { rows: 3, series: [{ start: 0, end: 2e6, keys: {}, columns: { cpu_us: total } }] }],
      ]),
    } as unknown as NodeMaterial;
    const job = { nodes: ['c1'], start: 0, end: 2e6, asked: {} };
    return cpuOf({ job, nodes: [node], leftOut: [], range } as unknown as Material, node);
  };
  assert.deepEqual(cpu(1e6), { seconds: 1, source: 'processes' });
  assert.deepEqual(cpu(0.7e6), { seconds: 0.8, source: 'cgroup' });
  // as much of it as of the whole
  assert.deepEqual(cpu(1e6, { from: 1e6, what: 'a part' }), { seconds: 0.5, source: 'processes' });
});

test('of a job whose agent came after its end nobody knows the CPU time, in a store as in files', () => {
  const cpu = (first: number, more: Partial<Material>): unknown => {
    const total = { count: 1, first: 0, last: 0, max: 0, increase: 0 } as Statistics;
    const node = {
      node: 'c1',
      agent: {
        scope: { members: 'cgroup' },
        facts: { cpus: 2 },
        ticks: 3,
        tables: [{ name: 'process' }],
        unmeasured: [],
        service: true,
        first_sample: first,
        last_sample: first + 1e6,
      },
      tables: new Map([['process_total', { rows: 3, series: [{ start: 0, keys: {}, columns: { cpu_us: total } }] }]]),
    } as unknown as NodeMaterial;
    const job = { nodes: ['c1'], start: 0, end: 5.4e6, scheduler: 'slurm', interval_seconds: 1 };
    return cpuOf({ job, nodes: [node], ...more } as unknown as Material, node);
  };
  assert.deepEqual([cpu(5.7e6, {}), cpu(5.7e6, { leftOut: [] })], [undefined, undefined]);
  assert.deepEqual(cpu(1e6, { leftOut: [] }), { seconds: 0, source: 'processes' }, 'it was there, and saw none');
});

test('from a store, too, a peak after the last sample of the cgroup is taken from what the process told', () => {
  const memory = (time: number, range?: Material['range']): unknown => {
    const peakStatistics = { count: 1, max: 200, max_time: time } as Statistics;
    const sampleStatistics = { count: 3, missing: 0, max: 2 } as Statistics;
    const cgroup = { start: 0, end: 2e6, keys: { cgroup: '.' }, columns: { memory_current_bytes: sampleStatistics } };
    const node = {
      node: 'c1',
      agent: { scope: { members: 'cgroup' } },
      tables: new Map<string, unknown>([
        ['cgroup', { series: [cgroup] }],
        ['process_total', { series: [{ keys: {}, columns: { told_peak_bytes: peakStatistics } }] }],
      ]),
    } as unknown as NodeMaterial;
    const job = { nodes: ['c1'], start: 0, interval_seconds: 1 };
    return memoryOf({ job, nodes: [node], leftOut: [], range } as unknown as Material, node);
  };
  assert.deepEqual(memory(2.5e6), { bytes: 200, source: 'process' });
  // the kernel's count has it
  assert.deepEqual(memory(2e6), { bytes: 2, source: 'cgroup' });
  assert.deepEqual(memory(2.5e6, { from: 1, what: 'a part' }), { bytes: 2, source: 'cgroup' });
});
