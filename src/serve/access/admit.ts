import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isNavigation, Problem } from '../problems.ts';
import { cookieOf, setCookie } from './cookies.ts';
import type { Door } from './door.ts';
import { type Share, type Shares, stateOf } from './shares.ts';

const COOKIE = 'tacho_links';
/** Number of links that a browser keeps. */
const MOST_LINKS = 20;
/** These may be asked by everybody: they are how people prove who they are. */
const OPEN = /^\/(?:auth|share)\//;

export interface AdmitOptions {
  door: Door;
  shares: Shares;
  base: string;
  /** Browsers come over https. */
  isSecure: boolean;
}

/** Lets in who comes through the door, and who has a link to a job: everybody else is told no. */
export function admit(app: FastifyInstance, { door, shares, base, isSecure }: AdmitOptions): void {
  app.decorateRequest('viewer');
  app.addHook('onRequest', async (request, reply) => {
    if (OPEN.test(request.url)) return undefined;
    const person = await door.identify(request, reply);
    if (reply.sent) return reply;
    const links = linksOf(request, shares);
    if (person === undefined && !links.some((share) => stateOf(share) === 'good')) {
      if (door.login !== undefined && isNavigation(request)) return reply.redirect(`${base}${door.login(request.url)}`);
      const [ended] = links;
      throw ended === undefined ? new Problem(401, door.refusal) : endedLink(ended);
    }
    request.viewer = {
      ...(person ?? { kind: 'guest' }),
      isShared: (job) => links.some(({ job: shared, hash }) => shared === job && isGood(shares, hash)),
    };
    return undefined;
  });
  door.routes?.(app);
  app.get<{ Params: { secret: string } }>('/share/:secret', { schema: { hide: true } }, async (request, reply) => {
    const { secret } = request.params;
    const share = /^[\w-]{8,64}$/.test(secret) ? shares.find(secret) : undefined;
    if (share === undefined) throw new Problem(404, 'there is no such link: perhaps a part of it was cut off');
    if (stateOf(share) !== 'good') throw endedLink(share);
    const others = (cookieOf(request, COOKIE) ?? '').split('.').filter((each) => each !== '' && each !== secret);
    const value = [secret, ...others].slice(0, MOST_LINKS).join('.');
    const seconds = Math.ceil((share.expires / 1000 - Date.now()) / 1000);
    setCookie(reply, COOKIE, value, { sameSite: 'Lax', isSecure, seconds, base });
    return reply.redirect(`${base}/job/${share.job}`);
  });
}

/** It may have been revoked since the question came. */
const isGood = (shares: Shares, hash: string): boolean =>
  shares.list().some((share) => share.hash === hash && stateOf(share) === 'good');

const linksOf = (request: FastifyRequest, shares: Shares): Share[] =>
  (cookieOf(request, COOKIE) ?? '')
    .split('.')
    .slice(0, MOST_LINKS)
    .flatMap((secret) => (secret === '' ? [] : (shares.find(secret) ?? [])));

const endedLink = (share: Share): Problem =>
  stateOf(share) === 'revoked'
    ? new Problem(410, 'this link was revoked by whoever made it')
    : new Problem(
        410,
        `this link expired on ${new Date(share.expires / 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC: ask for a new one`,
      );
