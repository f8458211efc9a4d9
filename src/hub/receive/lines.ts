import type * as http from 'node:http';
import * as os from 'node:os';
import { VERSION } from '../../base/version.ts';
import type { NodeLine, NodesReply } from '../../sinks/hub/protocol.ts';
import { PROTOCOL } from '../../sinks/hub/protocol.ts';
import { type Identity, mayActFor } from '../../trust/identity.ts';
import type { FiledStream, Filing } from './filing.ts';
import type { Pace } from './pace.ts';

/** Number of intervals (and least number of seconds) without a sample after which a node is late. */
const INTERVALS = 5;
const SECONDS = 30;
const STREAMS_AT_ONCE = 200;

/** A stream's tables as `tacho nodes` shows them. */
export function linesOf(stream: FiledStream, now: number, steady = performance.now()): NodeLine[] {
  const { recording, node } = stream;
  const late = steady - stream.heard > Math.max(SECONDS, INTERVALS * (stream.interval || 0)) * 1000;
  const state = stream.done ? 'ended' : late ? 'late' : 'live';
  return [...stream.tables.values()].map((table) => {
    const rates = table.rates(now);
    return {
      node,
      user: recording.user,
      job: recording.job.id,
      kind: recording.kind,
      table: table.name,
      newest: Math.round(table.newest * 1000),
      rows_per_second: round(rates.rows),
      bytes_per_second: round(rates.bytes),
      bytes: table.stored,
      state,
    };
  });
}

/** Users see what is theirs; nodes see what they may write. */
export function maySee(identity: Identity, stream: FiledStream): boolean {
  if (identity.kind === 'node') return identity.nodes.includes(stream.node);
  return stream.recording.kind === 'fleet' ? identity.kind !== 'user' : mayActFor(identity, stream.recording.user);
}

/** Answers GET /v1/nodes?node=…&user=…&job=… a few streams at a time: there may be many, and samples keep coming. */
export function lineServer(
  filing: Filing,
  started: number,
  pace: Pick<Pace, 'seconds'>,
): (query: URLSearchParams, identity: Identity, response: http.ServerResponse) => void {
  return (query, identity, response) => {
    const [node, user, job] = ['node', 'user', 'job'].map((name) => query.get(name) ?? undefined);
    const now = Date.now();
    const head: NodesReply = {
      protocol: PROTOCOL,
      hub: os.hostname(),
      tacho: VERSION,
      now: now * 1000,
      started,
      batch_seconds: pace.seconds,
      lines: [],
    };
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.write(JSON.stringify(head).slice(0, -2));
    const streams = filing.streams.values();
    let first = true;
    const some = (): void => {
      if (response.destroyed) return;
      let text = '';
      for (let i = 0; i < STREAMS_AT_ONCE; i++) {
        const { value: stream, done } = streams.next();
        if (done === true) return void response.end(`${text}]}`);
        if (!maySee(identity, stream)) continue;
        if (node !== undefined && stream.node !== node) continue;
        if (user !== undefined && stream.recording.user !== user) continue;
        if (job !== undefined && stream.recording.job.id !== job) continue;
        if (job !== undefined) filing.asked(stream.recording);
        for (const line of linesOf(stream, now)) {
          text += `${first ? '' : ','}${JSON.stringify(line)}`;
          first = false;
        }
      }
      // whoever reads slowly waits, not we
      if (text === '' || response.write(text)) setImmediate(some);
      else response.once('drain', some);
    };
    some();
  };
}

const round = (value: number): number => Math.round(value * 100) / 100;
