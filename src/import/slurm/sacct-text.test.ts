import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { zoneNamed } from '../../base/zone.ts';
import { durationSeconds, momentIn, usageOf } from './amounts.ts';
import { parseId } from './job-id.ts';
import { runsOf } from './runs.ts';
import { parseSacctText } from './sacct-text.ts';

const UTC = zoneNamed('UTC')!;
const parse = (...lines: string[]) => parseSacctText(`${lines.join('\n')}\n`, 'sacct.txt', UTC);

test('jobs and their steps are read by the names of the columns, in any order', () => {
  const { jobs, notes } = parse(
    'State|JobID|User|Submit|Start|End|ElapsedRaw|AllocTRES|ReqTRES|TimelimitRaw|NodeList|NNodes|NTasks|TotalCPU|MaxRSS|TRESUsageInMax|TRESUsageInTot|ExitCode',
    'COMPLETED|7|ada|2026-03-01T10:00:00|2026-03-01T10:01:00|2026-03-01T11:01:00|3600|billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=16G,node=2|cpu=8,mem=16G,node=2,gres/gpu=2|120|c[1-2]|2||07:59:30||||0:0',
    'COMPLETED|7.batch||2026-03-01T10:01:00|2026-03-01T10:01:00|2026-03-01T11:01:00|3600|cpu=4,mem=8G,node=1|||c1|1|1|00:01.500|12176K|cpu=00:00:01,mem=12176K|cpu=00:00:01,mem=12176K|0:0',
    'COMPLETED|7.0||2026-03-01T10:01:00|2026-03-01T10:01:10|2026-03-01T11:00:00|3530|cpu=8,mem=16G,node=2|||c[1-2]|2|8|07:59:28|1G|mem=1G|cpu=08:00:00,mem=7.50G|0:0',
  );
  assert.deepEqual(notes, []);
  const [job] = jobs;
  assert.deepEqual([job!.cpus, job!.gpus, job!.gpu_model, job!.memory_bytes], [8, 2, 'a100', 16 * 2 ** 30]);
  assert.deepEqual(job!.nodes, ['c1', 'c2']);
  assert.deepEqual([job!.submit, job!.start, job!.end], [1772359200e6, 1772359260e6, 1772362860e6]);
  assert.equal(job!.asked.time_limit_seconds, 7200);
  assert.equal(job!.cpu_seconds, 28_770);
  assert.deepEqual(
    job!.steps.map(({ id, tasks, cpu_seconds, task_memory_bytes, tasks_memory_bytes }) => [
      id,
      tasks,
      cpu_seconds,
      task_memory_bytes,
      tasks_memory_bytes,
    ]),
    [
      ['batch', 1, 1.5, 12_468_224, 12_468_224],
      // what was sampled is more than what was waited for
      ['0', 8, 28_800, 2 ** 30, 7.5 * 2 ** 30],
    ],
  );
});

test('another version of Slurm has other columns: what is missing is said, the rest is used', () => {
  // 20.11: memory of each node, GRES instead of TRES
  const { jobs, notes } = parse(
    'JobID|User|State|Start|Elapsed|NCPUS|NNodes|ReqNodes|ReqCPUS|ReqMem|AllocGRES|UserCPU|SystemCPU|Timelimit|',
    '8|bob|CANCELLED by 1000|2026-03-01T10:00:00|1-00:00:00|4|2|2|4|2Gn|gpu:v100:3|02:00:00|10:00.000|2-00:00:00|',
    '9|bob|COMPLETED|2026-03-01T10:00:00|00:10:00|4|1|1|4|500Mc||00:00:00|00:00:01|UNLIMITED|',
  );
  assert.deepEqual(
    jobs.map((job) => [job.state, job.reason, job.wall_seconds, job.asked.memory_bytes, job.gpus, job.cpu_seconds]),
    [
      ['cancelled', 'cancelled by uid 1000', 86_400, 4 * 2 ** 30, 3, 7800],
      ['completed', undefined, 600, 2000 * 2 ** 20, undefined, 1],
    ],
  );
  assert.deepEqual([jobs[0]!.asked.time_limit_seconds, jobs[1]!.asked.time_limit_seconds], [172_800, undefined]);
  assert.deepEqual(notes, [
    'sacct.txt has no column Submit: how long jobs waited is not known',
    'sacct.txt has no column MaxRSS or TRESUsageInMax: memory use is not known',
  ]);
});

