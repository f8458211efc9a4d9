import { Fault } from '../../base/fault.ts';
import { count } from '../../base/figure.ts';
import { stated } from '../../base/stated.ts';
import { endingOf } from './ending.ts';
import type { SacctJob, SacctOutput, SacctStep } from './sacct-job.ts';
import { modelOf, nodesOf } from './sacct-text.ts';

type Fields = Record<string, unknown>;

/** Versions of the layout that were looked at; others are read in the same way. */
const LAYOUTS = [37, 38, 39, 40, 41, 42, 43, 44];

/**
 * What `sacct --json` printed. Its layout changes with every version of Slurm (v0.0.37 in 21.08 to v0.0.44 in 25.11): what was
 * a number becomes {set, infinite, number}, what was a word a list of words.
 */
export function parseSacctJson(text: string, from: string): SacctOutput {
  const document = parsed(text, from);
  const { jobs } = document;
  if (!Array.isArray(jobs))
    throw new Fault(
      `${from} cannot be imported: it is JSON without a list of jobs, so it is no output of sacct --json`,
      {
        hint: 'sacct -aD --json prints what can be imported',
      },
    );
  const meta = fields(document.meta ?? document.metadata);
  const release = word(fields(meta.Slurm ?? meta.slurm).release);
  const plugin = fields(meta.plugin ?? meta.plugins);
  const layout = /v0\.0\.(\d+)/.exec(word(plugin.data_parser) ?? word(plugin.type) ?? '')?.[1];
  const notes: string[] = [];
  const all = jobs.flatMap((job) => jobOf(fields(job)) ?? []);
  if (layout === undefined) notes.push(`${from} does not say which layout it has: what is known by name is used`);
  else if (!LAYOUTS.includes(Number(layout)))
    notes.push(`${from} has the layout v0.0.${layout}, which is not known: what is known by name is used`);
  if (all.length < jobs.length)
    notes.push(`${from}: ${count(jobs.length - all.length, 'job')} left out: without an id`);
  const without = all.filter(({ start, cpus }) => start !== undefined && cpus === undefined).length;
  if (without > 0)
    notes.push(`${from}: core-hours of ${count(without, 'job')} are not known: no CPUs are allocated there`);
  return { ...stated({ version: release }), jobs: all, notes };
}

function parsed(text: string, from: string): Fields {
  try {
    return fields(JSON.parse(text));
  } catch (error) {
    const isCut = !/\}\s*$/.test(text);
    throw new Fault(
      `${from} cannot be imported: ${isCut ? 'its JSON is cut off' : `no JSON (${(error as Error).message})`}`,
      {
        hint: 'sacct -aD --json prints what can be imported',
        cause: error,
      },
    );
  }
}

function jobOf(job: Fields): SacctJob | undefined {
  const number = amount(job.job_id);
  if (number === undefined) return undefined;
  const array = fields(job.array);
  const het = fields(job.het);
  const time = fields(job.time);
  const tres = fields(job.tres);
  const [allocated, requested] = [tresOf(tres.allocated), tresOf(tres.requested)];
  const required = fields(job.required);
  const isComponent = (amount(het.job_id) ?? 0) > 0;
  const start = momentOf(time.start);
  const isWaiting = start === undefined;
  const arrayId = amount(array.job_id) || undefined;
  const task = amount(array.task_id);
  const waiting = word(array.task);
  const state = fields(job.state);
  const limit = amount(time.limit);
  const asked = {
    nodes: allocatedNumber(requested, 'node'),
    cpus: allocatedNumber(requested, 'cpu') ?? amount(required.CPUs),
  };
  return stated({
    id:
      arrayId === undefined
        ? String(isComponent ? amount(het.job_id) : number)
        : task === undefined
          ? `${arrayId}_[${waiting ?? ''}]`
          : `${arrayId}_${task}`,
    array: arrayId === undefined ? undefined : String(arrayId),
    component: isComponent ? (amount(het.job_offset) ?? 0) : undefined,
    cluster: word(job.cluster) ?? word(fields(job.association).cluster),
    user: word(job.user) ?? word(fields(job.association).user) ?? '',
    account: word(job.account),
    partition: word(job.partition),
    name: word(job.name),
    directory: word(job.working_directory),
    command: word(job.submit_line),
    ...endingOf(textOf(state.current ?? job.state), exitText(job.exit_code), word(state.reason)),
    restart: amount(job.restart_cnt),
    submit: momentOf(time.submission),
    start,
    end: momentOf(time.end),
    wall_seconds: isWaiting ? undefined : amount(time.elapsed),
    nodes: isWaiting ? [] : nodesOf(word(job.nodes)),
    node_count: isWaiting ? undefined : (allocatedNumber(allocated, 'node') ?? amount(job.allocation_nodes)),
    cpus: isWaiting ? undefined : allocatedNumber(allocated, 'cpu'),
    memory_bytes: megabytes(allocatedNumber(allocated, 'mem')),
    gpus: gpusOf(allocated),
    gpu_model: modelOf(allocated),
    asked: stated({
      ...asked,
      memory_bytes: megabytes(allocatedNumber(requested, 'mem')),
      gpus: gpusOf(requested),
      time_limit_seconds: limit === undefined ? undefined : limit * 60,
    }),
    cpu_seconds: isWaiting ? undefined : cpuOf(time),
    // the energy of a job is that of its steps
    energy_joules: sumOf(
      list(job.steps).map((step) => amount(fields(fields(fields(step).statistics).energy).consumed)),
    ),
    comment: word(fields(job.comment).administrator),
    steps: list(job.steps).flatMap((step) => stepOf(fields(step))),
  });
}

