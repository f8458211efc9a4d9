import { lookup } from 'node:dns/promises';
import { isIPv4 } from 'node:net';

/** Addresses of a name, as this machine resolves it; none when it does not. */
export type Resolve = (name: string) => Promise<string[]>;

const resolveName: Resolve = async (name) => {
  try {
    return (await lookup(name, { all: true })).map(({ address }) => plain(address));
  } catch {
    return [];
  }
};

/** 10.0.0.1, also when a socket for both protocols says ::ffff:10.0.0.1. */
export function plain(address: string): string {
  const tail = address.slice(address.lastIndexOf(':') + 1);
  return address.includes(':') && isIPv4(tail) ? tail : address;
}

/** Nobody on another machine can reach it. */
export const isLoopback = (address: string): boolean =>
  (isIPv4(plain(address)) && plain(address).startsWith('127.')) ||
  address === '::1' ||
  address === '[::1]' ||
  address === 'localhost';

/**
 * Is the node called `name` where the credential was made, or where the connection comes from? Hosts often know
 * themselves by a loopback address: then only the connection tells.
 */
export async function isAt(
  name: string,
  origin: string,
  connection: string,
  resolve: Resolve = resolveName,
): Promise<boolean> {
  const addresses = await resolve(name);
  const from = plain(connection);
  if (!isLoopback(origin) && origin !== '0.0.0.0' && addresses.includes(origin)) return true;
  return addresses.includes(from) || (isLoopback(from) && addresses.some(isLoopback));
}
