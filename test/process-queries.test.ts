import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { importEpmt } from '../src/import/epmt/import.ts';
import { gather } from '../src/judge/facts/gather.ts';
import { report } from '../src/judge/report.ts';
import { filterProcesses } from '../src/query/processes/filter.ts';
import { operationsOf } from '../src/query/processes/operations.ts';
import { readProcesses, recordingsSource } from '../src/query/processes/processes.ts';
import type { ProcessSet } from '../src/query/processes/set.ts';
import { readAllThreads } from '../src/query/processes/threads.ts';
import type { Job } from '../src/recording/folder/job.ts';
import { nodeFolder } from '../src/recording/folder/node-folder.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { processTable } from '../src/sources/process/table.ts';
import { processEndTable, processStartTable, threadEndTable } from '../src/sources/records/tables.ts';
import type { Table } from '../src/table/table.ts';
import { agentOf, appendRows, jobOf, type Row, START, temporary } from './make-recording.ts';
import { onTerminal, tacho, whyNoTerminal } from './tacho.ts';

const TABLES = {
  process_start: processStartTable,
  process_end: processEndTable,
  thread_end: threadEndTable,
  process: processTable,
};
type Rows = Partial<Record<keyof typeof TABLES, Row[]>>;

/** Seconds after the job's start, as epoch microseconds. */
const at = (seconds: number): number => START + seconds * 1e6;
/** The kernel's clock, which began a day before the job. */
const ticks = (seconds: number): number => (86_400 + seconds) * 100;

async function recordingOf(rows: Rows, job: Partial<Job> = {}): Promise<string> {
  const folder = path.join(temporary(), `tacho-${job.id ?? '17'}`);
  const nodePath = path.join(folder, nodeFolder('c1'));
  fs.mkdirSync(nodePath, { recursive: true });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(jobOf(job)));
  const used: Table[] = [];
  for (const [name, table] of Object.entries(TABLES)) {
    const own = rows[name as keyof Rows];
    if (own === undefined) continue;
    used.push(table);
    await appendRows(nodePath, table, own);
  }
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agentOf('c1', used)));
  return folder;
}

const started = (pid: number, from: number, more: Record<string, number | string> = {}): Row => ({
  time: at(from),
  pid: String(pid),
  start: String(at(from)),
  ppid: 1,
  exename: `p${pid}`,
  began: 'exec',
  ...more,
});
const ended = (pid: number, from: number, to: number, more: Record<string, number | string> = {}): Row => {
  const { began, ...start } = started(pid, from);
  return {
    ...start,
    time: at(to),
    ended: 'exit',
    exitcode: 0,
    numtids: 1,
    usertime: 0,
    systemtime: 0,
    starttime: ticks(from),
    ...more,
  };
};
const sampled = (pid: number, start: number, when: number, more: Record<string, number | string> = {}): Row => ({
  time: at(when),
  pid: String(pid),
  start: String(at(start) / 1000),
  name: `p${pid}`,
  user: 'ada',
  uid: 1000,
  ppid: 1,
  ...more,
});

const read = (folder: string): ProcessSet => readProcesses([openRecording(folder)]);
const byPid = (set: ProcessSet): number[] =>
  [...set.pid].map((_, i) => i).sort((a, b) => set.pid[a]! - set.pid[b]! || set.start[a]! - set.start[b]!);

