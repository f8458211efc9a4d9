import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Position } from '../../src/recording/live/position.ts';
import { unpackAppend } from '../../src/sinks/hub/body.ts';
import type { AppendReply, OpenReply, OpenRequest, RecordReply, RecordRequest } from '../../src/sinks/hub/protocol.ts';

interface Filed {
  id: number;
  /** The bytes of each table, all parts one after the other. */
  bytes: Map<string, string>;
  have: Map<string, Position>;
  records: RecordRequest[];
}

/** For tests: what a hub answers, in memory, and ways to make it answer otherwise. */
export class TestHub {
  readonly filed = new Map<string, Filed>();
  readonly requests: string[] = [];
  /** Answers a request instead of the hub: a status and words. */
  instead: ((path: string, body: Buffer) => [number, string] | undefined) | undefined;
  session: string | undefined;
  /** Seconds for which agents shall collect samples. */
  batch: number | undefined;
  authorizations: (string | undefined)[] = [];
  private readonly server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.requests.push(request.url!);
      const [status, text] = this.respond(request, Buffer.concat(chunks));
      response.writeHead(status).end(text);
    });
  });
  private next = 1;

  async listen(): Promise<URL> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return new URL(`http://127.0.0.1:${(this.server.address() as AddressInfo).port}`);
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** As after a restart: files are there, streams have to be opened again. */
  forgetStreams(): void {
    this.next += 1000;
    for (const filed of this.filed.values()) filed.id = -1;
  }

  private respond(request: http.IncomingMessage, body: Buffer): [number, string] {
    const path = request.url!;
    const other = this.instead?.(path, body);
    if (other !== undefined) return other;
    if (path === '/v1/session') {
      this.authorizations.push(request.headers.authorization);
      return [200, JSON.stringify({ protocol: 1, session: this.session, lasts: 3600 })];
    }
    if (this.session !== undefined && request.headers.authorization !== `Bearer ${this.session}`) return [401, '{}'];
    const reply = path === '/v1/append' ? this.append(body) : this.json(path, JSON.parse(body.toString()));
    return reply === undefined ? [404, '{"error":"open it again"}'] : [200, JSON.stringify(reply)];
  }

  private json(path: string, body: OpenRequest & RecordRequest): OpenReply | RecordReply | undefined {
    if (path === '/v1/open') {
      const key = body.job.id;
      const filed = this.filed.get(key) ?? { id: -1, bytes: new Map(), have: new Map(), records: [] };
      this.filed.set(key, filed);
      filed.id = this.next++;
      return { stream: filed.id, tables: Object.fromEntries(filed.have) };
    }
    const filed = [...this.filed.values()].find((each) => each.id === body.stream);
    if (filed === undefined) return undefined;
    filed.records.push(body);
    for (const { table, to } of body.dropped ?? []) filed.have.set(table, to);
    if (body.end !== undefined) return { done: true };
    return body.dropped === undefined ? {} : { tables: Object.fromEntries(filed.have) };
  }

  private append(body: Buffer): AppendReply {
    const { tableRuns, bytes } = unpackAppend(body);
    const reply: AppendReply = { have: [] };
    for (const [i, [id, table, filePart, from]] of tableRuns.entries()) {
      const filed = [...this.filed.values()].find((each) => each.id === id);
      if (filed === undefined) {
        reply.unknown = [...(reply.unknown ?? []), id];
        continue;
      }
      const have = filed.have.get(table) ?? { part: 1, bytes: 0 };
      const follows = filePart === have.part || (filePart === have.part + 1 && have.bytes > 0 && from === 0);
      const at = filePart === have.part ? have.bytes : 0;
      if (follows && from <= at) {
        const fresh = bytes[i]!.subarray(at - from);
        filed.bytes.set(table, (filed.bytes.get(table) ?? '') + fresh.toString());
        filed.have.set(table, { part: filePart, bytes: at + fresh.length });
      }
      const now = filed.have.get(table) ?? have;
      reply.have.push([id, table, now.part, now.bytes]);
    }
    if (this.batch !== undefined) reply.batch = this.batch;
    return reply;
  }
}
