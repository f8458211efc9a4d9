import { z } from 'zod';
import { PROCESS_ORIGINS } from '../query/processes/set.ts';
import { ALLOCATION_SOURCES } from '../query/use/allocation.ts';
import { CPU_SOURCES } from '../query/use/cpu-total.ts';
import { MEMORY_SOURCES } from '../query/use/memory.ts';
import { JOB_STATES } from '../recording/folder/job.ts';

/**
 * The report: what `--format json` prints, what docs/report.schema.json describes and, by z.infer, the types of all that
 * makes or shows one. Import types from here only: who loads this file loads zod, and writing a report needs no check.
 * Every object is strict, so that a field that is not described here fails the tests.
 */

const share = z.number().min(0);
const bytes = z.number().min(0);
const seconds = z.number().min(0);
const moment = z.number().describe('Epoch microseconds, UTC.');
const textSchema = z.string();

const optional = <T extends z.ZodType>(type: T, help: string) => type.describe(help).exactOptional();

/** A number that is NaN inside and left out of the JSON when nobody knows it. */
const orNaN = (type: z.ZodNumber, help: string) => type.describe(help).optional() as unknown as z.ZodNumber;

const allocationSource = z
  .enum(ALLOCATION_SOURCES)
  .describe(
    'asked: the user or scheduler said so. limit: the kernel holds the job to it (cpuset, cgroup). machine: neither is known, so it is all that the machine has.',
  );

const cpuSource = z
  .enum(CPU_SOURCES)
  .describe(
    'wait4: the kernel’s exact count for the command of `tacho run` and all it waited for. cgroup: the job’s own cgroup. records: what processes recorded of themselves, all of them to their end. records and samples: some did, others were killed, still run or were only sampled. processes: sampled processes, and their children that they waited for; what others used after their last sample is missing. node: everything on the node.',
  );

const memorySource = z
  .enum(MEMORY_SOURCES)
  .describe(
    'cgroup: peak of the job’s cgroup, file cache included. processes: the sum of the peaks of processes that ran at the same time: an upper bound. pss: the same without the shared memory that samples show. process: the largest single process: a lower bound. node: all that is used on the node.',
  );

const energySource = z
  .enum(['counter', 'integrated power', 'both'])
  .describe('Counters, power added up over time, or both.');
export type EnergySource = z.infer<typeof energySource>;

const failedStep = z.strictObject({
  id: textSchema,
  name: textSchema.exactOptional(),
  state: textSchema,
  exit_code: z.number().exactOptional(),
});
export type FailedStep = z.infer<typeof failedStep>;

const job = z.strictObject({
  id: textSchema,
  restart: optional(z.number(), 'How often the scheduler had restarted it before; not there: never.'),
  name: textSchema,
  user: textSchema,
  scheduler: z.enum(['slurm', 'flux', 'pbs', 'file', 'none']),
  cluster: textSchema.exactOptional(),
  account: textSchema.exactOptional(),
  partition: textSchema.exactOptional(),
  command: optional(z.array(textSchema), 'Arguments are left out when the recording is redacted.'),
  directory: textSchema.exactOptional(),
  asked: z
    .strictObject({
      nodes: z.number().exactOptional(),
      cpus: z.number().exactOptional(),
      memory_bytes: bytes.exactOptional(),
      gpus: z.number().exactOptional(),
      time_limit_seconds: seconds.exactOptional(),
    })
    .describe('What was asked for, for the whole job; what nobody stated is not there.'),
  nodes: z.array(textSchema),
  interval_seconds: orNaN(seconds, 'Time between two ticks.'),
  submit: moment.exactOptional(),
  start: orNaN(moment, 'Epoch microseconds, UTC; not there when job.json cannot be read.'),
  end: moment.exactOptional(),
  state: z.enum(JOB_STATES),
  exit_code: z.number().exactOptional(),
  signal: textSchema.exactOptional(),
  reason: textSchema.exactOptional(),
  command_use: optional(
    z.strictObject({ cpu_seconds: seconds, max_rss_bytes: bytes.exactOptional() }),
    'What the command of `tacho run` used itself, by wait4, where that is not the job’s use: it only started the work on other nodes.',
  ),
  memory_kills: optional(
    z.strictObject({ kills: z.number(), own: z.number() }),
    'Processes that the kernel killed in the job’s cgroup because memory ran out, where some of them were Tacho’s own, and how many these were.',
  ),
  slurm_max_rss_bytes: optional(
    bytes,
    'What Slurm calls MaxRSS: the largest task of any step, as Slurm sampled it. Short peaks, and other tasks, are not in it.',
  ),
  steps: optional(z.number(), 'How many steps the scheduler knows.'),
  failed_steps: optional(z.array(failedStep), 'Those that failed, reached their limit or lost a node.'),
  tags: z.record(textSchema, textSchema),
  annotations: optional(z.record(textSchema, textSchema), 'What people noted about the job (`tacho annotate`).'),
  imported: optional(
    z.strictObject({ from: textSchema, notes: z.array(textSchema) }),
    'Another program recorded the job: from what it was imported, and what is wrong or unusual in that.',
  ),
  environment: z.record(textSchema, textSchema).describe('Kept by allow-list only.'),
});
export type JobReport = z.infer<typeof job>;