test('what is not known without a column is said in a sentence', () => {
  const { notes } = parse(
    'JobID|User|State|Start|Elapsed|Submit|TotalCPU|MaxRSS|ReqMem',
    '8|bob|COMPLETED||00:10:00||||',
  );
  assert.deepEqual(notes, [
    'sacct.txt has no column AllocCPUS or NCPUS or AllocTRES: core-hours are not known',
    'sacct.txt has no column AllocTRES or AllocGRES: GPU-hours are not known',
    'sacct.txt has no column TimelimitRaw or Timelimit: time limits are not known',
  ]);
});

test('memory per CPU or node is that of the job, also without columns of what was asked for', () => {
  const { jobs } = parse(
    'JobID|State|Start|Elapsed|NNodes|AllocCPUS|ReqCPUS|ReqMem',
    '1|COMPLETED|2026-03-01T10:00:00|00:10:00|2|8||2Gc',
    '2|COMPLETED|2026-03-01T10:00:00|00:10:00|2|8|4|2Gc',
    '3|COMPLETED|2026-03-01T10:00:00|00:10:00|2|8||4Gn',
    '4|COMPLETED|2026-03-01T10:00:00|00:10:00|2|8||4G',
    // of how many CPUs is not known
    '5|PENDING|Unknown|00:00:00||||2Gc',
  );
  assert.deepEqual(
    jobs.map(({ asked }) => (asked.memory_bytes === undefined ? undefined : asked.memory_bytes / 2 ** 30)),
    [16, 8, 8, 4, undefined],
  );
});

test('what is not parsable output of sacct is refused, with what to do', () => {
  assert.throws(() => parse('time,host,user', '1,2,3'), /no column JobID, so it is no output of sacct/);
  assert.throws(() => parse('7|ada|COMPLETED', '8|bob|FAILED'), /no line with the names of the columns/);
  assert.throws(() => parse('       JobID    JobName', '------------ ----------'), /not separated/);
  assert.throws(() => parse('\u0000\u0001', ''), /no output of sacct/);
});

test('lines that are torn are left out, and counted', () => {
  const { jobs, notes } = parse('JobID|JobName|State', '7|a|b|COMPLETED', '8|fine|COMPLETED', '9|x', 'nine|x|FAILED');
  assert.deepEqual(
    jobs.map(({ id }) => id),
    ['8'],
  );
  assert.match(notes.join('\n'), /2 lines left out: more or fewer cells/);
  assert.match(notes.join('\n'), /1 line left out: no id/);
});

test('times: of a zone, with an offset, as epoch seconds; the hour that comes twice', () => {
  const oslo = zoneNamed('Europe/Oslo')!;
  assert.equal(momentIn(oslo, '2026-07-01T12:00:00'), Date.UTC(2026, 6, 1, 10) * 1000);
  assert.equal(momentIn(oslo, '2026-07-01T12:00:00+00:00'), Date.UTC(2026, 6, 1, 12) * 1000);
  assert.equal(momentIn(oslo, '2026-07-01T12:00:00-0530'), Date.UTC(2026, 6, 1, 17, 30) * 1000);
  assert.equal(momentIn(oslo, '1794942446'), 1794942446e6);
  assert.equal(momentIn(oslo, '2026-10-25T02:30:00'), Date.UTC(2026, 9, 25, 1, 30) * 1000);
  for (const none of ['Unknown', 'None', '', '2026-02-30T00:00:00', undefined])
    assert.equal(momentIn(oslo, none), undefined);
});

