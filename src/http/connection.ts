import * as net from 'node:net';
import { Readable } from 'node:stream';
import { stated } from '../base/stated.ts';
import { type Advice, CLOSED_UNANSWERED, connectionText } from '../trust/connection-text.ts';
import { ResponseReader } from './response-reader.ts';

export interface ConnectionOptions {
  /** PEM certificates to trust instead of the system's. */
  ca?: string | Buffer;
  /** What to do about a certificate that is not trusted (default: of a hub). */
  advice?: Advice;
  /** A request that has no whole answer by then has failed. */
  requestSeconds: number;
  /** Connecting, with TLS and all. */
  connectSeconds: number;
  /** More of an answer is not read. */
  mostBytes?: number;
}

export interface HttpRequest {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer;
}

export interface HttpResponse {
  status: number;
  text: string;
  /** By the other end's clock, epoch milliseconds; NaN: it does not say. */
  date: number;
  /** It came over a connection that was there before. */
  reused: boolean;
  /** A connection that was there before was cut, and the request was sent once more. */
  again: boolean;
}

/** An answer that is used while it comes; whoever takes no more of it ends the connection. */
export interface HttpStream {
  status: number;
  body: Readable;
}

/** What becomes of the bytes of an answer. */
interface Receiver {
  reader: ResponseReader;
  /** Some of it was read. */
  advance(): void;
  fail(error: Error): void;
}

interface Exchange extends Receiver {
  timer: NodeJS.Timeout;
  size: number;
  /** The connection has served before: that it is gone now says nothing about the other end. */
  reused: boolean;
}

const LARGEST_ANSWER = 16 << 20;
/** Up to here head and body go out as one piece. */
const SMALL = 64 << 10;

/** There was no connection: nothing of the request can have arrived. */
export class NotConnected extends Error {}

/** Nothing was answered on a connection that had been kept: it may just have been closed meanwhile. */
class Stale extends Error {}

/**
 * HTTP/1.1 over one connection that stays open, one request at a time: what agents need, and who asks a hub or a store.
 * node:http takes more than twice the CPU time for it (docs/decisions/http-client.md).
 */
export class Connection {
  private readonly url: URL;
  private readonly options: ConnectionOptions;
  private socket: net.Socket | undefined;
  private exchange: Exchange | undefined;
  private connecting: ((why: NotConnected) => void) | undefined;

  constructor(url: URL, options: ConnectionOptions) {
    this.url = url;
    this.options = options;
  }

  get isOpen(): boolean {
    return this.socket !== undefined;
  }

  async post(path: string, body: Buffer, authorization?: string): Promise<{ status: number; text: string }> {
    const headers = authorization === undefined ? {} : { Authorization: authorization };
    const { status, text } = await this.ask({ method: 'POST', path, headers, body });
    return { status, text };
  }

  /** The whole answer. Throws an Error that says why there is none. */
  async ask(request: HttpRequest): Promise<HttpResponse> {
    let chunks: Buffer[] = [];
    const { reader, reused, again } = await this.twice(request, (settle, fail) => {
      chunks = [];
      const reader = new ResponseReader((chunk) => chunks.push(chunk));
      return { reader, advance: () => reader.done && settle(), fail };
    });
    const text = Buffer.concat(chunks).toString('utf8');
    return { status: reader.status, text, date: Date.parse(reader.header('date') ?? ''), reused, again };
  }

  /** The answer as soon as it begins. */
  async stream(request: HttpRequest): Promise<HttpStream> {
    let body = new Readable();
    let hasBegun = false;
    const { reader } = await this.twice(request, (settle, fail) => {
      const reader = new ResponseReader((chunk) => {
        if (!body.push(chunk)) this.socket?.pause();
      });
      hasBegun = false;
      body = new Readable({
        read: () => void this.socket?.resume(),
        destroy: (error, done) => {
          if (this.exchange?.reader === reader) this.drop(new Error('given up'));
          done(error);
        },
      });
      const advance = (): void => {
        hasBegun ||= reader.status >= 200;
        if (hasBegun) settle();
        if (reader.done) body.push(null);
      };
      const failed = (error: Error): void => {
        // before it begins nobody has the body yet
        if (hasBegun) body.destroy(error);
        else fail(error);
      };
      return { reader, advance, fail: failed };
    });
    return { status: reader.status, body };
  }

  close(): void {
    this.connecting?.(new NotConnected('given up'));
    this.drop(new Error('given up'));
  }

  private async twice(request: HttpRequest, receive: Receive): Promise<Exchange & { again: boolean }> {
    try {
      return { ...(await this.once(request, receive)), again: false };
    } catch (error) {
      if (!(error instanceof Stale)) throw error;
      return { ...(await this.once(request, receive)), again: true };
    }
  }

  private async once(request: HttpRequest, receive: Receive): Promise<Exchange> {
    if (this.exchange !== undefined || this.connecting !== undefined) throw new Error('one request at a time');
    const reused = this.socket !== undefined;
    const socket = this.socket ?? (await this.connect());
    const { requestSeconds } = this.options;
    return new Promise((resolve, reject) => {
      const late = (): void =>
        this.drop(new Error(`it took the connection, but gave no answer within ${requestSeconds} s`));
      const timer = setTimeout(late, requestSeconds * 1000);
      const exchange = { ...receive(() => resolve(exchange), reject), timer, size: 0, reused };
      this.exchange = exchange;
      socket.ref();
      send(socket, this.head(request), request.body);
    });
  }

