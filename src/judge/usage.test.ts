import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Statistics } from '../recording/statistics.ts';
import type { Material, NodeMaterial } from './material.ts';
import { cpuOf } from './usage.ts';

test("what a job's cgroup counted before its first sample is the job's, unless it is older than the recording", () => {
  const usage = { count: 3, first: 0.3e6, last: 2.7e6, increase: 2.4e6 } as Statistics;
  const seconds = (service: boolean, range?: Material['range'], began?: number): number => {
    const node = {
      node: 'c1',
      agent: {
        scope: { members: 'cgroup' },
        facts: { cpus: 2 },
        ticks: 3,
        tables: [],
        unmeasured: [],
        ...(service ? { service } : {}),
      },
      tables: new Map([
        ['cgroup', { rows: 3, series: [{ start: began, keys: { cgroup: '.' }, columns: { usage_us: usage } }] }],
      ]),
    } as unknown as NodeMaterial;
    const job = { nodes: ['c1'], start: 0, ...(began === undefined ? {} : { restart: 1 }) };
    return cpuOf({ job, nodes: [node], range } as unknown as Material, node)!.seconds;
  };
  // the cgroup of a job that a node's agent records was made with the job
  assert.equal(seconds(true), 2.7);
  // `tacho start` came later: the shell's work before it is not in the recording
  assert.equal(seconds(false), 2.4);
  assert.equal(seconds(true, { from: 1 } as Material['range']), 2.4);
  // a run before this one has left its cgroup: 0.3 s on two CPUs in a tenth of a second, or in a fifth
  assert.deepEqual([seconds(true, undefined, 0.1e6), seconds(true, undefined, 0.2e6)], [2.4, 2.7]);
});