test('a process that is older than the recording counts only what it did in it, wherever that is read', async () => {
  const counters = (n: number): Record<string, number> => ({
    user_ms: n * 1000,
    system_ms: n * 100,
    minor_faults: n,
    major_faults: n,
    read_chars: n,
    written_chars: n,
    read_bytes: n,
    written_bytes: n,
    voluntary_switches: n,
    involuntary_switches: n,
    wait_ms: n,
  });
  const folder = await recordingOf({
    process_end: [
      // a shell that lived before, and then executed what records itself
      ended(12, 20, 50, { usertime: 73e6, systemtime: 7.3e6, rchar: 73, starttime: ticks(-500) }),
      ended(14, 1, 2),
    ],
    process_start: [started(14, 1)],
    process: [
      sampled(11, -500, 0, { ...counters(900), rss_bytes: 1 << 20, rss_peak_bytes: 9 << 20 }),
      sampled(12, -500, 0, { ...counters(70), rss_bytes: 1 << 20, rss_peak_bytes: 2 << 20 }),
      sampled(13, 4, 5, { ...counters(3), rss_bytes: 1 << 20, rss_peak_bytes: 5 << 20 }),
      sampled(11, -500, 40, { ...counters(907), rss_bytes: 2 << 20, rss_peak_bytes: 9 << 20 }),
      sampled(12, -500, 40, { ...counters(72), rss_bytes: 1 << 20, rss_peak_bytes: 3 << 20 }),
      sampled(13, 4, 40, { ...counters(4), rss_bytes: 1 << 20, rss_peak_bytes: 5 << 20 }),
    ].sort((a, b) => a.time - b.time),
  });
  const metrics =
    'usertime systemtime minflt majflt rchar wchar read_bytes write_bytes vol_ctxsw invol_ctxsw time_waiting'.split(
      ' ',
    );
  const processesNow = (): unknown => {
    const set = read(folder);
    const of = (pid: number): number[] => {
      const i = set.pid.indexOf(pid);
      return [...metrics, 'rssmax'].map((name) => set.metrics.get(name)![i]!);
    };
    assert.deepEqual(of(11), [7e6, 0.7e6, 7, 7, 7, 7, 7, 7, 7, 7, 7e6, 2048], 'the old mark of memory says nothing');
    assert.deepEqual(of(13), [4e6, 0.4e6, 4, 4, 4, 4, 4, 4, 4, 4, 4e6, 5120]);
    const twelve = set.pid.indexOf(12);
    assert.equal(set.cpu_time[twelve], 3.3e6);
    assert.equal(set.metrics.get('rchar')![twelve], 3);
    const { summary, processes } = report(gather(openRecording(folder)));
    const eleven = processes.find(({ pid }) => pid === '11')!;
    assert.deepEqual([eleven.cpu_seconds, eleven.read_bytes, eleven.rss_max_bytes], [7.7, 7, 2 << 20]);
    assert.equal(eleven.seconds, 40);
    assert.equal(Math.round(summary.cpu_seconds! * 1e6), 7.7e6 + 4.4e6 + 3.3e6);
    return { summary, processes };
  };
  const live = processesNow();
  sealRecording(openRecording(folder));
  assert.deepEqual(processesNow(), live);
});

test('sampled one after the other: peaks of memory are not added up; in a part a process that began there counts whole', async () => {
  const one = (pid: number, from: number): Row[] => [
    sampled(pid, from + 0.2, from + 1, { state: 'S', user_ms: 400, rss_bytes: 64 << 20, rss_peak_bytes: 64 << 20 }),
    // gone at the tick at which the next one is seen first
    sampled(pid, from + 0.2, from + 2, { state: 'X', user_ms: 400, rss_bytes: 64 << 20, rss_peak_bytes: 64 << 20 }),
  ];
  const folder = await recordingOf({
    process: [...one(11, 0), ...one(12, 1), ...one(13, 2)].sort((a, b) => a.time - b.time),
  });
  const reportFrom = (from?: number) =>
    report(gather(openRecording(folder), from === undefined ? {} : { from: at(from), to: at(60) }));
  assert.equal(reportFrom().summary.memory!.process_peaks_sum, 64 << 20);
  assert.equal(reportFrom().summary.cpu_seconds!.toFixed(6), '1.200000');
  const cpu = reportFrom(2.1).processes.map(({ pid, cpu_seconds }) => [pid, cpu_seconds]);
  assert.deepEqual(cpu.sort(), [
    ['12', 0],
    ['13', 0.4],
  ]);
});

test('a part of the job: what began and ended in it by its records, the rest between its records and samples', async () => {
  const folder = await recordingOf({
    process_end: [
      ended(11, 1, 1.5, { usertime: 0.4e6 }),
      ended(12, 2, 2.5, { usertime: 0.3e6 }),
      ended(13, 9, 20, { usertime: 7e6 }),
    ],
    process_start: [started(11, 1), started(12, 2), started(13, 9)],
    process: [
      // sampling saw a tenth of one of them, and one that reaches into the part
      sampled(12, 2, 2.1, { state: 'R', user_ms: 30 }),
      sampled(13, 9, 9.5, { state: 'R', user_ms: 200 }),
      sampled(13, 9, 10, { state: 'R', user_ms: 500 }),
    ],
  });
  const usedBetween = (from: number, to: number) => {
    const { cpu_seconds, cpu_source } = report(gather(openRecording(folder), { from: at(from), to: at(to) })).summary;
    return [cpu_seconds?.toFixed(3), cpu_source];
  };
  assert.deepEqual(usedBetween(0, 5), ['0.700', 'records']);
  assert.deepEqual(usedBetween(1.9, 10), ['0.800', 'records and samples']);
  // two of the ten seconds between its last sample and its end
  assert.deepEqual(usedBetween(10, 12), ['1.300', 'records and samples']);
});