const memory = z
  .strictObject({
    cgroup_peak: optional(bytes, 'Highest use of the job’s cgroup, file cache included.'),
    cgroup_anon_max: optional(bytes, 'The programs’ own part of it, at most.'),
    cgroup_file_max: optional(bytes, 'The file cache in it, at most.'),
    process_peaks_sum: optional(bytes, 'Peaks of processes that lived at the same time, added up: an upper bound.'),
    process_pss_max: optional(
      bytes,
      'The most that all processes had in RAM, what they share counted once (PSS); sampled.',
    ),
    process_shared_max: optional(bytes, 'The most that their resident sets, added up, count more than once; sampled.'),
    process_peak_max: optional(bytes, 'The largest resident set of one process.'),
    node_used_max: optional(bytes, 'All that was used on the node, by everybody.'),
  })
  .describe('The memory of the fullest node, in every way that it could be measured.');

const summary = z.strictObject({
  wall_seconds: orNaN(seconds, 'How long it ran; not there when job.json cannot be read and nothing else tells.'),
  wall_source: z.enum(['wait4', 'scheduler', 'recording']),
  nodes: z.number(),
  nodes_recorded: z.number(),
  cpus: optional(z.number(), 'CPUs of the job.'),
  cpus_source: allocationSource.exactOptional(),
  cpu_seconds: optional(seconds, 'CPU time of the job.'),
  cpu_source: cpuSource.exactOptional(),
  cpu_utilization: optional(share, 'Of the job’s CPUs, 0 to 1; a node counts for as long as it was recorded.'),
  cpus_busy: optional(z.number(), 'CPUs busy on average.'),
  cpus_measured: optional(z.number(), 'CPUs of the nodes that were measured.'),
  memory_peak_bytes: optional(bytes, 'Highest use on any one node.'),
  memory_peak_node: optional(textSchema, 'Which node that was.'),
  memory_source: memorySource.exactOptional(),
  memory_shm_bytes: optional(
    bytes,
    'Where processes were counted: memory that files in memory (/dev/shm) may take in addition, as they belong to no process.',
  ),
  memory_limit_bytes: optional(bytes, 'What the job may use on that node.'),
  memory_limit_source: allocationSource.exactOptional(),
  memory_peaks_sum_bytes: optional(bytes, 'The peaks of all nodes, added up.'),
  memory: memory.exactOptional(),
  gpus: optional(z.number(), 'GPUs of the job.'),
  gpu_utilization: optional(share, 'Mean of the job’s GPUs that were measured, 0 to 1.'),
  gpus_measured: optional(z.number(), 'How many these were.'),
  gpu_utilization_max: optional(share, 'The highest sample of any.'),
  gpu_memory_peak_bytes: optional(bytes, 'Of the fullest card.'),
  gpu_memory_total_bytes: optional(bytes, 'Of the same card.'),
  gpu_power_mean_watts: optional(z.number(), 'All the job’s GPUs together.'),
  gpu_temperature_max_celsius: z.number().exactOptional(),
  energy_joules: optional(z.number(), 'Energy of the nodes while they were recorded; see energy_covers.'),
  energy_source: energySource.exactOptional(),
  energy_covers: optional(
    z.array(textSchema),
    '"node", or the parts that are in it: "CPUs", "memory", "GPUs", "platform".',
  ),
  energy_coverage: optional(share, 'The part of the job’s time on its nodes whose energy is in it.'),
  node_hours: orNaN(z.number(), 'Not there when it is not known how long it ran.'),
  core_hours: z.number().exactOptional(),
  gpu_hours: z.number().exactOptional(),
  time_limit_seconds: seconds.exactOptional(),
  time_used: optional(share, 'Of the time limit, 0 to 1.'),
  processes: optional(z.number(), 'Processes of the job that were recorded or sampled.'),
});
export type SummaryReport = z.infer<typeof summary>;

