import { Fault } from '../../base/fault.ts';
import { count } from '../../base/figure.ts';
import { expandHostlist } from '../../base/hostlist.ts';
import { stated } from '../../base/stated.ts';
import type { Zone } from '../../base/zone.ts';
import { whole } from '../../jobs/schedulers/scheduler.ts';
import { parseTres, slurmBytes, slurmSeconds, tresGpus } from '../../jobs/schedulers/slurm.ts';
import { usedBytes, word } from '../../jobs/schedulers/slurm-ending.ts';
import { durationSeconds, momentIn, usageOf } from './amounts.ts';
import { endingOf } from './ending.ts';
import { type LineId, parseId } from './job-id.ts';
import type { SacctJob, SacctOutput, SacctStep } from './sacct-job.ts';

/** Fields that are asked of `sacct`, as far as its version has them. */
export const FIELDS = [
  'JobID',
  'JobIDRaw',
  'Cluster',
  'User',
  'Account',
  'Partition',
  'JobName',
  'State',
  'ExitCode',
  'Reason',
  'Restarts',
  'Submit',
  'Start',
  'End',
  'ElapsedRaw',
  'TimelimitRaw',
  'NNodes',
  'NodeList',
  'AllocCPUS',
  'AllocTRES',
  'ReqNodes',
  'ReqCPUS',
  'ReqMem',
  'ReqTRES',
  'NTasks',
  'TotalCPU',
  'MaxRSS',
  'TRESUsageInMax',
  'TRESUsageInTot',
  'TRESUsageOutTot',
  'ConsumedEnergyRaw',
  'WorkDir',
  'SubmitLine',
  'AdminComment',
] as const;

/** Columns without which something is not known: one of each line is enough. */
const WANTED: readonly (readonly [columns: readonly string[], what: string])[] = [
  [['User'], 'whose the jobs are is'],
  [['State'], 'how jobs ended is'],
  [['Submit'], 'how long jobs waited is'],
  [['Start'], 'when jobs ran is'],
  [['End', 'ElapsedRaw', 'Elapsed'], 'how long jobs ran is'],
  [['AllocCPUS', 'NCPUS', 'AllocTRES'], 'core-hours are'],
  [['AllocTRES', 'AllocGRES'], 'GPU-hours are'],
  [['TotalCPU', 'TRESUsageInTot', 'UserCPU'], 'CPU use is'],
  [['MaxRSS', 'TRESUsageInMax'], 'memory use is'],
  [['ReqTRES', 'ReqMem'], 'how much memory was asked for is'],
  [['TimelimitRaw', 'Timelimit'], 'time limits are'],
];

/** Cells of a line by the names of their columns. */
export type Line = (column: string) => string | undefined;

/** What `sacct -P` (or -p) printed, whatever its columns: their names are in the first line. */
export function parseSacctText(text: string, from: string, zone: Zone): SacctOutput {
  const lines = text.split('\n');
  const { names, delimiter } = headerOf(lines[0] ?? '', from);
  const columnIndexes = new Map(names.map((name, i) => [name.toLowerCase(), i]));
  const jobs: SacctJob[] = [];
  let torn = 0;
  let foreign = 0;
  for (let i = 1; i < lines.length; i++) {
    const text = lines[i]!.replace(/\r$/, '');
    if (text === '') continue;
    const cells = text.split(delimiter);
    if (cells.length === names.length + 1 && cells.at(-1) === '') cells.pop();
    // a name that holds the delimiter shifts all cells behind it
    if (cells.length !== names.length) {
      torn++;
      continue;
    }
    const line: Line = (column) => {
      const columnIndex = columnIndexes.get(column.toLowerCase());
      return columnIndex === undefined ? undefined : word(cells[columnIndex]!);
    };
    if (!addLine(jobs, line, zone)) foreign++;
  }
  const missing = WANTED.filter(([columns]) => !columns.some((name) => columnIndexes.has(name.toLowerCase())));
  return {
    jobs,
    notes: [
      ...missing.map(([columns, what]) => `${from} has no column ${columns.join(' or ')}: ${what} not known`),
      ...(torn > 0
        ? [
            `${from}: ${count(torn, 'line')} left out: more or fewer cells than the first line has (a "${delimiter}" in a name?)`,
          ]
        : []),
      ...(foreign > 0 ? [`${from}: ${count(foreign, 'line')} left out: no id of a job`] : []),
    ],
  };
}

