import { counter, defineTable, gauge, type Table, text } from '../../table/table.ts';
import { eventsNamed, PERF_EVENTS } from './perf-events.ts';

const PID = { name: 'pid', help: 'The process.' } as const;
const START = {
  name: 'start',
  help: 'When the process image started, in epoch microseconds: a pid is used again, and exec begins a new image.',
} as const;

const identity = [
  gauge('ppid', 'count', 'The parent when the image started.'),
  gauge('pgid', 'count', 'The process group.'),
  gauge('sid', 'count', 'The session.'),
  gauge('uid', 'count', 'The user.'),
  text('rank', 'The rank in MPI or the task of Slurm, where there is one.'),
  text('tags', 'What TACHO_TAGS or PAPIEX_TAGS said when the image started: `op:build;seq:4`.'),
  text('directory', 'The working directory when the image started.'),
  text('path', 'The program.'),
  text(
    'args',
    "The arguments, joined by spaces; those that a shell would read otherwise are quoted: `'a b' '' $'a\\xff'`.",
  ),
  text('exename', 'The name that the program was called by, if it is one of its file; else the name of the file.'),
];

const STEP = text('step', 'The step of Slurm that it belongs to, where there is one; a batch script has none.');

const RANKS = gauge(
  'ranks',
  'count',
  'How many ranks its launcher started, where it says so; a batch script has none.',
);

const WORLD = text(
  'world',
  'What the launcher calls the ranks that it started together, where it says so: PMIX_NAMESPACE or PMI_JOBID.',
);

const ARGV0 = text('argv0', 'The first argument: the name that the program was given, whatever its file is.');

/**
 * In the order of the fields of a line. What exec does not reset is a counter: of two images of one process the second
 * has what the first had counted in it. The others are the image's own.
 */
export const PROCESS_METRICS = [
  counter('usertime', 'microseconds', 'CPU time in the program.'),
  counter('systemtime', 'microseconds', 'CPU time in the kernel.'),
  counter('cutime', 'microseconds', 'CPU time in programs of children that were waited for.'),
  counter('cstime', 'microseconds', 'CPU time in the kernel of children that were waited for.'),
  gauge('rssmax', 'kibibytes', 'Peak resident memory of this process image.'),
  counter('minflt', 'count', 'Page faults that needed no disk.'),
  counter('majflt', 'count', 'Page faults that had to wait for a disk.'),
  counter('inblock', 'count', 'Blocks of 512 bytes read from disks.'),
  counter('outblock', 'count', 'Blocks of 512 bytes written to disks.'),
  counter('vol_ctxsw', 'count', 'Times that it gave up the CPU to wait for something.'),
  counter('invol_ctxsw', 'count', 'Times that the CPU was taken away from it.'),
  counter('rchar', 'bytes', 'Bytes read by system calls, from wherever.'),
  counter('wchar', 'bytes', 'Bytes written by system calls, to wherever.'),
  counter('syscr', 'count', 'System calls that read.'),
  counter('syscw', 'count', 'System calls that wrote.'),
  counter('read_bytes', 'bytes', 'Bytes that came from a disk.'),
  counter('write_bytes', 'bytes', 'Bytes that were to go to a disk.'),
  counter('cancelled_write_bytes', 'bytes', 'Of these, bytes of files that were removed or cut off before that.'),
  counter('time_oncpu', 'nanoseconds', 'Time on a CPU.'),
  counter('time_waiting', 'nanoseconds', 'Time ready to run, waiting for a CPU.'),
  counter('timeslices', 'count', 'Times that it got a CPU.'),
  counter(
    'delayacct_blkio_time',
    'count',
    "Time waiting for block I/O, in the kernel's ticks (1/100 s); counted when the sysctl kernel.task_delayacct is 1.",
  ),
  counter('guest_time', 'count', "CPU time of virtual machines run by it, in the kernel's ticks (1/100 s)."),
  gauge('starttime', 'count', 'Start as the kernel has it: ticks (1/100 s) after boot. exec does not change it.'),
  gauge('processor', 'count', 'The CPU it ran on last.'),
  gauge('num_threads', 'count', 'Threads of the process at that moment.'),
  gauge('rdtsc_duration', 'count', "Life of the image in cycles of the processor's time stamp counter."),
  counter(
    'PERF_COUNT_SW_CPU_CLOCK',
    'nanoseconds',
    "Time on a CPU by the kernel's clock of the process: what the perf event of this name is asked for, without perf.",
  ),
];

/** Fields of an end that are there only where they have a value. */
export const ADDRESS_SPACE = [
  gauge('virtual_limit_bytes', 'bytes', 'Address space that it might use (RLIMIT_AS); missing without a limit.'),
  gauge('virtual_peak_bytes', 'bytes', 'Most address space that it used; measured only where that has a limit.'),
];

export type ProcessMetric = (typeof PROCESS_METRICS)[number]['name'];

const MORE = { help: 'Events named by TACHO_RECORD_EVENTS have a column each, by their names in the kernel.' };

export const processStartTable = defineTable({
  name: 'process_start',
  help: 'Processes of the job that started, each as it says itself: one row per program, at its first instruction.',
  scope: 'job',
  events: true,
  keys: [PID, START],
  columns: [
    ...identity,
    text('began', 'exec: a program was started. fork: a copy of the parent. told: reported by its parent only.'),
    ARGV0,
    STEP,
    WORLD,
    RANKS,
  ],
});

export const processEndTable = defineTable({
  name: 'process_end',
  help: 'Processes of the job that ended, with what they used: one row per program, at its last instruction.',
  scope: 'job',
  events: true,
  keys: [PID, START],
  columns: [
    ...identity,
    text('ended', 'How: exit, _exit, quick_exit, signal, or exec when another program took its place.'),
    ARGV0,
    text('told_by', 'Who reported the end: itself; or parent, because it was killed or cannot record itself.'),
    STEP,
    WORLD,
    gauge('exitcode', 'count', 'The exit code.'),
    gauge('exitsignal', 'count', 'The signal that ended it; 0: none.'),
    gauge('numtids', 'count', 'Threads that it had in total.'),
    gauge('threads_counted', 'count', 'Of these, threads that were too short for a row of their own.'),
    RANKS,
    ...ADDRESS_SPACE,
    ...PROCESS_METRICS,
  ],
  open: MORE,
});

export const threadEndTable = defineTable({
  name: 'thread_end',
  help: 'Threads of the job that ended, with what each used alone: one row per thread, the first one of a process too.',
  scope: 'job',
  events: true,
  keys: [PID, START, { name: 'tid', help: 'The thread.' }],
  columns: [
    gauge('thread_start', 'epoch', 'When the thread started; missing if it was not started the usual way.'),
    text('ended', 'end: by itself. Otherwise its process ended, this way, while it ran.'),
    ...PROCESS_METRICS,
  ],
  open: MORE,
});

export type RecordTables = Readonly<Record<'start' | 'end' | 'thread', Table>>;

/** The tables of a node, with the events that its processes are asked to count. */
export function recordTables(events: readonly string[]): RecordTables {
  const columns = eventsNamed(events).map((name) =>
    gauge(name, PERF_EVENTS.get(name)!.unit, PERF_EVENTS.get(name)!.help),
  );
  const more = (table: Table): Table => ({ ...table, columns: [...table.columns, ...columns] });
  return { start: processStartTable, end: more(processEndTable), thread: more(threadEndTable) };
}
