import * as os from 'node:os';
import { Fault, reason } from '../../base/fault.ts';
import { parseTagList } from '../../base/tag-list.ts';
import type { Job } from '../../recording/folder/job.ts';
import { userNames } from '../../sources/host/user-names.ts';
import { Host } from '../../sources/host.ts';
import { type Environment, type Run, runner } from './command.ts';
import { keptEnvironment } from './environment.ts';
import { factsFromFile } from './file.ts';
import { flux } from './flux.ts';
import { isHere, local } from './local.ts';
import { pbs } from './pbs.ts';
import type { Scheduler, SchedulerFacts, Tell } from './scheduler.ts';
import { SLURM_TIMES, slurm } from './slurm.ts';

/** In the order in which they are looked for: Flux may run inside a Slurm job, and then it is what the user works with. */
const SCHEDULERS: readonly Scheduler[] = [flux, slurm, pbs];

/** What is known of a job before it is recorded; how it goes and ends is added by whoever records it. */
export type JobFacts = Omit<
  Job,
  | 'format'
  | 'tacho'
  | 'interval_seconds'
  | 'start'
  | 'end'
  | 'state'
  | 'exit_code'
  | 'signal'
  | 'reason'
  | 'usage'
  | 'steps'
>;

export interface JobOptions {
  name?: string;
  tags?: Record<string, string>;
  command?: readonly string[];
  /** What a job without a name and a command is called. */
  script?: string;
  directory?: string;
  /** Record these machines instead of the job's nodes. */
  hosts?: readonly string[];
  /** Facts from this file instead of a scheduler. */
  jobFile?: string;
  /** What is known already: no scheduler is asked, and none has to do with it. */
  given?: SchedulerFacts;
  redact?: boolean;
  /** Variables to keep besides those that are always kept. */
  keepEnvironment?: readonly string[];
  /** Learns what could not be found out. */
  tell?: Tell;
  /** Refuse a job file that cannot be used, and a job of which nobody says which nodes it has. */
  strict?: boolean;
  /** Runs the schedulers' commands; another one in tests. */
  run?: Run;
}

/** The scheduler that this environment belongs to; `local` outside of any. */
export function schedulerOf(env: Environment): Scheduler {
  const around = SCHEDULERS.filter((scheduler) => scheduler.detect(env) !== undefined);
  // beside a job that can be asked about, an id of Flux without its instance says nothing
  return around.find((scheduler) => scheduler !== flux || env.FLUX_URI !== undefined) ?? around[0] ?? local;
}

/** Variables in which schedulers say the id of the job. */
const ID_VARIABLES = ['SLURM_JOB_ID', 'PBS_JOBID', 'FLUX_JOB_ID'] as const;

/** Says what of the environment looks like a job and is none. */
function tellOfNoId(env: Environment, strict: boolean | undefined, reportTrouble: Tell): void {
  for (const variable of ID_VARIABLES.filter((each) => (env[each] ?? '') !== '')) {
    const what = `${variable} holds no id of a job`;
    if (strict) throw new Fault(what, { hint: 'unset it' });
    reportTrouble(what, 'it is not used, and only this machine is recorded');
  }
}

export function schedulerNamed(name: Job['scheduler']): Scheduler {
  return SCHEDULERS.find((scheduler) => scheduler.name === name) ?? local;
}

/** Runs schedulers' commands so that their moments can be read; `limitSeconds` is for each. */
export const schedulerRunner = (limitSeconds = 5): Run => runner(SLURM_TIMES, limitSeconds);

