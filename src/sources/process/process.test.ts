import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { type Frozen, frozen, sample } from '../../../test/frozen.ts';
import { type FrozenProcess, nodeFiles, processFiles, WORKING } from '../../../test/frozen-process.ts';
import { Frame } from '../../table/frame.ts';
import { Host } from '../host.ts';
import type { Scope } from '../scope.ts';
import type { Source } from '../source.ts';
import { process as processes } from './process.ts';
import { processTable } from './table.ts';

const NODE: Scope = { members: { by: 'node' }, exclude: [], redact: false };
const SECOND = 1e6;

interface Machine extends Frozen {
  source: Source;
  /** The rows at this second. */
  at(second: number): Record<string, number | string>[];
  put(p: FrozenProcess): void;
}

function machine(t: TestContext, list: FrozenProcess[], files: Record<string, string> = {}, scope = NODE): Machine {
  const m = frozen(t, Object.assign(nodeFiles(999), files, ...list.map(processFiles)));
  const source = processes.open(m.host, scope);
  const frame = new Frame(source.table);
  t.after(() => source.close());
  return {
    ...m,
    source,
    at: (second) => sample(source, frame, 1.7e15 + second * SECOND),
    put: (p) => {
      for (const [path, text] of Object.entries(processFiles(p))) m.write(path, text);
    },
  };
}

const WORK: FrozenProcess = {
  ...WORKING,
  pid: 100,
  start: 12345,
  name: 'python3',
  command: ['python3', 'train.py', '--lr', '0.1'],
  schedule: [2_800_000_000, 1_500_999_999, 40],
};

test('every column of a process', (t) => {
  const m = machine(t, [WORK]);
  assert.deepEqual(m.at(0), [
    {
      pid: '100',
      start: '1700000123450',
      name: 'python3',
      command: 'python3 train.py --lr 0.1',
      user: 'ada',
      state: 'R',
      ppid: 7,
      uid: 1000,
      threads: 1,
      user_ms: 2500,
      system_ms: 300,
      children_user_ms: 7770,
      children_system_ms: 6660,
      rss_bytes: 4096000,
      rss_anon_bytes: 3072000,
      rss_file_bytes: 1024000,
      rss_shmem_bytes: 0,
      rss_peak_bytes: 4104192,
      virtual_bytes: 8192000,
      swap_bytes: 12288,
      minor_faults: 4321,
      major_faults: 2,
      read_bytes: 4096,
      written_bytes: 8192,
      read_chars: 1000,
      written_chars: 2000,
      read_calls: 3,
      write_calls: 4,
      voluntary_switches: 21,
      involuntary_switches: 4,
      wait_ms: 1500,
      cpu: 5,
      allowed_cpus: '0-3',
    },
  ]);
});

test('the CPUs that a process may run on are said when they are new, and with its command', (t) => {
  const m = machine(t, [WORK]);
  assert.equal(m.at(0)[0]!.allowed_cpus, '0-3');
  m.put({ ...WORK, user: 260, schedule: [2_900_000_000, 1_500_999_999, 41] });
  assert.equal('allowed_cpus' in m.at(1)[0]!, false);
  m.put({ ...WORK, user: 270, allowedCpus: '2', schedule: [3_000_000_000, 1_500_999_999, 42] });
  m.at(2);
  m.put({ ...WORK, user: 280, allowedCpus: '2', schedule: [3_100_000_000, 1_500_999_999, 43] });
  assert.equal(m.at(13)[0]!.allowed_cpus, '2');
});

test('CPUs that a program is bound to for a moment are looked at again', (t) => {
  const m = machine(t, [{ ...WORK, allowedCpus: '0' }]);
  assert.equal(m.at(0)[0]!.allowed_cpus, '0');
  m.put({ ...WORK, user: 260, allowedCpus: '0-1', schedule: [2_900_000_000, 1_500_999_999, 41] });
  assert.equal(m.at(1)[0]!.allowed_cpus, '0-1');
  m.put({ ...WORK, user: 270, allowedCpus: '1', schedule: [3_000_000_000, 1_500_999_999, 42] });
  assert.equal(m.at(2)[0]!.allowed_cpus, '1');
});

