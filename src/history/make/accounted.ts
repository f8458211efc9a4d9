import { unquoted, wordsOf } from '../../base/shell-words.ts';
import { formatBytes } from '../../base/size.ts';
import { stated } from '../../base/stated.ts';
import { type JobstatsNode, readJobstats } from '../../import/slurm/jobstats.ts';
import type { SacctJob, SacctStep } from '../../import/slurm/sacct-job.ts';
import { largest, sum } from '../../query/material.ts';
import type { JobNodeSummary, JobSummary, RecordingSummaries } from '../tables/summary.ts';
import { isShellScript, programOf } from './program.ts';

const ACCOUNTING = 'accounting';
const HOUR = 3600;

/** The rows of a job that only accounting knows. `notes` say how sure its figures are. */
export function summariesOfAccounted(job: SacctJob): RecordingSummaries {
  const measured = readJobstats(job.comment);
  const nodes = Array.isArray(measured) ? measured : [];
  const notes = new Map<string, string>([['accounting', 'known from accounting only; nothing was recorded']]);
  if (typeof measured === 'string') notes.set('jobstats', measured);
  const use = nodes.length > 0 ? ofJobstats(job, nodes, notes) : ofSteps(job, notes);
  const waiting = /_\[(.*)\](?:%\d+)?$/.exec(job.id)?.[1];
  if (waiting) notes.set('array', `tasks ${waiting} wait`);
  const row = rowOf(job, use, notes);
  return { jobs: [row], job_nodes: nodeRows(job, row, nodes), node_hours: [], findings: [] };
}

/** What a job used, as far as accounting knows. */
type Use = Partial<
  Pick<
    JobSummary,
    | 'cpu_seconds'
    | 'memory_peak_bytes'
    | 'memory_peaks_bytes'
    | 'memory_limit_bytes'
    | 'gpu_use'
    | 'gpus_unused'
    | 'gpu_memory_peak_bytes'
    | 'gpu_memory_use'
    | 'read_bytes'
    | 'written_bytes'
    | 'ranks'
  >
>;