const node = z.strictObject({
  node: textSchema,
  status: z
    .enum(['recorded', 'recording', 'silent', 'stopped early', 'never recorded'])
    .describe('silent: nothing comes from it while the job runs; whether it still records is not known.'),
  reason: optional(textSchema, 'Why it stopped, as far as that is known.'),
  taken: optional(moment, 'When the scheduler took it out of the job, which went on.'),
  late_seconds: optional(seconds, 'How long after the job’s start the node’s own agent was there, where it came late.'),
  first_sample: moment.exactOptional(),
  last_sample: moment.exactOptional(),
  recorded_seconds: seconds.exactOptional(),
  samples: z.number().exactOptional(),
  cpus: optional(z.number(), 'The job’s CPUs on this node.'),
  cpus_source: allocationSource.exactOptional(),
  cpu_seconds: seconds.exactOptional(),
  cpu_source: cpuSource.exactOptional(),
  cpu_window_seconds: optional(seconds, 'The time that its CPU time was gathered in.'),
  cpu_utilization: optional(share, 'Of the job’s CPUs here, mean of that time.'),
  cpu_utilization_max: optional(share, 'Between two ticks, at most.'),
  cpu_wait_seconds: optional(seconds, 'Time in which its threads were ready to run and had no CPU, added up.'),
  allowed_cpus: optional(z.number(), 'CPUs that its working processes may run on, where these are fewer than it has.'),
  io_bytes: optional(
    bytes,
    'What its own processes fetched from storage and sent there; where that is not known, all that they read and wrote.',
  ),
  major_faults: optional(z.number(), 'Page faults of its own processes that waited for a disk.'),
  node_cpus: optional(z.number(), 'All CPUs of the node.'),
  node_memory_bytes: optional(bytes, 'All memory of the node.'),
  node_cpu_utilization: optional(share, 'Of all CPUs of the node, everybody’s work.'),
  iowait: optional(share, 'CPUs idle while something waited for a disk.'),
  load_mean: z.number().exactOptional(),
  load_max: z.number().exactOptional(),
  memory_peak_bytes: bytes.exactOptional(),
  memory_source: memorySource.exactOptional(),
  memory_shm_bytes: optional(
    bytes,
    'Where processes were counted: memory that files in memory (/dev/shm) may take in addition, as they belong to no process.',
  ),
  memory_own_bytes: optional(
    bytes,
    'The largest part of the peak that Tacho itself (agent and commands in the job) can have used.',
  ),
  memory_limit_bytes: bytes.exactOptional(),
  memory_limit_source: allocationSource.exactOptional(),
  swap_peak_bytes: optional(bytes, 'Memory of the job in swap, at most.'),
  swap_source: optional(z.enum(['cgroup', 'process']), 'All of it, or that of its largest process there.'),
  swapped_in_bytes: optional(bytes, 'Read back from swap on the whole node.'),
  oom_kills: optional(z.number(), 'Processes that the kernel killed because memory ran out; not there: not known.'),
  oom_scope: optional(z.enum(['job', 'node']), 'Whose they were: the job’s, or anybody’s on the node.'),
  oom_source: optional(z.enum(['cgroup', 'records', 'vmstat']), 'Who says so.'),
  cpu_throttled: optional(share, 'Periods in which the CPU quota of the cgroup that the job runs in ran out.'),
  pressure_scope: optional(z.enum(['job', 'node']), 'Whose waiting the pressure is.'),
  pressure_cpu: share.exactOptional(),
  pressure_memory: share.exactOptional(),
  pressure_io: share.exactOptional(),
  gpus: z.number().exactOptional(),
  gpu_utilization: share.exactOptional(),
  idle_gpus: z.number().exactOptional(),
  unlike_gpus: z.number().exactOptional(),
  gpu_power_watts: z.number().exactOptional(),
  energy_joules: z.number().exactOptional(),
  energy_source: energySource.exactOptional(),
  energy_covers: z.array(textSchema).exactOptional(),
  energy_seconds: optional(
    seconds,
    'The time that was metered: a card may be recorded for a shorter time than its node.',
  ),
  straggler: optional(z.array(textSchema), 'Why this node is unlike the others.'),
  shared_with: optional(z.array(textSchema), 'Other jobs that ran on this node meanwhile.'),
  neighbours: optional(
    z.array(z.strictObject({ user: textSchema, program: textSchema, cpu_seconds: seconds })),
    'Programs of others that used most CPU time while more threads wanted to run than there are CPUs, as far as /proc shows.',
  ),
  left_running: optional(
    z.array(z.strictObject({ pid: z.number(), command: textSchema, user: textSchema })),
    'Processes of the job that were still there when its recording ended.',
  ),
});
export type NodeReport = z.infer<typeof node>;

