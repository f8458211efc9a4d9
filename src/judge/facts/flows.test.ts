import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testSet } from '../../../test/made/processes.ts';
import { agent, cgroup, job, material, node, START, span } from '../../../test/made/report-jobs.ts';
import { count, series, table } from '../../../test/made/report-statistics.ts';
import { flowsOf } from './flows.ts';

const lifetime = span(100);

const network = (...all: [name: string, kind: string, received: number][]) =>
  table(
    'network',
    all.map(([name, kind, received]) =>
      series(
        lifetime,
        { interface: name },
        { received_bytes: count(lifetime, received), sent_bytes: count(lifetime, 2 * received) },
        { class: kind },
      ),
    ),
  );

const flowOf = (tables: Parameters<typeof node>[2], what: string, record = agent('c1', lifetime), more = {}) =>
  flowsOf(material(job(100), [node('c1', record, tables)], more)).find((flow) => flow.what === what);

test('virtual interfaces count where a node has no others, and that is said', () => {
  const inContainer = flowOf([network(['lo', 'loopback', 5e9], ['eth0', 'virtual', 210e6])], 'network')!;
  assert.deepEqual([inContainer.in_bytes, inContainer.out_bytes, inContainer.virtual], [210e6, 420e6, true]);
  const bridged = flowOf([network(['br0', 'virtual', 7e6], ['veth1', 'stacked', 7e6])], 'network')!;
  assert.equal(bridged.in_bytes, 7e6);
  const hardware = flowOf([network(['eth0', 'ethernet', 3e6], ['docker0', 'virtual', 1e6])], 'network')!;
  assert.deepEqual([hardware.in_bytes, hardware.virtual], [3e6, undefined]);
  assert.equal(flowOf([network(['lo', 'loopback', 5e9])], 'network'), undefined);
});

test('what the agent wrote within the job’s cgroup is not the job’s', () => {
  const tables = [
    cgroup(lifetime, 1, 1e9, { io_read_bytes: count(lifetime, 4096), io_written_bytes: count(lifetime, 7.5e6) }),
    table('agent', [series(lifetime, {}, { written_bytes: count(lifetime, 8e6) })]),
  ];
  const scope = { members: 'cgroup', cgroup: '/job_1', cgroup_with_agent: true };
  const inside = agent('c1', lifetime, { scope, on_disk: true });
  const written = (record: typeof inside, bytes: number) =>
    flowOf(tables, 'job, local disks', record, {
      processes: testSet([{ pid: 5, to: 100, metrics: { write_bytes: bytes } }]),
    })!.out_bytes;
  assert.equal(written(inside, 0), 0);
  // what the job’s own processes sent to disks stays theirs
  assert.equal(written(inside, 3e6), 3e6);
  assert.equal(written(agent('c1', lifetime), 0), 7.5e6);
  // a recording on a server, or one that does not say where it lies: no disk has seen those bytes
  assert.equal(written({ ...inside, on_disk: false }, 0), 7.5e6);
  assert.equal(written(agent('c1', lifetime, { scope }), 0), 7.5e6);
});

test('what processes wrote is theirs also where only samples tell, and in a part of the job', () => {
  const tables = [
    cgroup(lifetime, 1, 1e9, { io_written_bytes: count(lifetime, 9e6) }),
    table('agent', [series(lifetime, {}, { written_bytes: count(lifetime, 8e6) })]),
    table('process', [
      series(
        lifetime,
        { pid: '5', start: String(START / 1000) },
        { written_bytes: count(lifetime, 6e6), user_ms: count(lifetime, 1) },
      ),
    ]),
  ];
  const scope = { members: 'cgroup', cgroup: '/job_1', cgroup_with_agent: true };
  const written = (more: object) =>
    flowOf(tables, 'job, local disks', agent('c1', lifetime, { scope, on_disk: true }), more)!;
  assert.equal(written({}).out_bytes, 6e6);
  assert.equal(written({ range: { what: 'part', from: lifetime.start, to: lifetime.end } }).out_bytes, 6e6);
});

test('of what the agent wrote as much is taken off as lies in the time of the cgroup’s samples', () => {
  const late = { ...lifetime, start: lifetime.start + 50e6 };
  const tables = [
    cgroup(late, 1, 1e9, { io_written_bytes: count(late, 9e6) }),
    table('agent', [series(lifetime, {}, { written_bytes: count(lifetime, 8e6) })]),
  ];
  const scope = { members: 'cgroup', cgroup: '/job_1', cgroup_with_agent: true };
  assert.equal(flowOf(tables, 'job, local disks', agent('c1', lifetime, { scope, on_disk: true }))!.out_bytes, 5e6);
});
