import * as http from 'node:http';
import * as https from 'node:https';
import type * as net from 'node:net';
import { code, reason } from '../../base/fault.ts';
import { unpackAppend } from '../../sinks/hub/body.ts';
import {
  type FilesRequest,
  LARGEST_BODY,
  LARGEST_SAMPLES,
  ONE_RECORDING,
  type OpenRequest,
  PROTOCOL,
  type RecordRequest,
  type SessionReply,
} from '../../sinks/hub/protocol.ts';
import { type Gatekeeper, type Identity, Refused } from '../../trust/identity.ts';
import { Unwritable } from '../keep/archive-trouble.ts';
import { Connections } from './connections.ts';
import { Busy, type Filing, Forbidden } from './filing.ts';
import { Unusable } from './names.ts';
import { newFiles, receivedRecordings } from './read-recording.ts';
import { type Refusals, refusals } from './refusals.ts';
import type { Sessions } from './sessions.ts';
import { Bodies, Budget, TooMuch } from './shares.ts';

export interface ServerOptions {
  filing: Filing;
  sessions: Sessions;
  gatekeeper: Gatekeeper;
  tls?: https.ServerOptions;
  /** Answers GET /v1/nodes. */
  nodes(query: URLSearchParams, identity: Identity, response: http.ServerResponse): void;
  /** Something that should not happen. */
  tell(text: string): void;
  /** Overall. */
  connections: number;
  /** From one address while nobody has proved who they are; each node and user has at least as many of their own. */
  connectionsPerAddress: number;
}

/** What requests may have sent before they are answered. */
const BODIES = { nodes: 128 << 20, small: 32 << 20, users: 32 << 20, owner: 16 << 20 };
/** The name of a node: so little that connections alone limit it. */
const LARGEST_SESSION = 4 << 10;
/** What a user or node may ask of all streams: at once, and a second. `tacho nodes --watch` asks every two seconds. */
const QUESTIONS = { most: 10, perSecond: 1 };
/** Of the files of a recording: a job that is followed is asked for every half second, and a large one comes in many answers. */
const READS = { most: 40, perSecond: 4 };
const ALL_QUESTIONS = { most: 100, perSecond: 20 };
/** A job and an agent's record as JSON, of which `{}` takes twenty times its bytes in memory; users have jobs of their own alone. */
const LARGEST_RECORDS = { node: 4 << 20, user: 1 << 20 };
const MOST_IDENTIFYING = 256;
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
/** Idle nodes send once a minute. */
const KEEP_ALIVE_MS = 180_000;
const CHECK_MS = 2_000;
const ANYONE: Identity = { kind: 'anyone' };

/** What agents send. */
const POSTS = ['/v1/append', '/v1/open', '/v1/record'];

/** A refusal that is known before the body is read. */
class Denied extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The hub's end of src/sinks/hub/protocol.ts, with limits to whatever may connect to it. */
export function createServer(options: ServerOptions): http.Server | https.Server {
  const limits: http.ServerOptions = {
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: 16 << 10,
    noDelay: true,
  };
  const refused = refusals(options.tell);
  // where nobody has to prove anything, everybody is on this machine
  const connections = options.gatekeeper.method === 'none' ? undefined : limitedConnections(options, refused);
  const requests = new Requests(options, refused, connections);
  const serve = (request: http.IncomingMessage, response: http.ServerResponse): void =>
    requests.serve(request, response);
  const server =
    options.tls === undefined
      ? http.createServer(limits, serve)
      : https.createServer({ ...limits, handshakeTimeout: HEADERS_MS, ...options.tls }, serve);
  server.on('checkContinue', serve);
  const noteNoise = (error: Error, socket: net.Socket): void => {
    const why = noise(error, options.tls !== undefined);
    if (why !== undefined) refused.note(socket.remoteAddress ?? 'somebody', 'noise', why);
  };
  server.on('clientError', (error: Error, socket: net.Socket) => {
    noteNoise(error, socket);
    socket.destroy();
  });
  server.on('tlsClientError', noteNoise);
  server.maxConnections = options.connections;
  server.maxHeadersCount = 64;
  server.setTimeout(KEEP_ALIVE_MS + REQUEST_MS);
  if (connections !== undefined) server.on('connection', (socket: net.Socket) => connections.add(socket));
  return server;
}

function limitedConnections({ connections, connectionsPerAddress }: ServerOptions, refused: Refusals): Connections {
  return new Connections({
    strangers: Math.ceil(connections / 4),
    perAddress: connectionsPerAddress,
    perNetwork: Math.max(connectionsPerAddress, Math.floor(connections / 16)),
    users: Math.ceil(connections / 4),
    perOwner: Math.max(connectionsPerAddress, Math.floor(connections / 32)),
    closed: (whose, why) => refused.note(whose, 'connections', why),
  });
}

/** Answers requests, each within what its sender may have. */
class Requests {
  private readonly options: ServerOptions;
  private readonly refused: Refusals;
  private readonly connections: Connections | undefined;
  private readonly bodies = new Bodies(BODIES);
  private readonly questions = new Budget(QUESTIONS.most, QUESTIONS.perSecond);
  private readonly reads = new Budget(READS.most, READS.perSecond);
  private readonly allQuestions = new Budget(ALL_QUESTIONS.most, ALL_QUESTIONS.perSecond);
  private identifying = 0;

