import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { code, Fault, reason } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import { pause } from '../base/pause.ts';
import { jobName } from '../jobs/on-node/job-file.ts';
import type { MemoryKills } from '../jobs/on-node/memory-kills.ts';
import { type ProcessId, processId, stillRuns } from '../jobs/on-node/process-id.ts';
import { USER_JOBS, usersFolder } from '../jobs/on-node/user-jobs.ts';
import type { Environment } from '../jobs/schedulers/command.ts';
import { defaultFolder, plain, schedulerOf } from '../jobs/schedulers/job-facts.ts';
import { type Tell, whole } from '../jobs/schedulers/scheduler.ts';
import type { Job } from '../recording/folder/job.ts';
import { readJob } from '../recording/folder/open.ts';
import { MOST_BYTES, readJson } from '../recording/folder/record-file.ts';
import { replaceJson } from '../recording/folder/replace.ts';
import type { Launched } from './launch.ts';
import { noteAtExit } from './own-use.ts';

/** How old what a prolog has left may be where the agent is waited for, and how long it is. */
const NEW_MS = 60_000;
const SOON_MS = 5_000;
const LOOK_MS = 20;

/** A recording that goes on, as the next command finds it. */
export interface Active {
  /** Absolute path. */
  recording: string;
  launched: Launched[];
  /** How many processes the kernel had killed in the job's cgroup before `tacho start`, because memory ran out. */
  kills_before?: MemoryKills;
  /** `tacho start` has come to its end. */
  begun?: boolean;
  /** The agent that left this note on its node, where `tacho start` itself was not. */
  agent?: ProcessId;
}

/**
 * The folder where this user's recordings in progress are noted, one file each. Nobody else may write there: a name in
 * /tmp that somebody else took first is refused.
 */
function registry(env: Environment): string {
  const uid = process.getuid!();
  const run = env.XDG_RUNTIME_DIR;
  // jobs often inherit the variable from a login node whose folder is not here
  const folder = run !== undefined && ownFolder(run) === undefined ? path.join(run, 'tacho') : `/tmp/tacho-${uid}`;
  const wrong = cannotMake(folder) ?? ownFolder(folder);
  if (wrong !== undefined) {
    throw new Fault(`cannot use ${folder} to note which recordings go on: ${wrong}`, {
      hint: 'set TACHO_RECORDING to the recording, or XDG_RUNTIME_DIR to a folder of your own',
    });
  }
  return folder;
}

function cannotMake(folder: string): string | undefined {
  try {
    makeFolder(folder, 0o700);
  } catch (error) {
    // what is there in its place is looked at next
    return code(error) === 'EEXIST' ? undefined : reason(error);
  }
  return undefined;
}

/** Undefined, or why the folder is not this user's alone. */
function ownFolder(folder: string): string | undefined {
  try {
    const folderStats = fs.lstatSync(folder);
    if (!folderStats.isDirectory()) return 'it is not a folder';
    if (folderStats.uid !== process.getuid!()) return 'it belongs to somebody else';
    return (folderStats.mode & 0o022) === 0 ? undefined : 'others may write there';
  } catch (error) {
    return reason(error);
  }
}

/** What tells one job from another on this machine; outside of any job, the session (a terminal, a login). */
function keyOf(env: Environment): string {
  const scheduler = schedulerOf(env);
  const id = scheduler.detect(env);
  return id === undefined ? `local-${sessionOf()}` : jobKey(scheduler.name, env.SLURM_CLUSTER_NAME, id);
}

const jobKey = (scheduler: Job['scheduler'], cluster: string | undefined, id: string): string =>
  [scheduler, plain((scheduler === 'slurm' ? cluster : undefined) ?? 'cluster'), plain(id)].join('-');

function sessionOf(): string {
  const stat = fs.readFileSync('/proc/self/stat', 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]!;
}

/** The recording that goes on in this job or session, if any. */
export function findActive(env: Environment): Active | undefined {
  const named = env.TACHO_RECORDING;
  const noted = entry(path.join(registry(env), `${keyOf(env)}.json`));
  if (named !== undefined && named !== '') {
    const recording = path.resolve(named);
    if (!fs.existsSync(path.join(recording, 'job.json'))) {
      throw new Fault(`TACHO_RECORDING is ${named}, which is no recording`);
    }
    return noted?.recording === recording ? noted : { recording, launched: [] };
  }
  return noted ?? nearby(env);
}

