import * as fs from 'node:fs';
import * as path from 'node:path';
import { parseDuration } from '../../base/duration.ts';
import { Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { expandHostlist } from '../../base/hostlist.ts';
import { stated } from '../../base/stated.ts';
import type { Job } from '../../recording/folder/job.ts';
import type { Environment } from '../schedulers/command.ts';
import { plain } from '../schedulers/job-facts.ts';
import { whole } from '../schedulers/scheduler.ts';

/**
 * A job file tells the agent of a node that a job begins there: lines KEY=VALUE, in the jobs folder under the job's name
 * (`4711`, `4711r1`). `<name>.end` tells that it has ended. packaging/slurm/prolog.sh and epilog.sh write the same.
 */
export const JOB_KEYS = [
  'SLURM_JOB_ID',
  'SLURM_JOB_UID',
  'SLURM_JOB_USER',
  'SLURM_RESTART_COUNT',
  'SLURM_CLUSTER_NAME',
  'SLURM_NODELIST',
  'SLURM_JOB_NODELIST',
  'SLURM_JOB_NAME',
  'SLURM_JOB_PARTITION',
  'SLURM_JOB_ACCOUNT',
  'SLURM_JOB_GPUS',
  'SLURM_ARRAY_JOB_ID',
  'SLURM_ARRAY_TASK_ID',
  'SLURM_HET_JOB_ID',
  'SLURM_HET_JOB_OFFSET',
  'SLURM_JOB_WORK_DIR',
  'TACHO_SCHEDULER',
  'TACHO_INTERVAL',
  'BEGIN',
] as const;

export const END_KEYS = [
  'SLURM_JOB_ID',
  'SLURM_RESTART_COUNT',
  'SLURM_JOB_EXIT_CODE',
  'SLURM_JOB_EXIT_CODE2',
  'END',
] as const;

/** What is known of a job on this node before anybody asked the scheduler. */
export interface NodeJob {
  id: string;
  /** Undefined: nobody said. */
  restart?: number;
  scheduler: Job['scheduler'];
  cluster?: string;
  name?: string;
  user?: string;
  uid?: number;
  account?: string;
  partition?: string;
  directory?: string;
  /** In the scheduler's order; empty: nobody said. */
  nodes: string[];
  /** Epoch microseconds. */
  begin?: number;
  intervalSeconds?: number;
  /** The job is a part of these: array_job, array_task, het_job, het_component. */
  tags: Record<string, string>;
  /** As the scheduler's commands and the list of kept variables know it. */
  environment: Record<string, string>;
  /** Lines of its file that make no sense. */
  unused?: string[];
}

export interface NodeJobEnd {
  id: string;
  restart?: number;
  /** Epoch microseconds. */
  end?: number;
  /** The end is a guess: the scheduler knows better. */
  guessed?: boolean;
  exitCode?: number;
  signal?: number;
}

const LARGEST = 64 << 10;
const TOO_LARGE = `more than the ${LARGEST} that a job file may have`;
const ID = /^[A-Za-z0-9\u0192][\w.+@[\]-]{0,99}$/;
const SCHEDULERS: readonly string[] = ['slurm', 'flux', 'pbs', 'none'];

/** `4711`, `4711r1`: unique on a node. */
export function jobName({ id, restart }: Pick<NodeJob, 'id' | 'restart'>): string {
  return `${plain(id)}${restart ? `r${restart}` : ''}`;
}

/** The lines of a file. The first of two lines with one key counts: what comes later may be a user's own text. */
function pairs(text: string, keys: readonly string[]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    const key = line.slice(0, at);
    if (at > 0 && keys.includes(key) && !(key in values) && at + 1 < line.length) values[key] = line.slice(at + 1);
  }
  return values;
}

/** Throws (an Error with the reason) when the text does not say which job it is about; a wrong detail is left out. */
export function parseJobFile(text: string): NodeJob {
  const env = pairs(text, JOB_KEYS);
  const id = idOf(env);
  const { BEGIN: begin, TACHO_INTERVAL: interval, TACHO_SCHEDULER: scheduler = 'slurm', ...environment } = env;
  const unused = [
    ...(begin !== undefined && moment(begin) === undefined ? [`BEGIN=${begin.slice(0, 40)}`] : []),
    ...(interval !== undefined && intervalOf(interval) === undefined
      ? [`TACHO_INTERVAL=${interval.slice(0, 40)}`]
      : []),
    ...(SCHEDULERS.includes(scheduler) ? [] : [`TACHO_SCHEDULER=${scheduler.slice(0, 40)}`]),
  ];
  return stated({
    id,
    restart: whole(env.SLURM_RESTART_COUNT),
    scheduler: (SCHEDULERS.includes(scheduler) ? scheduler : 'slurm') as Job['scheduler'],
    cluster: env.SLURM_CLUSTER_NAME,
    name: env.SLURM_JOB_NAME,
    user: env.SLURM_JOB_USER,
    uid: whole(env.SLURM_JOB_UID),
    account: env.SLURM_JOB_ACCOUNT,
    partition: env.SLURM_JOB_PARTITION,
    directory: env.SLURM_JOB_WORK_DIR,
    nodes: expandHostlist(env.SLURM_JOB_NODELIST ?? env.SLURM_NODELIST ?? ''),
    begin: moment(begin),
    intervalSeconds: intervalOf(interval),
    tags: stated({
      array_job: env.SLURM_ARRAY_JOB_ID,
      array_task: env.SLURM_ARRAY_TASK_ID,
      het_job: env.SLURM_HET_JOB_ID,
      het_component: env.SLURM_HET_JOB_OFFSET,
    }) as Record<string, string>,
    environment,
    unused: unused.length === 0 ? undefined : unused,
  }) as NodeJob;
}

