import type { Identity } from '../../trust/identity.ts';

/** A user has had their share for now. */
export class TooMuch extends Error {}

export interface ShareLimits {
  /** Streams that one user may have open. */
  streams: number;
  /** Those of all users together: the rest is for the agents of nodes. */
  allStreams: number;
  /** Number of recordings that may be opened at once, */
  opens: number;
  /** and then so many a second. */
  opensPerSecond: number;
}

/** More users than this are not remembered when they have nothing open. */
const MOST_KNOWN = 10_000;

/** For each name so much at once, and then so much a second. */
export class Budget {
  private readonly most: number;
  private readonly perSecond: number;
  private readonly budgets = new Map<string, { left: number; since: number }>();

  constructor(most: number, perSecond: number) {
    this.most = most;
    this.perSecond = perSecond;
  }

  left(name: string, now = performance.now()): number {
    const budget = this.budgets.get(name);
    return budget === undefined
      ? this.most
      : Math.min(this.most, budget.left + ((now - budget.since) / 1000) * this.perSecond);
  }

  /** What was not left has to come first. */
  spend(name: string, amount: number, now = performance.now()): void {
    const left = this.left(name, now) - amount;
    if (this.budgets.size >= MOST_KNOWN)
      for (const each of this.budgets.keys()) if (this.left(each, now) >= this.most) this.budgets.delete(each);
    this.budgets.set(name, { left, since: now });
  }
}

/** How much of a hub each user may take. The agents of nodes are not users: what users cannot take is theirs. */
export class Shares {
  private readonly limits: ShareLimits;
  private readonly opens: Budget;
  /** Streams, by user. */
  private readonly users = new Map<string, number>();
  private streams = 0;

  constructor(limits: ShareLimits) {
    this.limits = limits;
    this.opens = new Budget(limits.opens, limits.opensPerSecond);
  }

  /** Somebody opens a recording, for the first time or again. Throws `TooMuch`. */
  open(identity: Identity, now = performance.now()): void {
    if (identity.kind !== 'user') return;
    const { user } = identity;
    if (this.opens.left(user, now) < 1)
      throw new TooMuch(`user ${user} has opened more than ${this.limits.opens} recordings within a short time`);
    this.opens.spend(user, 1, now);
  }

  /** A stream more is open; returns what to call when it is not. Throws `TooMuch`. */
  take(identity: Identity): (() => void) | undefined {
    if (identity.kind !== 'user') return undefined;
    const { user } = identity;
    const { streams, allStreams } = this.limits;
    if ((this.users.get(user) ?? 0) >= streams)
      throw new TooMuch(`user ${user} has ${streams} recordings open already`);
    if (this.streams >= allStreams) throw new TooMuch(`users have ${allStreams} recordings open already`);
    this.add(user, 1);
    let taken = true;
    return () => {
      if (!taken) return;
      taken = false;
      this.add(user, -1);
    };
  }

  private add(user: string, streams: number): void {
    const now = (this.users.get(user) ?? 0) + streams;
    if (now === 0) this.users.delete(user);
    else this.users.set(user, now);
    this.streams += streams;
  }
}

/** Bytes that requests may hold before they are answered. */
export interface BodyLimits {
  nodes: number;
  /** What agents send every second is small, and is taken although others hold what there is for large bodies. */
  small: number;
  /** All users together. */
  users: number;
  /** One user, or one node. */
  owner: number;
}

const SMALL_BODY = 64 << 10;

/** Who holds how much of what requests may hold. Users cannot take what is for nodes, nor one of them what is for others. */
export class Bodies {
  private readonly limits: BodyLimits;
  private readonly held = new Map<string, number>();

  constructor(limits: BodyLimits) {
    this.limits = limits;
  }

  /** A request of so many bytes; returns what to call when it is answered, undefined when there is no room. */
  take({ kind }: Identity, owner: string, shares: number, length: number): (() => void) | undefined {
    const { nodes, small, users } = this.limits;
    const group = kind === 'user' ? 'users' : 'nodes';
    const most = kind === 'user' ? users : nodes + (length <= SMALL_BODY ? small : 0);
    // on a hub that asks nobody all are one
    const mostOfOne = kind === 'anyone' ? Number.POSITIVE_INFINITY : this.limits.owner * shares;
    const has = (name: string): number => this.held.get(name) ?? 0;
    if (has(group) + length > most || has(`of ${owner}`) + length > mostOfOne) return undefined;
    const add = (bytes: number): void => {
      for (const name of [group, `of ${owner}`]) {
        if (has(name) + bytes === 0) this.held.delete(name);
        else this.held.set(name, has(name) + bytes);
      }
    };
    add(length);
    return () => add(-length);
  }
}
