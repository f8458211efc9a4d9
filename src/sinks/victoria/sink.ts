import * as fs from 'node:fs';
import * as path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { shownAddress } from '../../base/address.ts';
import { reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { BEGINNING, comparePositions, type Position } from '../../recording/live/position.ts';
import { openPositions, type Positions } from '../../recording/live/positions.ts';
import { type Stream, streamKey } from '../../recording/live/stream.ts';
import { agentTable } from '../../sources/own/agent.ts';
import { Visits } from '../hub/visits.ts';
import { type Round, Rounds, type Sent } from '../rounds.ts';
import type { Sink } from '../sink.ts';
import type { StreamState, Streams } from '../spool/streams.ts';
import { ImportBody } from './body.ts';
import { VictoriaLink } from './link.ts';
import { recordsKey, type Sent as SentOfStream, type StreamOptions, VictoriaStream } from './stream.ts';

export interface VictoriaOptions extends StreamOptions {
  /** `http://vm:8428`, or what comes before /api/v1/import; a user and password may be in it. */
  url: string;
  streams: Streams;
  /** Where the recordings are; positions are kept in .sinks/victoria.json below it. */
  spool: string;
  /** Samples are sent once in so many seconds (default 10): a line for a series then holds several. */
  intervalSeconds?: number;
  /** What was taken counts as stored after so many seconds (default 30) in which the other side was not restarted. */
  settleSeconds?: number;
}

/** A request is sent when its lines are about so long; packed they are a tenth. */
const FULL = 4 << 20;
/** How many restarts are accepted while samples are sent to it. */
const MOST_RESTARTS = 5;
/** With more streams than this, as on a hub, their files are not kept open. */
const MANY = 32;

/**
 * Pushes samples to VictoriaMetrics, which takes them into memory first: kill -9 loses its last seconds. So positions are
 * saved only when what was sent has had time to settle, and after a restart over there everything since then is sent
 * again, with the same times and values.
 */
export class VictoriaSink implements Sink, Round {
  readonly name: string;
  private readonly options: VictoriaOptions;
  private readonly interval: number;
  private readonly settle: number;
  private readonly positions: Positions;
  private readonly link: VictoriaLink;
  private readonly rounds = new Rounds(this);
  private readonly knownStreams = new Map<string, VictoriaStream>();
  private readonly visits: Visits;
  /** Those with something that is being sent. */
  private readonly collected = new Set<VictoriaStream>();
  private readonly body = new ImportBody();
  /** What was taken and has not settled yet, oldest first. */
  private unsettled: { at: number; sent: SentOfStream[] }[] = [];
  /** What the agent before this one had sent, until it is known whether the server is still the same. */
  private before: SavedSent | undefined;
  private restarts = 0;
  private begun = 0;

  constructor(options: VictoriaOptions) {
    const { spool, url, intervalSeconds = 10, settleSeconds = 30 } = options;
    this.options = options;
    this.name = `victoria ${shownAddress(url)}`;
    this.interval = intervalSeconds * 1000;
    this.settle = settleSeconds * 1000;
    this.positions = openPositions(path.join(spool, '.sinks', 'victoria.json'), spool);
    this.link = new VictoriaLink(url);
    this.visits = new Visits(options.streams);
    this.before = loadSent(spool);
  }

  wake(): void {
    this.rounds.wake();
  }

  get trouble(): string | undefined {
    return this.rounds.trouble;
  }

  stored(stream: Stream, table: string): Position | undefined {
    // the last to be stored: with it a recording is whole over there
    if (table === agentTable.name) {
      const followed = this.knownStreams.get(streamKey(stream));
      if (followed === undefined) return undefined;
      const { kind, ended } = followed.state;
      if (kind === 'job' && ended && followed.sureRecords !== recordsKey(followed.state)) return undefined;
    }
    return this.positions.get(stream, table);
  }

  sent(stream: Stream, table: string): Position | undefined {
    return this.knownStreams.get(streamKey(stream))?.sentTo(table) ?? this.positions.get(stream, table);
  }

  /** Nothing that was sent of it counts for another one that comes by its name. */
  forget(stream: Stream): void {
    this.knownStreams.get(streamKey(stream))?.rest();
    this.knownStreams.delete(streamKey(stream));
    this.visits.forget(stream);
    this.positions.forget(stream);
  }

  async close(seconds: number): Promise<void> {
    await this.rounds.close(seconds);
    this.saveUnsettled();
    for (const stream of this.knownStreams.values()) stream.rest();
    this.link.close();
  }

  pause(): number {
    return this.begun + this.interval - performance.now();
  }

  /** What has not settled is looked after even when nobody writes any more. */
  unasked(): number | undefined {
    return this.unsettled.length > 0 ? this.pause() : undefined;
  }

  async send(): Promise<Sent> {
    this.begun = performance.now();
    for (let restarts = 0; restarts < MOST_RESTARTS; restarts++) {
      const sent = await this.sendSome();
      if (sent !== undefined) return sent;
    }
    throw new Error('it is restarted again and again');
  }

  failed(error: unknown): string {
    this.body.take();
    this.visits.forgetAll();
    this.collected.clear();
    for (const stream of this.knownStreams.values()) stream.refuse();
    return reason(error);
  }

  /** Sends some of every stream, so that none waits for another; undefined: the other side was restarted meanwhile. */
  private async sendSome(): Promise<Sent | undefined> {
    const { link, body, visits, knownStreams } = this;
    let more = false;
    await link.ready();
    if (this.isRestarted) this.goBack();
    this.look();
    visits.nextRound();
    for (const stream of knownStreams.values()) {
      const { state } = stream;
      if (!visits.isDue(state)) continue;
      const at = performance.now();
      const isMore = stream.collect(body, FULL);
      if (!stream.isEven) this.collected.add(stream);
      visits.visited(state, at, !isMore && stream.isEven);
      if (isMore) {
        more = true;
        if (!(await this.flush())) return undefined;
        await setImmediate();
      }
      if (knownStreams.size > MANY) stream.rest();
    }
    const idle = body.samples === 0;
    if (!(await this.flush())) return undefined;
    if (idle && this.unsettled.length > 0 && this.unsettled[0]!.at <= performance.now() - this.settle) {
      await link.ping();
      if (this.isRestarted) return undefined;
    }
    this.keepSettled(performance.now());
    return { more };
  }

  private get isRestarted(): boolean {
    return this.link.restarts !== this.restarts;
  }

  private goBack(): void {
    this.restarts = this.link.restarts;
    this.unsettled = [];
    this.visits.forgetAll();
    this.collected.clear();
    for (const stream of this.knownStreams.values()) stream.goBack();
  }

  /** Finds out what there is to follow; a recording that has gone is forgotten. */
  private look(): void {
    const there = new Set<string>();
    for (const state of this.options.streams.list()) {
      const key = streamKey(state);
      there.add(key);
      const stream = this.knownStreams.get(key);
      if (stream === undefined) this.follow(key, state);
      else stream.state = state;
    }
    this.before = undefined;
    const gone = [...this.knownStreams].filter(([key]) => !there.has(key));
    for (const [, stream] of gone) this.forget(stream.state);
  }

  private follow(key: string, state: StreamState): void {
    const { before, positions, options } = this;
    const isSame = before !== undefined && before.server === this.link.server;
    const sent = isSame ? before.streams[path.relative(options.spool, state.folder)] : undefined;
    const begun = new Map<string, Position>();
    for (const [table, [filePart, bytes]] of Object.entries(sent ?? {})) {
      const position = { part: filePart, bytes };
      if (comparePositions(position, positions.get(state, table) ?? BEGINNING) > 0) begun.set(table, position);
    }
    const stream = new VictoriaStream(state, options, (table) => positions.get(state, table), begun);
    this.knownStreams.set(key, stream);
    if (begun.size > 0)
      this.unsettled.push({ at: performance.now(), sent: [{ stream, tables: [...begun], records: undefined }] });
  }

  /** Sends what has been collected; false: the other side was restarted, and all begins anew. */
  private async flush(): Promise<boolean> {
    if (this.body.samples > 0) await this.link.post(this.body.take());
    if (this.isRestarted) return false;
    const sent: SentOfStream[] = [];
    for (const stream of this.collected) {
      const each = stream.acknowledge();
      if (each !== undefined) sent.push(each);
    }
    this.collected.clear();
    if (sent.length > 0) this.unsettled.push({ at: performance.now(), sent });
    return true;
  }

  /** Called while the other side is known to have lived until now. */
  private keepSettled(now: number): void {
    const { unsettled, positions } = this;
    let changed = false;
    while (unsettled.length > 0 && unsettled[0]!.at <= now - this.settle) {
      for (const { stream, tables, records } of unsettled.shift()!.sent) {
        if (this.knownStreams.get(streamKey(stream.state)) !== stream) continue;
        for (const [table, position] of tables) positions.set(stream.state, table, position);
        if (records !== undefined) stream.sureRecords = records;
        changed = true;
      }
    }
    if (changed) positions.save();
  }

  private saveUnsettled(): void {
    const { server } = this.link;
    if (this.unsettled.length === 0 || server === undefined) return;
    const { spool } = this.options;
    const streams = [...this.knownStreams.values()].map((stream) => [
      path.relative(spool, stream.state.folder),
      Object.fromEntries(stream.allSent().map(([table, { part, bytes }]) => [table, [part, bytes]])),
    ]);
    saveSent(spool, { server, streams: Object.fromEntries(streams) });
  }
}

/** What was sent and had not settled when the agent ended: while the server lives, it need not be sent again. */
interface SavedSent {
  server: string;
  streams: Record<string, Record<string, [part: number, bytes: number]>>;
}

const sentFile = (spool: string): string => path.join(spool, '.sinks', 'victoria-sent.json');

/** Used once: whoever is killed begins with what is surely stored. */
function loadSent(spool: string): SavedSent | undefined {
  try {
    const saved = JSON.parse(fs.readFileSync(sentFile(spool), 'utf8')) as SavedSent;
    fs.rmSync(sentFile(spool));
    return typeof saved.server === 'string' && typeof saved.streams === 'object' ? saved : undefined;
  } catch {
    // there is none, or it is damaged: samples are sent again
    return undefined;
  }
}

function saveSent(spool: string, saved: SavedSent): void {
  try {
    makeFolder(path.dirname(sentFile(spool)), 0o700);
    replaceJson(sentFile(spool), saved);
  } catch {
    // a full disk: then samples are sent again
  }
}