test('an end record is whole; one without an end is filled from sampling; one that nobody recorded is sampled', async () => {
  const folder = await recordingOf({
    process_start: [started(10, 1, { uid: 1000 }), started(11, 2, { ppid: 10, uid: 1001 }), started(12, 3)],
    process_end: [
      ended(10, 1, 50, { usertime: 3e6, systemtime: 1e6, numtids: 5, rssmax: 2048, exitcode: 3, uid: 1000 }),
    ],
    process: [
      sampled(11, 2, 5, { user_ms: 1000, system_ms: 500, rss_bytes: 1 << 20, rss_peak_bytes: 3 << 20, threads: 2 }),
      sampled(11, 2, 40, { user_ms: 9000, rss_bytes: 2 << 20 }),
      sampled(13, 4, 30, { user_ms: 700, command: '/bin/static --fast', name: 'static', ppid: 10 }),
    ],
  });
  const set = read(folder);
  const [a, b, c, d] = byPid(set);
  assert.deepEqual(
    [a!, b!, c!, d!].map((i) => [set.pid[i], set.source[i], set.exename[i], set.user[i]]),
    [
      [10, 'record', 'p10', 'ada'],
      [11, 'start', 'p11', '1001'],
      [12, 'start', 'p12', 'ada'],
      [13, 'sample', 'static', 'ada'],
    ],
  );
  assert.equal(set.cpu_time[a!], 4e6);
  assert.equal(set.threads[a!], 5);
  assert.equal(set.exitcode[a!], 3);
  assert.equal(set.end[b!], at(40), 'seen last');
  assert.equal(set.cpu_time[b!], 9.5e6, 'each counter as it was seen last');
  assert.equal(set.metrics.get('rssmax')![b!], 3072);
  assert.equal(set.parent[b!], a);
  assert.equal(set.end[c!], Number.NaN, 'nobody knows');
  assert.equal(set.cpu_time[c!], Number.NaN);
  assert.equal(set.args[d!], '--fast');
  assert.equal(set.start[d!], at(4));
  assert.equal(set.parent[d!], a);
});

test('images of one process: counters that exec does not reset become each image’s own part', async () => {
  const folder = await recordingOf({
    process_end: [
      ended(10, 1, 5, { ended: 'exec', usertime: 2e6, rchar: 100, rssmax: 500, starttime: ticks(1) }),
      ended(10, 5.1, 9, { usertime: 3e6, rchar: 70, rssmax: 300, starttime: ticks(1), ppid: 99 }),
      ended(10, 20, 29, { usertime: 1e6, rchar: 10, rssmax: 300, starttime: ticks(20) }),
    ],
  });
  const set = read(folder);
  const order = byPid(set);
  assert.deepEqual(
    order.map((i) => set.cpu_time[i]),
    [2e6, 1e6, 1e6],
  );
  assert.deepEqual(
    order.map((i) => set.metrics.get('rchar')![i]),
    [100, 70, 10],
    'a counter that fell began again',
  );
  assert.deepEqual(
    order.map((i) => set.metrics.get('rssmax')![i]),
    [500, 300, 300],
  );
  assert.deepEqual(
    order.map((i) => set.ppid[i]),
    [1, 1, 1],
    'an orphan keeps the parent that started it',
  );
});

test('a program that could not execute another has one row, its last', async () => {
  const folder = await recordingOf({
    process_end: [ended(10, 1, 5, { ended: 'exec', usertime: 1e6 }), ended(10, 1, 9, { usertime: 4e6 })],
  });
  const set = read(folder);
  assert.equal(set.length, 1);
  assert.equal(set.cpu_time[0], 4e6);
  assert.equal(set.ended[0], 'exit');
});

