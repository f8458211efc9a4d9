import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import * as fs from 'node:fs';
import { code, Fault, reason } from '../base/fault.ts';
import { formatMoment } from '../base/moment.ts';
import { Refused } from './identity.ts';

/** What a token says of its bearer: `node:c1`, `user:alice`, `administrator:root`. */
export interface Claim {
  kind: 'node' | 'user' | 'administrator';
  name: string;
  /** Epoch seconds from which on it is worth nothing; undefined: it counts as long as the key does. */
  until?: number;
}

const KINDS: readonly string[] = ['node', 'user', 'administrator'] satisfies Claim['kind'][];
const KEY_BYTES = 32;

const seal = (key: Buffer, claims: string): Buffer =>
  createHmac('sha256', key).update(`tacho token\n${claims}`).digest();

/**
 * A token is what it claims and a seal that only the holder of the hub's key can make: the hub keeps no list of tokens.
 *
 *     makeToken(key, { kind: 'node', name: 'c1', until: 1826366400 })   node:c1:1826366400.jk3…
 */
export function makeToken(key: Buffer, { kind, name, until }: Claim): string {
  const claims = `${kind}:${encodeURIComponent(name)}${until === undefined ? '' : `:${until}`}`;
  return `${claims}.${seal(key, claims).toString('base64url')}`;
}

/** Compares without telling by the time it takes where the difference is. */
const isSame = (given: Buffer, right: Buffer): boolean =>
  given.length === right.length && timingSafeEqual(given, right);

export const isSameSecret = (given: string, right: string): boolean => isSame(Buffer.from(given), Buffer.from(right));

/** What a token claims, once the seal has been found right and its time has not run out. Throws `Refused`. */
export function readToken(key: Buffer, token: string, now = Date.now() / 1000): Claim {
  const dot = token.lastIndexOf('.');
  const claims = token.slice(0, Math.max(0, dot));
  const given = Buffer.from(token.slice(dot + 1), 'base64url');
  const right = seal(key, claims);
  if (!isSame(given, right)) {
    throw new Refused('the token was not made with the key of this hub');
  }
  const [kind, name, end] = claims.split(':') as [string, string, string?];
  if (!KINDS.includes(kind)) throw new Refused(`the token is for a ${kind}`);
  const claim = { kind: kind as Claim['kind'], name: decodeURIComponent(name) };
  if (end === undefined) return claim;
  const until = Number(end);
  if (!(until > now)) {
    const when = formatMoment(until * 1e6);
    throw new Refused(`the token of ${kind} ${claim.name} expired at ${when}: make a new one with tacho token ${kind}`);
  }
  return { ...claim, until };
}

/** Makes a new key file that only its owner can read; one that is there stays as it is. */
export function makeKey(file: string): void {
  try {
    fs.writeFileSync(file, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new Fault(`cannot make the key ${file}: ${reason(error)}`, {
      ...(code(error) === 'EEXIST'
        ? { hint: 'a new key makes every token of the old one useless: move it away first' }
        : {}),
    });
  }
}

export function readKey(file: string): Buffer {
  const text = readSecret(file, 'the key of the hub', 'tacho token key FILE makes one').trim();
  if (!/^[0-9a-f]{64,}$/i.test(text)) throw new Fault(`${file} is no key: it should hold 64 hexadecimal digits`);
  return Buffer.from(text, 'hex');
}

export const readTokenFile = (file: string): string =>
  readSecret(file, 'the token', 'tacho token node NAME --key FILE prints one, on the hub').trim();

/** What is in a file that nobody else can read. */
export function readSecret(file: string, what: string, hint: string): string {
  try {
    const fd = fs.openSync(file, 'r');
    try {
      const { mode } = fs.fstatSync(fd);
      if ((mode & 0o077) !== 0) {
        throw new Fault(`${what} in ${file} can be read by others`, { hint: `chmod 600 ${file}` });
      }
      return fs.readFileSync(fd, 'utf8');
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(`cannot read ${what} in ${file}: ${reason(error)}`, { hint });
  }
}
