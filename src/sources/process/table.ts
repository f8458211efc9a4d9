import { counter, defineTable, gauge, text } from '../../table/table.ts';

/** The processes of the job. */
export const processTable = defineTable({
  name: 'process',
  help: 'The processes of the job, from /proc/PID: one row when something changed, at least one a minute.',
  scope: 'job',
  sparse: true,
  keys: [
    { name: 'pid', help: 'Process id.' },
    {
      name: 'start',
      help: 'When the process started, in milliseconds since 1970 UTC: tells apart who had the same pid.',
    },
  ],
  columns: [
    text('name', 'Name of the program as the kernel has it (at most 15 bytes).'),
    text(
      'command',
      'The command with its arguments, said when it is new and once a minute; never when arguments are hidden.',
    ),
    text('user', 'User name, or the uid where it has no name.'),
    text(
      'state',
      'R running, S sleeping, D waiting for I/O, T stopped, Z ended but not yet collected, I idle, X gone since the row before.',
    ),
    gauge('ppid', 'count', 'Process id of the parent.'),
    gauge('uid', 'count', 'Real user id.'),
    gauge('threads', 'count', 'Threads.'),
    counter('user_ms', 'milliseconds', 'CPU time in the program itself, all threads, without children.'),
    counter('system_ms', 'milliseconds', 'CPU time in the kernel, all threads, without children.'),
    counter(
      'children_user_ms',
      'milliseconds',
      'CPU time in the program of children that it waited for, and of those that they waited for.',
    ),
    counter('children_system_ms', 'milliseconds', 'CPU time in the kernel of the same children.'),
    gauge('rss_bytes', 'bytes', 'Memory in RAM.'),
    gauge(
      'rss_anon_bytes',
      'bytes',
      'Memory in RAM that is the program’s data (heap, stacks); read every ten seconds or after a leap.',
    ),
    gauge('rss_file_bytes', 'bytes', 'Memory in RAM that maps files; read as rss_anon_bytes.'),
    gauge('rss_shmem_bytes', 'bytes', 'Shared memory in RAM; read as rss_anon_bytes.'),
    gauge('rss_peak_bytes', 'bytes', 'The most memory it ever had in RAM.'),
    gauge('virtual_bytes', 'bytes', 'Address space.'),
    gauge('swap_bytes', 'bytes', 'Memory in swap; read as rss_anon_bytes.'),
    counter('minor_faults', 'count', 'Page faults that needed no disk.'),
    counter('major_faults', 'count', 'Page faults that had to wait for a disk.'),
    counter(
      'read_bytes',
      'bytes',
      'Bytes fetched from storage; with several threads also by children that it waited for since it had them.',
    ),
    counter('written_bytes', 'bytes', 'Bytes sent to storage; children as in read_bytes.'),
    counter(
      'read_chars',
      'bytes',
      'Bytes read by system calls, cached or not, also from pipes and sockets; children as in read_bytes.',
    ),
    counter('written_chars', 'bytes', 'Bytes written by system calls; children as in read_bytes.'),
    counter(
      'voluntary_switches',
      'count',
      'Voluntary context switches of the main thread, when it waited for something; read as rss_anon_bytes.',
    ),
    counter('involuntary_switches', 'count', 'Times the main thread lost the CPU to others; read as rss_anon_bytes.'),
    counter('wait_ms', 'milliseconds', 'Time the main thread was ready to run but had no CPU.'),
    gauge('cpu', 'count', 'The CPU that the main thread ran on last.'),
    gauge(
      'pss_bytes',
      'bytes',
      'Memory in RAM, of pages that several processes map only its share, so that it can be added up; read now and then where a job without a cgroup of its own has several large processes, missing in other rows (all together: process_memory).',
    ),
    counter('read_calls', 'count', 'System calls that read; children as in read_bytes.'),
    counter('write_calls', 'count', 'System calls that wrote; children as in read_bytes.'),
    gauge(
      'cpu_limit_seconds',
      'seconds',
      'CPU time that the process may use (RLIMIT_CPU); read when it starts a program, missing without a limit.',
    ),
    gauge('virtual_limit_bytes', 'bytes', 'Address space that it may use (RLIMIT_AS); read as cpu_limit_seconds.'),
    gauge('data_limit_bytes', 'bytes', 'Data that it may allocate (RLIMIT_DATA); read as cpu_limit_seconds.'),
    gauge('file_limit_bytes', 'bytes', 'Size of a file that it may write (RLIMIT_FSIZE); read as cpu_limit_seconds.'),
    text(
      'allowed_cpus',
      'CPUs that the main thread may run on, as a list (`0-3,8`); read as rss_anon_bytes, said as the command.',
    ),
  ],
});
