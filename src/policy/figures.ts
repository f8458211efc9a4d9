import { globPattern } from '../history/ask/filter.ts';
import { jobsTable } from '../history/tables/jobs.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import type { Unit } from '../table/unit.ts';

/** What is known of a job beyond its own row: its nodes and its neighbours. What is not known is not there. */
export interface JobSurroundings {
  /** Part of the CPUs of its nodes that was given to jobs, or busy where no scheduler gives them, 0 to 1. */
  node_busy?: number;
  node_cpus?: number;
  node_gpus?: number;
  /** Jobs of the same partition that waited at least a minute while it ran. */
  jobs_waiting?: number;
  gpu_jobs_waiting?: number;
  /** Part of the time for which a GPU was no longer used, from the finding gpu-idle-after-use. */
  gpu_idle_share?: number;
}

/** A number that conditions can be about. */
export interface NumberFigure {
  readonly name: string;
  readonly unit: Unit;
  readonly help: string;
  /** Several jobs of a user together. */
  readonly total: Total;
  of(job: JobSummary, around: JobSurroundings): number | undefined;
  /** It is only known of many jobs together. */
  readonly onlyTotal?: boolean;
  /** Needs what is around the job. */
  readonly around?: keyof JobSurroundings;
}

export interface TextFigure {
  readonly name: string;
  readonly help: string;
  /** Several names, separated by commas. */
  readonly list?: boolean;
  of(job: JobSummary): string;
}

type Total = 'sum' | 'most' | 'mean' | 'by core-hours' | 'by GPU-hours' | 'by memory-hours';

const over = (amount: number | undefined, whole: number | undefined): number | undefined =>
  amount === undefined || whole === undefined || whole === 0 ? undefined : amount / whole;

const times = (...values: (number | undefined)[]): number | undefined =>
  values.includes(undefined) ? undefined : values.reduce<number>((product, value) => product * value!, 1);

const unrun = ({ time_limit_seconds: limit, wall_seconds: wall }: JobSummary): number | undefined =>
  limit === undefined || wall === undefined ? undefined : Math.max(0, limit - wall) / 3600;

const hoursOf = ({ wall_seconds: wall }: JobSummary): number | undefined => over(wall, 3600);

/** Figures that follow from the columns of a job, or from what was around it. */
const DERIVED: readonly NumberFigure[] = [
  {
    name: 'time_use',
    unit: 'share',
    help: 'Duration, of the time limit.',
    total: 'by core-hours',
    of: (job) => over(job.wall_seconds, job.time_limit_seconds),
  },
  {
    name: 'asked_memory_use',
    unit: 'share',
    help: 'Peak of memory, of the memory that was asked for.',
    total: 'by memory-hours',
    of: (job) => over(job.memory_peaks_bytes, job.asked_memory_bytes),
  },
  {
    name: 'cpus_per_node',
    unit: 'count',
    help: 'CPUs on each of its nodes.',
    total: 'most',
    of: (job) => over(job.cpus, job.nodes),
  },
  {
    name: 'gpus_per_node',
    unit: 'count',
    help: 'GPUs on each of its nodes.',
    total: 'most',
    of: (job) => over(job.gpus, job.nodes),
  },
  {
    name: 'cpus_per_gpu',
    unit: 'count',
    help: 'CPUs for each of its GPUs.',
    total: 'most',
    of: (job) => over(job.cpus, job.gpus),
  },
  {
    name: 'memory_bytes_per_gpu',
    unit: 'bytes',
    help: 'Memory that was asked for, for each of its GPUs.',
    total: 'most',
    of: (job) => over(job.asked_memory_bytes, job.gpus),
  },
  {
    name: 'core_hours_not_run',
    unit: 'hours',
    help: 'CPUs × the hours of the time limit that it did not run.',
    total: 'sum',
    of: (job) => times(job.cpus, unrun(job)),
  },
  {
    name: 'gpu_hours_not_run',
    unit: 'hours',
    help: 'GPUs × the hours of the time limit that it did not run.',
    total: 'sum',
    of: (job) => times(job.gpus, unrun(job)),
  },
  {
    name: 'gpu_hours_unused',
    unit: 'hours',
    help: 'GPUs that did nothing at any time × hours.',
    total: 'sum',
    of: (job) => times(job.gpus_unused, hoursOf(job)),
  },
  {
    name: 'gpu_idle_seconds',
    unit: 'seconds',
    help: 'How long a GPU did nothing: all the time, or since it was last used (for a fifth of the job or more).',
    total: 'most',
    around: 'gpu_idle_share',
    of(job, { gpu_idle_share: share }) {
      if (job.gpus_unused === undefined) return undefined;
      return times(job.gpus_unused > 0 ? 1 : (share ?? 0), job.wall_seconds);
    },
  },
  {
    name: 'node_busy',
    unit: 'share',
    help: 'Part of the CPUs of its nodes that jobs had while it ran; without a scheduler: that was busy.',
    total: 'mean',
    around: 'node_busy',
    of: (_, around) => around.node_busy,
  },
  {
    name: 'node_share',
    unit: 'share',
    help: 'Part of the CPUs of its nodes that it had.',
    total: 'mean',
    around: 'node_cpus',
    of: (job, around) => over(over(job.cpus, job.nodes), around.node_cpus),
  },
  {
    name: 'node_gpus',
    unit: 'count',
    help: 'GPUs that its nodes have, at most.',
    total: 'most',
    around: 'node_gpus',
    of: (_, around) => around.node_gpus,
  },
  {
    name: 'jobs_waiting',
    unit: 'count',
    help: 'Jobs of others that waited for the same partition for a minute or longer while it ran.',
    total: 'most',
    around: 'jobs_waiting',
    of: (_, around) => around.jobs_waiting,
  },
  {
    name: 'gpu_jobs_waiting',
    unit: 'count',
    help: 'Those of them that asked for GPUs.',
    total: 'most',
    around: 'gpu_jobs_waiting',
    of: (_, around) => around.gpu_jobs_waiting,
  },
];

