import type { Job } from '../../recording/folder/job.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';

/** What came over the wire cannot be used; the words go back to whoever sent it. */
export class Unusable extends Error {}

/** A host's longest name, and the longest part of a path with every byte of it encoded. */
const LONGEST_NAME = 200;
const LONGEST_PART = 255;
const TABLE = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const DAY = /^fleet-(\d{4}-\d{2}-\d{2})$/;

/** A name from outside (node, user, job) as it may become part of a path: `what=name`, odd characters encoded. */
function pathSegment(what: string, name: unknown): string {
  if (typeof name !== 'string' || name === '') throw new Unusable(`the ${what} has no name`);
  if (name.length > LONGEST_NAME)
    throw new Unusable(`the name of the ${what} is longer than ${LONGEST_NAME} characters`);
  if (name === '.' || name === '..') throw new Unusable(`"${name}" cannot be the name of a ${what}`);
  const odd = /[/\\\x00-\x1f\x7f]/.exec(name);
  if (odd !== null) throw new Unusable(`the name of the ${what} holds ${JSON.stringify(odd[0])}`);
  let encoded: string;
  try {
    encoded = `${what}=${nodeFolder(name).slice('node='.length)}`;
  } catch {
    throw new Unusable(`the name of the ${what} is not text`);
  }
  if (encoded.length > LONGEST_PART) throw new Unusable(`the name of the ${what} is too long`);
  return encoded;
}

export const nodePart = (node: unknown): string => pathSegment('node', node);

/** Its agent could not tell whose it is. */
export const isNobodys = ({ user, uid }: Pick<Job, 'user' | 'uid'>): boolean => user === '' && uid < 0;

/** `user=ada`; of a job that is nobody's `user=unknown`. */
export const userPart = (job: Pick<Job, 'user' | 'uid'>): string =>
  pathSegment('user', isNobodys(job) ? 'unknown' : job.user);

/** `job=4711`, of the second restart `job=4711r2`. */
export function jobPart(id: unknown, restart: unknown): string {
  const base = pathSegment('job', id);
  if (restart === undefined || restart === 0) return base;
  if (!Number.isSafeInteger(restart) || (restart as number) < 0)
    throw new Unusable('the restart of the job is no count');
  return `${base}r${restart}`;
}

/** Behind the name of what a user sent; no id can end so, for a + in it is encoded. */
const OWN = '+own';

/** Where a job is filed: what its user sent lies beside what agents sent, `job=4711+own`. */
export const filedPart = (job: Pick<Job, 'id' | 'restart' | 'recorded_by'>): string =>
  `${jobPart(job.id, job.restart)}${job.recorded_by === undefined ? '' : OWN}`;

function shelfOf(job: Job): string | undefined {
  try {
    return userPart(job);
  } catch {
    return undefined;
  }
}

/** The job of a recording in an archive as far as where it lies says it: users can change what is in their folders. */
export function jobAsFiled(shelf: string, name: string, job: Job): Job | undefined {
  if (shelf !== 'fleet' && shelf !== shelfOf(job)) return undefined;
  const { recorded_by, ...rest } = job;
  const isOwn = /\+own(?:[@.]|$)/.test(name);
  if (isOwn === (recorded_by === 'user')) return job;
  return isOwn ? { ...rest, recorded_by: 'user' } : rest;
}

/** `day=2026-11-15`, of the recording `fleet-2026-11-15`. */
export function dayPart(id: unknown): string {
  const day = typeof id === 'string' ? DAY.exec(id)?.[1] : undefined;
  if (day === undefined) throw new Unusable('a recording of the fleet is called fleet-YEAR-MONTH-DAY');
  return `day=${day}`;
}

export const isTableName = (name: string): boolean => TABLE.test(name);
