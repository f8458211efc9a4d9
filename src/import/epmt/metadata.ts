import { Fault } from '../../base/fault.ts';
import { parseTagList } from '../../base/tag-list.ts';
import { type Plain, readPickle, textOf } from './pickle.ts';
import type { Moment } from './pickle-moment.ts';

/** What job_metadata says of a job. */
export interface Metadata {
  id: string;
  /** '' when EPMT did not know one. */
  name: string;
  user: string;
  /** The node on which the job was started; '' in older archives. */
  hostname: string;
  submit: Moment;
  start: Moment;
  stop: Moment;
  exitCode: number;
  reason: string;
  /** At the job's start. */
  environment: Record<string, string>;
  tags: Record<string, string>;
  annotations: Record<string, string>;
}

/** Reads job_metadata: a Python pickle of a dictionary. */
export function readMetadata(bytes: Buffer, input: string): Metadata {
  try {
    return metadataOf(readPickle(bytes));
  } catch (error) {
    throw new Fault(`${input} cannot be imported: job_metadata: ${(error as Error).message}`, { cause: error });
  }
}

function metadataOf(pickle: Plain): Metadata {
  if (!(pickle instanceof Map)) throw new Error('it is no dictionary');
  const id = textOf(need(pickle, 'job_pl_id'));
  if (id.trim() === '') throw new Error('job_pl_id is empty');
  const environment = texts(need(pickle, 'job_pl_env'), 'job_pl_env');
  const atStop = texts(pickle.get('job_el_env') ?? new Map(), 'job_el_env');
  const start = momentOf(pickle, 'job_pl_start_ts');
  const given = pickle.get('job_el_exitcode');
  const annotations = pickle.get('annotations') ?? null;
  const notes = annotations === null ? {} : texts(annotations, 'annotations');
  const name = optional(pickle, 'job_jobname');
  return {
    id,
    name: name === 'unknown' ? '' : name || environment.SLURM_JOB_NAME || environment.PBS_JOBNAME || '',
    user:
      optional(pickle, 'job_pl_username') ||
      environment.SLURM_JOB_USER ||
      environment.USER ||
      environment.LOGNAME ||
      '',
    hostname: optional(pickle, 'job_pl_hostname'),
    submit: pickle.has('job_pl_submit_ts') ? momentOf(pickle, 'job_pl_submit_ts') : start,
    start,
    stop: momentOf(pickle, 'job_el_stop_ts'),
    exitCode: typeof given === 'number' ? given : Number.NaN,
    reason: optional(pickle, 'job_el_reason'),
    environment,
    tags: jobTags(pickle.get('job_tags') ?? null, notes, atStop),
    annotations: notes,
  };
}

/** Annotated tags count before those that EPMT had read already, and these before the environment at the job's end. */
function jobTags(read: Plain, notes: Record<string, string>, atStop: Record<string, string>): Record<string, string> {
  const { EPMT_JOB_TAGS: annotated } = notes;
  if (annotated !== undefined) return parseTagList(annotated);
  return read instanceof Map ? texts(read, 'job_tags') : parseTagList(atStop.EPMT_JOB_TAGS);
}

function need(metadata: Map<string, Plain>, key: string): Plain {
  const value = metadata.get(key);
  if (value !== undefined && value !== null) return value;
  const hint = key.startsWith('job_el_') ? '; the job was never stopped (epmt stop)' : '';
  throw new Error(`it has no ${key}${hint}`);
}

const optional = (metadata: Map<string, Plain>, key: string): string => {
  const value = metadata.get(key) ?? null;
  return value === null ? '' : textOf(value);
};

function momentOf(metadata: Map<string, Plain>, key: string): Moment {
  const value = need(metadata, key);
  if (typeof value === 'object' && value !== null && 'wall' in value) return value;
  throw new Error(`${key} is no moment`);
}

function texts(value: Plain, what: string): Record<string, string> {
  if (!(value instanceof Map)) throw new Error(`${what} is no dictionary`);
  const textsByKey: Record<string, string> = {};
  for (const [key, text] of value) textsByKey[key] = describe(text);
  return textsByKey;
}

/** Annotations may be numbers, lists, dictionaries: those are kept as JSON. */
function describe(value: Plain): string {
  if (value === null || typeof value !== 'object' || Buffer.isBuffer(value)) return textOf(value);
  return JSON.stringify(json(value, { values: 10_000 }, 20));
}

function json(value: Plain, budget: { values: number }, depth: number): unknown {
  if (--budget.values < 0 || depth === 0) throw new Error('an annotation in it is too large, or contains itself');
  const inner = (each: Plain): unknown => json(each, budget, depth - 1);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value !== 'object' || Buffer.isBuffer(value)) return textOf(value);
  if (Array.isArray(value)) return value.map(inner);
  if (value instanceof Set) return [...value].map(inner);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [key, inner(each)]));
  if ('wall' in value)
    return new Date(value.wall / 1000).toISOString().replace('Z', value.offset === undefined ? '' : 'Z');
  return 'duration' in value ? value.duration / 1e6 : value.offset / 1e6;
}