/** The steps of a job come soon after it; those of a job that is not there belong to none. */
const NEAR = 50;

/** Puts a line among jobs, or as a step into the last one of its id; false: it has no id of a job. */
export function addLine(jobs: SacctJob[], line: Line, zone: Zone): boolean {
  const id = parseId(line('JobID') ?? '');
  if (id === undefined) return false;
  if (id.step === undefined) jobs.push(jobOf(line, id, zone));
  else
    jobs
      .slice(-NEAR)
      .findLast((job) => job.id === id.id && job.component === id.component)
      ?.steps.push(stepOf(line, id, zone));
  return true;
}

function headerOf(line: string, from: string): { names: string[]; delimiter: string } {
  const header = line.replace(/^\uFEFF/, '').replace(/\r$/, '');
  const refuse = (why: string, hint: string): Fault => new Fault(`${from} cannot be imported: ${why}`, { hint });
  const how = `sacct -aDP --format=${FIELDS.slice(0, 4).join(',')},… prints what can be imported`;
  if (/^\d+(?:_\d+)?(?:\.\w+)?\W/.test(header) && !/^\w+,/.test(header))
    throw refuse('it has no line with the names of the columns', 'call sacct without -n (--noheader)');
  if (/^\s*[A-Za-z]+\s+[A-Za-z]/.test(header) && /\bJobID\b/i.test(header))
    throw refuse('its columns are cut to a width, and not separated', 'call sacct with -P (--parsable2)');
  const delimiter = /^\w+(\W+)/.exec(header)?.[1] ?? '|';
  const names = header.split(delimiter);
  if (names.at(-1) === '') names.pop();
  if (!names.some((name) => name.toLowerCase() === 'jobid'))
    throw refuse('its first line has no column JobID, so it is no output of sacct', how);
  return { names, delimiter };
}

function jobOf(line: Line, { id, array, component }: LineId, zone: Zone): SacctJob {
  const allocated = parseTres(line('AllocTRES'));
  const requested = parseTres(line('ReqTRES'));
  const start = momentIn(zone, line('Start'));
  const end = momentIn(zone, line('End'));
  const elapsed = whole(line('ElapsedRaw')) ?? durationSeconds(line('Elapsed'));
  const isWaiting = start === undefined;
  const cpus = isWaiting ? undefined : (whole(allocated.get('cpu')) ?? whole(line('AllocCPUS') ?? line('NCPUS')));
  const nodes = whole(allocated.get('node')) ?? whole(line('NNodes') ?? line('AllocNodes'));
  const asked = {
    nodes: whole(requested.get('node')) ?? whole(line('ReqNodes')),
    cpus: whole(requested.get('cpu')) ?? whole(line('ReqCPUS')),
  };
  const limit = line('TimelimitRaw');
  return stated({
    id,
    array,
    component,
    cluster: line('Cluster'),
    user: line('User') ?? '',
    account: line('Account'),
    partition: line('Partition'),
    name: line('JobName'),
    directory: line('WorkDir'),
    command: line('SubmitLine'),
    ...endingOf(line('State') ?? '', line('ExitCode'), line('Reason')),
    restart: whole(line('Restarts')),
    submit: momentIn(zone, line('Submit')),
    start,
    end,
    wall_seconds: isWaiting ? undefined : (elapsed ?? (end === undefined ? undefined : (end - start) / 1e6)),
    nodes: isWaiting ? [] : nodesOf(line('NodeList')),
    node_count: isWaiting ? undefined : nodes,
    cpus,
    memory_bytes: slurmBytes(allocated.get('mem')),
    gpus: tresGpus(allocated) ?? gresGpus(line('AllocGRES')),
    gpu_model: modelOf(allocated),
    asked: stated({
      ...asked,
      memory_bytes:
        slurmBytes(requested.get('mem')) ?? askedMemory(line('ReqMem'), asked.nodes ?? nodes, asked.cpus ?? cpus),
      gpus: tresGpus(requested) ?? gresGpus(line('ReqGRES')),
      time_limit_seconds:
        limit === undefined ? slurmSeconds(line('Timelimit')) : /^\d+$/.test(limit) ? Number(limit) * 60 : undefined,
    }),
    cpu_seconds: isWaiting ? undefined : cpuOf(line),
    energy_joules: energyOf(line),
    comment: line('AdminComment'),
    steps: [],
  });
}

