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

/** The address as it may be printed: without its password, wherever that stands. */
export function shownAddress(address: string): string {
  return address
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^:@/?#]*):.*@(?=[^@]*$)/i, '$1@')
    .replace(/([?&](?:password|sslpassword)=)[^&#]*/gi, '$1…');
}
