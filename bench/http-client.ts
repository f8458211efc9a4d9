import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '../src/http/connection.ts';
import type { Row } from './row.ts';

/** CPU time of one request of an agent (4 KiB, answered in a few bytes): Tacho's client beside node:http's with keepAlive. */

const BODY = Buffer.alloc(4096, 'a');
const RUNS = 5;
const KINDS = ['tacho', 'node:http', 'fetch'] as const;
type Kind = (typeof KINDS)[number];

export async function bench(): Promise<Row[]> {
  const server = spawn(process.execPath, [import.meta.filename, 'server'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [port] = await once(server.stdout, 'data');
    const rows: Row[] = [];
    for (const [what, count, pause] of [
      ['one after the other', 4000, 0],
      ['50 a second', 300, 20],
    ] as const) {
      const secondsByKind = new Map<Kind, number[]>(KINDS.map((kind) => [kind, []]));
      for (let run = 0; run < RUNS; run++)
        for (const kind of KINDS) {
          const clientCommand = [
            import.meta.filename,
            'client',
            kind,
            String(port).trim(),
            String(count),
            String(pause),
          ];
          secondsByKind.get(kind)!.push(Number(execFileSync(process.execPath, clientCommand, { encoding: 'utf8' })));
        }
      const [own, node, fetched] = KINDS.map((kind) => secondsByKind.get(kind)!.sort((a, b) => a - b)[RUNS >> 1]!);
      rows.push({
        what: `CPU time of a request, ${what}`,
        must: '≤ 0.7 ×',
        measured: own!,
        unit: 'µs',
        peer: `node:http ${node!.toFixed(0)} µs, fetch ${fetched!.toFixed(0)} µs`,
        ratio: own! / node!,
      });
    }
    return rows;
  } finally {
    server.kill();
  }
}

function posting(kind: Kind, url: URL): () => Promise<unknown> {
  const authorization = 'Bearer 0123456789abcdef';
  if (kind === 'tacho') {
    const connection = new Connection(url, { requestSeconds: 20, connectSeconds: 5 });
    return () => connection.post('/v1/append', BODY, authorization);
  }
  const headers = { authorization, 'content-length': String(BODY.length) };
  if (kind === 'fetch') return async () => (await fetch(url, { method: 'POST', body: BODY, headers })).text();
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  return () =>
    new Promise((resolve, reject) => {
      const request = http.request(url, { method: 'POST', agent, timeout: 20_000, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      });
      request.on('error', reject);
      request.on('timeout', () => request.destroy(new Error('no answer')));
      request.end(BODY);
    });
}

/** Microseconds of CPU time a request, without those of waiting alone. */
async function client(kind: Kind, port: string, count: number, pause: number): Promise<void> {
  const post = posting(kind, new URL(`http://127.0.0.1:${port}`));
  for (let i = 0; i < 20; i++) await post();
  const spent = async (work: () => Promise<unknown>): Promise<number> => {
    const before = process.cpuUsage();
    for (let i = 0; i < count; i++) {
      await work();
      if (pause > 0) await sleep(pause);
    }
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const requests = await spent(post);
  const idle = pause > 0 ? await spent(async () => {}) : 0;
  process.stdout.write(`${(requests - idle) / count}\n`, () => process.exit());
}

function server(): void {
  const made = http.createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200, { 'content-length': 2 }).end('{}'));
  });
  made.listen(0, '127.0.0.1', () => console.log((made.address() as AddressInfo).port));
}

const [, file, role, kind, port, count, pause] = process.argv;
if (file === import.meta.filename && role === 'server') server();
if (file === import.meta.filename && role === 'client') await client(kind as Kind, port!, Number(count), Number(pause));