const gpu = z.strictObject({
  node: textSchema,
  gpu: textSchema.describe('The library’s number of the card; "0:mig-1" is a MIG instance of card 0.'),
  vendor: textSchema.exactOptional(),
  model: textSchema.exactOptional(),
  own: optional(z.boolean(), 'Whether the card is the job’s; not there when that is not known.'),
  samples: z.number(),
  recorded_seconds: seconds.describe('From its first to its last sample.'),
  utilization_mean: share.exactOptional(),
  utilization_p05: share.exactOptional(),
  utilization_p50: share.exactOptional(),
  utilization_p95: share.exactOptional(),
  utilization_max: share.exactOptional(),
  memory_mean_bytes: bytes.exactOptional(),
  memory_max_bytes: bytes.exactOptional(),
  memory_total_bytes: bytes.exactOptional(),
  power_mean_watts: z.number().exactOptional(),
  power_max_watts: z.number().exactOptional(),
  temperature_mean_celsius: z.number().exactOptional(),
  temperature_max_celsius: z.number().exactOptional(),
  clock_mean_mhz: z.number().exactOptional(),
  clock_p05_mhz: z.number().exactOptional(),
  clock_max_mhz: z.number().exactOptional(),
  energy_joules: z.number().exactOptional(),
  energy_source: z.enum(['counter', 'integrated power']).exactOptional(),
  throttled_thermal: optional(share, 'Samples in which heat held the clocks down.'),
  throttled_power: optional(share, 'Samples in which the power limit did.'),
  uncorrected_errors: z.number().exactOptional(),
  lost: optional(moment, 'When the card stopped answering.'),
  straggler: z.array(textSchema).exactOptional(),
});
export type GpuReport = z.infer<typeof gpu>;

const process = z.strictObject({
  node: textSchema,
  pid: textSchema,
  command: textSchema.exactOptional(),
  user: textSchema.exactOptional(),
  seconds,
  cpu_seconds: seconds.exactOptional(),
  cpus_busy: z.number().exactOptional(),
  rank: optional(z.number(), 'The rank of a parallel program that it belongs to.'),
  rss_max_bytes: bytes.exactOptional(),
  rss_growth: optional(z.number(), 'Bytes a second, when its memory grew steadily to the end.'),
  threads_max: z.number().exactOptional(),
  read_bytes: bytes.exactOptional(),
  written_bytes: bytes.exactOptional(),
  exit_code: z.number().exactOptional(),
  signal: optional(z.number(), 'The signal that ended it.'),
  source: optional(
    z.enum(PROCESS_ORIGINS),
    'record: it recorded its end. parent: its parent reported it. start: it recorded only its start, so it was killed or still runs. sample: it was only sampled.',
  ),
});
export type ProcessReport = z.infer<typeof process>;

const program = z.strictObject({
  program: textSchema.describe('The program, and for one that runs scripts also which: `python3 train.py`.'),
  processes: z.number().describe('How many processes ran it.'),
  cpu_seconds: seconds.exactOptional(),
  cpu_share: optional(share, 'Of the CPU time of the job.'),
  rss_max_bytes: optional(bytes, 'Peak of its largest process.'),
  threads_max: optional(z.number(), 'The most threads that one of its processes had.'),
  failed: optional(z.number(), 'Of its processes, how many ended with a code other than 0, or by a signal.'),
  nodes: z.number().describe('On how many nodes it ran.'),
  largest: z
    .strictObject({ node: textSchema, pid: textSchema, command: textSchema.exactOptional() })
    .describe('Its process with the highest peak; where that is not known, the one with most CPU time.'),
});
export type ProgramReport = z.infer<typeof program>;