test('ids of arrays, components and steps', () => {
  assert.deepEqual(parseId('12_[3-9%2]'), { id: '12_[3-9%2]', array: '12' });
  assert.deepEqual(parseId('12_3.extern'), { id: '12_3', array: '12', step: 'extern' });
  assert.deepEqual(parseId('12+1.0'), { id: '12', component: 1, step: '0' });
  for (const none of ['', 'x', '12_', '12.', '-1', '12 3']) assert.equal(parseId(none), undefined, none);
  fc.assert(
    fc.property(
      fc.nat(),
      fc.option(fc.nat(), { nil: undefined }),
      fc.constantFrom('batch', '0', '17'),
      (job, task, step) => {
        const id = task === undefined ? String(job) : `${job}_${task}`;
        assert.deepEqual(parseId(`${id}.${step}`), { id, ...(task === undefined ? {} : { array: String(job) }), step });
      },
    ),
  );
});

test('durations as Slurm writes them come back', () => {
  fc.assert(
    fc.property(fc.nat(400), fc.nat(23), fc.nat(59), fc.nat(59), (days, hours, minutes, seconds) => {
      const two = (n: number): string => String(n).padStart(2, '0');
      const all = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
      assert.equal(durationSeconds(`${days}-${two(hours)}:${two(minutes)}:${two(seconds)}`), all);
      assert.equal(durationSeconds(`${two(minutes)}:${two(seconds)}.250`), minutes * 60 + seconds + 0.25);
    }),
  );
  for (const none of ['', 'INVALID', '5', undefined]) assert.equal(durationSeconds(none), undefined);
});

test('no text makes the reader fail otherwise than in words', () => {
  const header = 'JobID|User|State|Start|End|AllocTRES|TRESUsageInMax|NodeList|ReqMem';
  const cell = fc.oneof(
    fc.string(),
    fc.constantFrom('7', '7_1', '7.batch', 'COMPLETED', 'c[1-2]', 'cpu=1,mem=', 'Unknown', '2Gc'),
  );
  fc.assert(
    fc.property(fc.array(fc.array(cell, { minLength: 9, maxLength: 9 })), (rows) => {
      const text = [header, ...rows.map((cells) => cells.map((c) => c.replaceAll(/[|\n\r]/g, '')).join('|'))].join(
        '\n',
      );
      for (const job of runsOf(parseSacctText(text, 'x', UTC).jobs)) {
        assert.match(job.id, /^\d/);
        for (const value of [job.cpus, job.memory_bytes, job.start, job.cpu_seconds])
          assert.ok(value === undefined || value >= 0, String(value));
      }
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => void usageOf(text)));
});

test('components of a heterogeneous job are one job, runs of a requeued one have their numbers', () => {
  const { jobs } = parse(
    'JobID|User|State|Start|End|AllocTRES|NodeList',
    '4+0|ada|COMPLETED|1794942448|1794942458|cpu=1,mem=100M,node=1|c1',
    '4+1|ada|FAILED|1794942448|1794942458|cpu=3,mem=300M,node=1,gres/gpu=1|c2',
    '5|ada|REQUEUED|1794942400|1794942410|cpu=2,node=1|c1',
    '5|ada|COMPLETED|1794942500|1794942510|cpu=2,node=1|c2',
    '6|ada|RESIZING|1794942400|1794942410|cpu=4,node=2|c[1-2]',
    '6|ada|COMPLETED|1794942410|1794942430|cpu=2,node=1|c2',
  );
  const runs = runsOf(jobs);
  assert.deepEqual(
    runs.map(({ id, state, restart, cpus, gpus, nodes, wall_seconds }) => [
      id,
      state,
      restart,
      cpus,
      gpus,
      nodes.join(),
      wall_seconds,
    ]),
    [
      ['4', 'failed', undefined, 4, 1, 'c1,c2', 10],
      ['5', 'cancelled', undefined, 2, undefined, 'c1', 10],
      ['5', 'completed', 1, 2, undefined, 'c2', 10],
      ['6', 'completed', undefined, 2, undefined, 'c1,c2', 30],
    ],
  );
});
