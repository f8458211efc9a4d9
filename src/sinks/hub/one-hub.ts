import * as path from 'node:path';
import { reason } from '../../base/fault.ts';
import { comparePositions } from '../../recording/live/position.ts';
import { streamKey } from '../../recording/live/stream.ts';
import type { StreamState } from '../spool/streams.ts';
import { packAppend } from './body.ts';
import { HubBusy, type HubLink, HubRefusal } from './link.ts';
import {
  type AppendReply,
  ONE_RECORDING,
  type OpenReply,
  type RecordReply,
  type RecordRequest,
  type TableBytes,
} from './protocol.ts';
import { HubStream } from './stream.ts';

/** Bytes of samples in one request: enough to catch up fast, few enough to hold in memory. */
const REQUEST_BYTES = 1 << 20;
/** A stream that the hub refuses is offered again after so long. */
const REFUSED_SECONDS = 60;

/** One hub and what it knows. */
export class OneHub {
  readonly link: HubLink;
  readonly streams = new Map<string, HubStream>();
  /** Seconds for which the hub wants samples to be collected before they are sent; 0: not at all. */
  batchSeconds = 0;
  private turn = 0;

  constructor(link: HubLink) {
    this.link = link;
  }

  /** Takes over what is in the spool now. */
  follow(states: readonly StreamState[]): void {
    const seenKeys = new Set<string>();
    for (const state of states) {
      const key = streamKey(state);
      seenKeys.add(key);
      const stream = this.streams.get(key);
      if (stream === undefined) this.streams.set(key, new HubStream(state, this.link.address));
      else stream.state = state;
    }
    for (const key of this.streams.keys()) if (!seenKeys.has(key)) this.forget(key);
  }

  forget(key: string): void {
    this.streams.get(key)?.closeTails();
    this.streams.delete(key);
  }

  /** It failed, and another one takes its place: nothing is held for it. */
  lost(): void {
    this.batchSeconds = 0;
    for (const stream of this.streams.values()) {
      stream.id = undefined;
      stream.closeTails();
    }
  }

  close(): void {
    for (const stream of this.streams.values()) stream.closeTails();
    this.link.close();
  }

  /** What it refuses, a line each. */
  blockedWhy(): string | undefined {
    const all = [...this.streams.values()].flatMap(({ blocked }) => (blocked === undefined ? [] : blocked.why));
    return all.length === 0 ? undefined : all.join('\n');
  }