test('the limits of a process are read when it starts a program; what is unlimited is missing', (t) => {
  const limits = (cpu: string, space: string): string =>
    [
      'Limit                     Soft Limit           Hard Limit           Units     ',
      `Max cpu time              ${cpu.padEnd(20)} unlimited            seconds   `,
      'Max file size             1048576              unlimited            bytes     ',
      'Max data size             unlimited            unlimited            bytes     ',
      `Max address space         ${space.padEnd(20)} unlimited            bytes     `,
      '',
    ].join('\n');
  const m = machine(t, [WORK], { '/proc/100/limits': limits('10', 'unlimited') });
  const [first] = m.at(0);
  assert.deepEqual(
    ['cpu_limit_seconds', 'file_limit_bytes', 'data_limit_bytes', 'virtual_limit_bytes'].map((name) => first![name]),
    [10, 1048576, undefined, undefined],
  );
  m.write('/proc/100/limits', limits('10', '2147483648'));
  m.put({ ...WORK, name: 'solve', command: ['./solve'], schedule: [2_900_000_000, 1_500_999_999, 41] });
  assert.equal(m.at(1)[0]!.virtual_limit_bytes, 2 ** 31);
});

test('a row only when something changed, and one a minute', (t) => {
  const m = machine(t, [WORK]);
  assert.equal(m.at(0).length, 1);
  assert.equal(m.at(1).length, 0);
  m.put({ ...WORK, user: 260, schedule: [2_900_000_000, 1_500_999_999, 41] });
  const [row] = m.at(2);
  assert.equal(row!.user_ms, 2600);
  assert.equal('command' in row!, false, 'the command was said already');
  const seconds = Array.from({ length: 118 }, (_, i) => i + 3).filter((second) => m.at(second).length > 0);
  assert.equal(seconds.length, 2);
  assert.ok(seconds[0]! <= 60 && seconds[1]! - seconds[0]! <= 60, `rows at ${seconds}`);
  m.put({ ...WORK, user: 270, schedule: [3_000_000_000, 0, 50] });
  assert.equal(m.at(3)[0]!.user_ms, 2700, 'a clock that was set back stops nothing');
  assert.deepEqual(m.at(4), []);
  m.source.last!();
  assert.equal(m.at(5)[0]!.user_ms, 2700, 'what is there at the end says so');
});

test('a process that did not run is not read: its schedstat stands still', (t) => {
  const m = machine(t, [WORK]);
  m.at(0);
  m.put({ ...WORK, user: 9999 });
  assert.equal(m.at(1).length, 0);
  m.put({ ...WORK, user: 9999, schedule: [2_800_000_001, 1_500_999_999, 40] });
  assert.equal(m.at(2)[0]!.user_ms, 99990);
});

test('with several threads the main one says nothing about the others', (t) => {
  const busy = { ...WORK, threads: 8 };
  const m = machine(t, [busy]);
  m.at(0);
  m.put({ ...busy, user: 300 });
  assert.equal(m.at(1)[0]!.user_ms, 3000);
});

test('a kernel that does not count schedules is believed nothing', (t) => {
  const m = machine(t, [{ ...WORK, schedule: [0, 0, 0] }]);
  assert.equal('wait_ms' in m.at(0)[0]!, false);
  m.put({ ...WORK, user: 300, schedule: [0, 0, 0] });
  assert.equal(m.at(1)[0]!.user_ms, 3000);
});

test('memory that leaps is broken down at once, memory that creeps every ten seconds', (t) => {
  const m = machine(t, [WORK]);
  m.at(0);
  let slices = 100;
  const put = (rssPages: number): void => m.put({ ...WORK, rssPages, schedule: [slices, slices, ++slices] });
  put(1000);
  m.at(0.95);
  put(1010);
  const [creeps] = m.at(1);
  assert.equal(creeps!.rss_bytes, 1010 * 4096);
  assert.equal(creeps!.rss_anon_bytes, 1000 * 3072);
  assert.equal(creeps!.rss_peak_bytes, 1010 * 4096, 'the peak is never below what is there now');
  put(5000);
  const [leaps] = m.at(2);
  assert.equal(leaps!.rss_anon_bytes, 5000 * 3072);
  assert.equal(leaps!.rss_peak_bytes, 5000 * 4096 + 8192);
  put(5001);
  assert.equal(m.at(13)[0]!.rss_anon_bytes, 5001 * 3072);
});