const work = z
  .strictObject({
    user_seconds: optional(seconds, 'CPU time in programs.'),
    system_seconds: optional(seconds, 'CPU time in the kernel.'),
    cpu_split_source: optional(z.enum(['wait4', 'cgroup', 'processes']), 'Who counted these two.'),
    waiting_seconds: optional(seconds, 'Time in which threads were ready to run and had no CPU, added up.'),
    read_calls_bytes: optional(bytes, 'Read by system calls: files, pipes, sockets.'),
    written_calls_bytes: optional(bytes, 'Written by system calls: files, pipes, sockets.'),
    read_calls: optional(z.number(), 'System calls that read.'),
    write_calls: optional(z.number(), 'System calls that wrote.'),
    read_disk_bytes: optional(bytes, 'Of what was read, what came from a disk.'),
    written_disk_bytes: optional(bytes, 'Of what was written, what was to go to a disk.'),
    minor_faults: optional(z.number(), 'Page faults that needed no disk.'),
    major_faults: optional(z.number(), 'Page faults that had to wait for a disk.'),
    voluntary_switches: optional(z.number(), 'Times that a thread gave up its CPU to wait for something.'),
    involuntary_switches: optional(z.number(), 'Times that the CPU was taken away from a thread.'),
    processes_missing: optional(z.number(), 'Processes that are not in all of these sums; not there: none.'),
  })
  .describe('What the job’s own processes did, added up over the whole job.');
export type WorkReport = z.infer<typeof work>;

const records = z.strictObject({
  records: z.number().describe('Processes whose end was recorded, by themselves or their parents.'),
  starts: z.number().describe('Those that recorded only their start: killed, or still running.'),
  samples: z.number().describe('Those that only sampling saw.'),
  by_parent: z
    .number()
    .describe('Of `records`, those that only their parents reported: killed, or not able to record themselves.'),
  threads: z
    .number()
    .describe('Threads of the processes that recorded themselves; of those that a parent reported they are not known.'),
  failed: z.number().describe('Ended with a code other than 0, or by a signal.'),
  cpu_seconds: seconds.describe('CPU time in records.'),
  sampled_cpu_seconds: seconds.describe('CPU time of the others, as far as sampling saw it.'),
  unexplained: optional(share, 'Of the job’s CPU time, by cgroup or wait4: what is in no record.'),
});
export type RecordsReport = z.infer<typeof records>;

const operation = z.strictObject({
  name: textSchema.describe('The tag that its processes bear.'),
  processes: z.number(),
  threads: optional(z.number(), 'Of its processes whose threads are known.'),
  cpu_seconds: seconds,
  cpu_share: optional(share, 'Of the CPU time of all processes.'),
  seconds: seconds.describe('While at least one of its processes ran.'),
  runs: z.number().describe('Times that it went on without a break.'),
  seconds_sum: seconds.describe('Its processes added up.'),
  seconds_span: seconds.describe('From the first start to the last end.'),
  time_share: optional(share, 'Of the job’s duration.'),
});
export type OperationReport = z.infer<typeof operation>;

const spread = z.strictObject({ min: z.number(), mean: z.number(), max: z.number() });

const rank = z.strictObject({
  rank: z.number(),
  node: textSchema,
  pid: z.number().describe('Of its first process.'),
  program: textSchema.describe('The one that used most of its CPU time.'),
  processes: z.number().describe('Its first one, and all that this started.'),
  threads: optional(z.number(), 'Of its program, those of the MPI library included.'),
  start: moment,
  seconds: optional(seconds, 'How long it ran.'),
  cpu_seconds: optional(seconds, 'With its waiting in MPI calls, where the library waits by asking again and again.'),
  user_seconds: seconds.exactOptional(),
  system_seconds: seconds.exactOptional(),
  wait_seconds: optional(seconds, 'Ready to run, without a CPU; its threads added up.'),
  memory_peak_bytes: optional(bytes, 'Peaks of its processes that lived at the same time, added up.'),
  read_bytes: optional(bytes, 'From storage.'),
  written_bytes: optional(bytes, 'To storage.'),
  read_chars: optional(bytes, 'By system calls, from wherever.'),
  written_chars: optional(bytes, 'By system calls, to wherever.'),
  allowed_cpus: optional(textSchema, 'CPUs that the main thread of its program may run on: `0-3,8`; sampled.'),
  exit_code: z.number().exactOptional(),
  signal: optional(z.number(), 'The signal that ended it.'),
  source: z
    .enum(['record', 'sample'])
    .describe('record: its processes, or their parents, reported what they used. sample: sampling alone saw it.'),
});
export type RankReport = z.infer<typeof rank>;