  /** When the first of them is to be tried again, epoch milliseconds; undefined: none is refused. */
  get nextAttempt(): number | undefined {
    const times = [...this.streams.values()].flatMap(({ blocked }) => blocked?.until ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
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
    await this.openAll();
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
    if (agent === undefined || performance.now() < (stream.blocked?.until ?? 0)) return;
    const reply = await this.asked(stream, () => this.link.post<OpenReply>('/v1/open', stream.opening(agent)));
    if (reply === undefined) return;
    try {
      stream.opened(reply, agent);
    } catch (error) {
      // what it has here cannot be made ready for this hub
      stream.block(waits(stream, error));
    }
  }

  /** Opens those that are not; one for which a busy hub has no room waits, while there are others. */
  private async openAll(): Promise<void> {
    const busy: [HubStream, HubBusy][] = [];
    for (const stream of this.streams.values()) {
      if (stream.id !== undefined || stream.done) continue;
      try {
        await this.open(stream);
      } catch (error) {
        if (!(error instanceof HubBusy)) throw error;
        busy.push([stream, error]);
      }
    }
    const hasOpen = [...this.streams.values()].some(({ id, done }) => id !== undefined && !done);
    if (busy.length > 0 && !hasOpen) throw busy[0]![1];
    for (const [stream, error] of busy) stream.block(waits(stream, error));
  }

  /** One request with the next samples of all streams. */
  private async sendSome(): Promise<{ more: boolean; trouble?: string; progress: boolean }> {
    const tableRuns: TableBytes[] = [];
    const bytes: Buffer[] = [];
    const from: { stream: HubStream; table: string }[] = [];
    const open = [...this.streams.values()].filter((stream) => stream.id !== undefined && !stream.done);
    let left = REQUEST_BYTES;
    // what did not fit in last time comes first this time
    const first = open.length === 0 ? 0 : this.turn % open.length;
    let gaps = false;
    let older = false;
    for (let i = 0; i < open.length && left > 0; i++) {
      const stream = open[(first + i) % open.length]!;
      for (const table of stream.state.parts.keys()) {
        if (left <= 0) break;
        const run = stream.read(table, left);
        if (run === undefined) continue;
        // before anything is waited for: what is about to be sent must not be given up meanwhile, and noted as lost
        stream.sent.set(table, { part: run.part, bytes: run.from + run.bytes.length });
        const gap = stream.gapBefore(table, run);
        if (gap !== undefined) {
          await this.tellGap(stream, gap);
          gaps = true;
          if (stream.id === undefined) break;
        }
        tableRuns.push([stream.id!, table, run.part, run.from, run.bytes.length]);
        bytes.push(run.bytes);
        from.push({ stream, table });
        left -= run.bytes.length;
        older ||= run.part <= (stream.state.parts.get(table)?.newest ?? 0);
      }
    }
    if (left <= 0) this.turn++;
    if (tableRuns.length === 0) return { more: gaps, progress: gaps };
    const reply = await this.append(packAppend(tableRuns, bytes));
    if (reply === undefined) return { more: true, progress: false };
    this.batchSeconds = batchOf(reply);
    const before = from.map(({ stream, table }) => stream.have.get(table));
    for (const [id, table, filePart, length] of reply.have ?? []) {
      open.find((stream) => stream.id === id)?.have.set(table, { part: filePart, bytes: length });
    }
    for (const [id, why] of reply.refused ?? []) {
      const stream = open.find((each) => each.id === id);
      stream?.block(`${nameOf(stream)} waits: ${why}`);
    }
    let progress = false;
    let short = false;
    for (const [i, { stream, table }] of from.entries()) {
      // what it refuses is sent later
      if (stream.id === undefined) continue;
      const have = stream.have.get(table);
      const moved = have !== undefined && (before[i] === undefined || comparePositions(have, before[i]) !== 0);
      progress ||= moved;
      if (moved) stream.moved();
      const [, , filePart, start, length] = tableRuns[i]!;
      short ||= have === undefined || comparePositions(have, { part: filePart, bytes: start + length }) < 0;
    }
    for (const id of reply.unknown ?? []) {
      const stream = open.find((each) => each.id === id);
      if (stream === undefined) continue;
      stream.id = undefined;
      await this.open(stream);
    }
    if (reply.trouble !== undefined) return { more: true, trouble: reply.trouble, progress };
    // behind an older part there is another: nobody wakes us for what is there already
    return { more: left <= 0 || short || older || (reply.unknown?.length ?? 0) > 0, progress };
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
        stream.recordsSent(news.agent === undefined ? undefined : state.agent, news.job);
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
      const { status, message } = error;
      if (status === ONE_RECORDING || status === 500) stream.block(waits(stream, error));
      else if (status !== 404 && status !== 409)
        stream.block(`it refuses ${nameOf(stream)}: ${message}`, REFUSED_SECONDS);
      return undefined;
    }
  }
}

/** Whatever it asks for: what waits is not seen by anybody. */
const LONGEST_BATCH = 60;
const batchOf = ({ batch = 0 }: AppendReply): number => (batch > 0 ? Math.min(batch, LONGEST_BATCH) : 0);

const nameOf = ({ state }: HubStream): string => path.basename(state.recording);
const waits = (stream: HubStream, error: unknown): string => `${nameOf(stream)} waits: ${reason(error)}`;
