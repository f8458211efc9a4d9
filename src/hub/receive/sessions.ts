import { randomBytes } from 'node:crypto';
import type { Identity } from '../../trust/identity.ts';

interface Session {
  identity: Identity;
  /** Who has it. */
  owner: string;
  /** By the steady clock, in milliseconds. */
  until: number;
}

/** Who has proved who they are, by the key they were given for it. */
export class Sessions {
  readonly seconds: number;
  private readonly most: number;
  private readonly mostOfOne: number;
  private readonly sessions = new Map<string, Session>();
  /** The keys of each owner, oldest first. */
  private readonly owners = new Map<string, Set<string>>();

  constructor(seconds = 3600, most = 50_000, mostOfOne = 1_000) {
    this.seconds = seconds;
    this.most = most;
    this.mostOfOne = mostOfOne;
  }

  /** A new session's key. When there are too many, of its owner or overall, the oldest ends: its owner begins another. */
  begin(identity: Identity, now = performance.now()): string {
    const key = randomBytes(24).toString('base64url');
    for (const [old, { until }] of this.sessions) {
      // they end in the order in which they began
      if (until > now && this.sessions.size < this.most) break;
      this.end(old);
    }
    const owner = JSON.stringify(identity);
    const mine = this.owners.get(owner) ?? new Set();
    // a token may be that of many nodes
    const most = this.mostOfOne * (identity.kind === 'node' ? identity.nodes.length : 1);
    if (mine.size >= most) this.end(mine.values().next().value!);
    this.owners.set(owner, mine.add(key));
    this.sessions.set(key, { identity, owner, until: now + this.seconds * 1000 });
    return key;
  }

  find(key: string, now = performance.now()): Identity | undefined {
    const session = this.sessions.get(key);
    return session !== undefined && session.until > now ? session.identity : undefined;
  }

  private end(key: string): void {
    const { owner } = this.sessions.get(key)!;
    this.sessions.delete(key);
    const mine = this.owners.get(owner);
    mine?.delete(key);
    if (mine?.size === 0) this.owners.delete(owner);
  }

  get size(): number {
    return this.sessions.size;
  }
}
