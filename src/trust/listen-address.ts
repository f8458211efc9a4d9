import * as net from 'node:net';
import { usage } from '../base/fault.ts';
import { isLoopback } from './same-host.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** Nobody on another machine can reach it. */
  readonly loopback: boolean;
}

export interface ListenForm {
  /** Where it is set, for the words of what is wrong. */
  setting?: string;
  /** Of an address without a port; undefined: each needs its own. */
  port?: number;
  hint: string;
}

const HUB_LISTEN: ListenForm = {
  port: 8471,
  hint: 'for instance 127.0.0.1:8471, or 0.0.0.0:8471 with --trust munge',
};

/**
 * `127.0.0.1:8471`, `[::1]:8471`, `hub.site:8471`, `:8471` (every address). Where there is a usual port, an address alone has
 * it, and `8471` is loopback; a name needs its own: a word alone is more likely a mistake. Port 0: any that is free.
 */
export function parseListen(text: string, { setting, port: usual, hint }: ListenForm = HUB_LISTEN): ListenAddress {
  const wrong = (): Error =>
    usage(`${setting === undefined ? '' : `${setting}: `}"${text}" is no HOST:PORT to listen on`, hint);
  const port = (digits: string | undefined): number => {
    const number = digits === undefined ? usual : Number(digits);
    if (number === undefined || number > 65_535) throw wrong();
    return number;
  };
  if (/^\d+$/.test(text) && usual !== undefined) return { host: '127.0.0.1', port: port(text), loopback: true };
  if (net.isIPv6(text)) return { host: text, port: port(undefined), loopback: isLoopback(text) };
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
