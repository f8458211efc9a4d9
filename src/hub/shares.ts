import type { Identity } from '../trust/identity.ts';

/** A user has had their share for now. */
export class TooMuch extends Error {}

export interface ShareLimits {
  /** Streams that one user may have open. */
  streams: number;
  /** Those of all users together: the rest is for the agents of nodes. */
  allStreams: number;
  /** So many recordings may be opened at once, */
  opens: number;
  /** and then so many a second. */
  opensPerSecond: number;
}

interface Share {
  streams: number;
  /** Opens that are left. */
  left: number;
  /** By the steady clock, in milliseconds. */
  since: number;
}

/** More users than this are not remembered when they have nothing open. */
const MOST_KNOWN = 10_000;

/** How much of a hub each user may take. The agents of nodes are not users: what users cannot take is theirs. */
export class Shares {
  private readonly limits: ShareLimits;
  private readonly users = new Map<string, Share>();
  private streams = 0;

  constructor(limits: ShareLimits) {
    this.limits = limits;
  }

  /** Somebody opens a recording, for the first time or again. Throws `TooMuch`. */
  open(identity: Identity, now = performance.now()): void {
    if (identity.kind !== 'user') return;
    const share = this.shareOf(identity.user, now);
    const { opens, opensPerSecond } = this.limits;
    share.left = Math.min(opens, share.left + ((now - share.since) / 1000) * opensPerSecond);
    share.since = now;
    if (share.left < 1)
      throw new TooMuch(`user ${identity.user} has opened more than ${opens} recordings within a short time`);
    share.left--;
  }

  /** A stream more is open; returns what to call when it is not. Throws `TooMuch`. */
  take(identity: Identity, now = performance.now()): (() => void) | undefined {
    if (identity.kind !== 'user') return undefined;
    const { user } = identity;
    const { streams, allStreams } = this.limits;
    const share = this.shareOf(user, now);
    if (share.streams >= streams) throw new TooMuch(`user ${user} has ${streams} recordings open already`);
    if (this.streams >= allStreams) throw new TooMuch(`users have ${allStreams} recordings open already`);
    share.streams++;
    this.streams++;
    let taken = true;
    return () => {
      if (!taken) return;
      taken = false;
      share.streams--;
      this.streams--;
    };
  }

  private shareOf(user: string, now: number): Share {
    const known = this.users.get(user);
    if (known !== undefined) return known;
    if (this.users.size >= MOST_KNOWN) {
      for (const [name, { streams }] of this.users) if (streams === 0) this.users.delete(name);
    }
    const fresh: Share = { streams: 0, left: this.limits.opens, since: now };
    this.users.set(user, fresh);
    return fresh;
  }
}
