import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { writeDemo } from '../../src/demo/demo.ts';
import { importEpmt } from '../../src/import/epmt/import.ts';
import { gather } from '../../src/judge/facts/gather.ts';
import { report } from '../../src/judge/report.ts';
import type { Report } from '../../src/judge/report-schema.ts';
import type { Material } from '../../src/query/material.ts';
import { cpuOf } from '../../src/query/use/cpu.ts';
import { boundsIn, over } from '../../src/query/use/curve.ts';
import { type MemoryUse, memoryOf } from '../../src/query/use/memory.ts';
import { RESOURCES, type Resource, useOf } from '../../src/query/use/use.ts';
import { openRecording, type Recording } from '../../src/recording/folder/open.ts';
import { sealRecording } from '../../src/recording/sealed/seal.ts';
import {
  CSV_COLUMNS,
  csvText,
  JOB_START,
  type MadeProcess,
  METRICS,
  madeProcess,
  metadataOf,
  pickle3,
  tgzOf,
} from '../made/epmt-archive.ts';
import { type Kind, usedRecording, usedUpTo } from '../made/used-recording.ts';
import { START, temporary } from '../make-recording.ts';
import { makeProcessRecording } from '../process-recording.ts';

/** The use of a part is the difference of two points of one curve: parts add up, whatever a recording is made of. */

const service = { service: true as const, service_start: START - 60e6 };
const own_use = {
  c1: {
    commands: 2,
    cpu_seconds: 0.2,
    max_rss_bytes: 5e7,
    spans: [
      [START + 12e6, START + 12.2e6, 0.1] as [number, number, number],
      [START + 44e6, START + 44.2e6, 0.1] as [number, number, number],
    ],
  },
};

const KINDS: Record<string, Kind> = {
  'own cgroup': { cgroup: {} },
  'own cgroup, records': { cgroup: {}, records: 'all' },
  'own cgroup of a node’s agent that came late': { cgroup: { from: 10 }, agent: service },
  'cgroup that was gone early, records': { cgroup: { to: 40 }, records: 'all', agent: service },
  'cgroup that was made anew, records': { cgroup: { anew: 30 }, records: 'all', agent: service },
  'cgroup with the agent and commands of Tacho’s': {
    cgroup: {},
    agent: { scope: { members: 'cgroup', cgroup: '/job_17', cgroup_with_agent: true } },
    job: { own_use },
  },
  'cgroup and wait4': { cgroup: {}, wait4: true, records: 'all' },
  records: { records: 'all', samples: false },
  'records and samples': { records: 'some' },
  'records, samples and wait4': { records: 'some', wait4: true },
  'samples alone': {},
  'samples and wait4': { wait4: true },
  'samples, wait4 and commands of Tacho’s': { wait4: true, job: { own_use } },
  'wait4 alone': { wait4: true, samples: false },
  'all of the node': { node: true, samples: false, agent: { scope: { members: 'node' } } },
};

/** The CPU time that the job used between two moments, on all nodes; undefined: nobody knows. */
function cpuIn(whole: Material, from: number, to: number): number | undefined {
  const part: Material = { ...whole, range: { what: 'a part', from, to }, whole };
  const used = whole.nodes.map((node) => cpuOf(part, node)?.seconds);
  return used.every((each) => each === undefined)
    ? undefined
    : used.reduce<number>((sum, each) => sum + (each ?? 0), 0);
}

function check(folder: string, what: string): Material {
  const recording = openRecording(folder);
  const { whole } = gather(recording, { from: recording.job.start + 1 }) as { whole: Material };
  const { start, end } = recording.job;
  const card = report(gather(recording)).summary.cpu_seconds!;
  const all = cpuIn(whole, start, end!)!;
  assert.ok(Math.abs(all - card) <= 1e-6 * Math.max(1, card), `${what}: ${all} is not ${card}`);
  const moment = fc.integer({ min: start - 1_000_000, max: end! + 1_000_000 });
  fc.assert(
    fc.property(moment, moment, moment, (...moments) => {
      const [a, b, c] = moments.toSorted((x, y) => x - y) as [number, number, number];
      const [first, second, both] = [cpuIn(whole, a, b) ?? 0, cpuIn(whole, b, c) ?? 0, cpuIn(whole, a, c) ?? 0];
      assert.ok(Math.abs(first + second - both) < 1e-6, `${what}: ${first} + ${second} is not ${both}`);
      for (const part of [first, second, both])
        assert.ok(part >= -1e-9 && part <= card + 1e-6, `${what}: ${part} of ${card}`);
    }),
    { numRuns: 60 },
  );
  resourcesAddUp(whole, what);
  memoryIsTheHighest(recording, what);
  return whole;
}

