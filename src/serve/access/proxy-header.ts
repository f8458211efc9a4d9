import type { FastifyRequest } from 'fastify';
import { Problem } from '../problems.ts';
import type { Door } from './door.ts';
import { personOf, type Roles } from './viewer.ts';

export interface ProxyOptions {
  /** The header in which the proxy says who asks. */
  header: string;
  /** Addresses of proxies; over a Unix socket, whoever may open that is one. */
  proxies: readonly string[];
  roles: Roles;
}

/** A proxy in front has found out who asks, and says so in a header: of nobody else is it believed. */
export function proxyDoor({ header, proxies, roles }: ProxyOptions): Door {
  const name = header.toLowerCase();
  return {
    refusal: 'the proxy in front does not say who asks',
    async identify(request) {
      const userName = request.headers[name];
      if (userName === undefined) return undefined;
      if (!isProxy(request, proxies))
        throw new Problem(401, `the header ${header} counts only when it comes from the proxy in front`);
      // a header that is there twice is somebody's attempt to add one
      if (Array.isArray(userName) || !USER.test(userName))
        throw new Problem(401, `the header ${header} holds no name of a user`);
      return personOf(userName, roles);
    },
  };
}

/** Node joins what is there twice with a comma. */
const USER = /^[\w.@+-]{1,256}$/;

/** A connection over a Unix socket has no address. */
function isProxy({ raw: { socket } }: FastifyRequest, proxies: readonly string[]): boolean {
  const { remoteAddress, remoteFamily } = socket;
  if (remoteAddress === undefined) return remoteFamily === undefined && socket.remotePort === undefined;
  return proxies.includes(remoteAddress.replace(/^::ffff:/, ''));
}
