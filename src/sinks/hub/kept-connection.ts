import * as net from 'node:net';
import { CLOSED_UNANSWERED, connectionWords } from '../../trust/certificate-words.ts';
import { type Answer, readAnswer } from './http-answer.ts';

export interface ConnectionOptions {
  /** PEM certificates to trust instead of the system's. */
  ca?: string | Buffer;
  /** A request that has no answer by then has failed. */
  requestSeconds: number;
  /** Connecting, with TLS and all. */
  connectSeconds: number;
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
  received: Buffer[];
  size: number;
  /** The connection has served before: that it is gone now says nothing about the other end. */
  reused: boolean;
}

const LARGEST_ANSWER = 16 << 20;
/** Up to here head and body go out as one piece. */
const SMALL = 64 << 10;

/** Nothing was answered on a connection that had been kept: it may just have been closed meanwhile. */
class Stale extends Error {}

/**
 * HTTP/1.1 over one connection that stays open, one request at a time. An agent posts once a second and needs nothing else:
 * node:http takes nearly twice the CPU time for it, and some megabytes.
 */
export class KeptConnection {
  private readonly url: URL;
  private readonly options: ConnectionOptions;
  private socket: net.Socket | undefined;
  private waiting: Waiting | undefined;
  private connecting: ((why: Error) => void) | undefined;

  constructor(url: URL, options: ConnectionOptions) {
    this.url = url;
    this.options = options;
  }

  /** Throws an Error that says why there is no answer. */
  async post(path: string, body: Buffer, authorization?: string): Promise<Answer> {
    try {
      return await this.once(path, body, authorization);
    } catch (error) {
      if (error instanceof Stale) return await this.once(path, body, authorization);
      throw error;
    }
  }

  close(): void {
    this.connecting?.(new Error('given up'));
    this.drop(new Error('given up'));
  }

  private async once(path: string, body: Buffer, authorization: string | undefined): Promise<Answer> {
    if (this.waiting !== undefined || this.connecting !== undefined) throw new Error('one request at a time');
    const reused = this.socket !== undefined;
    const socket = this.socket ?? (await this.connect());
    const { requestSeconds } = this.options;
    return new Promise((resolve, reject) => {
      const late = (): void =>
        this.drop(new Error(`it took the connection, but gave no answer within ${requestSeconds} s`));
      const timer = setTimeout(late, requestSeconds * 1000);
      this.waiting = { resolve, reject, timer, received: [], size: 0, reused };
      socket.ref();
      send(socket, this.head(path, body.length, authorization), body);
    });
  }

  private head(path: string, length: number, authorization: string | undefined): string {
    const proof = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`;
    return `POST ${path} HTTP/1.1\r\nHost: ${this.url.host}\r\n${proof}Content-Length: ${length}\r\n\r\n`;
  }

  private async connect(): Promise<net.Socket> {
    const { protocol, hostname, port } = this.url;
    const { connectSeconds, ca } = this.options;
    const secure = protocol === 'https:';
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const where = { host, port: Number(port || (secure ? 443 : 80)) };
    // TLS is loaded by those who have it
    const tls = secure ? await import('node:tls') : undefined;
    const name = net.isIP(host) > 0 ? {} : { servername: host };
    return new Promise((resolve, reject) => {
      const socket =
        tls === undefined
          ? net.connect(where)
          : tls.connect({ ...where, ...name, ...(ca === undefined ? {} : { ca }) });
      const fail = (error: Error): void => {
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
        fail(new Error(`${why} within ${connectSeconds} s`));
      };
      const timer = setTimeout(late, connectSeconds * 1000);
      const closed = (): void => fail(new Error('it closed the connection'));
      const refused = (error: Error): void => fail(new Error(connectionWords(error), { cause: error }));
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
      this.gone(socket, connectionWords(error, this.url.protocol === 'http:' && this.waiting?.reused === false)),
    );
    // whoever closes its side answers no more: an answer without a length ends here
    socket.on('end', () => this.ended(socket));
    socket.on('close', () => this.gone(socket, this.unanswered()));
  }

  private take(socket: net.Socket, chunk: Buffer): void {
    const { waiting } = this;
    if (socket !== this.socket) return;
    // nobody asked: the other end is about to close, or no HTTP server
    if (waiting === undefined) {
      this.drop(new Error('it speaks without being asked'));
      return;
    }
    waiting.received.push(chunk);
    waiting.size += chunk.length;
    if (waiting.size > LARGEST_ANSWER) this.drop(new Error('its answer is too long'));
    else this.look(waiting, false);
  }

  private look(waiting: Waiting, ended: boolean): void {
    const { received } = waiting;
    // the pieces of a long answer are joined once they may be all
    const bytes = received.length === 1 ? received[0]! : Buffer.concat(received);
    waiting.received = [bytes];
    let found: ReturnType<typeof readAnswer>;
    try {
      found = readAnswer(bytes, ended);
    } catch (error) {
      this.drop(error as Error);
      return;
    }
    if (found === undefined) return;
    clearTimeout(waiting.timer);
    this.waiting = undefined;
    if (found.last) this.drop(new Error('closed'));
    else this.socket?.unref();
    waiting.resolve(found.answer);
  }

  private ended(socket: net.Socket): void {
    if (socket === this.socket && this.waiting !== undefined && this.waiting.size > 0) this.look(this.waiting, true);
    this.gone(socket, this.unanswered());
  }

  private unanswered(): string {
    if ((this.waiting?.size ?? 0) > 0) return 'it closed the connection in the middle of its answer';
    const first = this.url.protocol === 'http:' && this.waiting?.reused === false;
    return first ? CLOSED_UNANSWERED : 'it closed the connection without an answer';
  }

  private gone(socket: net.Socket, why: string): void {
    if (socket !== this.socket) return;
    const stale = this.waiting?.reused === true && this.waiting.size === 0;
    this.drop(stale ? new Stale(why) : new Error(why));
  }

  private drop(why: Error): void {
    const { socket, waiting } = this;
    this.socket = undefined;
    this.waiting = undefined;
    socket?.destroy();
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    waiting.reject(why);
  }
}

function send(socket: net.Socket, head: string, body: Buffer): void {
  if (body.length <= SMALL) {
    socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]));
    return;
  }
  socket.cork();
  socket.write(head, 'latin1');
  socket.write(body);
  socket.uncork();
}