test('I/O of children that were waited for is not the parent’s', (t) => {
  const shell: FrozenProcess = { ...WORK, io: [10, 20, 30, 40], ioOfOthers: [1e6, 1e6, 1e6, 1e6] };
  const m = machine(t, [shell]);
  assert.equal(m.at(0)[0]!.written_bytes, 40);
  // a second thread: from now on the whole process counts, without what it had before
  m.put({ ...shell, threads: 2, user: 260, io: [10, 20, 30, 50], schedule: [1, 1, 99] });
  assert.equal(m.at(1)[0]!.user_ms, 2600);
  m.put({
    ...shell,
    threads: 2,
    user: 270,
    io: [10, 20, 30, 50],
    ioOfOthers: [1e6, 1e6, 1e6, 1e6 + 500],
    schedule: [2, 2, 100],
  });
  assert.equal(m.at(2)[0]!.written_bytes, 540);
});

test('a new program in the same process has a new name and command', (t) => {
  const m = machine(t, [{ ...WORK, name: 'bash', command: ['bash', '-c', 'exec ./sim'] }]);
  assert.equal(m.at(0)[0]!.name, 'bash');
  m.put({ ...WORK, name: 'sim', command: ['./sim'], schedule: [5, 5, 77] });
  const [row] = m.at(1);
  assert.equal(row!.name, 'sim');
  assert.equal(row!.command, './sim');
  // arguments stay apart, as in the records of processes
});

test('arguments stay apart, as in the records of processes', (t) => {
  const m = machine(t, [{ ...WORK, command: ['./sim', 'one two', '', "it's", 'a\nb', ''] }]);
  assert.equal(m.at(0)[0]!.command, "./sim 'one two' '' 'it'\\''s' 'a\nb' ''");
  m.put({ ...WORK, name: 'sim', command: ['x'.repeat(5000), 'y'], schedule: [5, 5, 77] });
  assert.equal(m.at(1)[0]!.command, `${'x'.repeat(4096)}…`);
  // a title, and what was left of the arguments that it was written over
  m.put({ ...WORK, name: 'title', command: ['nginx: worker', '', '', ''], schedule: [6, 6, 78] });
  assert.equal(m.at(2)[0]!.command, "'nginx: worker'");
});

test('redacted: the name, never the arguments', (t) => {
  const m = machine(t, [WORK], {}, { ...NODE, redact: true });
  const [row] = m.at(0);
  assert.equal(row!.name, 'python3');
  assert.equal('command' in row!, false);
});

test('a process that has ended but was not collected keeps its counters and has no memory', (t) => {
  const m = machine(t, [WORK]);
  m.at(0);
  m.put({ ...WORK, state: 'Z', user: 260, command: [], schedule: [5, 5, 77] });
  const [row] = m.at(1);
  assert.equal(row!.state, 'Z');
  assert.equal(row!.user_ms, 2600);
  assert.equal(row!.rss_bytes, 0);
  assert.equal(row!.rss_anon_bytes, 0);
  assert.equal(row!.rss_peak_bytes, 4104192);
  assert.equal('command' in row!, false, 'an empty command line is not a new command');
  assert.deepEqual(m.at(100), [], 'it has ended, however long nobody collects it');
  m.source.last!();
  assert.deepEqual(m.at(101), []);
});

test('the same pid with another start is another process', (t) => {
  const m = machine(t, [WORK]);
  m.at(0);
  m.write('/proc/loadavg', nodeFiles(99)['/proc/loadavg']!);
  m.at(1);
  m.put({ ...WORK, start: 99999, user: 1 });
  m.write('/proc/loadavg', nodeFiles(100)['/proc/loadavg']!);
  const [row] = m.at(2);
  assert.equal(row!.start, '1700000999990');
  assert.equal(row!.user_ms, 10);
});

