import { compressHostlist, expandHostlist } from '../../base/hostlist.ts';
import { stated } from '../../base/stated.ts';
import type { Job } from '../../recording/folder/job.ts';
import type { Environment } from './command.ts';
import {
  type Ending,
  jobId,
  type Launcher,
  type LaunchPlan,
  type Scheduler,
  type SchedulerFacts,
  whole,
} from './scheduler.ts';
import {
  AGENT_STEP,
  accounted,
  again,
  endingFromScontrol,
  moment,
  nextWords,
  PUT_BACK,
  SACCT_FIELDS,
  word,
} from './slurm-ending.ts';
import { componentsOf, joinFacts } from './slurm-het.ts';

/** Slurm's commands print moments as epoch seconds when this is in their environment. */
export const SLURM_TIMES = { SLURM_TIME_FORMAT: '%s' };

export const slurm: Scheduler = {
  name: 'slurm',

  detect(env) {
    const raw = jobId(env.SLURM_JOB_ID ?? env.SLURM_JOBID);
    if (raw === undefined) return undefined;
    const { SLURM_ARRAY_JOB_ID: array, SLURM_ARRAY_TASK_ID: task } = env;
    return array !== undefined && task !== undefined ? `${array}_${task}` : raw;
  },

  async facts(run, env, reportTrouble) {
    const id = slurm.detect(env)!;
    const { stdout, trouble } = await run('scontrol', ['show', 'job', '-d', id]);
    if (trouble !== undefined)
      reportTrouble('what Slurm gave to the job', `${trouble}; the environment alone was used`);
    const components = componentsOf(env);
    // of a heterogeneous job all components are shown, its own number's first
    const shown = stdout.split(/^(?=JobId=)/m).map(parseScontrol);
    if (components.length === 0) return fromScontrol(shown[0]!, fromEnvironment(env, id));
    return joinFacts(
      components.map((component, n) => {
        const own = shown.find((each) => each.get('HetJobOffset') === String(n));
        return fromScontrol(own ?? new Map(), fromEnvironment(component, id));
      }),
    );
  },

  launch(plan, jobId) {
    const components = componentsOf(plan.env).map((env) => expandHostlist(env.SLURM_JOB_NODELIST ?? ''));
    if (components.length === 0) return [srunAgents(plan, jobId, plan.nodes, [])];
    // srun takes the nodes of one component at a time
    return components.flatMap((all, group) => {
      const nodes = plan.nodes.filter((node) => all.includes(node));
      return nodes.length === 0 ? [] : [srunAgents(plan, jobId, nodes, [`--het-group=${group}`])];
    });
  },

  unreached: (launcherOutput) =>
    Array.from(
      launcherOutput.matchAll(/^srun: error: Task launch for .+ failed on node (\S+): /gm),
      ([, node]) => node!,
    ),

  async stop(run, jobId, step) {
    // srun itself would answer a SIGTERM by killing the agents
    if (step === undefined) return 'ask on the nodes';
    const target = step.includes('.') ? step : `${jobId}.${step}`;
    const { trouble } = await run('scancel', ['--signal=TERM', target]);
    // it also fails when one node's agent has gone already; the others have got the signal then
    return trouble === undefined || trouble.includes('failed') ? 'agents' : 'ask on the nodes';
  },

  async state(run, job, reportTrouble) {
    const [shown, account] = await Promise.all([
      run('scontrol', ['show', 'job', job.id]),
      run('sacct', ['-j', job.id, '-D', '-P', '-n', '-o', SACCT_FIELDS]),
    ]);
    const now = parseScontrol(shown.stdout);
    const past = accounted(account.stdout, job.start);
    const steps = past?.steps;
    const restart = whole(now.get('Restarts'));
    // the id may run again: then only the accounting still knows this run
    const same = restart === undefined || restart === (job.restart ?? 0);
    const ending = now.size > 0 && same ? endingFromScontrol(now, slurmSeconds(now.get('TimeLimit'))) : undefined;
    const lastEnding = ending !== undefined && ending.state !== 'running' ? ending : (past?.ending ?? ending);
    if (lastEnding !== undefined) {
      const by = /^cancelled by uid (\d+)$/.exec(past?.ending.reason ?? '');
      if (lastEnding.state === 'cancelled' && by !== null) {
        const { stdout, trouble } = await run('id', ['-un', by[1]!]);
        lastEnding.reason = `cancelled by ${trouble === undefined ? stdout.trim() : `uid ${by[1]}`}`;
      }
      const next = same ? past?.next : again(now);
      if (next !== undefined) {
        const restartText = nextWords(next, restart !== undefined && !same ? restart : (job.restart ?? 0) + 1);
        const reason = !next.started && lastEnding.reason === PUT_BACK ? undefined : lastEnding.reason;
        lastEnding.reason = reason === undefined ? restartText : `${reason}; ${restartText}`;
        if (next.waits) lastEnding.waits = true;
      }
      const taken = past?.ending.taken_nodes;
      return stated({ ...lastEnding, taken_nodes: taken, steps }) as Ending;
    }
    if (!same) {
      const next = again(now);
      return { state: 'unknown', reason: nextWords(next, restart), ...(next.waits ? { waits: true } : {}) };
    }
    reportTrouble(
      'how the job ended',
      shown.trouble ?? account.trouble ?? `Slurm does not know job ${job.id} any more`,
    );
    return undefined;
  },
};