/** The same of `<name>.end`. Slurm says how the script ended twice: as wait() has it, and as "exit:signal". */
export function parseEndFile(text: string): NodeJobEnd {
  const env = pairs(text, END_KEYS);
  const [exit, signal] = (env.SLURM_JOB_EXIT_CODE2 ?? '').split(':').map(whole);
  const waited = whole(env.SLURM_JOB_EXIT_CODE);
  return stated({
    id: idOf(env),
    restart: whole(env.SLURM_RESTART_COUNT),
    end: moment(env.END),
    exitCode: exit ?? (waited === undefined ? undefined : waited >> 8),
    signal: (signal ?? (waited === undefined ? undefined : waited & 0x7f)) || undefined,
  });
}

function idOf(env: Record<string, string>): string {
  const id = env.SLURM_JOB_ID;
  if (id === undefined) throw new Error('it has no line SLURM_JOB_ID=');
  if (!ID.test(id)) throw new Error(`"${id.slice(0, 40)}" is no id of a job`);
  return id;
}

/** Epoch seconds, with or without a fraction, as epoch microseconds. */
function moment(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{9,11}(\.\d{1,9})?$/.test(text) ? Math.round(Number(text) * 1e6) : undefined;
}

function intervalOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const seconds = parseDuration(text);
    return seconds >= 0.1 && seconds <= 86_400 ? seconds : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads a file of the jobs folder. Undefined: it has gone meanwhile. Throws when it cannot be used: whoever writes such a
 * file says what runs as whom, so it must be root's or our own.
 */
export function readJobText(file: string): string | undefined {
  let fd: number;
  try {
    fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { uid, size } = fs.fstatSync(fd);
    if (uid !== 0 && uid !== process.getuid!()) throw new Error(`it belongs to somebody else (uid ${uid})`);
    if (size > LARGEST) throw new Error(`it has ${size} bytes, ${TOO_LARGE}`);
    return fs.readFileSync(fd, 'utf8');
  } finally {
    fs.closeSync(fd);
  }
}

/** Writes a job file, or with END_KEYS its end, so that a reader sees all of it or nothing. Returns its path. */
export function writeJobFile(folder: string, env: Environment, keys: readonly string[]): string {
  const of = env.SLURM_JOB_ID;
  if (of === undefined || of === '') {
    throw new Fault('which job? SLURM_JOB_ID is not set', { exit: 2, hint: '--job-id names it' });
  }
  if (!ID.test(of)) throw new Fault(`"${of}" is no id of a job`, { exit: 2 });
  const ending = keys === END_KEYS;
  const restart = whole(env.SLURM_RESTART_COUNT);
  const name = `${jobName(restart === undefined ? { id: of } : { id: of, restart })}${ending ? '.end' : ''}`;
  const now = (Date.now() / 1000).toFixed(3);
  const lines = keys.flatMap((key) => {
    const value = key === 'BEGIN' || key === 'END' ? now : env[key];
    // a line break in a value would begin a line of its own
    return value === undefined || value === '' || /[\n\r]/.test(value) ? [] : [`${key}=${value}\n`];
  });
  const file = path.join(folder, name);
  const size = Buffer.byteLength(lines.join(''));
  if (size > LARGEST) {
    throw new Fault(`cannot write ${file}: it would have ${size} bytes, ${TOO_LARGE}`, {
      hint: 'name the nodes as a list with ranges, such as c[1-4]',
    });
  }
  const temporary = path.join(folder, `.${name}.${process.pid}`);
  try {
    // users come through the folder around it
    makeFolder(path.dirname(path.resolve(folder)), 0o711);
    makeFolder(folder, 0o700);
    fs.writeFileSync(temporary, lines.join(''), { mode: 0o600 });
    fs.renameSync(temporary, file);
  } catch (error) {
    discard(temporary);
    throw new Fault(`cannot write ${file}: ${reason(error)}`, {
      hint: 'the jobs folder (setting service.jobs) is the one that the agent of this node watches',
    });
  }
  return file;
}

function discard(file: string): void {
  try {
    fs.rmSync(file, { force: true });
  } catch {
    // what keeps it from being removed has kept it from being written
  }
}