const world = z.strictObject({
  world: z.number().describe('Counted from 1, in the order of their start.'),
  launcher: optional(textSchema, 'The command that started them, such as mpirun or srun.'),
  step: optional(textSchema, 'The scheduler’s step that they ran in.'),
  size: z.number().describe('Ranks that were started.'),
  recorded: z.number().describe('Of these, those that recorded themselves.'),
  nodes: z.number(),
  programs: z.array(textSchema),
  start: moment,
  seconds: optional(seconds, 'Until the last rank ended.'),
  cpu_seconds: spread.exactOptional(),
  wait_seconds: spread.exactOptional(),
  memory_peak_bytes: spread.exactOptional(),
  io_bytes: optional(spread, 'Read and written by system calls.'),
  slowest: optional(
    z.strictObject({ rank: z.number(), node: textSchema }),
    'The rank with most CPU time: the others wait for it.',
  ),
  ranks: z.array(rank).describe('All; of more than 64, those that failed and those with the least or the most.'),
});
export type WorldReport = z.infer<typeof world>;

const ranks = z.strictObject({
  worlds: z.number().describe('How often several ranks were started together.'),
  ranks: z.number().describe('Ranks that were started in all.'),
  largest: z.array(world).describe('Those with most CPU time, in the order of their start.'),
});
export type RanksReport = z.infer<typeof ranks>;

const daskPrefix = z.strictObject({
  prefix: textSchema.describe('The key without its token: the name that people know.'),
  tasks: z.number().describe('Executions.'),
  erred: z.number(),
  lost: z.number().describe('Their worker went away while it had them.'),
  recomputed: z.number().describe('Executions of keys that their job of Dask had computed before.'),
  seconds: seconds.describe('Of all executions together.'),
  mean_seconds: seconds.exactOptional(),
  median_seconds: seconds.exactOptional(),
  max_seconds: seconds.exactOptional(),
  transfer_seconds: seconds.describe('In which workers fetched what they need from other workers.'),
  disk_seconds: seconds.describe('In which workers read spilled results for them.'),
  bytes: bytes.describe('Results together.'),
  cpu_seconds: optional(seconds, 'Their part of the CPU time of the workers.'),
  cpu_mean_cores: optional(z.number(), 'CPUs in use by a task, on average.'),
  cpu_peak_cores: optional(z.number(), 'CPUs in use by a task, in the sample with most.'),
  memory_peak_bytes: optional(bytes, 'Of a worker while one of them ran.'),
  memory_mean_bytes: bytes.exactOptional(),
  gpu_peak_percent: z.number().exactOptional(),
  gpu_mean_percent: z.number().exactOptional(),
  gpu_memory_peak_bytes: bytes.exactOptional(),
  shared: share.describe('Part of their time in which other tasks ran on the same worker.'),
});

const dask = z.strictObject({
  tasks: z.number().describe('Executions that ended.'),
  erred: z.number(),
  lost: z.number(),
  recomputed: z.number(),
  graphs: z.number().describe('That clients submitted; not known (0) when the cluster was only asked.'),
  workers: z.number(),
  threads: optional(z.number(), 'Tasks that its workers may execute at once.'),
  seconds: seconds.describe('From the start of the first task to the end of the last.'),
  busy: optional(share, 'Part of their time in which threads of workers executed tasks.'),
  spilled_peak_bytes: optional(bytes, 'Results on disk, of the worker that had most.'),
  prefixes: z.array(daskPrefix).describe('Those that took most time, at most 200.'),
  more_prefixes: optional(z.number(), 'Number of prefixes that are left out.'),
});
export type DaskReport = z.infer<typeof dask>;
export type DaskPrefix = z.infer<typeof daskPrefix>;

