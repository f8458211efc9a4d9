import { reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import { Connection } from '../../http/connection.ts';
import type { Job } from '../../recording/folder/job.ts';
import { jobInShort } from '../../recording/folder/node-names.ts';
import type { Credentials } from '../../trust/identity.ts';
import { PROTOCOL, type SessionReply } from './protocol.ts';

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

type Answer = Awaited<ReturnType<Connection['post']>>;

/** Why a hub cannot be used just now: it does not answer, or not as a hub does. */
export class HubAway extends Error {}

/** It answers, and has no room just now. */
export class HubBusy extends HubAway {}

/** The hub answered, and said no. */
export class HubRefusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** One kept connection to one hub, with a session where the hub wants one. */
export class HubLink {
  readonly url: URL;
  private readonly options: LinkOptions;
  private readonly connection: Connection;
  private session: string | undefined;

  constructor(url: URL, options: LinkOptions) {
    this.url = url;
    this.options = options;
    const { requestSeconds = 20, connectSeconds = 5, ca } = options;
    this.connection = new Connection(url, { requestSeconds, connectSeconds, ...stated({ ca }) });
  }

  /** As a user writes it. */
  get address(): string {
    return `${this.url.protocol}//${this.url.host}`;
  }

  /** Sends JSON, or bytes as they are; throws `HubAway` or `HubRefusal`. */
  async post<T>(path: string, body: object | Buffer): Promise<T> {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(inShort(body)));
    let hubReply = await this.authorized(path, bytes);
    if (hubReply.status === 401 && this.options.credentials.method !== 'none') {
      this.session = undefined;
      hubReply = await this.authorized(path, bytes);
    }
    return parsed<T>(hubReply);
  }

  close(): void {
    this.connection.close();
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
      const hubReply = await this.send('/v1/session', request, authorization);
      if (hubReply.status === 500) throw new HubAway('it cannot say whether it knows us');
      this.session = parsed<SessionReply>(hubReply).session;
    }
    return this.send(path, body, this.session === undefined ? undefined : `Bearer ${this.session}`);
  }

  private async send(path: string, body: Buffer, authorization: string | undefined): Promise<Answer> {
    try {
      return await this.connection.post(path, body, authorization);
    } catch (error) {
      throw new HubAway(reason(error));
    }
  }
}

/** A job's many nodes are sent in short. */
const inShort = (body: object & { job?: Job }): object =>
  body.job === undefined ? body : { ...body, job: jobInShort(body.job) };

function parsed<T>({ status, text }: Answer): T {
  if (status >= 400) {
    const message = /^\s*\{/.test(text) ? ((tryJson(text) as { error?: string })?.error ?? text) : text;
    const clean = message.trim().replaceAll(/\s+/g, ' ').slice(0, 300);
    if (status === 503) throw new HubBusy(clean || `it answered ${status}`);
    // 500: it failed at this request; the next one may be about something else
    if (status === 408 || status === 429 || status > 500) throw new HubAway(clean || `it answered ${status}`);
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