const ONLY_TOTAL: readonly NumberFigure[] = [
  ['jobs', 'count', 'Jobs of the user in the window.'],
  ['core_hours_share', 'share', 'Part of the core-hours of all users.'],
  ['gpu_hours_share', 'share', 'Part of the GPU-hours of all users.'],
].map(([name, unit, help]) => ({
  name: name!,
  unit: unit as Unit,
  help: help!,
  total: 'sum',
  onlyTotal: true,
  of: () => undefined,
}));

/** Columns whose sum says something. */
const SUMS = /^(?:cpu_seconds|wall_seconds|read_bytes|written_bytes|network_\w+_bytes|processes|gpus_unused)$/;

function totalOf(name: string, unit: Unit): Total {
  if (unit === 'share') return name.startsWith('gpu') ? 'by GPU-hours' : 'by core-hours';
  if (unit === 'hours' || unit === 'byte_hours' || unit === 'joules' || SUMS.test(name)) return 'sum';
  return unit === 'seconds' ? 'mean' : 'most';
}

const COLUMNS: readonly NumberFigure[] = jobsTable.columns.flatMap((column) =>
  column.type === 'text'
    ? []
    : [
        {
          name: column.name,
          unit: column.unit as Unit,
          help: column.help,
          total: totalOf(column.name, column.unit as Unit),
          of: (job: JobSummary) => job[column.name] as number | undefined,
        },
      ],
);

export const NUMBER_FIGURES: readonly NumberFigure[] = [...COLUMNS, ...DERIVED, ...ONLY_TOTAL];

/** Names of jobs, and programs, that somebody sits in front of. */
const INTERACTIVE = [
  'interactive',
  'sys/dashboard/*',
  'ood*',
  '*jupyter*',
  '*rstudio*',
  '*vscode*',
  'bash',
  'sh',
  'zsh',
];

const isInteractive = ({ name = '', program = '' }: JobSummary): boolean =>
  INTERACTIVE.some((glob) => new RegExp(globPattern(glob), 'i').test(name)) || /^(?:bash|zsh|sh)$/.test(program);

const LISTS = new Set(['findings', 'node_list', 'gpu_model']);

export const TEXT_FIGURES: readonly TextFigure[] = [
  ...[...jobsTable.keys, ...jobsTable.columns.filter(({ type }) => type === 'text')].map(({ name, help }) => ({
    name,
    help,
    list: LISTS.has(name),
    of: (job: JobSummary) => String(job[name as keyof JobSummary] ?? ''),
  })),
  {
    name: 'interactive',
    help: 'yes or no: by its name or program somebody works in it (interactive, bash, Jupyter, Open OnDemand…).',
    of: (job: JobSummary) => (isInteractive(job) ? 'yes' : 'no'),
  },
];

const NUMBERS = new Map(NUMBER_FIGURES.map((figure) => [figure.name, figure]));
const TEXTS = new Map(TEXT_FIGURES.map((figure) => [figure.name, figure]));

export const numberFigure = (name: string): NumberFigure | undefined => NUMBERS.get(name);
export const textFigure = (name: string): TextFigure | undefined => TEXTS.get(name);
export const FIGURE_NAMES: readonly string[] = [...NUMBERS.keys(), ...TEXTS.keys()];

export interface MeasuredJob {
  job: JobSummary;
  around: JobSurroundings;
}

/** A figure of several jobs together; undefined where none has it. */
export function totalFigure(figure: NumberFigure, jobs: readonly MeasuredJob[]): number | undefined {
  const measured = jobs.flatMap(({ job, around }) => {
    const value = figure.of(job, around);
    return value === undefined ? [] : [{ job, value }];
  });
  if (measured.length === 0) return undefined;
  const sum = (of: (one: { job: JobSummary; value: number }) => number): number =>
    measured.reduce((all, one) => all + of(one), 0);
  const weighed = (weight: (job: JobSummary) => number | undefined): number | undefined =>
    over(
      sum(({ job, value }) => value * (weight(job) ?? 0)),
      sum(({ job }) => weight(job) ?? 0),
    ) ?? sum(({ value }) => value) / measured.length;
  switch (figure.total) {
    case 'sum':
      return sum(({ value }) => value);
    case 'most':
      return measured.reduce((most, { value }) => Math.max(most, value), Number.NEGATIVE_INFINITY);
    case 'mean':
      return sum(({ value }) => value) / measured.length;
    case 'by core-hours':
      return weighed((job) => job.core_hours);
    case 'by GPU-hours':
      return weighed((job) => job.gpu_hours);
    case 'by memory-hours':
      return weighed((job) => job.memory_byte_hours);
  }
}