/** Who runs what, where, and what was asked for: from the scheduler, a file or the command line. */
export async function jobFacts(env: Environment, options: JobOptions = {}): Promise<JobFacts> {
  const { redact, hosts, strict } = options;
  const reportTrouble = options.tell ?? (() => {});
  const fromFile =
    options.jobFile === undefined ? undefined : jobFileFacts(options.jobFile, strict ? undefined : reportTrouble);
  const scheduler = fromFile === undefined && options.given === undefined ? schedulerOf(env) : local;
  if (fromFile === undefined && options.given === undefined && scheduler === local)
    tellOfNoId(env, strict, reportTrouble);
  const untold: [what: string, why: string][] = [];
  const asked = (): Promise<SchedulerFacts> =>
    scheduler.facts(options.run ?? schedulerRunner(), env, (...troubleArguments) => untold.push(troubleArguments));
  const schedulerFacts: SchedulerFacts = fromFile ?? options.given ?? (await asked());
  const command = options.command ?? schedulerFacts.command;
  const name =
    options.name ?? schedulerFacts.name ?? (command === undefined ? (options.script ?? 'shell') : nameOf(command));
  const uid = process.getuid!();
  const named = hosts !== undefined && hosts.length > 0 ? machines(hosts) : schedulerFacts.nodes;
  // a container gets the job's number, and nothing to ask a scheduler with
  const nodes = named.length > 0 ? named : [os.hostname()];
  if (named.length === 0) {
    const what = `${scheduler.name} does not say which nodes job ${schedulerFacts.id} has`;
    const why = untold.map(([, each]) => ` (${each})`).join('');
    if (strict) throw new Fault(`${what}${why}`, { hint: 'name them with --hosts a,b' });
    reportTrouble(what, `only this machine is recorded; --hosts a,b names others${why}`);
  } else {
    for (const troubleArguments of untold) reportTrouble(...troubleArguments);
  }
  // the id of a task says already of which array it is; all components of a heterogeneous job are one here
  const { array: _, het: __, ...plainFacts } = schedulerFacts;
  const own = new Set(schedulerFacts.nodes);
  const facts: JobFacts = {
    ...plainFacts,
    id: schedulerFacts.id === '' ? localId(name) : schedulerFacts.id,
    scheduler: fromFile !== undefined ? 'file' : nodes.every((node) => own.has(node)) ? scheduler.name : 'none',
    name,
    user: schedulerFacts.user ?? userNames(new Host())(uid),
    uid,
    directory: options.directory ?? schedulerFacts.directory ?? process.cwd(),
    nodes,
    tags: { ...parseTagList(env.EPMT_JOB_TAGS), ...options.tags },
    environment: keptEnvironment(env, options.keepEnvironment),
  };
  if (command !== undefined) facts.command = redact ? command.slice(0, 1) : [...command];
  if (redact) facts.redacted = true;
  return facts;
}

/** Undefined: it cannot be used, which `tell` learns; without it that is thrown. */
function jobFileFacts(file: string, reportTrouble: Tell | undefined): SchedulerFacts | undefined {
  try {
    return factsFromFile(file);
  } catch (error) {
    if (reportTrouble === undefined) throw error;
    reportTrouble(reason(error), 'it is not used');
    return undefined;
  }
}

/** Each machine once; this one may have been named in several ways. */
function machines(hosts: readonly string[]): string[] {
  const here = hosts.find(isHere);
  return [...new Set(hosts.map((host) => (here !== undefined && isHere(host) ? here : host)))];
}

/** What is no UTF-8 stands in `$'…'`. */
const nameOf = (command: readonly string[]): string =>
  command[0]!.replace(/^\$'(.*)'$/s, '$1').replace(/.*\//, '') || 'command';

/** Outside of any scheduler: date and name, as "20261115-204912-train". */
function localId(name: string): string {
  const now = new Date();
  const two = (n: number): string => String(n).padStart(2, '0');
  const day = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  return `${day}-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}-${plain(name)}`;
}

/** Whether an id was made so: another job may have begun in the same second. */
export const isLocalId = (id: string): boolean => /^\d{8}-\d{6}-/.test(id);

/** A text as a part of a file name. */
export const plain = (text: string): string =>
  text
    .replaceAll('ƒ', 'f')
    .replaceAll(/[^A-Za-z0-9._+-]+/g, '-')
    .slice(0, 80) || 'job';

/** The folder that a recording gets when nobody names one: tacho-4711, tacho-4711_3, tacho-4711-restart1. */
export function defaultFolder(facts: Pick<JobFacts, 'id' | 'restart'>): string {
  return `tacho-${plain(facts.id)}${facts.restart ? `-restart${facts.restart}` : ''}`;
}