function rowOf(job: SacctJob, use: Use, notes: ReadonlyMap<string, string>): JobSummary {
  const { asked } = job;
  const hasRun = job.start !== undefined;
  const wall = hasRun ? job.wall_seconds : undefined;
  const hours = wall === undefined ? undefined : wall / HOUR;
  const nodes = job.node_count ?? (job.nodes.length || undefined);
  const coreHours = times(job.cpus, hours);
  const gpuHours = times(job.gpus, hours);
  const cpuUse = use.cpu_seconds === undefined || !wall || !job.cpus ? undefined : use.cpu_seconds / (wall * job.cpus);
  const limit = use.memory_limit_bytes;
  const memoryHours = times(asked.memory_bytes, hours);
  return {
    time: timeOf(job),
    // tasks that wait together are one row, however many of them are left
    job: job.id.replace(/_\[.*$/, '_[]'),
    cluster: job.cluster ?? '',
    user: job.user,
    ...stated({
      end_time: job.state === 'running' || job.state === 'pending' ? undefined : job.end,
      submit_time: job.submit,
      state: job.state === 'resizing' ? 'unknown' : job.state,
      exit_code: job.exit_code,
      signal: job.signal,
      reason: job.reason,
      restart: job.restart,
      array: job.array,
      name: job.name,
      account: job.account,
      partition: job.partition,
      scheduler: 'slurm',
      program: programOfLine(job.command),
      command: job.command,
      directory: job.directory,
      origin: ACCOUNTING,
      nodes,
      node_list: job.nodes.length === 0 ? undefined : job.nodes.join(','),
      cpus: job.cpus,
      gpus: job.gpus,
      gpu_model: job.gpu_model,
      asked_nodes: asked.nodes,
      asked_cpus: asked.cpus,
      asked_memory_bytes: asked.memory_bytes,
      asked_gpus: asked.gpus,
      time_limit_seconds: asked.time_limit_seconds,
      wall_seconds: wall,
      wait_seconds: job.submit === undefined || !hasRun ? undefined : Math.max(0, job.start! - job.submit) / 1e6,
      node_hours: times(nodes, hours),
      core_hours: coreHours,
      gpu_hours: gpuHours,
      memory_byte_hours: memoryHours,
      ...use,
      cpu_use: cpuUse,
      cpus_busy: use.cpu_seconds === undefined || !wall ? undefined : use.cpu_seconds / wall,
      memory_use: use.memory_peak_bytes === undefined || !limit ? undefined : use.memory_peak_bytes / limit,
      energy_joules: job.energy_joules,
      notes: JSON.stringify(Object.fromEntries(notes)),
      core_hours_wasted:
        coreHours === undefined || cpuUse === undefined ? undefined : coreHours * Math.max(0, 1 - cpuUse),
      gpu_hours_wasted:
        gpuHours === undefined || use.gpu_use === undefined ? undefined : gpuHours * Math.max(0, 1 - use.gpu_use),
      memory_byte_hours_wasted:
        asked.memory_bytes === undefined || use.memory_peaks_bytes === undefined
          ? undefined
          : times(Math.max(0, asked.memory_bytes - use.memory_peaks_bytes), hours),
    }),
  };
}

/** Of a job that never ran: when it was cancelled, or submitted. */
const timeOf = ({ start, end, submit }: SacctJob): number => start ?? end ?? submit ?? 0;

const times = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a * b;

/** jobstats read the cgroups of the job on every node: its figures are those of the whole job. */
function ofJobstats(
  { wall_seconds: wall, cpus }: SacctJob,
  nodes: readonly JobstatsNode[],
  notes: Map<string, string>,
): Use {
  notes.set('jobstats', 'CPU time, memory and GPUs as jobstats sampled them');
  const fullest = nodes.toSorted((a, b) => (b.memory_bytes ?? -1) - (a.memory_bytes ?? -1))[0]!;
  const gpus = nodes.flatMap((node) => node.gpus);
  const uses = gpus.flatMap(({ use }) => use ?? []);
  const hungry = gpus.toSorted((a, b) => (b.memory_bytes ?? -1) - (a.memory_bytes ?? -1))[0];
  const cpuSeconds = sum(nodes.map(({ cpu_seconds }) => cpu_seconds));
  if (cpuSeconds !== undefined && wall && cpus && cpuSeconds > wall * cpus * 1.05)
    notes.set('cpu', 'jobstats counted more CPU time than the job’s CPUs have');
  return stated({
    cpu_seconds: cpuSeconds,
    memory_peak_bytes: fullest.memory_bytes,
    memory_peaks_bytes: sum(nodes.map(({ memory_bytes }) => memory_bytes)),
    memory_limit_bytes: fullest.memory_limit_bytes,
    gpu_use: uses.length === 0 ? undefined : uses.reduce((a, b) => a + b, 0) / uses.length,
    gpus_unused: uses.length === 0 ? undefined : uses.filter((use) => use === 0).length,
    gpu_memory_peak_bytes: hungry?.memory_bytes,
    gpu_memory_use:
      hungry?.memory_bytes === undefined || !hungry.memory_total_bytes
        ? undefined
        : hungry.memory_bytes / hungry.memory_total_bytes,
  });
}

/** Slurm samples tasks, and counts CPU time of processes that were waited for: what it says is a bound of what was. */
function ofSteps(job: SacctJob, notes: Map<string, string>): Use {
  const { steps } = job;
  const cpuSeconds = largest([job.cpu_seconds, sum(steps.map(({ cpu_seconds }) => cpu_seconds))]);
  const isEnded = job.state !== 'running' && job.state !== 'pending';
  const hasCpu = cpuSeconds !== undefined && isEnded && (cpuSeconds > 0 || steps.length > 0);
  if (hasCpu) notes.set('cpu', 'at least: Slurm counts processes that their parents waited for, and what it sampled');
  const memory = memoryOf(job);
  if (memory !== undefined) notes.set('memory', memory.sourceText);
  const gpuMost = largest(steps.map(({ gpu_use_max }) => gpu_use_max));
  if (gpuMost !== undefined)
    notes.set('gpu', `utilisation at most ${Math.round(gpuMost * 100)} %, as sampled; the mean is not known`);
  const nodes = job.node_count ?? 1;
  return stated({
    cpu_seconds: hasCpu ? cpuSeconds : undefined,
    memory_peak_bytes: memory?.peak,
    memory_peaks_bytes: memory?.peaks,
    memory_limit_bytes: job.memory_bytes === undefined ? undefined : job.memory_bytes / nodes,
    // what was never busy was not used; how much else was, is not known
    gpu_use: gpuMost === 0 ? 0 : undefined,
    gpus_unused: gpuMost === 0 ? job.gpus : undefined,
    gpu_memory_peak_bytes: largest(steps.map(({ gpu_memory_bytes }) => gpu_memory_bytes)),
    read_bytes: sum(steps.map(({ read_bytes }) => read_bytes)),
    written_bytes: sum(steps.map(({ written_bytes }) => written_bytes)),
    ranks: largest(steps.filter(({ id }) => /^\d+$/.test(id)).map(({ tasks }) => tasks)),
  });
}

/** What the steps that ran at the same time had together, at most and at least. */
function memoryOf(job: SacctJob): { peak: number; peaks: number; sourceText: string } | undefined {
  const steps = job.steps.filter(
    ({ task_memory_bytes, tasks_memory_bytes }) => (tasks_memory_bytes ?? task_memory_bytes) !== undefined,
  );
  if (steps.length === 0) return undefined;
  const ofTasks = ({ task_memory_bytes: one = 0, tasks_memory_bytes: all, tasks = 1 }: SacctStep): number =>
    Math.max(one, all ?? one * tasks);
  const onNode = (step: SacctStep): number => {
    const { task_memory_bytes: one = 0, tasks = 1, nodes = 1 } = step;
    return nodes < 2 ? ofTasks(step) : Math.min(ofTasks(step), one * Math.ceil(tasks / nodes));
  };
  const least = largest(steps.map(({ task_memory_bytes }) => task_memory_bytes)) ?? 0;
  const peak = Math.max(least, together(steps, onNode));
  const peaks = Math.max(peak, together(steps, ofTasks));
  const sourceText =
    peak === least
      ? 'sampled by Slurm: short peaks may be missed'
      : `sampled by Slurm: on the fullest node at least ${formatBytes(least)} (the largest task), at most ${formatBytes(peak)} (all tasks at their highest at once)`;
  return { peak, peaks, sourceText };
}

/** The highest sum of what steps that overlap have. */
function together(steps: readonly SacctStep[], of: (step: SacctStep) => number): number {
  const spans = steps.map((step) => ({
    from: step.start ?? Number.NEGATIVE_INFINITY,
    to: step.end ?? Number.POSITIVE_INFINITY,
    amount: of(step),
  }));
  const at = (moment: number): number =>
    spans.reduce(
      (all, { from, to, amount }) => (from <= moment && (moment < to || from === to) ? all + amount : all),
      0,
    );
  return Math.max(...spans.map(({ from }) => at(from)));
}

function nodeRows(job: SacctJob, row: JobSummary, measured: readonly JobstatsNode[]): JobNodeSummary[] {
  const { time, job: id, cluster, user, end_time, restart, wall_seconds: wall } = row;
  const measuredByNode = new Map(measured.map((node) => [node.node, node]));
  const names = [...new Set([...job.nodes, ...measuredByNode.keys()])];
  // where all nodes have as many CPUs, each has its part
  const share = (all: number | undefined): number | undefined =>
    all === undefined || names.length === 0 || all % names.length !== 0 ? undefined : all / names.length;
  return names.map((name) => {
    const node = measuredByNode.get(name);
    const cpus = node?.cpus ?? share(job.cpus);
    const uses = node?.gpus.flatMap(({ use }) => use ?? []) ?? [];
    return {
      time,
      job: id,
      cluster,
      user,
      node: name,
      ...stated({
        end_time,
        restart,
        cpus,
        cpu_seconds: node?.cpu_seconds,
        cpu_use: node?.cpu_seconds === undefined || !wall || !cpus ? undefined : node.cpu_seconds / (wall * cpus),
        memory_peak_bytes: node?.memory_bytes,
        memory_limit_bytes: node?.memory_limit_bytes,
        gpus: node === undefined ? share(job.gpus) : node.gpus.length || undefined,
        gpu_use: uses.length === 0 ? undefined : uses.reduce((a, b) => a + b, 0) / uses.length,
        status: 'never recorded',
      }),
    };
  });
}

/** `sbatch -N 2 job.sh` says only the script, which starts what matters. */
function programOfLine(line: string | undefined): string | undefined {
  if (line === undefined || /^(?:sbatch|salloc)\b/.test(line)) return undefined;
  const program = programOf(wordsOf(line).map(unquoted));
  return program === undefined || isShellScript(program) ? undefined : program;
}