/** On another node of the job there is no note, but the recording lies where `start` puts it by default. */
function nearby(env: Environment): Active | undefined {
  const id = schedulerOf(env).detect(env);
  if (id === undefined) return undefined;
  const restart = Number(env.SLURM_RESTART_COUNT ?? 0);
  for (const parent of [process.cwd(), env.SLURM_SUBMIT_DIR, env.PBS_O_WORKDIR]) {
    if (parent === undefined) continue;
    const recording = path.join(parent, defaultFolder({ id, restart }));
    if (goesOn(recording)) return { recording, launched: [] };
  }
  return undefined;
}

function entry(file: string): Active | undefined {
  try {
    const active = JSON.parse(fs.readFileSync(file, 'utf8')) as Active;
    // an agent that was killed could not take its note away
    return goesOn(active.recording) && (active.agent === undefined || stillRuns(active.agent)) ? active : undefined;
  } catch (error) {
    if (code(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A recording goes on until its job.json has an end. */
function goesOn(recording: string): boolean {
  try {
    return (readJson(path.join(recording, 'job.json'), MOST_BYTES.job) as Job).end === undefined;
  } catch {
    return false;
  }
}

/** The place of this job on a node whose agent is a service: the recording itself is out of its user's reach. */
function atService(env: Environment): Active | undefined {
  for (const name of namesAtService(env)) {
    const recording = whereIs(`${name}.marks`);
    if (ownFolder(recording) === undefined && goesOn(recording)) return { recording, launched: [] };
  }
  return undefined;
}

/** What the agent of the node calls what is there for this job, without the ending. */
function* namesAtService(env: Environment): Generator<string> {
  const id = schedulerOf(env).detect(env);
  if (id === undefined) return;
  const users = usersFolder(env.TACHO_SERVICE_JOBS ?? '/run/tacho/jobs');
  const folder = path.join(users, String(process.getuid!()), USER_JOBS);
  // a task in a later component of a heterogeneous job has the id of the first, which is on other nodes;
  const components = Object.keys(env).filter((key) => /^SLURM_JOB_ID_HET_GROUP_\d+$/.test(key));
  // and one of an array has a number of its own
  for (const each of [env.SLURM_JOB_ID ?? id, id, ...components.map((key) => env[key]!)])
    yield path.join(folder, `job-${jobName({ id: each, restart: whole(env.SLURM_RESTART_COUNT) ?? 0 })}`);
}

/** The same where the prolog has told the agent of the job a moment ago: one that is busy makes the place later. */
function soonAtService(env: Environment): Active | undefined {
  if (![...namesAtService(env)].some((name) => isNew(`${name}.records`))) return undefined;
  for (const since = performance.now(); performance.now() - since < SOON_MS; pause(LOOK_MS)) {
    const active = atService(env);
    if (active !== undefined) return active;
  }
  return undefined;
}

function isNew(file: string): boolean {
  try {
    return Date.now() - fs.statSync(file).mtimeMs < NEW_MS;
  } catch {
    // nobody has told an agent here of the job
    return false;
  }
}

/** The agent of the node has put a link there (src/agent/service/marks-folder.ts). */
function whereIs(name: string): string {
  try {
    return fs.realpathSync(name);
  } catch {
    return name;
  }
}

/** Refuses when this job or session is being recorded already by agents that live. */
export function refuseSecond(env: Environment): void {
  const active = entry(path.join(registry(env), `${keyOf(env)}.json`));
  if (active !== undefined && (active.launched.length === 0 || active.launched.some(stillRuns))) {
    throw new Fault(
      `this ${keyOf(env).startsWith('local') ? 'session' : 'job'} is being recorded already, in ${active.recording}`,
      {
        hint: 'tacho stop ends that recording; tacho status shows it',
      },
    );
  }
}

/** Notes a recording, so that the next command in this job or session finds it. Of two at once only one succeeds. */
export function noteActive(env: Environment, active: Active): void {
  const file = path.join(registry(env), `${keyOf(env)}.json`);
  refuseSecond(env);
  fs.rmSync(file, { force: true });
  const temporary = `${file}.${process.pid}.new`;
  fs.writeFileSync(temporary, JSON.stringify(active), { mode: 0o600 });
  try {
    // link, unlike rename, fails when somebody else was first
    fs.linkSync(temporary, file);
  } catch (error) {
    if (code(error) === 'EEXIST') refuseSecond(env);
    throw error;
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

/** Replaces the note: the launchers are known only once they run. */
export function updateActive(env: Environment, active: Active): void {
  replaceJson(path.join(registry(env), `${keyOf(env)}.json`), active);
}

/**
 * An agent's own note, so that commands on its node find the recording wherever it lies. Returns how to take it away.
 * Outside of a scheduler nothing says which sessions of other machines are meant.
 */
export function noteAgent(env: Environment, recording: string, reportTrouble: Tell): () => void {
  const job = readJob(recording);
  if (job === undefined || job.scheduler === 'none' || job.scheduler === 'file') return () => {};
  try {
    const file = path.join(registry(env), `${jobKey(job.scheduler, job.cluster, job.id)}.json`);
    // on the node of `tacho start` there is one that knows more
    if (entry(file) !== undefined) return () => {};
    const agent = processId(process.pid);
    replaceJson(file, { recording: path.resolve(recording), launched: [], agent } satisfies Active);
    return () => {
      if (entry(file)?.agent?.pid === agent.pid) fs.rmSync(file, { force: true });
    };
  } catch (error) {
    reportTrouble('tacho mark and tacho fom will not find the recording here', reason(error));
    return () => {};
  }
}

/** Forgets a recording that has ended. */
export function forgetActive(env: Environment, recording: string): void {
  const file = path.join(registry(env), `${keyOf(env)}.json`);
  try {
    if ((JSON.parse(fs.readFileSync(file, 'utf8')) as Active).recording === recording) fs.rmSync(file, { force: true });
  } catch {
    // there is no note, or it is not readable: nothing to forget
  }
}

/** The recording in progress, or a fault that says what to do; `by` is how else a recording can be named. */
export function needActive(env: Environment, what: string, by = ' or a folder on the command line'): Active {
  return need(findActive(env), env, what, by);
}

/** The same for those who say something of the job: also where the agent of the node records it. */
export function needSpeakable(env: Environment, what: string, by = ' or a folder on the command line'): string {
  return need(findActive(env) ?? atService(env) ?? soonAtService(env), env, what, by).recording;
}

/** Those whose use a recording knows in another way: agents by themselves, `start` before there are samples, `stop` after. */
const ACCOUNTED = ['agent', 'start', 'stop'];

/** What a command uses inside a job is Tacho's, for whoever records that: its user, and the agent of the node. */
export function noteInJob(env: Environment, verb: string, children: boolean): void {
  const service = atService(env);
  if (service !== undefined) noteAtExit(service.recording, env, children);
  if (ACCOUNTED.includes(verb)) return;
  try {
    const active = findActive(env);
    if (active !== undefined) noteAtExit(active.recording, env, children);
  } catch {
    // a command does its work, whether or not it can say what that cost
  }
}

function need(active: Active | undefined, env: Environment, what: string, by: string): Active {
  if (active !== undefined) {
    noteAtExit(active.recording, env);
    return active;
  }
  const where = schedulerOf(env).detect(env) === undefined ? 'in this session' : `in this job, on ${os.hostname()}`;
  throw new Fault(`nothing is being recorded ${where}: ${what}`, {
    hint: `tacho start begins a recording; TACHO_RECORDING=FOLDER${by} names one`,
  });
}

/** The folder that marks are written to: a recording that has ended takes no more. */
export function needMarkable(env: Environment, what: string): string {
  const recording = needSpeakable(env, what, '');
  if (!goesOn(recording)) {
    throw new Fault(`${recording} has ended: ${what}`, { hint: 'tacho start begins another recording' });
  }
  return recording;
}