  constructor(options: ServerOptions, refused: Refusals, connections: Connections | undefined) {
    this.options = options;
    this.refused = refused;
    this.connections = connections;
  }

  serve(request: http.IncomingMessage, response: http.ServerResponse): void {
    response.sendDate = false;
    try {
      const { url = '', method } = request;
      if (POSTS.includes(url) && method === 'POST') {
        const identity = this.identityOf(request);
        this.options.filing.allowSender(identity);
        this.collect(request, response, largestOf(url, identity), identity, (body) =>
          this.file(url, body, identity, response),
        );
      } else if (url === '/v1/session' && method === 'POST') {
        this.collect(request, response, LARGEST_SESSION, undefined, (body) =>
          this.beginSession(request, response, body),
        );
      } else if (method === 'GET' && (url === '/v1/nodes' || url.startsWith('/v1/nodes?'))) {
        const identity = this.identityOf(request);
        this.allowQuestion(identity);
        this.options.nodes(new URLSearchParams(url.slice('/v1/nodes?'.length)), identity, response);
      } else if (method === 'GET' && url === '/v1/recordings') {
        const identity = this.identityOf(request);
        this.allowQuestion(identity);
        respond(response, 200, JSON.stringify(receivedRecordings(this.options.filing, identity)));
      } else if (method === 'POST' && url === '/v1/files') {
        const identity = this.identityOf(request);
        this.allowQuestion(identity, this.reads);
        this.collect(request, response, LARGEST_RECORDS.user, identity, (body) => {
          const bytes = newFiles(this.options.filing, parse<FilesRequest>(body), identity);
          response.writeHead(200, ['Content-Type', 'application/octet-stream', 'Content-Length', String(bytes.length)]);
          response.end(bytes);
        });
      } else throw new Denied(404, 'this is a Tacho hub; there is nothing here');
    } catch (error) {
      this.refuse(response, error);
    }
  }

  private identityOf(request: http.IncomingMessage): Identity {
    if (this.options.gatekeeper.method === 'none') return ANYONE;
    const identity = this.sessionOf(request);
    if (identity === undefined) throw new Denied(401, 'who asks is not authenticated');
    this.connections?.prove(request.socket, ownerOf(identity), sharesOf(identity));
    return identity;
  }

  private file(url: string, body: Buffer, identity: Identity, response: http.ServerResponse): void {
    const { filing } = this.options;
    if (url === '/v1/append') {
      const { tableRuns, bytes } = unpacked(body);
      respond(response, 200, filing.append(tableRuns, bytes, identity));
      return;
    }
    const reply =
      url === '/v1/open'
        ? filing.open(openRequest(body), identity)
        : filing.record(parse<RecordRequest>(body), identity);
    if (reply !== undefined) respond(response, 200, JSON.stringify(reply));
    else respond(response, 404, errorBody('no such stream: open it again'));
  }

  /** To answer it all streams are gone through. */
  private allowQuestion(identity: Identity, questions = this.questions): void {
    if (identity.kind !== 'user' && identity.kind !== 'node') return;
    const owner = ownerOf(identity);
    if (questions.left(owner) < 1) throw new TooMuch(`${owner} asks too often; try again in a second`);
    if (this.allQuestions.left('') < 1) throw new Busy('too many ask at once; try again');
    questions.spend(owner, 1);
    this.allQuestions.spend('', 1);
  }

  private beginSession(request: http.IncomingMessage, response: http.ServerResponse, body: Buffer): void {
    const { node } = body.length === 0 ? {} : parse<{ node?: unknown }>(body);
    const claimed = typeof node === 'string' ? node : undefined;
    if (this.identifying >= MOST_IDENTIFYING) throw new Busy('too many at once; try again');
    this.identifying++;
    this.connections?.asking(request.socket, true);
    this.options.gatekeeper
      .identify(request.headers.authorization, claimed, request.socket.remoteAddress ?? '')
      .then((identity) => {
        this.connections?.prove(request.socket, ownerOf(identity), sharesOf(identity));
        const reply: SessionReply = {
          protocol: PROTOCOL,
          session: this.options.sessions.begin(identity),
          lasts: this.options.sessions.seconds,
        };
        respond(response, 200, JSON.stringify(reply));
      })
      .catch((error: unknown) => this.refuse(response, error, claimed))
      .finally(() => {
        this.identifying--;
        this.connections?.asking(request.socket, false);
      });
  }

