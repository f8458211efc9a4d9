import type { ListedJob } from '../api.ts';
import type { OpenJob } from '../collections/collection.ts';

/** Who asks. */
export type Person =
  /** Whoever has the token of the printed address, and administrators: all that is open. */
  | { readonly kind: 'all'; readonly user?: string }
  /** Somebody who proved who they are: their own jobs, and those of the accounts that they manage. */
  | { readonly kind: 'user'; readonly user: string; readonly accounts: readonly string[] }
  /** Somebody who has but links. */
  | { readonly kind: 'guest' };

/** A person, and the jobs to which they have links. */
export type Viewer = Person & {
  /** Whether a link that this person has opens this job now. */
  isShared(job: string): boolean;
};

declare module 'fastify' {
  interface FastifyRequest {
    viewer: Viewer;
  }
}

/** By what it is decided who sees a job. */
export type JobOwner = Pick<ListedJob, 'id' | 'user' | 'account'>;

export const ownerOf = ({ entry, recording: { job } }: OpenJob): JobOwner => ({
  id: entry.id,
  user: job.user,
  ...(job.account === undefined ? {} : { account: job.account }),
});

/** The one place where it is decided. A job whose user nobody knows is nobody's. */
export function maySee(viewer: Viewer, { id, user, account }: JobOwner): boolean {
  if (viewer.kind === 'all' || viewer.isShared(id)) return true;
  if (viewer.kind === 'guest') return false;
  return (user !== '' && user === viewer.user) || (account !== undefined && viewer.accounts.includes(account));
}

/** Notes, tags and links are the owner's, and administrators'. */
export const mayWrite = (viewer: Viewer, { user }: JobOwner): boolean =>
  viewer.kind === 'all' || (viewer.kind === 'user' && user !== '' && user === viewer.user);

/** What users may see besides their own jobs. */
export interface Roles {
  administrators: readonly string[];
  /** The accounts that each project manager sees. */
  managers: ReadonlyMap<string, readonly string[]>;
}

export function personOf(user: string, { administrators, managers }: Roles): Person {
  if (administrators.includes(user)) return { kind: 'all', user };
  return { kind: 'user', user, accounts: managers.get(user) ?? [] };
}