test('a child that was forked only to execute another program is where that program began', async () => {
  const folder = await recordingOf({
    process_start: [started(10, 0), started(11, 1, { ppid: 10, began: 'fork' }), started(11, 1.2, { ppid: 10 })],
    process_end: [ended(10, 0, 1.1), ended(11, 1.2, 9, { ppid: 1, starttime: ticks(1) })],
  });
  const set = read(folder);
  const [parent, child] = byPid(set);
  assert.equal(set.length, 2);
  assert.equal(set.start[child!], at(1.2));
  assert.equal(set.parent[child!], parent, 'who had ended before the program began');
});

test('a program that leaves no records after exec is told from sampling', async () => {
  const folder = await recordingOf({
    process_end: [ended(10, 1, 5, { ended: 'exec', usertime: 2e6 })],
    process: [
      sampled(10, 1, 3, { user_ms: 1500 }),
      sampled(10, 1, 45, { user_ms: 12_000, name: 'static', command: './static' }),
    ],
  });
  const set = read(folder);
  const [first, second] = byPid(set);
  assert.equal(set.length, 2);
  assert.deepEqual([set.source[first!], set.source[second!]], ['record', 'sample']);
  assert.equal(set.exename[second!], 'static');
  assert.equal(set.start[second!], at(5));
  assert.equal(set.cpu_time[second!], 10e6, 'without what was recorded before');
});

test('a child that executed a program which leaves no records is told as what sampling saw', async () => {
  const folder = await recordingOf({
    process_start: [
      started(10, 1, { exename: 'bash', began: 'fork' }),
      started(11, 1, { exename: 'bash', began: 'fork' }),
    ],
    process: [
      sampled(10, 1, 30, { user_ms: 4000, name: 'static', command: './static -x' }),
      sampled(11, 1, 30, { user_ms: 10, name: 'bash', command: 'bash job.sh' }),
    ],
  });
  const set = read(folder);
  assert.deepEqual(
    byPid(set).map((i) => [set.exename[i], set.args[i], set.source[i], set.cpu_time[i]]),
    [
      ['static', '-x', 'sample', 4e6],
      ['bash', '', 'start', 1e4],
    ],
  );
});

test('only samples: an answer all the same, marked', async () => {
  const folder = await recordingOf({
    process: [
      sampled(10, 1, 2, { user_ms: 100 }),
      sampled(10, 1, 30, { user_ms: 5000 }),
      sampled(11, 3, 9, { user_ms: 60, ppid: 10 }),
    ],
  });
  const result = tacho(['processes', folder]);
  assert.equal(result.code, 0, result.err);
  assert.match(result.out, / 10 +5\.0 s .*sampled {2}p10\n/);
  assert.match(result.out, /sampled: no process recorded itself; short ones are missing\n$/);
  const tree = tacho(['processes', '--tree', folder]);
  assert.match(tree.out, /5\.1 s +5\.0 s +100 % +10 {2}p10 \(sampled\)\n.*p11 \(sampled\)/);
});

test('the same from live files and from sealed ones', async () => {
  const folder = await recordingOf({
    process_start: [started(10, 1), started(12, 3)],
    process_end: [ended(10, 1, 50, { usertime: 3e6, tags: 'op:a', args: 'x\\n "y", z' })],
    thread_end: [],
    process: [sampled(12, 3, 40, { user_ms: 9000 })],
  });
  const before = tacho(['processes', '--format', 'json', folder]).out;
  sealRecording(openRecording(folder));
  assert.equal(tacho(['processes', '--format', 'json', folder]).out, before);
  assert.equal(JSON.parse(before).length, 2);
});

const thread = (pid: number, from: number, tid: number, began: number, to: number, usertime: number): Row => ({
  time: at(to),
  pid: String(pid),
  start: String(at(from)),
  tid: String(tid),
  thread_start: at(began),
  usertime,
  systemtime: 0,
  starttime: ticks(1),
});

