import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import * as client from 'openid-client';
import { z } from 'zod';
import { Fault, reason } from '../../base/fault.ts';
import { Problem } from '../problems.ts';
import { cookieOf, setCookie } from './cookies.ts';
import type { Door } from './door.ts';
import { personOf, type Roles } from './viewer.ts';

export interface OidcOptions {
  issuer: URL;
  clientId: string;
  clientSecret?: string;
  /** The claim of the ID token that is the name of the user, as jobs have it. */
  claim: string;
  /** Where browsers reach this server. */
  url: URL;
  roles: Roles;
  /** An issuer without TLS, on this machine: for tests. */
  isInsecure?: boolean;
}

const SESSION = 'tacho_session';
const LOGIN = 'tacho_login';
const SESSION_SECONDS = 8 * 3600;
const LOGIN_SECONDS = 600;
const MOST_SESSIONS = 100_000;

interface Login {
  state: string;
  nonce: string;
  verifier: string;
  to: string;
  until: number;
}

/** Users prove who they are to the site's OpenID provider (authorization code with PKCE). */
export async function oidcDoor(options: OidcOptions): Promise<Door> {
  const { issuer, clientId, clientSecret, claim, url, roles } = options;
  const configuration = await client
    .discovery(issuer, clientId, clientSecret, undefined, {
      ...(options.isInsecure === true ? { execute: [client.allowInsecureRequests] } : {}),
    })
    .catch((error: unknown) => {
      throw new Fault(`the OpenID provider ${issuer.href} cannot be used: ${reason(error)}`, {
        hint: 'serve.oidc_issuer is its address, as its configuration has it; it must answer from here',
      });
    });
  const sessions = new Kept<{ user: string; until: number }>();
  const logins = new Kept<Login>();
  const isSecure = url.protocol === 'https:';
  const base = url.pathname.replace(/\/+$/, '');
  const redirect = new URL('auth/callback', url.href.endsWith('/') ? url : `${url.href}/`);
  return {
    refusal: 'you have not logged in',
    login: (to) => `/auth/login?to=${encodeURIComponent(to)}`,
    async identify(request) {
      const session = sessions.get(cookieOf(request, SESSION) ?? '');
      return session === undefined ? undefined : personOf(session.user, roles);
    },
    routes(app: FastifyInstance) {
      app.get<{ Querystring: { to?: string } }>(
        '/auth/login',
        { schema: { hide: true, querystring: z.strictObject({ to: z.string().optional() }) } },
        async ({ query: { to = '/' } }, reply) => {
          const login: Login = {
            state: client.randomState(),
            nonce: client.randomNonce(),
            verifier: client.randomPKCECodeVerifier(),
            to: ownPath(to),
            until: Date.now() + LOGIN_SECONDS * 1000,
          };
          const key = logins.add(login);
          const address = client.buildAuthorizationUrl(configuration, {
            redirect_uri: redirect.href,
            scope: 'openid profile',
            state: login.state,
            nonce: login.nonce,
            code_challenge: await client.calculatePKCECodeChallenge(login.verifier),
            code_challenge_method: 'S256',
          });
          setCookie(reply, LOGIN, key, { sameSite: 'Lax', isSecure, seconds: LOGIN_SECONDS, base });
          return reply.redirect(address.href);
        },
      );
      app.get('/auth/callback', { schema: { hide: true } }, async (request, reply) => {
        const login = logins.take(cookieOf(request, LOGIN) ?? '');
        if (login === undefined)
          throw new Problem(401, 'this login took too long, or was begun elsewhere: begin again');
        const here = new URL(redirect.href);
        here.search = new URL(request.url, url).search;
        const user = await client
          .authorizationCodeGrant(configuration, here, {
            expectedState: login.state,
            expectedNonce: login.nonce,
            pkceCodeVerifier: login.verifier,
          })
          .then((tokens) => tokens.claims()?.[claim])
          .catch((error: unknown) => {
            throw new Problem(401, `the login failed: ${reason(error)}`);
          });
        if (typeof user !== 'string' || user === '')
          throw new Problem(401, `the OpenID provider does not say who you are: its ID token has no claim ${claim}`);
        const key = sessions.add({ user, until: Date.now() + SESSION_SECONDS * 1000 });
        setCookie(reply, SESSION, key, { sameSite: 'Lax', isSecure, seconds: SESSION_SECONDS, base });
        return reply.redirect(base + login.to);
      });
      app.post('/auth/logout', { schema: { hide: true } }, async (request, reply) => {
        sessions.take(cookieOf(request, SESSION) ?? '');
        setCookie(reply, SESSION, '', { sameSite: 'Lax', isSecure, seconds: 0, base });
        return reply.code(204).send();
      });
    },
  };
}

/** Nobody is led elsewhere. */
const ownPath = (to: string): string => (/^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : '/');

/** What is kept under a secret name until a moment; of too many, the oldest go. */
class Kept<T extends { until: number }> {
  readonly #items = new Map<string, T>();

  add(item: T): string {
    const key = randomBytes(32).toString('base64url');
    this.#items.set(key, item);
    for (const [oldest, { until }] of this.#items) {
      if (this.#items.size <= MOST_SESSIONS && until > Date.now()) break;
      this.#items.delete(oldest);
    }
    return key;
  }

  get(key: string): T | undefined {
    const item = this.#items.get(key);
    return item !== undefined && item.until > Date.now() ? item : undefined;
  }

  take(key: string): T | undefined {
    const item = this.get(key);
    this.#items.delete(key);
    return item;
  }
}
