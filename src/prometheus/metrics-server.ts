import * as fs from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Fault, reason, usage } from '../base/fault.ts';
import { isFleet } from '../recording/folder/fleet.ts';
import { type ListenForm, parseListen } from '../trust/listen-address.ts';
import { isSameSecret, readSecret } from '../trust/token.ts';
import { type Exposed, type ExpositionOptions, exposition } from './exposition.ts';

export interface MetricsOptions extends Omit<ExpositionOptions, 'openMetrics'> {
  /** `127.0.0.1:9471`, `:9471` (all addresses) or `[::1]:9471`. */
  listen: string;
  /** What Prometheus must say (`Authorization: Bearer …`); needed beyond loopback, and for what belongs to a job. */
  tokenFile?: string;
  /** PEM files: https instead of http. */
  certificate?: string;
  key?: string;
}

export interface MetricsServer {
  /** http://127.0.0.1:9471/metrics */
  readonly address: string;
  /** Series of jobs are there, too: whoever asks has to know the token. */
  readonly showsJobs: boolean;
  close(): Promise<void>;
}

const TEXT = 'text/plain; version=0.0.4; charset=utf-8';
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
/** Whoever asks again so soon gets the same: anybody on the node may ask, and samples must not wait for them. */
const KEPT_MS = 500;
/** Scrapes take milliseconds: of more connections than this most are nobody's who scrapes. */
const MOST_CONNECTIONS = 32;

/**
 * Answers GET /metrics with the newest samples of what is being recorded.
 *
 *     const server = await serveMetrics({ listen: '127.0.0.1:9471' }, () => agents.map(exposedOf));
 */
export async function serveMetrics(
  options: MetricsOptions,
  recordings: () => readonly Exposed[],
  steady: () => number = () => performance.now(),
): Promise<MetricsServer> {
  const { host, port, loopback } = parseListen(options.listen, LISTEN);
  const token = options.tokenFile === undefined ? undefined : readToken(options.tokenFile);
  // everybody on the node can reach loopback: whose jobs run there, and what they use, is not for everybody
  const visible = (): readonly Exposed[] =>
    token === undefined ? recordings().filter(({ job }) => isFleet(job)) : recordings();
  if (!loopback && token === undefined) {
    throw usage(
      `metrics.listen: ${options.listen} can be reached from other machines, and nobody would have to say who they are`,
      'listen on 127.0.0.1, or set metrics.token_file to a file with the token that Prometheus sends',
    );
  }
  const kept = new Map<boolean, { body: string; until: number }>();
  const bodyOf = (openMetrics: boolean): string => {
    const before = kept.get(openMetrics);
    if (before !== undefined && steady() < before.until) return before.body;
    const body = exposition(visible(), { ...options, openMetrics });
    kept.set(openMetrics, { body, until: steady() + KEPT_MS });
    return body;
  };
  const handleRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const say = (status: number, responseText: string, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...headers }).end(`${responseText}\n`);
    };
    const refused = refusal(request, token);
    if (refused !== undefined) {
      say(...refused);
      return;
    }
    try {
      const openMetrics = prefersOpenMetrics(request.headers.accept);
      const body = bodyOf(openMetrics);
      response.writeHead(200, {
        'Content-Type': openMetrics ? OPEN_METRICS : TEXT,
        'Content-Length': Buffer.byteLength(body),
      });
      response.end(request.method === 'HEAD' ? undefined : body);
    } catch (error) {
      say(500, reason(error));
    }
  };
  const server = await makeServer(options, handleRequest);
  keepRoom(server);
  server.headersTimeout = 10_000;
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new Fault(`cannot listen on ${options.listen}: ${reason(error)}`, {
          hint: 'metrics.listen chooses another address',
        }),
      ),
    );
    server.listen({ port, ...(host === '::' ? {} : { host }) }, resolve);
  });
  const bound = server.address() as AddressInfo;
  const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  // whoever has begun to stop must not be kept by it
  server.unref();
  return {
    showsJobs: token !== undefined,
    address: `${options.certificate === undefined ? 'http' : 'https'}://${shown}:${bound.port}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Why a request gets no metrics: status, words, headers. */
function refusal(
  { url = '', method, headers }: IncomingMessage,
  token: string | undefined,
): [number, string, Record<string, string>] | undefined {
  if (url.split('?')[0] !== '/metrics') return [404, 'the metrics are at /metrics', {}];
  if (method !== 'GET' && method !== 'HEAD') return [405, 'only GET', { Allow: 'GET, HEAD' }];
  if (token !== undefined && !isSameSecret(headers.authorization ?? '', `Bearer ${token}`)) {
    return [401, 'the token of metrics.token_file is needed', { 'WWW-Authenticate': 'Bearer' }];
  }
  return undefined;
}

async function makeServer(
  { certificate, key }: MetricsOptions,
  handleRequest: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Server> {
  if (certificate === undefined || key === undefined) return (await import('node:http')).createServer(handleRequest);
  const cert = fs.readFileSync(certificate);
  return (await import('node:https')).createServer(
    { cert, key: fs.readFileSync(key) },
    handleRequest,
  ) as unknown as Server;
}

const LISTEN: ListenForm = {
  setting: 'metrics.listen',
  hint: 'it looks like 127.0.0.1:9471, or :9471 for all addresses',
};

/** The token, from a file that nobody else can read. */
function readToken(file: string): string {
  const text = readSecret(file, 'the token', 'metrics.token_file names it').trim();
  if (text === '') throw new Fault(`the token in ${file} (metrics.token_file) is empty`);
  return text;
}

/** Connections are served as they come; those that say nothing make room for new ones, so that nobody locks Prometheus out. */
function keepRoom(server: Server): void {
  const open = new Set<Socket>();
  const idle = (socket: Socket): boolean => (socket.bytesRead ?? 0) === 0;
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size <= MOST_CONNECTIONS) return;
    // sets keep their order: the oldest that has said nothing, else the oldest
    let oldest: Socket | undefined;
    for (const each of open) {
      oldest ??= each;
      if (!idle(each)) continue;
      oldest = each;
      break;
    }
    oldest?.destroy();
  });
}

/** Whether OpenMetrics is liked better than (or as much as) plain text by who asks. */
export function prefersOpenMetrics(accept = ''): boolean {
  let open = 0;
  let text = 0;
  for (const mediaRange of accept.split(',')) {
    const [type, ...parameters] = mediaRange.split(';').map((word) => word.trim().toLowerCase());
    const q = Number(parameters.find((word) => word.startsWith('q='))?.slice(2) ?? 1);
    if (type === 'application/openmetrics-text') open = Math.max(open, q);
    if (type === 'text/plain') text = Math.max(text, q);
  }
  return open > 0 && open >= text;
}
