import { shownAddress } from '../base/address.ts';
import { Fault, reason } from '../base/fault.ts';

/** Faults that lie in the database or on the way to it, not in what was to be stored: later it may work. */
const troubles = new WeakSet<Fault>();

/** Is it the database's trouble? Then the same recording may be submitted again, unchanged. */
export function isDatabaseTrouble(error: unknown): boolean {
  return error instanceof Fault && troubles.has(error);
}

/** A fault of the database itself, as `isDatabaseTrouble` knows it. */
export function databaseTrouble(message: string, hint?: string, cause?: unknown): Fault {
  const fault = new Fault(message, hint === undefined ? { cause } : { hint, cause });
  troubles.add(fault);
  return fault;
}

/** What says that a database is not there now, and may be later. */
const AWAY = ['ECONNREFUSED', 'EAI_AGAIN', 'ENOENT', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNRESET', 'EPIPE'];
const STOPPED = ['57P01', '57P02', '57P03', '53300'];

/** Is the database away, rather than wrongly named or not for this user? */
export function isAway(error: unknown): error is Fault {
  if (!isDatabaseTrouble(error)) return false;
  const { cause } = error as Fault;
  const sqlState = cause instanceof Error ? codeOf(cause) : undefined;
  return sqlState !== undefined && (AWAY.includes(sqlState) || STOPPED.includes(sqlState));
}

type Words = readonly [what: string, hint?: string];

/** By PostgreSQL's error codes and the system's, in words for the user. */
const WORDS: Record<string, Words> = {
  ECONNREFUSED: ['nobody answers there', 'is PostgreSQL running, and is the port right?'],
  ENOTFOUND: ['there is no host of that name', 'look at the address after --db, in TACHO_DB or in tacho.toml'],
  EAI_AGAIN: ['the name of the host could not be looked up', 'is the network there?'],
  ENOENT: ['there is no such socket', 'is PostgreSQL running on this machine?'],
  EACCES: ['the socket may not be used by you'],
  ETIMEDOUT: ['no answer in time', 'is the network there, and does a firewall let you through?'],
  EHOSTUNREACH: ['the host cannot be reached', 'is the network there?'],
  ENETUNREACH: ['the network cannot be reached', 'is the network there?'],
  ECONNRESET: ['the connection broke', 'nothing of what was under way has been stored; try again'],
  EPIPE: ['the connection broke', 'nothing of what was under way has been stored; try again'],
  '28P01': [
    'wrong password',
    'put it into ~/.pgpass or PGPASSWORD, or into the address: postgres://user:password@host/name',
  ],
  '28000': ['this user is not let in', 'ask the administrator of the database for access (pg_hba.conf)'],
  '3D000': ['there is no such database', 'createdb makes one; then tacho db migrate'],
  '42501': [
    'you lack a privilege for this',
    'ask the administrator of the database for it; docs/database.md lists them',
  ],
  '25006': ['the database is read-only', 'is this a standby? submit to the primary'],
  '53300': ['the database has no free connection', 'try again later'],
  '53100': ['the disk of the database is full', 'tacho db retire --older-than 90d makes room'],
  '53200': ['the database has run out of memory', 'try again later'],
  '57P01': ['the database is shutting down', 'nothing of what was under way has been stored; try again'],
  '57P02': ['the database has crashed', 'nothing of what was under way has been stored; try again'],
  '57P03': ['the database is starting or stopping', 'try again in a moment'],
  '57014': [
    'the database cancelled it: it took longer than it is allowed to',
    'is statement_timeout set for this user?',
  ],
  '55P03': ['somebody else holds a lock for too long', 'try again'],
  '40P01': ['it got in the way of somebody else', 'nothing of what was under way has been stored; try again'],
};

/** What a job can be refused for: values (22), constraints (23), and sizes beyond what PostgreSQL can hold (54). */
const REFUSED = /^(22|23|54)/;

/** Turns what went wrong with a database into a fault for people, without the password; other errors stay as they are. */
export function faultOf(error: unknown, address: string, doing = 'use'): unknown {
  if (error instanceof Fault || !(error instanceof Error)) return error;
  const where = `cannot ${doing} the database ${shownAddress(address)}`;
  const code = codeOf(error);
  // a file that could not be read is not the database's trouble
  if (code !== undefined && !SQLSTATE.test(code) && !ofNetwork(error)) return error;
  if (code !== undefined && REFUSED.test(code)) {
    return new Fault(`${where}: it refuses a value: ${reason(error)}`, { cause: error });
  }
  const faultWords = code === undefined ? undefined : WORDS[code];
  if (faultWords !== undefined) {
    const hint = /no encryption|SSL off/.test(reason(error)) ? 'add ?sslmode=require to the address' : faultWords[1];
    return databaseTrouble(`${where}: ${detailed(faultWords[0], code!, error)}`, hint, error);
  }
  const message = reason(error);
  if (/timeout/i.test(message)) return databaseTrouble(`${where}: no answer in time`, WORDS.ETIMEDOUT![1], error);
  if (/terminated|not queryable|Connection ended/i.test(message)) {
    return databaseTrouble(`${where}: the connection broke`, WORDS.ECONNRESET![1], error);
  }
  if (/SASL|password must be a string/.test(message)) {
    return databaseTrouble(`${where}: a password is needed`, WORDS['28P01']![1], error);
  }
  return code === undefined ? error : databaseTrouble(`${where}: ${message || code}`, undefined, error);
}

const SQLSTATE = /^[0-9A-Z]{5}$/;

function ofNetwork(error: Error): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) return ofNetwork(error.errors[0]);
  return (error as NodeJS.ErrnoException).path === undefined && (error as NodeJS.ErrnoException).code !== undefined;
}

/** Whatever keeps a connection from being made. */
export function cannotOpen(address: string, error: unknown): Fault {
  const why = /SSL|certificate/i.test(reason(error)) ? 'sslmode in the address says what is asked of it' : undefined;
  return databaseTrouble(`cannot open the database ${shownAddress(address)}: ${reason(error)}`, why, error);
}

/** PostgreSQL's own sentence says which table or database is meant. */
function detailed(what: string, code: string, error: unknown): string {
  return /^(42501|28000|3D000)$/.test(code) ? `${what} (${reason(error)})` : what;
}

/** The code of an error, also of one that stands for several tries. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return (error as { code?: string } | undefined)?.code;
}
