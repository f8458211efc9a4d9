import * as path from 'node:path';
import { reason } from '../base/fault.ts';
import { type Credentials, NO_CREDENTIALS } from '../trust/identity.ts';
import { packAppend } from './append-body.ts';
import { Backoff } from './backoff.ts';
import { HubAway, HubLink, HubRefusal, type LinkOptions } from './hub-link.ts';
import type { AppendReply, OpenReply, Piece, RecordReply, RecordRequest } from './hub-protocol.ts';
import { HubStream } from './hub-stream.ts';
import { comparePositions, type Position } from './position.ts';
import { openPositions, type Positions } from './positions.ts';
import type { Sink } from './sink.ts';
import { type Stream, streamKey } from './stream.ts';
import type { StreamState, Streams } from './streams.ts';

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

/** So much of all samples goes into one request: enough to catch up fast, little enough to hold in memory. */
const REQUEST_BYTES = 1 << 20;
/** Attempts at one hub before the next one of the list is tried. */
const PATIENCE = 2;
/** A stream that the hub refuses is offered again after so long. */
const REFUSED_SECONDS = 60;
const SAVE_SECONDS = 60;

/** Sends every stream of a spool to a hub. */
export function openHubSink(options: HubOptions): Sink {
  return new HubSink(options);
}

class HubSink implements Sink {
  readonly name: string;
  readonly keepsUntilDone: boolean;
  trouble: string | undefined;
  private readonly options: HubOptions;
  private readonly hubs: Hub[];
  private readonly saved: Positions;
  private readonly backoff = new Backoff();
  private readonly spreadMs: number;
  private current = 0;
  private timer: NodeJS.Timeout | undefined;
  private pausedUntil = 0;
  private running: Promise<void> | undefined;
  private again = false;
  private closed = false;
  private nextSave = 0;
  private nextReturn = 0;

  constructor(options: HubOptions) {
    this.options = options;
    const link: LinkOptions = {
      credentials: options.credentials ?? NO_CREDENTIALS,
      node: options.node,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
      ...(options.requestSeconds === undefined ? {} : { requestSeconds: options.requestSeconds }),
      ...(options.connectSeconds === undefined ? {} : { connectSeconds: options.connectSeconds }),
    };
    this.hubs = options.addresses.map((url) => new Hub(new HubLink(url, link)));
    this.name = `hub ${this.hubs.map((hub) => hub.link.address).join(', ')}`;
    this.keepsUntilDone = this.hubs.length > 1;
    this.saved = openPositions(path.join(options.spool, '.sinks/hub.json'), options.spool);
    this.spreadMs = share(options.node) * (options.spreadSeconds ?? 0.25) * 1000;
  }

  wake(): void {
    if (this.closed || this.timer !== undefined) return;
    if (this.running !== undefined) {
      this.again = true;
      return;
    }
    this.schedule(Math.max(this.spreadMs, this.pausedUntil - Date.now()));
  }

  stored(stream: Stream, table: string): Position | undefined {
    let furthest: Position | undefined;
    let known = false;
    for (const hub of this.hubs) {
      const entry = hub.streams.get(streamKey(stream));
      if (entry?.id !== undefined) known = true;
      const have = entry?.have.get(table);
      if (have !== undefined && (furthest === undefined || comparePositions(have, furthest) > 0)) furthest = have;
    }
    return furthest ?? (known ? undefined : this.saved.get(stream, table));
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
    const deadline = Date.now() + seconds * 1000;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.closed = true;
    const cut = setTimeout(() => this.hub.link.close(), seconds * 1000);
    await this.running;
    while (Date.now() < deadline) {
      await this.pump();
      if (this.trouble === undefined) break;
      await new Promise((resolve) => setTimeout(resolve, Math.min(200, deadline - Date.now())));
    }
    clearTimeout(cut);
    this.savePositions();
    for (const hub of this.hubs) hub.close();
  }

  private get hub(): Hub {
    return this.hubs[this.current]!;
  }