function srunAgents(plan: LaunchPlan, jobId: string, nodes: readonly string[], more: readonly string[]): Launcher {
  const args = [
    `--jobid=${rawId(plan.env, jobId)}`,
    ...more,
    // beside the user's steps, with all that the job has, and nothing taken away from it
    '--overlap',
    '--mem=0',
    '--cpu-bind=none',
    `--nodes=${nodes.length}`,
    `--ntasks=${nodes.length}`,
    '--ntasks-per-node=1',
    `--nodelist=${compressHostlist(nodes)}`,
    `--job-name=${AGENT_STEP}`,
    '--mpi=none',
    '--input=none',
    // one lost node or agent must not take the others along
    '--no-kill',
    '--kill-on-bad-exit=0',
    '--wait=0',
    '--quiet',
    '--',
    ...plan.everywhere('$SLURMD_NODENAME'),
  ];
  return { command: 'srun', args, nodes: [...nodes], env: withoutStepOptions(plan.env) };
}

/** The plain number, which srun wants also for a task of an array. */
function rawId(env: Environment, jobId: string): string {
  return env.SLURM_JOB_ID ?? env.SLURM_JOBID ?? jobId;
}

/**
 * srun takes options from SLURM_* variables (tasks, CPUs and GPUs per task, memory, binding…), which were meant for the
 * user's program. `--jobid` is all that our own srun needs to find the allocation.
 */
function withoutStepOptions(env: Environment): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (name === 'SLURM_CONF' || !/^(SLURM|SLURMD|SRUN|SBATCH|SALLOC|PMI|PMIX)_/.test(name))) {
      kept[name] = value;
    }
  }
  return kept;
}

/** `scontrol show job` as pairs; details of nodes are kept under "node 0", "node 1"… */
function parseScontrol(text: string): Map<string, string> {
  const pairs = new Map<string, string>();
  let groups = 0;
  for (const line of text.split('\n')) {
    const detail = /^\s+Nodes=\S+ CPU_IDs=/.test(line);
    if (detail) {
      pairs.set(`node ${groups++}`, line.trim());
      continue;
    }
    // values may hold spaces: a new pair begins at a capitalised word before "="
    for (const pair of line.trim().split(/\s+(?=[A-Z][A-Za-z/:]*=)/)) {
      const at = pair.indexOf('=');
      if (at > 0 && !pairs.has(pair.slice(0, at))) pairs.set(pair.slice(0, at), pair.slice(at + 1));
    }
  }
  return pairs;
}