test('threads of a process; the first one counts anew after exec', async () => {
  const folder = await recordingOf({
    process_end: [
      ended(10, 1, 5, { ended: 'exec', usertime: 2e6, starttime: ticks(1) }),
      ended(10, 5, 9, { usertime: 6e6, starttime: ticks(1), numtids: 7, threads_counted: 5 }),
    ],
    thread_end: [thread(10, 1, 10, 1, 5, 2e6), thread(10, 5, 10, 5, 9, 3e6), thread(10, 5, 14, 6, 8, 3e6)],
  });
  const source = recordingsSource([openRecording(folder)]);
  const threads = await source.threads({ job: 0, node: 'c1', pid: 10, start: at(5) });
  assert.deepEqual([...threads.tid], [10, 14]);
  assert.deepEqual([...threads.cpu_time], [1e6, 3e6]);
  assert.deepEqual([...threads.start], [at(5), at(6)]);
  const result = tacho(['threads', '--process', '10', folder]);
  assert.equal(result.code, 0, result.err);
  assert.match(result.out, /\n +14 +\+1\.0 s +2\.0 s +3\.0 s /);
  assert.match(result.out, /5 threads of 7 too short for a record of their own\n$/);
  assert.equal(JSON.parse(tacho(['threads', '--process', '10', folder, '--format', 'json']).out).length, 3);
  const missing = tacho(['threads', '--process', '77', folder]);
  assert.equal(missing.code, 1);
  assert.match(missing.err, /no process 77 was recorded/);
});

test('a process that its parent told of has used at least what sampling saw of it', async () => {
  const folder = await recordingOf({
    process_end: [
      // a child of its own was taken out, for which it never waited
      ended(10, 1, 2, { ended: 'exec', usertime: 0.5e6, starttime: ticks(1) }),
      ended(10, 2, 9, { told_by: 'parent', usertime: 1e6, systemtime: 0.2e6, starttime: ticks(1) }),
      ended(11, 1, 9, { told_by: 'parent', usertime: 2e6, systemtime: 2e6 }),
    ],
    process: [
      sampled(10, 1, 8, { user_ms: 3500, system_ms: 100 }),
      sampled(11, 1, 8, { user_ms: 2500, system_ms: 900 }),
    ],
  });
  const set = read(folder);
  assert.deepEqual(
    byPid(set).map((i) => [set.pid[i], set.source[i], set.cpu_time[i]]),
    [
      [10, 'record', 0.5e6],
      [10, 'parent', 3.1e6],
      [11, 'parent', 4e6],
    ],
  );
});

test('a node whose agent.json is gone was recorded all the same, by its processes', async () => {
  const folder = await recordingOf({ process_end: [ended(10, 1, 9, { usertime: 7e6, systemtime: 0 })] });
  const card = () => report(gather(openRecording(folder)));
  const whole = card();
  for (const agent of fs.globSync(path.join(folder, '*/agent.json'))) fs.rmSync(agent);
  const { nodes, findings, summary } = card();
  assert.deepEqual([nodes[0]!.status, nodes[0]!.cpu_seconds], ['recorded', 7]);
  assert.deepEqual([summary.cpu_seconds, summary.nodes_recorded], [whole.summary.cpu_seconds, 1]);
  assert.ok(!findings.some(({ text }) => /never recorded|stopped/.test(text)));
});

test('threads of a process of which one got the number of another, that had ended', async () => {
  const folder = await recordingOf({
    process_end: [ended(10, 1, 9, { usertime: 7e6, starttime: ticks(1), numtids: 4 })],
    thread_end: [
      thread(10, 1, 10, 1, 9, 0),
      thread(10, 1, 11, 2, 3, 1e6),
      thread(10, 1, 11, 3.5, 4, 2e6),
      thread(10, 1, 11, 5, 6, 4e6),
    ],
  });
  const recording = openRecording(folder);
  const threads = await recordingsSource([recording]).threads({ job: 0, node: 'c1', pid: 10, start: at(1) });
  assert.deepEqual([...threads.tid], [10, 11, 11, 11]);
  assert.deepEqual([...threads.start], [at(1), at(2), at(3.5), at(5)]);
  assert.deepEqual([...threads.cpu_time], [0, 1e6, 2e6, 4e6]);
  const all = readAllThreads(recording, readProcesses([recording]));
  assert.deepEqual([...all.process], [0, 0, 0, 0]);
  assert.deepEqual([...all.end], [at(9), at(3), at(4), at(6)]);
});