  private schedule(ms: number): void {
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.again = false;
      this.running = this.pump().finally(() => {
        this.running = undefined;
        if (this.closed) return;
        const pause = this.pausedUntil - Date.now();
        // while the hub is away nobody has to wake us
        if (pause > 0) this.schedule(pause);
        else if (this.again) this.wake();
      });
    }, ms);
    this.timer.unref();
  }

  /** Sends what there is. Never throws. */
  private async pump(): Promise<void> {
    try {
      const states = this.options.streams.list();
      if (this.current > 0 && Date.now() >= this.nextReturn) await this.tryReturn(states);
      for (const hub of this.hubs) hub.follow(states);
      const trouble = await this.hub.sendAll();
      if (trouble !== undefined) return this.failed(trouble);
      this.backoff.reset();
      this.trouble = this.hub.blockedWhy();
      if (Date.now() >= this.nextSave) this.savePositions();
    } catch (error) {
      this.failed(
        error instanceof HubAway || error instanceof HubRefusal ? error.message : `cannot send: ${reason(error)}`,
      );
    }
  }

  private failed(why: string): void {
    this.trouble = `${this.hub.link.address}: ${why}`;
    // whatever fails next, this is how far everything had come
    if (this.backoff.count === 0) this.savePositions();
    const pause = this.backoff.next();
    if (this.hubs.length > 1 && this.backoff.count % PATIENCE === 0) {
      this.hub.lost();
      this.current = (this.current + 1) % this.hubs.length;
      this.nextReturn = Date.now() + (this.options.returnSeconds ?? 30) * 1000;
    }
    this.pausedUntil = Date.now() + pause * 1000;
  }

  /** Is a hub that comes before the current one there again? */
  private async tryReturn(states: readonly StreamState[]): Promise<void> {
    this.nextReturn = Date.now() + (this.options.returnSeconds ?? 30) * 1000 * (0.75 + Math.random() / 2);
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
    this.nextSave = Date.now() + SAVE_SECONDS * 1000;
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

/** One hub and what it knows. */
class Hub {
  readonly link: HubLink;
  readonly streams = new Map<string, HubStream>();
  private turn = 0;

  constructor(link: HubLink) {
    this.link = link;
  }

  /** Takes over what is in the spool now. */
  follow(states: readonly StreamState[]): void {
    const seen = new Set<string>();
    for (const state of states) {
      const key = streamKey(state);
      seen.add(key);
      const stream = this.streams.get(key);
      if (stream === undefined) this.streams.set(key, new HubStream(state, this.link.address));
      else stream.state = state;
    }
    for (const key of this.streams.keys()) if (!seen.has(key)) this.forget(key);
  }

  forget(key: string): void {
    this.streams.get(key)?.closeTails();
    this.streams.delete(key);
  }

  /** It failed, and another one takes its place: nothing is held for it. */
  lost(): void {
    for (const stream of this.streams.values()) {
      stream.id = undefined;
      stream.closeTails();
    }
  }

  close(): void {
    for (const stream of this.streams.values()) stream.closeTails();
    this.link.close();
  }

  blockedWhy(): string | undefined {
    for (const { blocked } of this.streams.values()) if (blocked !== undefined) return blocked.why;
    return undefined;
  }

  /** Opens the first stream that there is; false: there is none to ask with. */
  async openFirst(): Promise<boolean> {
    for (const stream of this.streams.values()) {
      if (!stream.done && stream.state.agent !== undefined) {
        stream.id = undefined;
        await this.open(stream);
        return true;
      }
    }
    return false;
  }

  /** Sends everything; returns what keeps the hub from storing it, if anything does. */
  async sendAll(): Promise<string | undefined> {
    for (const stream of this.streams.values()) {
      if (stream.id === undefined && !stream.done) await this.open(stream);
    }
    for (let rounds = 0; ; ) {
      const { more, trouble, progress } = await this.sendSome();
      if (trouble !== undefined) return trouble;
      if (!more) break;
      rounds = progress ? 0 : rounds + 1;
      if (rounds >= 3) {
        for (const stream of this.streams.values()) stream.id = undefined;
        return 'it answers, but takes no samples';
      }
    }
    for (const stream of this.streams.values()) if (stream.id !== undefined && !stream.done) await this.tell(stream);
    return undefined;
  }

  private async open(stream: HubStream): Promise<void> {
    const { agent } = stream.state;
    if (agent === undefined || Date.now() < (stream.blocked?.until ?? 0)) return;
    const reply = await this.asked(stream, () => this.link.post<OpenReply>('/v1/open', stream.opening(agent)));
    if (reply !== undefined) stream.opened(reply, agent);
  }

  /** One request with the next samples of all streams. */
  private async sendSome(): Promise<{ more: boolean; trouble?: string; progress: boolean }> {
    const pieces: Piece[] = [];
    const bytes: Buffer[] = [];
    const from: { stream: HubStream; table: string }[] = [];
    const open = [...this.streams.values()].filter((stream) => stream.id !== undefined && !stream.done);
    let left = REQUEST_BYTES;
    // what did not fit in last time comes first this time
    const first = open.length === 0 ? 0 : this.turn % open.length;
    let gaps = false;
    for (let i = 0; i < open.length && left > 0; i++) {
      const stream = open[(first + i) % open.length]!;
      for (const table of stream.state.parts.keys()) {
        if (left <= 0) break;
        const run = stream.read(table, left);
        if (run === undefined) continue;
        const gap = stream.gapBefore(table, run);
        if (gap !== undefined) {
          await this.tellGap(stream, gap);
          gaps = true;
          if (stream.id === undefined) break;
        }
        pieces.push([stream.id!, table, run.part, run.from, run.bytes.length]);
        bytes.push(run.bytes);
        from.push({ stream, table });
        stream.sent.set(table, { part: run.part, bytes: run.from + run.bytes.length });
        left -= run.bytes.length;
      }
    }
    if (left <= 0) this.turn++;
    if (pieces.length === 0) return { more: gaps, progress: gaps };
    const reply = await this.append(packAppend(pieces, bytes));
    if (reply === undefined) return { more: true, progress: false };
    const before = from.map(({ stream, table }) => stream.have.get(table));
    for (const [id, table, part, length] of reply.have ?? []) {
      open.find((stream) => stream.id === id)?.have.set(table, { part, bytes: length });
    }
    let progress = false;
    let short = false;
    for (const [i, { stream, table }] of from.entries()) {
      const have = stream.have.get(table);
      const moved = have !== undefined && (before[i] === undefined || comparePositions(have, before[i]) !== 0);
      progress ||= moved;
      const [, , part, start, length] = pieces[i]!;
      short ||= have === undefined || comparePositions(have, { part, bytes: start + length }) < 0;
    }
    for (const id of reply.unknown ?? []) {
      const stream = open.find((each) => each.id === id);
      if (stream === undefined) continue;
      stream.id = undefined;
      await this.open(stream);
    }
    if (reply.trouble !== undefined) return { more: true, trouble: reply.trouble, progress };
    return { more: left <= 0 || short || (reply.unknown?.length ?? 0) > 0, progress };
  }

  /** Undefined: the hub did not know what we spoke of; all streams were opened again. */
  private async append(body: Buffer): Promise<AppendReply | undefined> {
    try {
      return await this.link.post<AppendReply>('/v1/append', body);
    } catch (error) {
      if (!(error instanceof HubRefusal) || (error.status !== 404 && error.status !== 409)) throw error;
      for (const stream of this.streams.values()) stream.id = undefined;
      for (const stream of this.streams.values()) if (!stream.done) await this.open(stream);
      return undefined;
    }
  }

  private async tellGap(stream: HubStream, gap: NonNullable<RecordRequest['dropped']>[number]): Promise<void> {
    const reply = await this.record(stream, { dropped: [gap] });
    if (reply?.tables !== undefined) stream.adopt(reply.tables);
    else if (reply !== undefined) stream.have.set(gap.table, gap.to);
  }

  /** What has changed in the records, and the end. */
  private async tell(stream: HubStream): Promise<void> {
    const { state } = stream;
    if (!state.ended) {
      const news = stream.news();
      if (news !== undefined && (await this.record(stream, news)) !== undefined) {
        stream.told(news.agent === undefined ? undefined : state.agent, news.job);
      }
      return;
    }
    for (const table of state.parts.keys()) if (stream.read(table, 1) !== undefined) return;
    const reply = await this.record(stream, stream.ending());
    if (reply?.done === true) stream.isDone();
    else if (reply?.tables !== undefined) stream.adopt(reply.tables);
  }

  private async record(stream: HubStream, record: Omit<RecordRequest, 'stream'>): Promise<RecordReply | undefined> {
    const { id } = stream;
    if (id === undefined) return undefined;
    return this.asked(stream, () => this.link.post<RecordReply>('/v1/record', { stream: id, ...record }));
  }

  /** What the hub says no to concerns this stream alone: the others go on. */
  private async asked<T>(stream: HubStream, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      const reply = await ask();
      stream.blocked = undefined;
      return reply;
    } catch (error) {
      if (!(error instanceof HubRefusal)) throw error;
      stream.id = undefined;
      if (error.status !== 404 && error.status !== 409) {
        const why = `${this.link.address} refuses ${path.basename(stream.state.recording)}: ${error.message}`;
        stream.blocked = { until: Date.now() + REFUSED_SECONDS * 1000, why };
      }
      return undefined;
    }
  }
}

/** A number from 0 to 1 that is always the same for a node, and another for its neighbour. */
function share(node: string): number {
  let hash = 2166136261;
  for (const byte of Buffer.from(node)) hash = Math.imul(hash ^ byte, 16777619);
  return (hash >>> 0) / 2 ** 32;
}
