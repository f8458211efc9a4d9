import * as http from 'node:http';
import * as https from 'node:https';
import { reason } from '../base/fault.ts';
import type { Credentials } from '../trust/identity.ts';
import { PROTOCOL, type SessionReply } from './hub-protocol.ts';

export interface LinkOptions {
  credentials: Credentials;
  /** Who we are. */
  node: string;
  /** PEM certificates to trust instead of the system's. */
  ca?: string | Buffer;
  /** A request that has no answer by then has failed (default 20 s; connecting: 5 s). */
  requestSeconds?: number;
  connectSeconds?: number;
}

/** Why a hub cannot be used just now: it does not answer, or not as a hub does. */
export class HubAway extends Error {}

/** The hub answered, and said no. */
export class HubRefusal extends Error {
  readonly status: number;
  constructor(status: number, words: string) {
    super(words);
    this.status = status;
  }
}

interface Answer {
  status: number;
  text: string;
}

const LARGEST_ANSWER = 16 << 20;

/** One kept connection to one hub, with a session where the hub wants one. */
export class HubLink {
  readonly url: URL;
  private readonly options: LinkOptions;
  private readonly agent: http.Agent | https.Agent;
  private session: string | undefined;
  private current: http.ClientRequest | undefined;

  constructor(url: URL, options: LinkOptions) {
    this.url = url;
    this.options = options;
    const kept = { keepAlive: true, maxSockets: 1, maxFreeSockets: 1 };
    this.agent =
      url.protocol === 'https:'
        ? new https.Agent({ ...kept, ...(options.ca === undefined ? {} : { ca: options.ca }) })
        : new http.Agent(kept);
  }

  /** As a user writes it. */
  get address(): string {
    return `${this.url.protocol}//${this.url.host}`;
  }

  /** Sends JSON, or bytes as they are; throws `HubAway` or `HubRefusal`. */
  async post<T>(path: string, body: object | Buffer): Promise<T> {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    let answer = await this.authorized(path, bytes);
    if (answer.status === 401 && this.options.credentials.method !== 'none') {
      this.session = undefined;
      answer = await this.authorized(path, bytes);
    }
    return parsed<T>(answer);
  }

  close(): void {
    this.current?.destroy();
    this.agent.destroy();
  }

  private async authorized(path: string, body: Buffer): Promise<Answer> {
    const { credentials, node } = this.options;
    if (this.session === undefined && credentials.method !== 'none') {
      let authorization: string | undefined;
      try {
        authorization = await credentials.authorization(node);
      } catch (error) {
        throw new HubAway(`cannot prove who we are: ${reason(error)}`);
      }
      const request = Buffer.from(JSON.stringify({ protocol: PROTOCOL, node }));
      const reply = parsed<SessionReply>(await this.send('/v1/session', request, authorization));
      this.session = reply.session;
    }
    return this.send(path, body, this.session === undefined ? undefined : `Bearer ${this.session}`);
  }

  private async send(path: string, body: Buffer, authorization: string | undefined): Promise<Answer> {
    try {
      return await this.once(path, body, authorization);
    } catch (error) {
      // a kept connection that the hub has closed meanwhile: nothing is wrong with the hub
      if ((error as { stale?: boolean }).stale === true) return await this.once(path, body, authorization);
      throw error;
    }
  }

  private once(path: string, body: Buffer, authorization: string | undefined): Promise<Answer> {
    const { requestSeconds = 20, connectSeconds = 5 } = this.options;
    return new Promise((resolve, reject) => {
      const headers: http.OutgoingHttpHeaders = { 'content-length': body.length };
      if (authorization !== undefined) headers.authorization = authorization;
      const { request: ask } = this.url.protocol === 'https:' ? https : http;
      const request = ask(this.url, { method: 'POST', path, agent: this.agent, headers });
      this.current = request;
      let answered = false;
      const late = (seconds: number): NodeJS.Timeout =>
        setTimeout(() => request.destroy(new Error(`no answer within ${seconds} s`)), seconds * 1000);
      const whole = late(requestSeconds);
      let connecting: NodeJS.Timeout | undefined;
      request.on('socket', (socket) => {
        if (!socket.connecting) return;
        connecting = late(connectSeconds);
        socket.once(this.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
      });
      const end = (): void => {
        clearTimeout(whole);
        clearTimeout(connecting);
      };
      const fail = (error: Error): void => {
        end();
        const away = new HubAway(reason(error));
        const closed = /ECONNRESET|EPIPE|socket hang up/.test(
          `${(error as NodeJS.ErrnoException).code} ${error.message}`,
        );
        reject(Object.assign(away, { stale: request.reusedSocket && !answered && closed }));
      };
      request.on('error', fail);
      request.on('response', (response) => {
        answered = true;
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > LARGEST_ANSWER) request.destroy(new Error('its answer is too long'));
          else chunks.push(chunk);
        });
        response.on('error', fail);
        response.on('end', () => {
          end();
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() });
        });
      });
      request.end(body);
    });
  }
}

function parsed<T>({ status, text }: Answer): T {
  if (status >= 400) {
    const words = /^\s*\{/.test(text) ? ((tryJson(text) as { error?: string })?.error ?? text) : text;
    const clean = words.trim().replaceAll(/\s+/g, ' ').slice(0, 300);
    if (status === 408 || status === 429 || status >= 500) throw new HubAway(clean || `it answered ${status}`);
    throw new HubRefusal(status, clean || `it answered ${status}`);
  }
  const value = status === 200 ? tryJson(text) : undefined;
  if (typeof value !== 'object' || value === null) throw new HubAway('what answers there is no hub of Tacho');
  return value as T;
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
