import * as fs from 'node:fs';
import * as path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { shownAddress } from '../../base/address.ts';
import { reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { BEGINNING, comparePositions, type Position } from '../../recording/live/position.ts';
import { openPositions } from '../../recording/live/positions.ts';
import { type Stream, streamKey } from '../../recording/live/stream.ts';
import { agentTable } from '../../sources/own/agent.ts';
import { Backoff } from '../backoff.ts';
import { Visits } from '../hub/visits.ts';
import type { Sink } from '../sink.ts';
import type { StreamState, Streams } from '../spool/streams.ts';
import { ImportBody } from './import-body.ts';
import { VictoriaLink } from './link.ts';
import { recordsKey, type Sent, type StreamOptions, VictoriaStream } from './stream.ts';

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
/** So often it may be found to have been restarted while samples are sent to it. */
const MOST_RESTARTS = 5;
/** With more streams than this, as on a hub, their files are not kept open. */
const MANY = 32;

/**
 * Pushes samples to VictoriaMetrics, which takes them into memory first: kill -9 loses its last seconds. So positions are
 * saved only when what was sent has had time to settle, and after a restart over there everything since then is sent
 * again, with the same times and values.
 */
export function openVictoriaSink(options: VictoriaOptions): Sink {
  const { streams, spool } = options;
  const interval = (options.intervalSeconds ?? 10) * 1000;
  const settle = (options.settleSeconds ?? 30) * 1000;
  const positions = openPositions(path.join(spool, '.sinks', 'victoria.json'), spool);
  const link = new VictoriaLink(options.url);
  const known = new Map<string, VictoriaStream>();
  const visits = new Visits(streams);
  /** Those with something that is being sent. */
  const collected = new Set<VictoriaStream>();
  const body = new ImportBody();
  /** What was taken and has not settled yet, oldest first. */
  let unsettled: { at: number; sent: Sent[] }[] = [];
  /** What the agent before this one had sent, until it is known whether the server is still the same. */
  let before = loadSent(spool);
  let restarts = 0;
  /** Some stream had more than goes into a round. */
  let more = false;
  let trouble: string | undefined;
  const backoff = new Backoff();
  let retry = 0;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let last = 0;
  let closed = false;

  const begin = (key: string, state: StreamState): void => {
    const sent =
      before !== undefined && before.server === link.server
        ? before.streams[path.relative(spool, state.folder)]
        : undefined;
    const begun = new Map<string, Position>();
    for (const [table, [part, bytes]] of Object.entries(sent ?? {})) {
      const position = { part, bytes };
      if (comparePositions(position, positions.get(state, table) ?? BEGINNING) > 0) begun.set(table, position);
    }
    const stream = new VictoriaStream(state, options, (table) => positions.get(state, table), begun);
    known.set(key, stream);
    if (begun.size > 0)
      unsettled.push({ at: performance.now(), sent: [{ stream, tables: [...begun], records: undefined }] });
  };

  /** Finds out what there is to follow; a recording that has gone is forgotten. */
  const look = (): void => {
    const there = new Set<string>();
    for (const state of streams.list()) {
      const key = streamKey(state);
      there.add(key);
      const stream = known.get(key);
      if (stream === undefined) begin(key, state);
      else stream.state = state;
    }
    before = undefined;
    const gone = [...known].filter(([key]) => !there.has(key));
    for (const [, stream] of gone) forget(stream.state);
  };

  /** Nothing that was sent of it counts for another one that comes by its name. */
  function forget(stream: Stream): void {
    known.get(streamKey(stream))?.rest();
    known.delete(streamKey(stream));
    visits.forget(stream);
    positions.forget(stream);
  }

  const goBack = (): void => {
    restarts = link.restarts;
    unsettled = [];
    visits.forgetAll();
    collected.clear();
    for (const stream of known.values()) stream.goBack();
  };

  /** Called while the other side is known to have lived until now. */
  const settled = (now: number): void => {
    let changed = false;
    while (unsettled.length > 0 && unsettled[0]!.at <= now - settle) {
      for (const { stream, tables, records } of unsettled.shift()!.sent) {
        if (known.get(streamKey(stream.state)) !== stream) continue;
        for (const [table, position] of tables) positions.set(stream.state, table, position);
        if (records !== undefined) stream.sureRecords = records;
        changed = true;
      }
    }
    if (changed) positions.save();
  };

  /** Sends what has been collected; false: the other side was restarted, and all begins anew. */
  const flush = async (): Promise<boolean> => {
    if (body.samples > 0) await link.post(body.take());
    if (link.restarts !== restarts) return false;
    const sent: Sent[] = [];
    for (const stream of collected) {
      const each = stream.acknowledge();
      if (each !== undefined) sent.push(each);
    }
    collected.clear();
    if (sent.length > 0) unsettled.push({ at: performance.now(), sent });
    return true;
  };

  /** Sends some of every stream, so that none waits for another; false: the other side was restarted meanwhile. */
  const round = async (): Promise<boolean> => {
    more = false;
    await link.ready();
    if (link.restarts !== restarts) goBack();
    look();
    visits.nextRound();
    for (const stream of known.values()) {
      const { state } = stream;
      if (!visits.isDue(state)) continue;
      const at = performance.now();
      const isMore = stream.collect(body, FULL);
      if (!stream.isEven) collected.add(stream);
      visits.visited(state, at, !isMore && stream.isEven);
      if (isMore) {
        more = true;
        if (!(await flush())) return false;
        await setImmediate();
      }
      if (known.size > MANY) stream.rest();
    }
    const idle = body.samples === 0;
    if (!(await flush())) return false;
    if (idle && unsettled.length > 0 && unsettled[0]!.at <= performance.now() - settle) {
      await link.ping();
      if (link.restarts !== restarts) return false;
    }
    settled(performance.now());
    return true;
  };

  const run = async (): Promise<void> => {
    last = performance.now();
    try {
      let rounds = 0;
      do {
        while (!(await round())) if (++rounds === MOST_RESTARTS) throw new Error('it is restarted again and again');
      } while (more);
      backoff.reset();
      trouble = undefined;
    } catch (error) {
      body.take();
      visits.forgetAll();
      collected.clear();
      for (const stream of known.values()) stream.refuse();
      trouble = reason(error);
      retry = backoff.next() * 1000;
    }
  };

  const start = (): Promise<void> => {
    running ??= run().finally(() => {
      running = undefined;
      // what has not settled, or was lost on the way, is looked after even when nobody writes any more
      if (!closed && (unsettled.length > 0 || trouble !== undefined)) schedule();
    });
    return running;
  };

  const schedule = (): void => {
    if (closed || timer !== undefined || running !== undefined) return;
    const wait = trouble === undefined ? last + interval - performance.now() : retry;
    timer = setTimeout(
      () => {
        timer = undefined;
        void start();
      },
      Math.max(0, wait),
    ).unref();
  };

  return {
    name: `victoria ${shownAddress(options.url)}`,
    wake: schedule,
    stored(stream: Stream, table: string): Position | undefined {
      const found = known.get(streamKey(stream));
      // the last to be stored: with it a recording is whole over there
      if (table === agentTable.name) {
        if (found === undefined) return undefined;
        const { kind, ended } = found.state;
        if (kind === 'job' && ended && found.sureRecords !== recordsKey(found.state)) return undefined;
      }
      return positions.get(stream, table);
    },
    forget,
    sent: (stream, table) => known.get(streamKey(stream))?.sentTo(table) ?? positions.get(stream, table),
    get trouble() {
      return trouble;
    },
    async close(seconds) {
      const until = performance.now() + seconds * 1000;
      clearTimeout(timer);
      timer = undefined;
      closed = true;
      const late = (): Promise<void> =>
        new Promise((resolve) => setTimeout(resolve, Math.max(0, until - performance.now())).unref());
      await Promise.race([running, late()]);
      while (running === undefined && performance.now() < until) {
        await Promise.race([start(), late()]);
        if (trouble === undefined) break;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      const { server } = link;
      if (unsettled.length > 0 && server !== undefined) {
        const streams = [...known.values()].map((stream) => [
          path.relative(spool, stream.state.folder),
          Object.fromEntries(stream.allSent().map(([table, { part, bytes }]) => [table, [part, bytes]])),
        ]);
        saveSent(spool, { server, streams: Object.fromEntries(streams) });
      }
      for (const stream of known.values()) stream.rest();
      link.close();
    },
  };
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
