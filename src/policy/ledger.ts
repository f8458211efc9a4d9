import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../base/fault.ts';
import { makeFolder, namesIn } from '../base/folder.ts';
import { withLock } from '../history/index/lock.ts';
import type { JobSummary } from '../history/tables/summary.ts';
import type { Channel } from './policy.ts';

/**
 * What has become of a message on its way:
 * - waiting: it has not left; it is tried again
 * - sending: somebody is at it, or was killed over it
 * - sent: the other end has taken it
 * - unsure: it went out, and the other end did not say that it has taken it; it is not sent again
 * - refused: the other end will never take it
 */
export type Delivery = 'waiting' | 'sending' | 'sent' | 'unsure' | 'refused';

export interface Sending {
  state: Delivery;
  attempts: number;
  /** Epoch microseconds. */
  last?: number;
  error?: string;
}

/** A job that a message is about. */
export interface NotifiedJob {
  job: string;
  cluster: string;
  /** When it started: ids are used again. */
  start: number;
}

/** One message to one user about one policy. */
export interface Message {
  /** It is the same however often the message is tried. */
  id: string;
  policy: string;
  user: string;
  kind: 'report' | 'cancelled';
  /** Epoch microseconds. */
  made: number;
  jobs: NotifiedJob[];
  subject: string;
  text: string;
  /** What a webhook gets. */
  data: Record<string, unknown>;
  to: 'user' | 'administrators' | 'both';
  sendings: { [C in Channel]?: Sending };
}

/** A message that is kept, and where. */
export interface KeptMessage {
  file: string;
  message: Message;
}

const notifiedJob = ({ job, cluster, time }: JobSummary): NotifiedJob => ({ job, cluster, start: time });
export const notifiedJobs = (jobs: readonly JobSummary[]): NotifiedJob[] => jobs.map(notifiedJob);

const isSame = (a: NotifiedJob, b: NotifiedJob): boolean =>
  a.job === b.job && a.cluster === b.cluster && a.start === b.start;

const all = (message: Message): Sending[] => Object.values(message.sendings);

/** Its jobs are known to have reached somebody, or are on their way. */
const reaches = (message: Message): boolean =>
  all(message).some(({ state }) => state === 'sent' || state === 'waiting' || state === 'sending');

/** Messages of all policies, one file each, below a folder; whoever changes them has it alone. */
export class Ledger {
  readonly folder: string;
  private readonly kept: KeptMessage[] = [];

  private constructor(folder: string) {
    this.folder = folder;
    for (const policy of namesIn(path.join(folder, 'messages')))
      for (const user of namesIn(path.join(folder, 'messages', policy)))
        for (const name of namesIn(path.join(folder, 'messages', policy, user)).sort()) {
          if (!/^\d+\.json$/.test(name)) continue;
          const file = path.join(folder, 'messages', policy, user, name);
          this.kept.push({ file, message: read(file) });
        }
  }

  static read(folder: string): Ledger {
    return new Ledger(folder);
  }

  /** Does something while nobody else sends. What was cut off in the middle of sending is then unsure. */
  static async hold<T>(folder: string, work: (ledger: Ledger) => Promise<T>): Promise<T> {
    try {
      makeFolder(folder, 0o700);
    } catch (error) {
      throw new Fault(`cannot keep what policies send in ${folder}: ${reason(error)}`, {
        hint: '--state-folder FOLDER, or policies.state, names another folder',
      });
    }
    return withLock(path.join(folder, 'lock'), async () => {
      const ledger = new Ledger(folder);
      for (const one of ledger.kept) {
        const cut = all(one.message).filter(({ state }) => state === 'sending');
        for (const sending of cut)
          Object.assign(sending, {
            state: 'unsure',
            error: 'Tacho was stopped while it was sent',
          } satisfies Partial<Sending>);
        if (cut.length > 0) ledger.save(one);
      }
      return work(ledger);
    });
  }

