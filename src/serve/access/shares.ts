import { createHash, randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';

/** A link to one job. Its secret is not kept: only by what it is known. */
export interface Share {
  id: string;
  /** The job's id in addresses. */
  job: string;
  /** What the job is called, for people. */
  name: string;
  /** Who made the link; '': whoever had the token. */
  by: string;
  /** Epoch microseconds. */
  created: number;
  expires: number;
  revoked?: number;
  hash: string;
}

export type ShareState = 'good' | 'expired' | 'revoked';

const SECRET_BYTES = 24;
const MOST_SHARES = 10_000;
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');
const now = (): number => Date.now() * 1000;

/** The links to single jobs, in a file that only its owner can read; without a file they end with the server. */
export class Shares {
  readonly #file: string | undefined;
  #shares: Share[];

  constructor(file?: string) {
    this.#file = file;
    this.#shares = file === undefined ? [] : readShares(file);
  }

  /** A new link, and the secret that is its address. */
  add(share: Omit<Share, 'id' | 'hash' | 'created'>): { share: Share; secret: string } {
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    // typed after `tacho share revoke`: it must not begin like an option
    const made = { ...share, id: randomBytes(9).toString('hex'), hash: hashOf(secret), created: now() };
    // links that ended a month ago are no longer explained
    const kept = this.#shares.filter(({ expires }) => expires > now() - 30 * 86_400e6);
    this.#shares = [...kept, made].slice(-MOST_SHARES);
    this.#save();
    return { share: made, secret };
  }

  list(): readonly Share[] {
    return this.#shares;
  }

  revoke(id: string): void {
    this.#shares = this.#shares.map((share) => (share.id === id ? { revoked: now(), ...share } : share));
    this.#save();
  }

  /** The link with this secret. */
  find(secret: string): Share | undefined {
    const hash = hashOf(secret);
    return this.#shares.find((share) => share.hash === hash);
  }

  #save(): void {
    if (this.#file === undefined) return;
    try {
      makeFolder(path.dirname(this.#file));
      fs.writeFileSync(`${this.#file}.tmp`, `${JSON.stringify(this.#shares)}\n`, { mode: 0o600 });
      fs.renameSync(`${this.#file}.tmp`, this.#file);
    } catch (error) {
      throw new Fault(`links cannot be kept in ${this.#file}: ${reason(error)}`, {
        hint: 'serve.shares names another file',
      });
    }
  }
}

export const stateOf = ({ expires, revoked }: Share): ShareState =>
  revoked !== undefined ? 'revoked' : expires <= now() ? 'expired' : 'good';

function readShares(file: string): Share[] {
  try {
    const shares = JSON.parse(fs.readFileSync(file, 'utf8')) as Share[];
    if (!Array.isArray(shares)) throw new SyntaxError();
    return shares.filter(
      ({ hash, job, expires }) => typeof hash === 'string' && typeof job === 'string' && expires > 0,
    );
  } catch (error) {
    if (code(error) === 'ENOENT') return [];
    const why = error instanceof SyntaxError ? 'it is damaged' : reason(error);
    throw new Fault(`the links in ${file} cannot be read: ${why}`, { hint: `remove ${file}: all links then end` });
  }
}
