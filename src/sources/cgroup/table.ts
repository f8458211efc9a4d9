import { counter, defineTable, gauge } from '../../table/table.ts';

export const cgroupTable = defineTable({
  name: 'cgroup',
  help: 'What the kernel counted for the job as a whole and for its steps, from its cgroups (version 1 and 2).',
  scope: 'job',
  keys: [
    { name: 'cgroup', help: 'Path below the job’s cgroup (`step_0`); `.` is the job itself with all that is below.' },
  ],
  columns: [
    counter('usage_us', 'microseconds', 'CPU time of all processes, also of those that have ended.'),
    counter('user_us', 'microseconds', 'CPU time in the programs themselves.'),
    counter('system_us', 'microseconds', 'CPU time in the kernel.'),
    counter('periods', 'count', 'Periods of the CPU limit in which something wanted to run.'),
    counter('throttled_periods', 'count', 'Periods in which the CPU limit was reached and processes had to wait.'),
    counter('throttled_us', 'microseconds', 'Time that CPUs were withheld because of the CPU limit.'),
    gauge('cpu_limit', 'count', 'CPUs that may be used at once; missing when there is no limit.', 'float', 3),
    gauge('memory_current_bytes', 'bytes', 'Memory, with the file cache that the job filled.'),
    gauge('memory_peak_bytes', 'bytes', 'The largest memory_current_bytes ever.'),
    gauge('memory_limit_bytes', 'bytes', 'More memory than this is not given; missing when there is no limit.'),
    gauge('memory_anon_bytes', 'bytes', 'Memory that is the programs’ data (heap, stacks).'),
    gauge('memory_file_bytes', 'bytes', 'File cache, with shared memory and tmpfs.'),
    gauge('memory_shmem_bytes', 'bytes', 'Shared memory and tmpfs.'),
    gauge('memory_kernel_bytes', 'bytes', 'Memory that the kernel needs for the job.'),
    gauge(
      'memory_inactive_file_bytes',
      'bytes',
      'File cache that was not used lately: freed first when memory is short.',
    ),
    gauge('swap_current_bytes', 'bytes', 'Memory in swap.'),
    counter('page_faults', 'count', 'Page faults.'),
    counter('major_faults', 'count', 'Page faults that had to wait for a disk.'),
    counter('oom_events', 'count', 'Times that memory could not be had because of the limit.'),
    counter('oom_kills', 'count', 'Processes that the kernel killed because memory ran out.'),
    counter('io_read_bytes', 'bytes', 'Bytes read from local block devices.'),
    counter('io_written_bytes', 'bytes', 'Bytes written to local block devices.'),
    counter('io_reads', 'count', 'Read requests to local block devices.'),
    counter('io_writes', 'count', 'Write requests to local block devices.'),
    gauge('tasks', 'count', 'Processes and threads.'),
    gauge('tasks_peak', 'count', 'The most processes and threads ever.'),
    gauge('tasks_limit', 'count', 'More processes and threads are not given; missing when there is no limit.'),
    counter('cpu_stalled_us', 'microseconds', 'Time in which some thread was ready to run but had no CPU.'),
    counter('memory_stalled_us', 'microseconds', 'Time in which some thread waited for memory.'),
    counter('io_stalled_us', 'microseconds', 'Time in which some thread waited for I/O.'),
  ],
});

export type CgroupColumn = keyof typeof cgroupTable.col;
