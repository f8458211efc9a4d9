import { randomBytes } from 'node:crypto';
import type { Identity } from '../trust/identity.ts';

interface Session {
  identity: Identity;
  /** By the steady clock, in milliseconds. */
  until: number;
}

/** Who has proved who they are, by the key they were given for it. */
export class Sessions {
  readonly seconds: number;
  private readonly most: number;
  private readonly sessions = new Map<string, Session>();

  constructor(seconds = 3600, most = 50_000) {
    this.seconds = seconds;
    this.most = most;
  }

  /** A new session's key. When there are too many, the oldest ends: its owner begins another. */
  begin(identity: Identity, now = performance.now()): string {
    const key = randomBytes(24).toString('base64url');
    for (const [old, { until }] of this.sessions) {
      // they end in the order in which they began
      if (until > now && this.sessions.size < this.most) break;
      this.sessions.delete(old);
    }
    this.sessions.set(key, { identity, until: now + this.seconds * 1000 });
    return key;
  }

  find(key: string, now = performance.now()): Identity | undefined {
    const session = this.sessions.get(key);
    return session !== undefined && session.until > now ? session.identity : undefined;
  }

  get size(): number {
    return this.sessions.size;
  }
}
