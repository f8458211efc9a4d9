import * as net from 'node:net';
import { Fault, usage } from '../../base/fault.ts';
import { warn } from '../../base/warn.ts';
import type { Values } from '../../config/settings.ts';
import { parseListen } from '../../trust/listen-address.ts';
import { isLoopback } from '../../trust/same-host.ts';
import { readSecret } from '../../trust/token.ts';
import type { Door } from './door.ts';
import { keptToken } from './kept-token.ts';
import { tokenDoor } from './loopback-token.ts';
import { proxyDoor } from './proxy-header.ts';
import { rolesOf } from './roles.ts';

/** The path that a proxy puts before ours. */
export const baseOf = (url: string | undefined): string =>
  url === undefined ? '' : new URL(url).pathname.replace(/\/+$/, '');

/** What the configuration says of who may see what. */
export type AccessSettings = Pick<Values, Extract<keyof Values, `serve.${string}`>>;

/** Where a server listens. */
export type Listening = { socket: string } | { host: string; port: number; loopback: boolean };

/** `unix:/run/tacho/serve.sock` or HOST:PORT. */
export function parseListening(text: string): Listening {
  const [, socket] = /^unix:(.+)$/.exec(text) ?? [];
  if (socket !== undefined) return { socket };
  return parseListen(text, {
    setting: 'serve.listen',
    hint: 'for instance 127.0.0.1:8080, or unix:/run/tacho/serve.sock',
  });
}

/** How it is found out who asks; `token`: what the printed address holds. Throws a Fault when nobody, or anybody, could come in. */
export async function doorOf(settings: AccessSettings, listening: Listening): Promise<{ door: Door; token?: string }> {
  const isSocket = 'socket' in listening;
  const roles = rolesOf(settings['serve.administrators'], settings['serve.project_managers']);
  switch (settings['serve.access']) {
    case 'token': {
      // who names the address of a proxy has one in front, as Open OnDemand has for the jobs of a user
      const isProxied = settings['serve.url']?.startsWith('https:') === true;
      if (isSocket || (!listening.loopback && !isProxied))
        throw usage(
          'whoever has the token sees everything: it is for one person on one machine',
          'with --serve-access header or oidc each user sees their own jobs (docs/serve-site.md)',
        );
      const token = keptToken();
      return { door: tokenDoor(token, baseOf(settings['serve.url'])), token };
    }
    case 'header': {
      const proxies = settings['serve.proxies'];
      for (const each of proxies)
        if (net.isIP(each) === 0) throw usage(`serve.proxies: "${each}" is no address`, 'as in 192.0.2.7; no names');
      if (!isSocket && proxies.length === 0)
        throw usage(
          'nobody would be believed: no address of a proxy is known',
          'listen on a Unix socket (--serve-listen unix:/run/tacho/serve.sock), or set serve.proxies',
        );
      if (!isSocket && proxies.some(isLoopback))
        warn(
          'everybody who can log in on this machine can claim to be anybody: a Unix socket is safer (docs/serve-site.md)',
        );
      return { door: proxyDoor({ header: settings['serve.user_header'], proxies, roles }) };
    }
    case 'oidc':
      return { door: await oidc(settings, roles) };
  }
}

async function oidc(settings: AccessSettings, roles: ReturnType<typeof rolesOf>): Promise<Door> {
  const need = <K extends 'serve.oidc_issuer' | 'serve.oidc_client' | 'serve.url'>(key: K): string => {
    const value = settings[key];
    if (value === undefined)
      throw usage(`with serve.access = "oidc", ${key} is needed`, 'docs/serve-site.md has an example');
    return value;
  };
  const [issuer, clientId, url] = [need('serve.oidc_issuer'), need('serve.oidc_client'), need('serve.url')];
  const file = settings['serve.oidc_secret_file'];
  const clientSecret =
    file === undefined ? undefined : readSecret(file, 'the secret of the OpenID client', `chmod go= ${file}`).trim();
  const address = new URL(issuer);
  if (address.protocol !== 'https:' && !isLoopback(address.hostname))
    throw new Fault(`the OpenID provider ${issuer} has no TLS: anybody on the way could claim to be anybody`, {
      hint: 'its address begins with https://',
    });
  const { oidcDoor } = await import('./oidc.ts');
  return oidcDoor({
    issuer: address,
    clientId,
    claim: settings['serve.oidc_claim'],
    url: new URL(url),
    roles,
    isInsecure: address.protocol === 'http:',
    ...(clientSecret === undefined ? {} : { clientSecret }),
  });
}