function stepOf(step: Fields): SacctStep[] {
  const stepId = fields(step.step).id;
  // 21.08 and 22.05 say "batch" or 0, later versions "4711.batch"
  const id = (typeof stepId === 'string' ? stepId : String(amount(stepId) ?? '')).replace(
    /^\d+(?:_\d+)?(?:\+\d+)?\./,
    '',
  );
  if (id === '') return [];
  const time = fields(step.time);
  const tres = fields(step.tres);
  // what goes in is called requested there, what goes out consumed
  const [input, output] = [fields(tres.requested), fields(tres.consumed)];
  const [most, all] = [tresOf(input.max), tresOf(input.total)];
  const milliseconds = all.get('cpu');
  const percent = most.get('gres/gpuutil');
  return [
    stated({
      id,
      start: momentOf(time.start),
      end: momentOf(time.end),
      tasks: amount(fields(step.tasks).count),
      nodes: amount(fields(step.nodes).count),
      cpu_seconds: largestOf(cpuOf(time), milliseconds === undefined ? undefined : milliseconds / 1000),
      task_memory_bytes: most.get('mem') || undefined,
      tasks_memory_bytes: all.get('mem') || undefined,
      gpu_memory_bytes: most.get('gres/gpumem'),
      gpu_use_max: percent === undefined ? undefined : percent / 100,
      read_bytes: all.get('fs/disk'),
      written_bytes: tresOf(output.total).get('fs/disk'),
    }),
  ];
}

const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const word = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value !== '(null)' ? value : undefined;
/** Since 23.11 a state is a list of words. */
const textOf = (value: unknown): string =>
  (Array.isArray(value) ? value : [value]).flatMap((one) => word(one) ?? []).join(' ');

/** A plain number, digits, or {set, infinite, number}; undefined: it is not set, or without an end. */
function amount(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  if (typeof value === 'string') return /^\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
  const { set, infinite, number } = fields(value);
  return set === false || infinite === true || typeof number !== 'number' ? undefined : amount(number);
}

/** Epoch seconds; 0 stands for never. */
function momentOf(value: unknown): number | undefined {
  const seconds = amount(value);
  return seconds === undefined || seconds === 0 ? undefined : seconds * 1e6;
}

function cpuOf({ total }: Fields): number | undefined {
  const { seconds, microseconds } = fields(total);
  const whole = amount(seconds);
  return whole === undefined ? undefined : whole + (amount(microseconds) ?? 0) / 1e6;
}

/** cpu, mem, fs/disk, gres/gpu, gres/gpu:a100 */
function tresOf(value: unknown): Map<string, number> {
  const pairs = new Map<string, number>();
  for (const one of list(value)) {
    const { type, name, count } = fields(one);
    const many = amount(count);
    if (typeof type !== 'string' || many === undefined) continue;
    pairs.set(word(name) === undefined ? type : `${type}/${name}`, many);
  }
  return pairs;
}

const allocatedNumber = (tres: ReadonlyMap<string, number>, name: string): number | undefined => tres.get(name);
const megabytes = (value: number | undefined): number | undefined => (value ? value * 2 ** 20 : undefined);

function gpusOf(tres: ReadonlyMap<string, number>): number | undefined {
  return tres.get('gres/gpu') ?? sumOf([...tres].map(([name, n]) => (name.startsWith('gres/gpu:') ? n : undefined)));
}

function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const numbers = values.filter((value) => value !== undefined);
  return numbers.reduce((a, b) => a + b, 0) || undefined;
}

function largestOf(...values: (number | undefined)[]): number | undefined {
  const numbers = values.filter((value) => value !== undefined);
  return numbers.length === 0 ? undefined : Math.max(...numbers);
}

/** As the text has it: "3:0", "0:9". 22.05 says 0 also of jobs that failed, which `exitOf` does not take. */
function exitText(value: unknown): string | undefined {
  const { return_code, signal } = fields(value);
  const code = amount(return_code);
  const { signal_id, id } = fields(signal);
  const number = amount(signal_id) ?? amount(id);
  return code === undefined && number === undefined ? undefined : `${code ?? 0}:${number ?? 0}`;
}