  private head({ method, path, headers = {}, body }: HttpRequest): string {
    let head = `${method} ${path} HTTP/1.1\r\nHost: ${this.url.host}\r\n`;
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
    return body === undefined ? `${head}\r\n` : `${head}Content-Length: ${body.length}\r\n\r\n`;
  }

  private async connect(): Promise<net.Socket> {
    const { protocol, hostname, port } = this.url;
    const { connectSeconds, ca, advice } = this.options;
    const secure = protocol === 'https:';
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const where = { host, port: Number(port || (secure ? 443 : 80)) };
    // TLS is loaded by those who have it
    const tls = secure ? await import('node:tls') : undefined;
    if (secure) (await import('../trust/extra-certificates.ts')).trustExtraCertificates();
    const name = net.isIP(host) > 0 ? {} : { servername: host };
    return new Promise((resolve, reject) => {
      const socket = tls === undefined ? net.connect(where) : tls.connect({ ...where, ...name, ...stated({ ca }) });
      const fail = (error: NotConnected): void => {
        clearTimeout(timer);
        this.connecting = undefined;
        socket.destroy();
        reject(error);
      };
      let isConnected = false;
      socket.once('connect', () => {
        isConnected = true;
      });
      const late = (): void => {
        const why = isConnected ? 'it took the connection, but TLS did not begin' : 'no connection';
        fail(new NotConnected(`${why} within ${connectSeconds} s`));
      };
      const timer = setTimeout(late, connectSeconds * 1000);
      const closed = (): void => fail(new NotConnected('it closed the connection'));
      const refused = (error: Error): void =>
        fail(new NotConnected(connectionText(error, false, advice), { cause: error }));
      this.connecting = fail;
      socket.on('error', refused);
      socket.once('close', closed);
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer);
        this.connecting = undefined;
        this.keep(socket);
        socket.off('error', refused);
        socket.off('close', closed);
        resolve(socket);
      });
    });
  }

  private keep(socket: net.Socket): void {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 30_000);
    socket.on('data', (chunk: Buffer) => this.take(socket, chunk));
    socket.on('error', (error) =>
      this.gone(socket, connectionText(error, this.isFirst && this.url.protocol === 'http:', this.options.advice)),
    );
    // whoever closes its side answers no more: an answer without a length ends here
    socket.on('end', () => this.ended(socket));
    socket.on('close', () => this.gone(socket, this.unanswered()));
  }

  /** Nothing was asked on this connection before. */
  private get isFirst(): boolean {
    return this.exchange?.reused === false;
  }

  private take(socket: net.Socket, chunk: Buffer): void {
    const { exchange } = this;
    if (socket !== this.socket) return;
    // nobody asked: the other end is about to close, or no HTTP server
    if (exchange === undefined) {
      this.drop(new Error('it speaks without being asked'));
      return;
    }
    exchange.size += chunk.length;
    if (exchange.size > (this.options.mostBytes ?? LARGEST_ANSWER)) this.drop(new Error('its answer is too long'));
    else this.read(exchange, () => exchange.reader.take(chunk));
  }

  private read(exchange: Exchange, work: () => void): void {
    const { reader, timer } = exchange;
    try {
      work();
    } catch (error) {
      this.drop(error as Error);
      return;
    }
    if (reader.done) {
      clearTimeout(timer);
      this.exchange = undefined;
      if (reader.last) this.drop(new Error('closed'));
      else this.socket?.resume().unref();
    }
    exchange.advance();
  }

  private ended(socket: net.Socket): void {
    const { exchange } = this;
    if (socket === this.socket && exchange !== undefined && exchange.size > 0)
      this.read(exchange, () => exchange.reader.end());
    this.gone(socket, this.unanswered());
  }

  private unanswered(): string {
    if ((this.exchange?.size ?? 0) > 0) return 'it closed the connection in the middle of its answer';
    const first = this.isFirst && this.url.protocol === 'http:';
    return first ? CLOSED_UNANSWERED : 'it closed the connection without an answer';
  }

  private gone(socket: net.Socket, why: string): void {
    if (socket !== this.socket) return;
    const stale = this.exchange?.reused === true && this.exchange.size === 0;
    this.drop(stale ? new Stale(why) : new Error(why));
  }

  private drop(why: Error): void {
    const { socket, exchange } = this;
    this.socket = undefined;
    this.exchange = undefined;
    socket?.destroy();
    if (exchange === undefined) return;
    clearTimeout(exchange.timer);
    exchange.fail(why);
  }
}

type Receive = (settle: () => void, fail: (error: Error) => void) => Receiver;

const NOTHING: Buffer = Buffer.alloc(0);

function send(socket: net.Socket, head: string, body = NOTHING): void {
  if (body.length <= SMALL) {
    socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]));
    return;
  }
  socket.cork();
  socket.write(head, 'latin1');
  socket.write(body);
  socket.uncork();
}
