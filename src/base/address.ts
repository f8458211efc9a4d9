import { usage } from './fault.ts';

/** Checks the address of a database as it is given: `postgres://user@host:5432/name`. */
export function parseAddress(text: string): string {
  if (!/^postgres(ql)?:\/\//.test(text)) {
    throw usage(
      `"${shownAddress(text)}" is not the address of a PostgreSQL database`,
      'it looks like postgres://user@host:5432/name; the password may be in ~/.pgpass or PGPASSWORD',
    );
  }
  return text;
}

const BEFORE_HOST = /^([a-z][a-z0-9+.-]*:\/\/[^:@/?#]*):(.*)@(?=[^@]*$)/i;
const AS_PARAMETER = /([?&](?:password|sslpassword)=)[^&#]*/gi;

/** The address as it may be printed: without its password, wherever that stands. */
export function shownAddress(address: string): string {
  return address.replace(BEFORE_HOST, '$1@').replace(AS_PARAMETER, '$1…');
}

/** The address without a password before its host, and that password: it may go by way of PGPASSWORD instead. */
export function splitPassword(address: string): { address: string; password?: string } {
  const password = BEFORE_HOST.exec(address)?.[2];
  if (password === undefined) return { address };
  return { address: address.replace(BEFORE_HOST, '$1@'), password: decoded(password) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // not encoded, as it should have been
    return text;
  }
}