const flow = z.strictObject({
  what: textSchema,
  scope: z.enum(['job', 'node']).describe('The job’s own, or everything on its nodes.'),
  virtual: optional(z.literal(true), 'Network: counted at virtual interfaces, as a node (a container) has no other.'),
  in_bytes: bytes.exactOptional(),
  out_bytes: bytes.exactOptional(),
  in_peak: optional(z.number(), 'Bytes a second, of one device.'),
  in_peak_at: textSchema.exactOptional(),
  out_peak: z.number().exactOptional(),
  out_peak_at: textSchema.exactOptional(),
});
export type FlowReport = z.infer<typeof flow>;

const finding = z.strictObject({
  id: textSchema,
  severity: z
    .enum(['info', 'advice', 'warning', 'critical'])
    .describe(
      'info: worth knowing. advice: would save something. warning: costs much or may fail. critical: something failed.',
    ),
  text: textSchema.describe('One sentence: what is the matter.'),
  evidence: z.array(
    z.strictObject({
      text: textSchema.describe('In words, with value and unit.'),
      from: textSchema.describe('Table and column, the kernel’s call or the scheduler’s record that it comes from.'),
      node: textSchema.exactOptional(),
      gpu: textSchema.exactOptional(),
      value: z.number().exactOptional(),
      threshold: optional(z.number(), 'The limit that the value was held against, in the same unit.'),
    }),
  ),
  advice: textSchema,
  confidence: z.enum(['low', 'medium', 'high']),
  confidence_reason: textSchema.describe('Why the confidence is not higher, or what makes it high.'),
});
export type Finding = z.infer<typeof finding>;
export type Evidence = Finding['evidence'][number];
export type Severity = Finding['severity'];
export type Confidence = Finding['confidence'];

const check = z.strictObject({
  id: textSchema,
  title: textSchema,
  outcome: z
    .enum(['found', 'fine', 'skipped', 'unmeasurable'])
    .describe(
      'fine: measured, and nothing is wrong. skipped: does not apply to this job. unmeasurable: data are missing.',
    ),
  why: optional(textSchema, 'Why it was skipped or could not be measured.'),
  hint: textSchema.exactOptional(),
});
export type CheckResult = z.infer<typeof check>;

const quality = z.strictObject({
  grade: z
    .enum(['A', 'B', 'C', 'D'])
    .describe(
      'A: 99 % of the expected ticks, B: 95 %, C: 80 %, D: less. With damaged files, nodes that fell silent or an agent of a node that came late B at best, with lost files C.',
    ),
  reasons: z.array(textSchema).describe('What keeps the grade from being better.'),
  ticks: z.number(),
  expected_ticks: z.number(),
  job_share: optional(share, 'Part of the job’s time between the first and the last sample.'),
  late_ticks: z.number(),
  missed_ticks: z.number(),
  clock_jumps: z.array(z.strictObject({ node: textSchema, time: moment, seconds: z.number() })),
  agents_away: optional(
    z.array(z.strictObject({ node: textSchema, from: moment, to: moment })),
    'While no agent was on a node, between one that was killed or ended and the next; not there: never.',
  ),
  lost_samples: z.array(
    z.strictObject({
      node: textSchema,
      table: textSchema,
      rows: z.number(),
      why: textSchema,
      since: optional(moment, 'When the first sample was refused.'),
      waiting: optional(z.number(), 'Rows that are still in the agent’s memory.'),
    }),
  ),
  damage: z.array(textSchema).describe('Files, or parts of them, that could not be read.'),
  nodes_missing: z.array(textSchema),
  nodes_stopped_early: z.array(textSchema),
  nodes_silent: optional(z.array(textSchema), 'From which nothing comes while the job runs; not there: none.'),
});
export type QualityReport = z.infer<typeof quality>;
export type Grade = QualityReport['grade'];
export type NodeLostSamples = QualityReport['lost_samples'][number];

const phase = z.strictObject({
  name: textSchema,
  start: moment,
  end: optional(moment, 'Not there when the phase was never ended.'),
  seconds,
  began: optional(moment, 'When it began, if that was before the reported part of the job.'),
  whole_seconds: optional(seconds, 'Its whole duration, if only some of it is in that part.'),
  cpu_utilization: share.exactOptional(),
  cpu_source: optional(cpuSource, 'Where that comes from; processes: approximate.'),
  gpu_utilization: share.exactOptional(),
  power_watts: z.number().exactOptional(),
});
export type PhaseReport = z.infer<typeof phase>;

