import { clockTime } from '../judge/rules/shared/request.ts';

export const BATCH_SYSTEMS = ['slurm', 'flux', 'pbs'] as const;
export type BatchSystem = (typeof BATCH_SYSTEMS)[number];

/** What a job script asks for. What is not there is not asked for. */
export interface Request {
  nodes?: number;
  /** Of the whole job. */
  cpus?: number;
  /** Processes that share the CPUs evenly (MPI ranks). */
  ranks?: number;
  gpus?: number;
  /** On each node. */
  memory_bytes?: number;
  time_seconds?: number;
}

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** The lines that ask for it, to be put at the head of a job script. */
export function scriptLines(request: Request, system: BatchSystem): string[] {
  return { slurm, flux, pbs }[system](request);
}

const shared = (total: number, among: number): number => Math.max(1, Math.ceil(total / among));

/** Bytes as a whole number of gigabytes or megabytes. */
const size = (bytes: number, units: readonly [giga: string, mega: string]): string =>
  bytes % GIB === 0 ? `${bytes / GIB}${units[0]}` : `${Math.ceil(bytes / MIB)}${units[1]}`;

function slurm({ nodes, cpus, ranks, gpus, memory_bytes: memory, time_seconds: time }: Request): string[] {
  const all = nodes ?? 1;
  const tasks = ranks ?? all;
  return [
    ...(nodes === undefined ? [] : [`--nodes=${nodes}`]),
    ...(cpus === undefined ? [] : [`--ntasks=${tasks}`, `--cpus-per-task=${shared(cpus, tasks)}`]),
    ...(gpus ? [all > 1 ? `--gpus-per-node=${shared(gpus, all)}` : `--gpus=${gpus}`] : []),
    ...(memory === undefined ? [] : [`--mem=${size(memory, ['G', 'M'])}`]),
    ...(time === undefined ? [] : [`--time=${clockTime(time)}`]),
  ].map((option) => `#SBATCH ${option}`);
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

/** Flux gives out slots, and has no limits of memory. Where ranks share GPUs, so do they share a slot. */
function flux({ nodes, cpus, ranks, gpus, time_seconds: time }: Request): string[] {
  const each = ranks ?? nodes ?? 1;
  const slots = gpus ? Math.max(nodes ?? 1, divisor(each, gpus)) : each;
  return [
    ...(nodes === undefined ? [] : [`--nodes=${nodes}`]),
    ...(cpus === undefined ? [] : [`--nslots=${slots}`, `--cores-per-slot=${shared(cpus, slots)}`]),
    ...(gpus ? [`--gpus-per-slot=${shared(gpus, slots)}`] : []),
    ...(time === undefined ? [] : [`--time-limit=${Math.ceil(time / 60)}m`]),
  ].map((option) => `# flux: ${option}`);
}

/** In chunks, one on each node. */
function pbs({ nodes, cpus, ranks, gpus, memory_bytes: memory, time_seconds: time }: Request): string[] {
  const chunks = nodes ?? 1;
  const chunk = [
    `select=${chunks}`,
    ...(cpus === undefined ? [] : [`ncpus=${shared(cpus, chunks)}`]),
    ...(ranks === undefined ? [] : [`mpiprocs=${shared(ranks, chunks)}`]),
    ...(gpus ? [`ngpus=${shared(gpus, chunks)}`] : []),
    ...(memory === undefined ? [] : [`mem=${size(memory, ['gb', 'mb'])}`]),
  ].join(':');
  return [`#PBS -l ${chunk}`, ...(time === undefined ? [] : [`#PBS -l walltime=${hoursClock(time)}`])];
}

/** PBS counts hours beyond a day. */
function hoursClock(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}:00`;
}