  messages(): readonly KeptMessage[] {
    return this.kept;
  }

  private of(policy: string, user: string): Message[] {
    return this.kept.flatMap(({ message }) => (message.policy === policy && message.user === user ? message : []));
  }

  /** When a user last heard of a policy, or will once what waits is sent. */
  lastTold(policy: string, user: string): number | undefined {
    const messages = this.of(policy, user);
    const moments = messages.flatMap((message) => [message.made, ...all(message).flatMap(({ last }) => last ?? [])]);
    return moments.length === 0 ? undefined : moments.reduce((a, b) => Math.max(a, b));
  }

  hasWaiting(policy: string, user: string): boolean {
    return this.of(policy, user).some((message) => all(message).some(({ state }) => state === 'waiting'));
  }

  /** Whether a user has heard of a job. */
  isTold(policy: string, job: JobSummary): boolean {
    return this.of(policy, job.user).some(
      (message) => reaches(message) && message.jobs.some((one) => isSame(one, notifiedJob(job))),
    );
  }

  /** How many warnings about a job were taken by the other end. */
  warnings(policy: string, job: JobSummary): number {
    return this.of(policy, job.user).filter(
      (message) =>
        message.kind === 'report' &&
        all(message).some(({ state }) => state === 'sent') &&
        message.jobs.some((one) => isSame(one, notifiedJob(job))),
    ).length;
  }

  isCancelled(policy: string, job: JobSummary): boolean {
    return this.of(policy, job.user).some(
      ({ kind, jobs }) => kind === 'cancelled' && jobs.some((one) => isSame(one, notifiedJob(job))),
    );
  }

  /** Keeps a new message; it then waits. */
  add(message: Omit<Message, 'id'>, id: (number: number) => string): KeptMessage {
    const folder = path.join(
      this.folder,
      'messages',
      `policy=${encodeURIComponent(message.policy)}`,
      `user=${encodeURIComponent(message.user)}`,
    );
    makeFolder(folder, 0o700);
    const numbers = namesIn(folder).flatMap((name) => (/^\d+\.json$/.test(name) ? Number.parseInt(name, 10) : []));
    const number = numbers.reduce((a, b) => Math.max(a, b), 0) + 1;
    const kept = {
      file: path.join(folder, `${String(number).padStart(6, '0')}.json`),
      message: { id: id(number), ...message },
    };
    this.save(kept, true);
    this.kept.push(kept);
    return kept;
  }

  /** On the disk before anything else happens. */
  save({ file, message }: KeptMessage, isNew = false): void {
    const temporary = `${file}.${process.pid}.new`;
    const fd = fs.openSync(temporary, 'w', 0o600);
    try {
      fs.writeSync(fd, `${JSON.stringify(message, null, 1)}\n`);
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    if (isNew) takeName(temporary, file);
    else fs.renameSync(temporary, file);
    const folder = fs.openSync(path.dirname(file), 'r');
    try {
      fs.fsyncSync(folder);
    } finally {
      fs.closeSync(folder);
    }
  }
}

/** A name that somebody else has taken meanwhile stays theirs. */
function takeName(temporary: string, file: string): void {
  try {
    fs.linkSync(temporary, file);
  } catch (error) {
    if (code(error) !== 'EEXIST') throw error;
    throw new Fault(`somebody else sends messages of policies at the same time: ${file} is taken`, {
      hint: 'run tacho policy run again',
    });
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

function read(file: string): Message {
  try {
    const message = JSON.parse(fs.readFileSync(file, 'utf8')) as Message;
    if (typeof message.policy === 'string' && typeof message.sendings === 'object') return message;
    throw new Error('no message');
  } catch (error) {
    const why = code(error) === undefined ? 'it is damaged' : reason(error);
    // to go on without it could send a message twice
    throw new Fault(`cannot read ${file}, in which a message of a policy is kept: ${why}`, {
      hint: 'move it away: the user may then hear of the policy once more',
    });
  }
}
