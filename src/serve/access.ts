import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isSameSecret } from '../trust/token.ts';
import { Problem } from './problems.ts';

/** Who asks. */
export interface Viewer {
  /** Not there: whoever has the token sees all that is open. */
  user?: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    viewer: Viewer;
  }
}

const COOKIE = 'tacho_token';

/**
 * Only who has the token of the printed address is answered: other users of the machine reach the same port. The address
 * brings it once; then it is in a cookie that scripts cannot read.
 */
export function requireToken(app: FastifyInstance, token: string): void {
  app.decorateRequest('viewer');
  app.addHook('onRequest', async (request, reply) => {
    const { searchParams, pathname } = new URL(request.url, 'http://localhost');
    if (isSameSecret(searchParams.get('token') ?? '', token)) {
      searchParams.delete('token');
      const rest = searchParams.size === 0 ? '' : `?${searchParams}`;
      reply.header('set-cookie', `${COOKIE}=${token}; HttpOnly; SameSite=Strict; Path=/`);
      return reply.redirect(`${pathname.replace(/^\/+/, '/')}${rest}`);
    }
    if (!isSameSecret(bearer(request) ?? cookie(request) ?? '', token))
      throw new Problem(401, 'the address lacks its token: open the one that tacho serve printed');
    request.viewer = {};
    return undefined;
  });
}

const bearer = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];

const cookie = ({ headers }: FastifyRequest): string | undefined =>
  new RegExp(`(?:^|; *)${COOKIE}=([^;]*)`).exec(headers.cookie ?? '')?.[1];
