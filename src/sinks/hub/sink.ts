import * as path from 'node:path';
import { reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { comparePositions, type Position } from '../../recording/live/position.ts';
import { openPositions, type Positions } from '../../recording/live/positions.ts';
import { type Stream, streamKey } from '../../recording/live/stream.ts';
import { type Credentials, NO_CREDENTIALS } from '../../trust/identity.ts';
import { type Round, Rounds, type Sent } from '../rounds.ts';
import type { Sink } from '../sink.ts';
import type { StreamState, Streams } from '../spool/streams.ts';
import { HubAway, HubLink, HubRefusal, type LinkOptions } from './link.ts';
import { OneHub } from './one-hub.ts';

export interface HubOptions {
  /** In order of preference: the next one is used while those before are away. */
  addresses: readonly URL[];
  spool: string;
  streams: Streams;
  node: string;
  credentials?: Credentials;
  ca?: string | Buffer;
  /** Nodes send at different moments of so long a time, so that a hub does not hear of all of them at once. */
  spreadSeconds?: number;
  requestSeconds?: number;
  connectSeconds?: number;
  /** How often a hub that comes first is asked whether it is there again (default 30 s). */
  returnSeconds?: number;
}

/** Attempts at one hub before the next one of the list is tried. */
const PATIENCE = 2;
const SAVE_SECONDS = 60;

/** Sends every stream of a spool to a hub. */
export class HubSink implements Sink, Round {
  readonly name: string;
  readonly keepsUntilDone: boolean;
  private readonly options: HubOptions;
  private readonly hubs: OneHub[];
  private readonly saved: Positions;
  private readonly rounds = new Rounds(this);
  private readonly share: number;
  private readonly spreadMs: number;
  private current = 0;
  private nextSave = 0;
  private nextReturn = 0;

  constructor(options: HubOptions) {
    this.options = options;
    const link: LinkOptions = {
      credentials: options.credentials ?? NO_CREDENTIALS,
      node: options.node,
      ...stated({ ca: options.ca, requestSeconds: options.requestSeconds, connectSeconds: options.connectSeconds }),
    };
    this.hubs = options.addresses.map((url) => new OneHub(new HubLink(url, link)));
    this.name = `hub ${this.hubs.map((hub) => hub.link.address).join(', ')}`;
    this.keepsUntilDone = this.hubs.length > 1;
    this.saved = openPositions(path.join(options.spool, '.sinks/hub.json'), options.spool);
    this.share = share(options.node);
    this.spreadMs = this.share * (options.spreadSeconds ?? 0.25) * 1000;
  }

  wake(atOnce?: boolean): void {
    this.rounds.wake(atOnce);
  }

  get trouble(): string | undefined {
    return this.rounds.trouble;
  }

  stored(stream: Stream, table: string): Position | undefined {
    let furthest: Position | undefined;
    let isKnown = false;
    for (const hub of this.hubs) {
      const entry = hub.streams.get(streamKey(stream));
      if (entry?.id !== undefined) isKnown = true;
      const have = entry?.have.get(table);
      if (have !== undefined && (furthest === undefined || comparePositions(have, furthest) > 0)) furthest = have;
    }
    return furthest ?? (isKnown ? undefined : this.saved.get(stream, table));
  }

  sent(stream: Stream, table: string): Position | undefined {
    let furthest = this.stored(stream, table);
    for (const hub of this.hubs) {
      const sent = hub.streams.get(streamKey(stream))?.sent.get(table);
      if (sent !== undefined && (furthest === undefined || comparePositions(sent, furthest) > 0)) furthest = sent;
    }
    return furthest;
  }

  done(stream: Stream): boolean {
    return this.hubs.some((hub) => hub.streams.get(streamKey(stream))?.done === true);
  }

  forget(stream: Stream): void {
    this.saved.forget(stream);
    for (const hub of this.hubs) hub.forget(streamKey(stream));
  }

  async close(seconds: number): Promise<void> {
    await this.rounds.close(seconds);
    this.savePositions();
    for (const hub of this.hubs) hub.close();
  }

  get instead(): string | undefined {
    return this.current === 0 ? undefined : this.hub.link.address;
  }

  private get hub(): OneHub {
    return this.hubs[this.current]!;
  }

  async send(): Promise<Sent> {
    const states = this.options.streams.list();
    if (this.current > 0 && performance.now() >= this.nextReturn) await this.tryReturn(states);
    for (const hub of this.hubs) hub.follow(states);
    const away = await this.hub.sendAll();
    if (away !== undefined) throw new HubAway(away);
    if (performance.now() >= this.nextSave) this.savePositions();
    return { trouble: this.saidOf(this.hub.blockedWhy()) };
  }

  /** Batches of a fleet end at different moments, those of a node always at the same of them: no sample waits longer. */
  pause(atOnce: boolean): number {
    const batchMs = this.hub.batchSeconds * 1000;
    if (atOnce || batchMs === 0) return this.spreadMs;
    return batchMs - ((Date.now() + batchMs * (1 - this.share)) % batchMs);
  }

  /** Streams that the hub could not take are tried again. */
  unasked(): number | undefined {
    const { nextAttempt } = this.hub;
    return nextAttempt === undefined ? undefined : nextAttempt - performance.now();
  }

  /** Of several it is said which. */
  private saidOf(why: string | undefined): string | undefined {
    return this.hubs.length === 1 ? why : why?.replace(/^/gm, `${this.hub.link.address}: `);
  }

  failed(error: unknown): string {
    const isHub = error instanceof HubAway || error instanceof HubRefusal;
    const problem = this.saidOf(isHub ? error.message : `cannot send: ${reason(error)}`)!;
    const { count } = this.rounds.backoff;
    // whatever fails next, this is how far everything had come
    if (count === 1) this.savePositions();
    if (this.hubs.length > 1 && count % PATIENCE === 0) {
      this.hub.lost();
      this.current = (this.current + 1) % this.hubs.length;
      this.nextReturn = performance.now() + (this.options.returnSeconds ?? 30) * 1000;
    }
    return problem;
  }

  /** Is a hub that comes before the current one there again? */
  private async tryReturn(states: readonly StreamState[]): Promise<void> {
    this.nextReturn = performance.now() + (this.options.returnSeconds ?? 30) * 1000 * (0.75 + Math.random() / 2);
    for (let i = 0; i < this.current; i++) {
      const hub = this.hubs[i]!;
      hub.follow(states);
      try {
        if (!(await hub.openFirst())) continue;
        this.current = i;
        return;
      } catch {
        // still away
      }
    }
  }

  private savePositions(): void {
    this.nextSave = performance.now() + SAVE_SECONDS * 1000;
    for (const hub of this.hubs) {
      for (const { state } of hub.streams.values()) {
        for (const table of state.parts.keys()) {
          const position = this.stored(state, table);
          if (position !== undefined) this.saved.set(state, table, position);
        }
      }
    }
    try {
      this.saved.save();
    } catch {
      // a full disk: the hub will say how far it is
    }
  }
}

/** A number from 0 to 1 that is always the same for a node, and another for its neighbour. */
function share(node: string): number {
  let hash = 2166136261;
  for (const byte of Buffer.from(node)) hash = Math.imul(hash ^ byte, 16777619);
  return (hash >>> 0) / 2 ** 32;
}