/** The figures of the card: with what its parts have to add up to that. */
const onCard: Partial<Record<Resource, (card: Report) => number | undefined>> = {
  CPU: ({ summary }) => summary.cpu_seconds,
  energy: ({ summary }) => summary.energy_joules,
  'disk in': ({ flows }) => flows.find((flow) => flow.what === 'disk')?.in_bytes,
  'network in': ({ flows }) => flows.find((flow) => flow.what === 'network')?.in_bytes,
  'job, local disks out': ({ flows }) => flows.find((flow) => flow.what === 'job, local disks')?.out_bytes,
};

/** Every resource, on every node. */
function resourcesAddUp(whole: Material, what: string): void {
  const { start, end } = whole.job;
  const card = report(gather(openRecording(whole.path)));
  const moment = fc.integer({ min: start - 1_000_000, max: end! + 1_000_000 });
  for (const resource of RESOURCES) {
    const uses = whole.nodes.flatMap((node) => useOf(whole, node, resource) ?? []);
    const used = (from: number, to: number): number =>
      uses.reduce((sum, { curve }) => sum + (over(curve, [[from, to]])?.amount ?? 0), 0);
    const all = used(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
    const near = (1 + all) * 1e-9;
    if (resource in onCard) {
      const reported = onCard[resource]!(card);
      const isSame = reported === undefined ? all === 0 : Math.abs(reported - all) <= 0.5 + near;
      assert.ok(isSame, `${what}: ${resource} ${all}, on the card ${reported}`);
    }
    fc.assert(
      fc.property(moment, moment, moment, (...moments) => {
        const [a, b, c] = moments.toSorted((x, y) => x - y) as [number, number, number];
        const [first, second, both] = [used(a, b), used(b, c), used(a, c)];
        assert.ok(Math.abs(first + second - both) <= near, `${what}, ${resource}: ${first} + ${second}, not ${both}`);
        for (const part of [first, second, both])
          assert.ok(part >= -near && part <= all + near, `${what}, ${resource}: ${part} of ${all}`);
        for (const { curve } of uses) {
          const [low, high] = boundsIn(curve, [[a, c]]);
          const amount = over(curve, [[a, c]])?.amount ?? 0;
          assert.ok(low <= amount + near && amount <= high + near, `${what}, ${resource}: ${low} ${amount} ${high}`);
        }
      }),
      { numRuns: 20 },
    );
  }
  const [user, system] = (['CPU user', 'CPU system'] as const).map((resource) =>
    useOf(whole, whole.nodes[0]!, resource),
  );
  const cpu = useOf(whole, whole.nodes[0]!, 'CPU');
  if (user === undefined) return;
  const [modes, both] = [[user, system!], cpu!].map((each) =>
    [each].flat().reduce((sum, { curve }) => sum + over(curve, [[start + 7e6, start + 33e6]])!.amount, 0),
  );
  assert.ok(Math.abs(modes! - both!) < 1e-6, `${what}: ${modes} in programs and kernel, ${both} in all`);
}

/** Memory is no quantity that adds up: the whole has the highest of its parts. */
function memoryIsTheHighest(recording: Recording, what: string): void {
  const { start, end } = recording.job;
  const of = (from: number, to: number): (MemoryUse | undefined)[] => {
    const material = gather(recording, { from, to });
    return material.nodes.map((node) => memoryOf(material, node));
  };
  const whole = of(start, end!);
  fc.assert(
    fc.property(fc.integer({ min: start + 1, max: end! - 1 }), (cut) => {
      const parts = [of(start, cut), of(cut, end!)];
      whole.forEach((all, i) => {
        const highest = Math.max(...parts.map((part) => part[i]?.bytes ?? 0));
        assert.ok(highest <= (all?.bytes ?? 0), `${what}: ${highest} in a part, ${all?.bytes} in the whole`);
        if (all?.source === 'cgroup') assert.equal(highest, all.bytes, what);
      });
    }),
    { numRuns: 5 },
  );
}

for (const [what, kind] of Object.entries(KINDS))
  test(`parts add up: ${what}`, async () => {
    const folder = await usedRecording(kind);
    check(folder, what);
    sealRecording(openRecording(folder));
    check(folder, `${what}, sealed`);
  });

test('parts add up: processes that recorded themselves, on two nodes', async () => {
  const on = (pid: number) => [
    { pid, start: 1, end: 59, cpu: 30 },
    { pid: pid + 1, ppid: pid, start: 10, end: 12.5, cpu: 1.5 },
    { pid: pid + 2, ppid: pid, start: 20 },
  ];
  check(await makeProcessRecording({ c1: on(10), c2: on(50) }), 'two nodes');
});

test('parts add up: what EPMT recorded', async () => {
  const process = (pid: number, hostname: string, from: number, to: number, usertime: number): MadeProcess => {
    const [start, end] = [JOB_START + from * 1e6, JOB_START + to * 1e6];
    const metrics = Object.fromEntries(METRICS.map((name) => [name, name === 'usertime' ? usertime * 1e6 : 0]));
    return madeProcess(pid, { ppid: 10, hostname, start, end, threads: [{ tid: pid, start, end, metrics }] });
  };
  const processes = [process(10, 'c1', 0, 90, 3), process(11, 'c1', 5, 40, 30), process(12, 'c2', 41, 80, 20)];
  const out = temporary();
  const archive = path.join(out, '17.tgz');
  const entries = [
    { name: './job_metadata', bytes: pickle3(metadataOf()) },
    { name: './c1-collated-papiex-1-0.csv', bytes: csvText(processes, CSV_COLUMNS[46]) },
  ];
  fs.writeFileSync(archive, tgzOf(entries));
  const { imported } = await importEpmt([archive], { folder: path.join(out, 'imported') });
  const whole = check(imported[0]!.recording, 'EPMT');
  assert.equal(cpuIn(whole, whole.job.start, whole.job.end!), 53);
});

test('parts add up: the demo job', async () => {
  check(await writeDemo({ folder: path.join(temporary(), 'demo'), nodes: 2, gpus: 1, seconds: 120 }), 'demo');
});

test('what was used in a gap is in the whole, and in no part that does not have all of the gap', async () => {
  const recording = openRecording(await usedRecording({ cgroup: { gap: [20, 30] }, samples: false }));
  const { whole } = gather(recording, { from: START + 1 }) as { whole: Material };
  const used = (from: number, to: number): number => cpuIn(whole, START + from * 1e6, START + to * 1e6) ?? 0;
  assert.equal(cpuIn(whole, START + 22e6, START + 28e6), undefined);
  const inGap = used(0, 60) - used(0, 25) - used(25, 60);
  assert.ok(Math.abs(inGap - (usedUpTo(30.05) - usedUpTo(19.05))) < 0.1, String(inGap));
});

test('parts of a second and more are within 5 %, by cgroup, by records, and by samples with what who waited tells', async () => {
  for (const kind of [{ cgroup: {} }, { records: 'all' as const }, {}, { wait4: true }]) {
    const recording = openRecording(await usedRecording(kind));
    const { whole } = gather(recording, { from: START + 1 }) as { whole: Material };
    for (const [from, to] of [
      [3, 9],
      [30, 34.5],
      [36, 41],
      [45, 46.5],
      [40, 55],
    ] as const) {
      const [used, wanted] = [cpuIn(whole, START + from * 1e6, START + to * 1e6)!, usedUpTo(to) - usedUpTo(from)];
      assert.ok(Math.abs(used / wanted - 1) < 0.05, `${JSON.stringify(kind)} ${from}–${to}: ${used} of ${wanted}`);
    }
  }
});
