import type { KeptMessage, Sending } from './ledger.ts';
import type { Channel } from './policy.ts';

/** A message on one of its ways. */
export interface MessageRow extends Sending {
  id: string;
  made: number;
  policy: string;
  user: string;
  kind: string;
  by: Channel;
  /** Their ids. */
  jobs: string[];
  subject: string;
}

/** One row per message and way, in the order in which they were made. */
export const messageRows = (messages: readonly KeptMessage[]): MessageRow[] =>
  messages
    .flatMap(({ message: { id, made, policy, user, kind, jobs, subject, sendings } }) =>
      (Object.entries(sendings) as [Channel, Sending][]).map(([by, sending]) => ({
        ...{ id, made, policy, user, kind, by, subject },
        jobs: jobs.map(({ job }) => job),
        ...sending,
      })),
    )
    .sort((a, b) => a.made - b.made || (a.id < b.id ? -1 : 1));

// biome-ignore format: as they come
export const MESSAGE_COLUMNS = ['id', 'made', 'policy', 'user', 'kind', 'by', 'state', 'attempts', 'last', 'error', 'jobs', 'subject'];
