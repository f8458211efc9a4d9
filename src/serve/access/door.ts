import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Person } from './viewer.ts';

/** How a server finds out who asks. */
export interface Door {
  /**
   * Who asks; undefined: they have not proved it. It may have answered itself (a redirect); then nothing else is done.
   * Throws a Problem when somebody claims to be who they cannot be.
   */
  identify(request: FastifyRequest, reply: FastifyReply): Promise<Person | undefined>;
  /** What somebody who is refused is told. */
  readonly refusal: string;
  /** Where a browser goes to prove it; none: nowhere. */
  login?(to: string): string;
  /** Routes of its own, that everybody may ask. */
  routes?(app: FastifyInstance): void;
}