const curves = z.strictObject({
  from: moment.describe('When the first step begins.'),
  step: z.number().describe('How long each step is, in microseconds.'),
  lines: z.array(
    z.strictObject({
      what: z.enum(['CPU', 'memory', 'GPU', 'I/O']),
      unit: z.enum(['CPUs', 'bytes', '%', 'bytes/s']),
      scope: z.enum(['job', 'node']).describe('job: the job’s own. node: all that ran on its nodes.'),
      from: textSchema.describe('Tables and columns.'),
      values: z
        .array(z.number().nullable())
        .describe('The mean of each step; all nodes together, of GPUs their mean. null: not measured.'),
    }),
  ),
});
export type CurvesReport = z.infer<typeof curves>;

const figure = z.strictObject({ name: textSchema, time: moment, value: z.union([z.number(), textSchema]) });
export type FigureReport = z.infer<typeof figure>;

const unmeasured = z.strictObject({
  what: textSchema,
  why: textSchema,
  hint: textSchema.exactOptional(),
  nodes: z.array(textSchema).exactOptional(),
});
export type Unmeasured = z.infer<typeof unmeasured>;

const cost = z.strictObject({
  cpu_seconds: optional(seconds, 'Of agents, and of `tacho run` or `tacho stop` until the report card was made.'),
  core_share: optional(share, 'Of one core, agents only, mean over the nodes; not there: less than a second.'),
  allocation_share: optional(share, 'Of the CPUs that the job was given.'),
  max_rss_bytes: optional(bytes, 'Of the agent that used most, with pages of files that others share.'),
  max_own_bytes: optional(
    bytes,
    'Without those: what counts against the job’s memory limit once its files are in memory.',
  ),
  bytes_written: bytes.exactOptional(),
  commands: optional(z.number().min(0), 'Of Tacho’s, run inside the job: what they used is not counted as the job’s.'),
  commands_cpu_seconds: seconds.exactOptional(),
  in_memory_peak: optional(z.boolean(), 'The agents’ memory is in the peak of the job’s cgroup.'),
});
export type CostReport = z.infer<typeof cost>;

export const reportSchema = z
  .strictObject({
    format: z.literal(1),
    recording: textSchema.describe('The folder.'),
    confined: optional(
      z.strictObject({ what: textSchema, from: moment.exactOptional(), to: moment.exactOptional() }),
      'Set when the report covers only a part of the job.',
    ),
    job,
    summary,
    nodes: z.array(node),
    gpus: z.array(gpu),
    processes: z.array(process).describe('Those with most CPU time, then those with most memory.'),
    programs: z.array(program).describe('Processes by program: those with most CPU time, then those with most memory.'),
    work: work.exactOptional(),
    records: optional(records, 'Set when processes recorded themselves.'),
    operations: optional(z.array(operation), 'Set when they bear tags: those that took longest.'),
    ranks: optional(ranks, 'Set when a launcher (mpirun, srun) started several ranks, and they recorded themselves.'),
    dask: optional(dask, 'Set when tasks of a Dask cluster were recorded.'),
    flows: z.array(flow).describe('I/O and network.'),
    curves: optional(curves, 'What the job did over time; not there: it was too short for that.'),
    phases: z.array(phase).describe('Between `tacho mark begin` and `tacho mark end`.'),
    figures: z.array(figure).describe('Figures of merit (`tacho fom`).'),
    findings: z.array(finding).describe('The gravest first.'),
    checks: z.array(check).describe('What became of every check, also of those that found nothing.'),
    unmeasured: z.array(unmeasured).describe('What the report cannot say, and why.'),
    quality,
    cost,
  })
  .describe('A report card. Shares are 0 to 1, times epoch microseconds UTC. What was not measured is not there.');
export type Report = z.infer<typeof reportSchema>;

/** The report without its findings: what the findings are drawn from. */
export type Facts = Omit<Report, 'findings' | 'checks' | 'unmeasured'>;

/** What `--format json` prints: the report of one recording, or a list when there are several. */
export const reportsSchema = reportOrList(reportSchema.meta({ id: 'report' }));

function reportOrList<T extends z.ZodType>(one: T) {
  return z.union([one, z.array(one)]);
}

/** The text of docs/report.schema.json. */
export function reportJsonSchema(): string {
  const schema = { title: 'Tacho report', ...z.toJSONSchema(reportsSchema) };
  return `${JSON.stringify(schema, null, 2)}\n`;
}
