import * as net from 'node:net';
import { usage } from '../../base/fault.ts';
import { isLoopback } from '../../trust/same-host.ts';

export const DEFAULT_PORT = 8471;

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** Nobody on another machine can reach it. */
  readonly loopback: boolean;
}

/**
 * `127.0.0.1:8471`, `[::1]:8471`, `hub.site:8471`, `:8471` (every address), `8471` (loopback); an address without a port
 * has the usual one, a name needs its own: a word alone is more likely a mistake. Port 0: any that is free.
 */
export function parseListen(text: string): ListenAddress {
  const wrong = (): Error =>
    usage(`"${text}" is no HOST:PORT to listen on`, 'for instance 127.0.0.1:8471, or 0.0.0.0:8471 with --trust munge');
  const port = (digits: string | undefined): number => {
    if (digits === undefined) return DEFAULT_PORT;
    const number = Number(digits);
    if (!/^\d+$/.test(digits) || number > 65_535) throw wrong();
    return number;
  };
  if (/^\d+$/.test(text)) return { host: '127.0.0.1', port: port(text), loopback: true };
  if (net.isIPv6(text)) return { host: text, port: DEFAULT_PORT, loopback: isLoopback(text) };
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s]*))(?::(\d+))?$/.exec(text);
  if (match === null || text === '') throw wrong();
  const host = match[1] ?? (match[2] === '' || match[2] === '*' ? '::' : match[2]!);
  if (match[1] !== undefined && !net.isIPv6(match[1])) throw wrong();
  if (net.isIP(host) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(host)) throw wrong();
  if (net.isIP(host) === 0 && host !== 'localhost' && match[3] === undefined) throw wrong();
  return { host, port: port(match[3]), loopback: isLoopback(host) };
}

/** As it stands in an address: IPv6 in brackets. */
export const shownHost = (host: string): string => (net.isIPv6(host) ? `[${host}]` : host);
