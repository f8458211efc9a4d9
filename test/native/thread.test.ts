import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { after, before, test } from 'node:test';
import { eventually } from '../made/eventually.ts';
import { build, type Recorded, type Row, recorded, skip, workshop } from './recorded.ts';

let folder: string;
let cases: string;
before(() => {
  folder = workshop();
  if (!skip) cases = build(folder, 'cases', 'cc', '-pthread');
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

const run = (name: string, ...args: string[]): Recorded => recorded([cases, name, ...args]);
function programOf(pid: string): string {
  try {
    return fs.readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return '';
  }
}

const cpu = (row: Row): number => row.usertime + row.systemtime;
const sum = (rows: readonly Row[], name: string): number => rows.reduce((all, row) => all + row[name], 0);

test('each thread says what it used alone; the process has the sum', { skip }, () => {
  const { ends, threads } = run('threads');
  const [end] = ends;
  assert.deepEqual([end!.numtids, end!.threads_counted, threads.length], [5, 0, 5]);
  const [first] = threads.filter((row) => row.tid === end!.pid);
  const others = threads.filter((row) => row !== first).sort((a, b) => cpu(a) - cpu(b));
  assert.equal(first!.ended, 'exit');
  assert.equal(first!.thread_start, Number(end!.start));
  others.forEach((row, i) => {
    const asked = 20_000 * (i + 1);
    assert.ok(cpu(row) >= asked, `${cpu(row)} µs of ${asked}`);
    assert.equal(row.ended, 'end');
    assert.equal(row.pid, end!.pid);
    assert.equal(row.start, end!.start);
    assert.ok(row.thread_start >= Number(end!.start) && row.time >= row.thread_start + asked * 0.99);
    assert.ok(row.rdtsc_duration > 0 && row.rdtsc_duration < end!.rdtsc_duration);
  });
  assert.equal(new Set(threads.map((row) => row.tid)).size, 5);
  const all = threads.reduce((total, row) => total + cpu(row), 0);
  assert.ok(Math.abs(all - cpu(end!)) < 15_000, `${all} µs of ${cpu(end!)}: none has what another used`);
  assert.ok(Math.abs(sum(threads, 'time_oncpu') - end!.time_oncpu) < 5e6);
  assert.equal(sum(threads, 'timeslices'), end!.timeslices);
  assert.equal(sum(threads, 'time_waiting'), end!.time_waiting);
  assert.equal(sum(threads, 'rchar'), end!.rchar);
  assert.equal(sum(threads, 'syscw'), end!.syscw);
});

test('ten thousand short threads are counted, and cost no line', { skip }, () => {
  const { ends, threads, lines, status } = recorded([cases, 'many_threads', '10000'], {
    TACHO_RECORD_THREAD_MS: '5000',
  });
  assert.equal(status, 0);
  const [end] = ends;
  assert.deepEqual([end!.numtids, end!.threads_counted], [10_001, 10_000]);
  assert.deepEqual([threads.length, lines.length], [1, 3]);
  // all of their CPU time is in the process's
  assert.ok(cpu(end!) > 2 * cpu(threads[0]!) || cpu(end!) > 50_000);
  assert.ok(end!.timeslices >= 10_000);
  assert.equal(end!.num_threads, 1);
});

test('how short a thread may be is a setting', { skip }, () => {
  const { ends, threads } = recorded([cases, 'many_threads', '50'], { TACHO_RECORD_THREAD_MS: '0' });
  assert.deepEqual([ends[0]!.numtids, ends[0]!.threads_counted, threads.length], [51, 0, 51]);
  const long = recorded([cases, 'threads'], { TACHO_RECORD_THREAD_MS: '10000' });
  assert.deepEqual([long.ends[0]!.numtids, long.ends[0]!.threads_counted, long.threads.length], [5, 4, 1]);
});

test('threads that are cancelled, detached or have a small stack are told like others', { skip }, () => {
  const cancelled = run('cancel');
  assert.equal(cancelled.threads.length, 2);
  assert.equal(cancelled.threads[0]!.ended, 'end');
  const detached = run('detached').threads.filter((row) => row.ended === 'end');
  assert.ok(cpu(detached[0]!) >= 20_000);
  const small = run('small_stack');
  assert.equal(small.status, 0);
  assert.ok(cpu(small.threads.find((row) => row.ended === 'end')!) >= 20_000);
});

test('threads of C11 are threads', { skip }, () => {
  const { status, ends, threads } = run('c11_thread');
  assert.deepEqual([status, ends[0]!.numtids, threads.length], [5, 2, 2]);
  assert.ok(cpu(threads.find((row) => row.ended === 'end')!) >= 30_000);
});

test('threads that still run when their process ends are told then', { skip }, () => {
  const { ends, threads } = run('running');
  const [end] = ends;
  const [other] = threads.filter((row) => row.tid !== end!.pid);
  const [first] = threads.filter((row) => row.tid === end!.pid);
  assert.equal(threads.length, 2);
  assert.equal(other!.ended, 'exit');
  assert.ok(other!.thread_start > Number(end!.start));
  assert.ok(cpu(first!) >= 60_000);
  // the threads are asked after the process, and go on until they are
  const later = 2 * (Math.max(...threads.map((row) => row.time)) - end!.time);
  const more = cpu(first!) + cpu(other!) - cpu(end!);
  assert.ok(more > -15_000 && more < 15_000 + later, `${more} µs more, ${later} later`);
  assert.equal(end!.num_threads, 2);
});

test('the first thread may leave before the others', { skip }, () => {
  const { ends, threads, status } = run('first_leaves');
  assert.equal(status, 0);
  assert.deepEqual([ends.length, threads.length], [1, 2]);
  const [first] = threads.filter((row) => row.tid === ends[0]!.pid);
  assert.equal(first!.ended, 'end');
  // the other one waits for that, and then works
  assert.ok(first!.time < ends[0]!.time - 29_000, `${ends[0]!.time - first!.time} µs`);
  assert.ok(cpu(ends[0]!) >= 30_000);
  assert.ok(ends[0]!.rssmax > 500);
});

test('exit and exec from a thread that is not the first', { skip }, () => {
  const left = run('thread_exits');
  assert.equal(left.status, 21);
  assert.deepEqual([left.ends.length, left.ends[0]!.exitcode, left.threads.length], [1, 21, 2]);
  assert.deepEqual(new Set(left.threads.map((row) => row.ended)), new Set(['exit']));
  const replaced = run('thread_execs');
  assert.equal(replaced.out, 'from a thread\n');
  assert.deepEqual(
    replaced.ends.map((row) => [row.ended, row.numtids]),
    [
      ['exec', 2],
      ['exit', 1],
    ],
  );
});

test('a child of a process with threads starts with one', { skip }, () => {
  const { ends } = recorded([cases, 'thread_forks', '20'], { TACHO_RECORD_THREAD_MS: '5000' });
  assert.deepEqual(
    ends.map((row) => [row.exitcode, row.numtids, row.threads_counted]),
    [
      [9, 1, 0],
      [0, 21, 20],
    ],
  );
});

test('threads that libraries start before the program begins are threads like others', { skip }, () => {
  const library = build(folder, 'early', 'cc', '-shared', '-fPIC', '-pthread');
  const program = build(folder, 'cases', 'cc', '-pthread', '-Wl,--no-as-needed', library);
  const { ends, threads } = recorded([program, 'alone']);
  assert.deepEqual([ends[0]!.numtids, threads.length, ends[0]!.args], [4, 4, 'alone']);
  const early = threads.filter((row) => row.tid !== ends[0]!.pid);
  assert.ok(early.every((row) => row.ended === 'end' && row.thread_start >= Number(ends[0]!.start)));
});

test('threads, forks and ends in a turmoil: nothing hangs, no line is torn', { skip }, async () => {
  for (let time = 0; time < 10; time++) {
    const recordedRun = recorded([cases, 'turmoil'], { TACHO_RECORD_THREAD_MS: String(time % 2) });
    assert.deepEqual([recordedRun.status, recordedRun.signal, recordedRun.torn], [0, null, 0]);
    assert.ok(recordedRun.ends.some((row) => row.numtids >= 9));
  }
  // the children, too, end
  const left = (): string[] => fs.readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && programOf(pid) === cases);
  await eventually(
    () => `the end of ${left().join(', ')}`,
    () => left().length === 0,
  );
  assert.deepEqual(left(), []);
});

test('perf events of threads add up', { skip }, () => {
  const { ends, threads } = recorded([cases, 'threads'], { TACHO_RECORD_EVENTS: 'task-clock' });
  const name = 'PERF_COUNT_SW_TASK_CLOCK';
  // seccomp or perf_event_paranoid may forbid it
  if (Number.isNaN(ends[0]![name])) return;
  assert.equal(sum(threads, name), ends[0]![name]);
  // the threads count 200 ms by their own clock, and the kernel keeps the two apart: once this one had 0.15 % less
  assert.ok(ends[0]![name] >= 0.99 * 200e6, `${ends[0]![name]} ns`);
  // of a virtual machine the clock goes on while the host lets it wait: no thread has more than it lived
  for (const row of threads) {
    const lifetimeMicroseconds = (row.time - row.thread_start) * 1000;
    assert.ok(row[name] <= lifetimeMicroseconds + 1e6, `${row[name]} ns of ${lifetimeMicroseconds}`);
  }
});