  /** Reads a body whose size is known and allowed. `identity`: whose it is, if that is proved. */
  private collect(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    largest: number,
    identity: Identity | undefined,
    done: (body: Buffer) => void,
  ): void {
    const length = Number(request.headers['content-length'] ?? Number.NaN);
    if (!Number.isSafeInteger(length)) throw new Denied(411, 'say how long it is');
    if (length > largest) throw new Denied(413, `more than ${largest} bytes`);
    const answered =
      identity === undefined ? () => {} : this.bodies.take(identity, ownerOf(identity), sharesOf(identity), length);
    if (answered === undefined) throw new Denied(503, 'too much at once; try again');
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    request.on('data', (chunk: Buffer) => {
      if (first === undefined) first = chunk;
      else if (more === undefined) more = [first, chunk];
      else more.push(chunk);
    });
    request.on('end', () => {
      try {
        done(more === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(more));
      } catch (error) {
        this.refuse(response, error);
      }
    });
    request.on('close', () => {
      answered();
      first = undefined;
      more = undefined;
    });
  }

  private refuse(response: http.ServerResponse, error: unknown, who?: string): void {
    this.noteRefusal(response, error, who);
    if (response.headersSent || response.destroyed) return void response.destroy();
    // whatever else it is sending is not read
    if (error instanceof Denied) response.setHeader('Connection', 'close');
    respond(response, statusOf(error), errorBody(reason(error)));
  }

  private noteRefusal({ req, socket }: http.ServerResponse, error: unknown, who: string | undefined): void {
    const status = statusOf(error);
    // the filing has said so
    if (error instanceof Unwritable) return;
    if (status === 500)
      this.options.tell(`a request of ${who ?? this.whoIs(req) ?? 'somebody'} failed (${req.url}): ${reason(error)}`);
    // a session that has run out, or is of a hub before this one, is begun again
    else if (!(error instanceof Denied && status === 401 && req.headers.authorization?.startsWith('Bearer '))) {
      const proved = this.whoIs(req);
      const name = who ?? proved;
      const address = socket?.remoteAddress ?? req.socket.remoteAddress ?? 'somebody';
      this.refused.note(address, String(status), `${name === undefined ? '' : `${name}: `}${reason(error)}`, proved);
    }
  }

  private whoIs(request: http.IncomingMessage): string | undefined {
    const identity = this.sessionOf(request);
    return identity === undefined || identity.kind === 'anyone' ? undefined : nameOf(identity);
  }

  private sessionOf(request: http.IncomingMessage): Identity | undefined {
    const given = request.headers.authorization;
    return given?.startsWith('Bearer ') ? this.options.sessions.find(given.slice(7)) : undefined;
  }
}

const nameOf = (identity: Exclude<Identity, { kind: 'anyone' }>): string =>
  identity.kind === 'node' ? identity.nodes.join(',') : identity.user;

const largestOf = (url: string, { kind }: Identity): number =>
  url === '/v1/append' ? LARGEST_BODY : LARGEST_RECORDS[kind === 'user' ? 'user' : 'node'];

/** A token may be that of many nodes. */
const sharesOf = (identity: Identity): number => (identity.kind === 'node' ? identity.nodes.length : 1);

const ownerOf = (identity: Identity): string =>
  identity.kind === 'anyone' ? 'anyone' : `${identity.kind} ${nameOf(identity)}`;

function respond(response: http.ServerResponse, status: number, text: string): void {
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(text))]);
  response.end(text);
}

const errorBody = (error: string): string => JSON.stringify({ error });

function unpacked(body: Buffer): ReturnType<typeof unpackAppend> {
  try {
    return unpackAppend(body, LARGEST_SAMPLES);
  } catch (error) {
    throw new Unusable(`these are no samples: ${reason(error)}`);
  }
}

function openRequest(body: Buffer): OpenRequest {
  const request = parse<OpenRequest>(body);
  if (request.protocol === PROTOCOL) return request;
  throw new Unusable(`this hub speaks protocol ${PROTOCOL}, not ${request.protocol}: update Tacho`);
}

function parse<T>(body: Buffer): T {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new Unusable(`this is no JSON: ${reason(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unusable('this is no JSON object');
  return value as T;
}

function statusOf(error: unknown): number {
  if (error instanceof Denied) return error.status;
  if (error instanceof Unusable) return 400;
  if (error instanceof Refused) return 401;
  if (error instanceof Forbidden) return 403;
  if (error instanceof TooMuch) return 429;
  if (error instanceof Busy) return 503;
  if (error instanceof Unwritable) return error.whole ? 507 : ONE_RECORDING;
  return 500;
}

/** What came was no request. Undefined: nothing came, or the other end has gone. */
function noise(error: Error, secure: boolean): string | undefined {
  const errorCode = code(error) ?? '';
  if (errorCode === 'ERR_SSL_HTTP_REQUEST')
    return 'it speaks plain HTTP, this hub TLS: its address begins with https://';
  if (errorCode.startsWith('ERR_SSL_')) return `no TLS connection: ${reason(error).split('\n')[0]}`;
  if (!errorCode.startsWith('HPE_') || errorCode === 'HPE_INVALID_EOF_STATE') return undefined;
  const [first] = (error as { rawPacket?: Buffer }).rawPacket ?? [];
  if (!secure && first === TLS_HANDSHAKE) return 'it speaks TLS, this hub plain HTTP: its address begins with http://';
  return 'what it sends is no HTTP';
}

/** The first byte of whoever wants to speak TLS. */
const TLS_HANDSHAKE = 0x16;