/** "cpu=6,mem=1200M,node=3,gres/gpu:a100=4" as pairs. */
export function parseTres(text: string | undefined): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const resourceText of (text ?? '').split(',')) {
    const at = resourceText.lastIndexOf('=');
    if (at > 0) pairs.set(resourceText.slice(0, at), resourceText.slice(at + 1));
  }
  return pairs;
}

export function tresGpus(tres: ReadonlyMap<string, string>): number | undefined {
  const all = whole(tres.get('gres/gpu'));
  if (all !== undefined) return all;
  const kinds = [...tres].filter(([name]) => name.startsWith('gres/gpu:'));
  return kinds.length === 0 ? undefined : kinds.reduce((sum, [, n]) => sum + Number(n), 0);
}

/** Slurm's sizes: 4000M, 1.5G, 200 (mebibytes). 0 means "all of the node" and is no size. */
export function slurmBytes(text: string | undefined): number | undefined {
  const sizeMatch = /^(\d+(?:\.\d+)?)([KMGTP]?)[nc]?$/.exec(text ?? '');
  if (sizeMatch === null || Number(sizeMatch[1]) === 0) return undefined;
  return Math.round(Number(sizeMatch[1]) * 1024 ** ('KMGTP'.indexOf(sizeMatch[2] || 'M') + 1));
}

