import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseSacctJson } from './sacct-json.ts';

/** How numbers, states and memory look in the layouts of 21.08 and of 25.05. */
const OLD = {
  number: (n: number): unknown => n,
  state: (s: string): unknown => s,
  step: 'batch',
  plugin: 'openapi/dbv0.0.37',
};
const NEW = {
  number: (n: number): unknown => ({ set: true, infinite: false, number: n }),
  state: (s: string): unknown => [s],
  step: '12.batch',
  plugin: 'data_parser/v0.0.43',
};

function document({ number, state, step, plugin }: typeof OLD): object {
  return {
    meta: { plugin: { type: plugin, data_parser: plugin }, Slurm: { release: '25.05.1' } },
    jobs: [
      {
        job_id: 12,
        cluster: 'lab',
        user: 'ada',
        name: 'train',
        array: { job_id: 11, task_id: number(3) },
        het: { job_id: 0, job_offset: number(0) },
        nodes: 'c[1-2]',
        time: {
          elapsed: 60,
          start: 1000,
          end: 1060,
          submission: 990,
          limit: number(10),
          total: { seconds: 0, microseconds: 0 },
        },
        state: { current: state('OUT_OF_MEMORY'), reason: 'None' },
        exit_code: { return_code: number(0), signal: { id: number(125) } },
        comment: { administrator: '' },
        tres: {
          allocated: [
            { type: 'cpu', name: '', count: 8 },
            { type: 'mem', name: '', count: 2048 },
            { type: 'node', name: '', count: 2 },
            { type: 'gres', name: 'gpu', count: 2 },
            { type: 'gres', name: 'gpu:h100', count: 2 },
          ],
          requested: [{ type: 'mem', name: '', count: 1024 }],
        },
        steps: [
          {
            step: { id: step, name: 'batch' },
            time: { start: number(1000), end: number(1060), total: { seconds: 30, microseconds: 500_000 } },
            tasks: { count: 1 },
            nodes: { count: 1 },
            statistics: { energy: { consumed: number(5000) } },
            tres: {
              requested: {
                max: [
                  { type: 'mem', count: 5000 },
                  { type: 'gres', name: 'gpuutil', count: 80 },
                ],
                total: [
                  { type: 'cpu', count: 31_000 },
                  { type: 'mem', count: 5000 },
                  { type: 'fs', name: 'disk', count: 77 },
                ],
              },
              consumed: { total: [{ type: 'fs', name: 'disk', count: 33 }] },
            },
          },
        ],
      },
    ],
  };
}

for (const [name, layout] of Object.entries({ 'of 21.08': OLD, 'of 25.05': NEW }))
  test(`the layout ${name} says the same`, () => {
    const { jobs, notes, version } = parseSacctJson(JSON.stringify(document(layout)), 'a.json');
    assert.deepEqual([notes, version], [[], '25.05.1']);
    assert.deepEqual(jobs, [
      {
        id: '11_3',
        array: '11',
        cluster: 'lab',
        user: 'ada',
        name: 'train',
        state: 'out_of_memory',
        reason: 'memory ran out, and the kernel killed a process in it',
        submit: 990e6,
        start: 1000e6,
        end: 1060e6,
        wall_seconds: 60,
        nodes: ['c1', 'c2'],
        node_count: 2,
        cpus: 8,
        memory_bytes: 2 ** 31,
        gpus: 2,
        gpu_model: 'h100',
        asked: { memory_bytes: 2 ** 30, time_limit_seconds: 600 },
        cpu_seconds: 0,
        energy_joules: 5000,
        steps: [
          {
            id: 'batch',
            start: 1000e6,
            end: 1060e6,
            tasks: 1,
            nodes: 1,
            cpu_seconds: 31,
            task_memory_bytes: 5000,
            tasks_memory_bytes: 5000,
            gpu_use_max: 0.8,
            read_bytes: 77,
            written_bytes: 33,
          },
        ],
      },
    ]);
  });

test('a layout that is not known is said, and what has its name is used', () => {
  const later = { ...document(NEW), meta: { plugin: { data_parser: 'data_parser/v0.0.99' } } };
  const { jobs, notes } = parseSacctJson(JSON.stringify(later), 'a.json');
  assert.equal(jobs[0]!.cpus, 8);
  assert.deepEqual(notes, ['a.json has the layout v0.0.99, which is not known: what is known by name is used']);
});

test('JSON that is cut off, or of something else, is refused', () => {
  const text = JSON.stringify(document(NEW));
  assert.throws(
    () => parseSacctJson(text.slice(0, text.length / 2), 'a.json'),
    /a\.json cannot be imported: its JSON is cut off/,
  );
  assert.throws(() => parseSacctJson('{"nodes": []}', 'a.json'), /no output of sacct --json/);
  assert.throws(() => parseSacctJson('[1, 2]', 'a.json'), /no output of sacct --json/);
});

test('whatever is in the place of a value, nothing but jobs comes out', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (a, b, c) => {
      const [job] = (document(NEW) as { jobs: Record<string, unknown>[] }).jobs;
      const text = JSON.stringify({
        meta: a,
        jobs: [{ ...job, time: b, tres: c, steps: [a], array: b, state: c, exit_code: a }, b],
      });
      for (const parsedJob of parseSacctJson(text, 'a.json').jobs) assert.equal(typeof parsedJob.id, 'string');
    }),
  );
});
