/** Who is at the other end, once it has been proved. */
export type Identity =
  /** The agent of a node: it may write as this node and no other. `nodes`: any of these names is its own. */
  | { readonly kind: 'node'; readonly nodes: readonly string[] }
  /** A person, or an agent in the person's own job: only the person's own jobs. */
  | { readonly kind: 'user'; readonly user: string; readonly uid: number }
  /** The administrator: everything may be seen. */
  | { readonly kind: 'administrator'; readonly user: string }
  /** A hub on loopback without trust asks nobody. */
  | { readonly kind: 'anyone' };

/** The receiving side: finds out who it is. Throws `Refused`. */
export interface Gatekeeper {
  readonly method: 'none' | 'munge' | 'token';
  /** `authorization` is the header of POST /v1/session; `node` is who it claims to be, if it does. */
  identify(authorization: string | undefined, node: string | undefined, address: string): Promise<Identity>;
  /** Why nobody can prove who they are just now; undefined: they can. */
  trouble?(): Promise<string | undefined>;
}

/** The sending side: what to put into the header of POST /v1/session; undefined: nothing is asked for. */
export interface Credentials {
  readonly method: 'none' | 'munge' | 'token';
  authorization(node: string): Promise<string | undefined>;
}

export class Refused extends Error {}

export const OPEN_DOOR: Gatekeeper = {
  method: 'none',
  identify: () => Promise.resolve({ kind: 'anyone' }),
};

export const NO_CREDENTIALS: Credentials = { method: 'none', authorization: () => Promise.resolve(undefined) };

export function mayWriteAs(identity: Identity, node: string): boolean {
  switch (identity.kind) {
    case 'node':
      return identity.nodes.includes(node);
    case 'anyone':
      return true;
    // in a job of one's own an agent runs on whatever node the job has
    case 'user':
      return true;
    case 'administrator':
      return false;
  }
}

/** May the other end see or write what belongs to this user? */
export function mayActFor(identity: Identity, user: string): boolean {
  return identity.kind !== 'user' || identity.user === user;
}