test('the report: processes by their records, operations, and the CPU time that no record explains', async () => {
  const usage = {
    wall_seconds: 60,
    user_seconds: 9,
    system_seconds: 1,
    minor_faults: 0,
    major_faults: 0,
    read_blocks: 0,
    written_blocks: 0,
    voluntary_switches: 0,
    involuntary_switches: 0,
  };
  const rows: Rows = {
    process_start: [started(10, 1), started(11, 2)],
    process_end: [
      ended(10, 1, 50, { usertime: 6e6, systemtime: 1e6, numtids: 3, tags: 'op:sim', exitsignal: 9, ended: 'signal' }),
    ],
    process: [sampled(11, 2, 40, { user_ms: 2000 })],
  };
  const folder = await recordingOf(rows, { usage });
  const card = report(gather(openRecording(folder)));
  assert.equal(card.records!.records, 1);
  assert.equal(card.records!.starts, 1);
  assert.equal(card.records!.failed, 1);
  assert.equal(card.records!.sampled_cpu_seconds, 2);
  assert.ok(Math.abs(card.records!.unexplained! - 0.3) < 1e-9);
  assert.equal(card.operations![0]!.name, 'op:sim');
  assert.equal(card.operations![0]!.seconds, 49);
  assert.equal(card.summary.processes, 2);
  assert.deepEqual(
    card.processes.map(({ pid, source, signal, cpu_seconds }) => [pid, source, signal, cpu_seconds]),
    [
      ['10', 'record', 9, 7],
      ['11', 'start', undefined, 2],
    ],
  );
  const { out } = tacho(['report', folder]);
  // 7 of 10 s were recorded, and sampling saw 2 s of the process whose end was not
  assert.match(out.replace(/\s+/g, ' '), /10 % of the CPU time is that of processes that were not recorded/);
  assert.match(out, /Operations\n.*\n +op:sim/);
  const blind = report(gather(openRecording(await recordingOf(rows))));
  assert.equal(blind.records!.unexplained, undefined);
  assert.equal(blind.summary.cpu_source, 'records and samples');
  assert.ok(blind.unmeasured.some(({ what }) => what === 'CPU time that no process record explains'));
  const silent = { process: [sampled(11, 2, 40, { user_ms: 2000 })] };
  const none = report(
    gather(openRecording(await recordingOf(silent, { usage, process_records: { file: 'f', events: [] } }))),
  );
  assert.equal(none.records?.unexplained, 1, 'to be recorded, and nobody did');
  assert.equal(none.processes[0]!.source, 'sample');
  assert.equal(report(gather(openRecording(await recordingOf(silent, { usage })))).records, undefined);
});

test('operations, time line and comparison as they are typed', async () => {
  const rows = (copy: number): Rows => ({
    process_end: [
      ended(10, 0, 30 + copy, { usertime: 1e6, exename: 'sh' }),
      ended(11, 1, 1 + copy, { ppid: 10, usertime: 5e5, tags: 'op:copy', exename: 'cp', args: 'a b' }),
      ended(12, 1 + copy, 29 + copy, { ppid: 10, usertime: 2e7, tags: 'op:sim', exename: 'sim' }),
    ],
  });
  const a = await recordingOf(rows(5), { id: '17', end: at(35) });
  const b = await recordingOf(rows(25), { id: '18', end: at(55) });
  const operations = tacho(['operations', a]);
  assert.match(operations.out, /^op +processes +.*\nsim +1 +1 +20\.0 s +93 % +28\.0 s .*\ncopy +1 /);
  assert.match(operations.out, /^op .* of job .* sum +first to last\n/, 'a pipe has room for all');
  const exported = tacho(['operations', a], { env: { ...process.env, COLUMNS: '70' } });
  assert.equal(exported.out, operations.out, 'COLUMNS is said of a terminal');
  if (whyNoTerminal === false) {
    const narrow = onTerminal(70, `operations '${a}'`, { env: { ...process.env, NO_COLOR: '1' } });
    assert.match(
      narrow.join('\n'),
      /\ncolumns hidden: threads, first to last; a wider terminal or a pipe\nshows them\n/,
    );
    for (const line of narrow) assert.ok(line.length <= 70, line);
  }
  assert.match(tacho(['operations', a, '--op-tag', 'colour']).err, /no process has the tag colour/);
  const timeline = tacho(['timeline', a, '--by', 'operation']);
  assert.match(timeline.out, /\nop:copy +1+ +5\.0 s\nop:sim +1+ +28\.0 s\n/);
  const compared = tacho(['compare', a, b]);
  assert.equal(compared.code, 0, compared.err);
  assert.match(compared.out, /B took 20\.0 s more than A\./);
  assert.match(compared.out, /\n +\+20\.0 s +100 % +5\.0 s +25\.0 s +500 ms +500 ms {2}op:copy\n/);
  const json = JSON.parse(tacho(['compare', a, b, '--format', 'json']).out);
  assert.equal(json.parts[0].name, 'op:copy');
  assert.match(
    tacho(['compare', a, b, '--by', 'metric', '--format', 'csv']).out,
    /^figure,unit,17,18\nduration,microseconds,35000000,55000000\n/,
  );
  const one = tacho(['compare', a]);
  assert.equal(one.code, 2);
  assert.match(one.err, /at least two are needed/);
});