test('more processes than descriptors: the later ones are opened for each read, with the same result', (t) => {
  const list = Array.from({ length: 20 }, (_, i) => ({ ...WORK, pid: 100 + i, user: i }));
  const m = machine(t, list, { '/proc/self/limits': 'Max open files            262                  262   files\n' });
  assert.deepEqual(
    m.at(0).map((row) => row.user_ms),
    list.map((p) => p.user * 10),
  );
  for (const p of list) m.put({ ...p, user: p.user + 5, schedule: [7, 7, 7] });
  assert.deepEqual(
    m.at(1).map((row) => row.user_ms),
    list.map((p) => p.user * 10 + 50),
  );
});

test('a stat that is cut off anywhere gives no row at all', (t) => {
  const m = machine(t, [WORK]);
  const whole = processFiles(WORK)['/proc/100/stat']!;
  // after the CPU the rest is not needed
  const needed = whole.lastIndexOf(' 5 0 0 0 0 0 1') + 2;
  for (let length = 0; length <= needed; length++) {
    m.write('/proc/100/stat', whole.slice(0, length));
    const source = processes.open(m.host, NODE);
    assert.deepEqual(sample(source), [], `${length} bytes`);
    source.close();
  }
});

test('a shell that becomes a command of Tacho’s ends with the numbers that it had itself', (t) => {
  const shell = { ...WORK, parent: 1, name: 'bash', command: ['bash', '-c', 'work; tacho mark end'], environment: {} };
  const m = machine(t, [shell], {}, { ...NODE, members: { by: 'tree', pid: 100 } });
  const [before] = m.at(0);
  const own = { name: 'node', command: ['node', 'main.ts', 'mark', 'end'], environment: { TACHO_OWN: '1' } };
  m.put({ ...shell, ...own, user: 990, rssPages: 20_000, schedule: [9_900_000_000, 1_500_999_999, 90] });
  const [last, ...more] = m.at(1);
  assert.deepEqual(
    [last!.state, last!.name, last!.user_ms, last!.rss_bytes, more],
    ['X', 'bash', before!.user_ms, before!.rss_bytes, []],
  );
  assert.deepEqual(m.at(2), []);
});

/** 100 MB, in pages. */
const LARGE = 25_600;

test('several large processes: what each has of shared memory, and all together', (t) => {
  const fork = (pid: number, pss: number): FrozenProcess => ({ pid, rssPages: LARGE, pss });
  const memory = { pss_bytes: Number.NaN, shared_bytes: Number.NaN };
  const small: FrozenProcess = { pid: 9, rssPages: 1000, pss: 7 };
  const m = machine(t, [fork(7, 25_700), fork(8, 25_800), small], {}, { ...NODE, memory });
  const pss = (second: number) => m.at(second).map((row) => [row.pid, row.pss_bytes]);
  assert.deepEqual(pss(0), [
    ['7', 25_700 * 1024],
    ['8', 25_800 * 1024],
    ['9', undefined],
  ]);
  const rss = LARGE * 4096;
  const sum = (25_700 + 25_800) * 1024 + 1000 * 4096;
  assert.deepEqual(memory, { pss_bytes: sum, shared_bytes: 2 * rss + 1000 * 4096 - sum });

  memory.pss_bytes = Number.NaN;
  m.put(fork(7, 99_999));
  assert.deepEqual(pss(9), [], 'not before ten seconds');
  assert.equal(memory.pss_bytes, Number.NaN);
  assert.deepEqual(
    pss(10),
    [
      ['7', 99_999 * 1024],
      ['8', 25_800 * 1024],
    ],
    'also those that did nothing have a row',
  );
  m.write('/proc/loadavg', '0.10 0.20 0.30 1/200 1000\n');
  m.put(fork(10, 50_000));
  assert.deepEqual(
    pss(11),
    [
      ['10', 50_000 * 1024],
      ['7', 99_999 * 1024],
      ['8', 25_800 * 1024],
    ],
    'one more is so much more memory that all are read at once',
  );
  m.at(12);
  assert.equal(memory.pss_bytes, (50_000 + 99_999 + 25_800) * 1024 + 1000 * 4096, 'it stands until it is read again');
  for (const pid of [7, 8]) m.put({ pid, state: 'Z', schedule: [2, 0, 2] });
  m.at(13);
  assert.equal(memory.pss_bytes, Number.NaN, 'of one alone there is nothing to say');
});

