import type { FastifyRequest } from 'fastify';
import { isSameSecret } from '../../trust/token.ts';
import { cookieOf, setCookie } from './cookies.ts';
import type { Door } from './door.ts';

const COOKIE = 'tacho_token';

/**
 * Only who has the token of the printed address is answered: other users of the machine reach the same port. The address
 * brings it once; then it is in a cookie that scripts cannot read.
 */
export const tokenDoor = (token: string, base = ''): Door => ({
  refusal: 'the address lacks its token: open the one that tacho serve printed',
  async identify(request, reply) {
    const { searchParams, pathname } = addressOf(request.url);
    if (isSameSecret(searchParams.get('token') ?? '', token)) {
      searchParams.delete('token');
      const rest = searchParams.size === 0 ? '' : `?${searchParams}`;
      setCookie(reply, COOKIE, token, { sameSite: 'Strict', base });
      reply.redirect(`${base}${pathname.replace(/^\/+/, '/')}${rest}`);
      return undefined;
    }
    return isSameSecret(bearer(request) ?? cookieOf(request, COOKIE) ?? '', token) ? { kind: 'all' } : undefined;
  },
});

/** What begins with two slashes names another server, or none at all. */
const addressOf = (url: string): URL =>
  URL.parse(url, 'http://localhost') ?? new URL(url.replace(/^[/\\]+/, ''), 'http://localhost');

const bearer = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