/** "1-02:03:04", "02:03:04", "03:04", "5" (minutes); UNLIMITED is undefined. */
export function slurmSeconds(text: string | undefined): number | undefined {
  const timeMatch = /^(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$/.exec(text ?? '');
  if (timeMatch === null) return undefined;
  const [, days, a, b, c] = timeMatch.map((digits) => (digits === undefined ? undefined : Number(digits)));
  if (days !== undefined) return days * 86_400 + a! * 3600 + (b ?? 0) * 60 + (c ?? 0);
  if (b === undefined) return a! * 60;
  return c === undefined ? a! * 60 + b : a! * 3600 + b * 60 + c;
}

/** "gpu:a100:4(IDX:0-3),gpu:2" as the number of GPUs. */
function gresGpus(text: string): number | undefined {
  let sum: number | undefined;
  for (const gpuMatch of text.matchAll(/gpu(?::[A-Za-z][\w.-]*)?:(\d+)/g)) sum = (sum ?? 0) + Number(gpuMatch[1]);
  return sum;
}

/** "4(x2),2" (SLURM_JOB_CPUS_PER_NODE) as one number a node. */
export function repeated(text: string | undefined): number[] {
  const numbers: number[] = [];
  for (const repeatMatch of (text ?? '').matchAll(/(\d+)(?:\(x(\d+)\))?/g)) {
    for (let i = 0; i < Number(repeatMatch[2] ?? 1); i++) numbers.push(Number(repeatMatch[1]));
  }
  return numbers;
}

const sum = (numbers: readonly number[]): number | undefined =>
  numbers.length === 0 ? undefined : numbers.reduce((a, b) => a + b, 0);

function fromEnvironment(env: Environment, id: string): SchedulerFacts {
  const nodes = expandHostlist(env.SLURM_JOB_NODELIST ?? env.SLURM_NODELIST ?? '');
  const cpus = repeated(env.SLURM_JOB_CPUS_PER_NODE);
  const perNode = slurmBytes(env.SLURM_MEM_PER_NODE);
  const perCpu = slurmBytes(env.SLURM_MEM_PER_CPU);
  const gpus = gresGpus(env.SLURM_JOB_GRES ?? '') ?? whole(env.SLURM_GPUS_ON_NODE);
  const memory = (i: number): number | undefined => perNode ?? (perCpu === undefined ? undefined : perCpu * cpus[i]!);
  const share = nodes.map((_, i) => stated({ cpus: cpus[i], memory_bytes: memory(i), gpus }));
  const memories = share.flatMap((s) => s.memory_bytes ?? []);
  return stated({
    id,
    restart: whole(env.SLURM_RESTART_COUNT) ?? 0,
    cluster: env.SLURM_CLUSTER_NAME,
    name: env.SLURM_JOB_NAME,
    user: env.SLURM_JOB_USER,
    account: env.SLURM_JOB_ACCOUNT,
    partition: env.SLURM_JOB_PARTITION,
    directory: env.SLURM_SUBMIT_DIR,
    nodes,
    asked: stated({
      nodes: whole(env.SLURM_JOB_NUM_NODES) ?? (nodes.length || undefined),
      cpus: sum(cpus),
      memory_bytes: memories.length === nodes.length ? sum(memories) : undefined,
      gpus: gpus === undefined ? undefined : gpus * nodes.length,
    }),
    per_node:
      cpus.length === nodes.length && nodes.length > 0
        ? Object.fromEntries(nodes.map((n, i) => [n, share[i]!]))
        : undefined,
  }) as SchedulerFacts;
}

function fromScontrol(shown: Map<string, string>, base: SchedulerFacts): SchedulerFacts {
  if (shown.size === 0) return base;
  const tres = parseTres(shown.get('AllocTRES') ?? shown.get('TRES'));
  const nodes = expandHostlist(word(shown.get('NodeList')) ?? '');
  return stated({
    ...base,
    restart: whole(shown.get('Restarts')) ?? base.restart,
    name: shown.get('JobName') ?? base.name,
    user: /^([^(]+)\(/.exec(shown.get('UserId') ?? '')?.[1] ?? base.user,
    account: word(shown.get('Account')) ?? base.account,
    partition: word(shown.get('Partition')) ?? base.partition,
    directory: shown.get('WorkDir') ?? base.directory,
    nodes: nodes.length > 0 ? nodes : base.nodes,
    asked: stated({
      nodes: whole(tres.get('node')) ?? base.asked.nodes,
      cpus: whole(tres.get('cpu')) ?? base.asked.cpus,
      memory_bytes: slurmBytes(tres.get('mem')) ?? base.asked.memory_bytes,
      gpus: tresGpus(tres) ?? base.asked.gpus,
      time_limit_seconds: slurmSeconds(shown.get('TimeLimit')),
    }),
    per_node: sharesFromScontrol(shown) ?? base.per_node,
    submit: moment(shown.get('SubmitTime')),
    array: arrayOf(shown),
    het: hetOf(shown),
  }) as SchedulerFacts;
}

function hetOf(shown: Map<string, string>): SchedulerFacts['het'] {
  const [job, component] = [shown.get('HetJobId'), shown.get('HetJobOffset')];
  return job === undefined || component === undefined ? undefined : { job, component };
}

function arrayOf(shown: Map<string, string>): SchedulerFacts['array'] {
  const [job, task] = [shown.get('ArrayJobId'), shown.get('ArrayTaskId')];
  return job === undefined || task === undefined || !/^\d+$/.test(task) ? undefined : { job, task };
}

/** What the job has on each node: `Nodes=c[1-2] CPU_IDs=0-1 Mem=400 GRES=gpu:2(IDX:0-1)`. */
function sharesFromScontrol(shown: Map<string, string>): NonNullable<Job['per_node']> | undefined {
  const shares: NonNullable<Job['per_node']> = {};
  for (const [name, line] of shown) {
    const shareMatch = name.startsWith('node ')
      ? /^Nodes=(\S+) CPU_IDs=(\S*) Mem=(\d+)(?: GRES=(.*))?$/.exec(line)
      : null;
    if (shareMatch === null) continue;
    const share = stated({
      cpus: expandHostlist(`[${shareMatch[2]}]`).length,
      memory_bytes: slurmBytes(shareMatch[3]),
      gpus: gresGpus(shareMatch[4] ?? ''),
    });
    for (const node of expandHostlist(shareMatch[1]!)) shares[node] = share;
  }
  return Object.keys(shares).length > 0 ? shares : undefined;
}