test('recordings without any process are compared by their figures, and refused by the others', async () => {
  const a = await recordingOf({}, { id: '17' });
  const b = await recordingOf({}, { id: '18', end: at(90) });
  const compared = tacho(['compare', a, b]);
  assert.equal(compared.code, 0, compared.err);
  assert.match(compared.out, /duration +1 min 00 s +1 min 30 s +\+50 %/);
  assert.match(compared.out, /no processes were recorded of 17, 18/);
  for (const verb of ['processes', 'operations', 'timeline']) {
    const result = tacho([verb, a]);
    assert.equal(result.code, 1);
    assert.match(result.err, /^tacho: no processes were recorded in /);
  }
});

const EPMT = path.join(import.meta.dirname, '../../shared/data/epmt');
const skip = fs.existsSync(path.join(EPMT, '685000.tgz')) ? false : 'the archives are not here';

test('a real job of EPMT: the numbers that its own tests assert', { skip }, async () => {
  const folder = temporary();
  await importEpmt([path.join(EPMT, '685000.tgz')], { folder });
  const set = read(path.join(folder, fs.readdirSync(folder)[0]!));
  const total = (values: Float64Array): number => values.reduce((a, b) => a + b, 0);
  assert.equal(set.length, 3480);
  assert.equal(total(set.threads), 3668);
  assert.equal(total(set.cpu_time), 113_135_329);
  assert.equal(total(set.metrics.get('rchar')!), 15_458_131_996);
  assert.equal(new Set(set.tags.filter((tags) => tags !== '')).size, 89);
  let durations = 0;
  for (let i = 0; i < set.length; i++) durations += set.end[i]! - set.start[i]!;
  assert.equal(durations, 24_717_624_686);

  const [timavg] = operationsOf(set, { tags: ['op:timavg'] });
  assert.deepEqual(
    [
      timavg!.processes,
      timavg!.threads,
      timavg!.cpu_time,
      timavg!.duration_sum,
      timavg!.duration,
      timavg!.runs.length,
      timavg!.duration_span,
    ],
    [57, 62, 17_951_212, 41_388_496, 21_033_390, 11, 51_278_054],
  );
  const alive = filterProcesses(set, ['at=2019-06-15T07:53:00-04:00']).map((i) => set.pid[i]!);
  assert.deepEqual(
    alive.sort((a, b) => a - b),
    [6098, 6226],
  );

  // EPMT takes the earliest process with the pid that ended after the child began, whether or not it had begun
  const byPid = Map.groupBy(
    Array.from(set.pid, (_, i) => i),
    (i) => set.pid[i]!,
  );
  const epmt = Array.from(set.ppid, (ppid, i) => {
    const rows = (byPid.get(ppid) ?? [])
      .filter((c) => set.end[c]! > set.start[i]!)
      .sort((a, b) => set.start[a]! - set.start[b]!);
    return rows[0] ?? -1;
  });
  const unlike = epmt.flatMap((theirs, i) => (theirs === set.parent[i] ? [] : [i]));
  // twelve of them had not begun by their records: they executed another program after they had forked
  assert.deepEqual(unlike, []);
  const root = set.pid.indexOf(6098);
  assert.equal(set.first[root + 1]! - set.first[root]!, 735, 'children, as EPMT has them');
  assert.equal(set.descendants[root], 3448);
  let below = 0;
  for (let i = 0; i < set.length; i++) {
    let above = epmt[i]!;
    while (above >= 0 && above !== root) above = epmt[above]!;
    if (above === root) below++;
  }
  assert.equal(below, 3448);
});