function stepOf(line: Line, { step }: LineId, zone: Zone): SacctStep {
  const most = usageOf(line('TRESUsageInMax'));
  const all = usageOf(line('TRESUsageInTot'));
  return stated({
    id: step!,
    start: momentIn(zone, line('Start')),
    end: momentIn(zone, line('End')),
    tasks: whole(line('NTasks')),
    nodes: whole(line('NNodes')),
    cpu_seconds: largest(cpuOf(line), all.cpu_seconds),
    task_memory_bytes: largest(usedBytes(line('MaxRSS')), most.memory_bytes),
    tasks_memory_bytes: all.memory_bytes,
    gpu_memory_bytes: most.gpu_memory_bytes,
    gpu_use_max: most.gpu_use,
    read_bytes: all.disk_bytes,
    written_bytes: usageOf(line('TRESUsageOutTot')).disk_bytes,
  });
}

const largest = (...values: (number | undefined)[]): number | undefined => {
  const numbers = values.filter((value) => value !== undefined);
  return numbers.length === 0 ? undefined : Math.max(...numbers);
};

const cpuOf = (line: Line): number | undefined => {
  const total = durationSeconds(line('TotalCPU'));
  if (total !== undefined) return total;
  const [user, system] = [durationSeconds(line('UserCPU')), durationSeconds(line('SystemCPU'))];
  return user === undefined && system === undefined ? undefined : (user ?? 0) + (system ?? 0);
};

/** 0 stands for a cluster that does not measure it. */
const energyOf = (line: Line): number | undefined => whole(line('ConsumedEnergyRaw')) || undefined;

export const nodesOf = (text: string | undefined): string[] =>
  text === undefined || /^none assigned$/i.test(text) ? [] : expandHostlist(text);

/**
 * Until Slurm 20.11 `4Gn` is of each node, `2Gc` of each CPU; since then it is of the job. Of how many they are is known from what
 * was asked for or, without these columns, from what was given.
 */
function askedMemory(
  text: string | undefined,
  nodes: number | undefined,
  cpus: number | undefined,
): number | undefined {
  const bytes = slurmBytes(text);
  if (bytes === undefined || /[^nc]$/.test(text!)) return bytes;
  const count = text!.endsWith('n') ? nodes : cpus;
  return count === undefined ? undefined : bytes * count;
}

/** gres/gpu:a100=4 */
export function modelOf(tres: ReadonlyMap<string, unknown>): string | undefined {
  const models = [...tres.keys()].flatMap((name) => /^gres\/gpu:(.+)$/.exec(name)?.[1] ?? []);
  return models.length === 0 ? undefined : models.join(',');
}

/** Until Slurm 20.11: gpu:2, gpu:a100:4. */
function gresGpus(text: string | undefined): number | undefined {
  const gpuCounts = [...(text ?? '').matchAll(/\bgpu(?::[A-Za-z]\w*)?:(\d+)/g)].map(([, n]) => Number(n));
  return gpuCounts.length === 0 ? undefined : gpuCounts.reduce((a, b) => a + b, 0);
}