test('shared memory is not read where the kernel counts it, nobody wants it, or one process has nearly all', (t) => {
  const large = (pid: number, rssPages = LARGE): FrozenProcess => ({ pid, rssPages, pss: 5 });
  const memory = { pss_bytes: Number.NaN, shared_bytes: Number.NaN };
  const read = (list: FrozenProcess[], scope: Scope, files = {}) =>
    machine(t, list, files, scope)
      .at(0)
      .filter((row) => row.pss_bytes !== undefined).length;
  const two = [large(7), large(8)];
  assert.equal(read(two, { ...NODE, memory }), 2);
  assert.equal(read(two, { ...NODE, memory, cgroup: { path: '/job', shared: true } }), 2);
  const own: Scope = {
    ...NODE,
    memory,
    members: { by: 'cgroup', path: '/job' },
    cgroup: { path: '/job', shared: false },
  };
  const mounted = (name: string, options: string, file: string) => ({
    '/proc/self/mountinfo': `30 23 0:26 / /cg rw - ${name} ${name} rw${options}\n`,
    '/cg/job/cgroup.procs': '7\n8\n',
    [`/cg/job/${file}`]: '1\n',
  });
  const v2 = mounted('cgroup2', '', 'memory.current');
  assert.equal(read(two, own, v2), 0);
  assert.equal(read(two, own, mounted('cgroup', ',memory', 'memory.usage_in_bytes')), 0);
  assert.equal(read(two, own, mounted('cgroup2', '', 'cpu.stat')), 2, 'it counts no memory');
  assert.equal(read(two, { ...own, members: NODE.members }, v2), 2, 'the report does not take it for the job’s own');
  assert.equal(read(two, NODE), 0);
  assert.equal(read([large(7), large(8, LARGE / 20)], { ...NODE, memory }), 0);
});

test('every column has a place of its own in the order of the table', () => {
  const frame = new Frame(processTable);
  assert.equal(frame.numberWidth, 31);
  assert.equal(frame.number('ppid'), 0);
  assert.equal(frame.number('cpu'), 23);
  assert.equal(frame.number('pss_bytes'), 24);
  assert.equal(frame.text('state'), 5);
});

test('real processes: one that dies between reads has a last row that says so, the other goes on', async (t) => {
  const [first, second] = [spawn('sleep', ['60']), spawn('sleep', ['60'])];
  t.after(() => {
    for (const p of [first, second]) p.kill('SIGKILL');
  });
  const sourceOf = (pid: number): Source =>
    processes.open(new Host(), { members: { by: 'tree', pid }, exclude: [], redact: false });
  const [a, b] = [sourceOf(first.pid!), sourceOf(second.pid!)];
  const row = sample(a)[0]!;
  assert.equal(row.pid, String(first.pid));
  assert.equal(row.ppid, process.pid);
  assert.equal(row.uid, process.getuid!());
  assert.ok((row.rss_bytes as number) > 0 && (row.rss_peak_bytes as number) >= (row.rss_bytes as number));
  assert.ok(Math.abs(Number(row.start) - Date.now()) < 60_000);
  assert.equal(sample(b).length, 1);
  first.kill('SIGKILL');
  await once(first, 'exit');
  const [last, ...more] = sample(a, new Frame(a.table), 2e15);
  assert.deepEqual([last!.pid, last!.start, last!.state, more], [row.pid, row.start, 'X', []]);
  assert.equal(last!.user_ms, row.user_ms);
  assert.deepEqual(sample(a, new Frame(a.table), 3e15), [], 'once');
  assert.equal(sample(b, new Frame(b.table), 2e15).length, 1);
  a.close();
  b.close();
});
