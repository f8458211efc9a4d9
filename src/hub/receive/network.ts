import * as net from 'node:net';

const MAPPED = /^::ffff:(?=\d+\.)/i;

/**
 * The part of an address that somebody cannot change at will: a host with IPv6 has all addresses of its /64. Undefined for
 * IPv4, where an address is one.
 */
export function networkOf(address: string): string | undefined {
  if (MAPPED.test(address) || !net.isIPv6(address)) return undefined;
  const [head, tail] = address.split('::') as [string, string?];
  const groups = (text: string | undefined): string[] => (text === undefined || text === '' ? [] : text.split(':'));
  const first = groups(head);
  const zeros = tail === undefined ? 0 : 8 - first.length - groups(tail).length;
  const all = [...first, ...Array.from({ length: zeros }, () => '0'), ...groups(tail)];
  return `${all.slice(0, 4).join(':')}::/64`;
}
