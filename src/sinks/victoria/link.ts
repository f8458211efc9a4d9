import { basicAuthorization } from '../../http/basic-authorization.ts';
import { Connection, type HttpResponse } from '../../http/connection.ts';
import { EXTRA_CERTIFICATES } from '../../trust/connection-text.ts';

/** How long one request may take, and connecting. */
const PATIENCE_SECONDS = 60;
/** It says in which second it was started: within so long it may have been started twice. */
const UNCERTAIN_SECONDS = 2;
/** The beginning of an answer that says what was wrong. */
const LONGEST_WORDS = 300;
/** Nothing that it is asked for is longer: its metrics have about 100 KiB. */
const LONGEST_ANSWER = 1 << 20;

/**
 * One kept connection to a VictoriaMetrics. While it lasts, the same process is on the other side; whenever a new one is
 * made, the moment at which the process started tells whether it is still the same.
 */
export class VictoriaLink {
  /** Grows each time that the other side is seen to have been started anew: what it was sent last may be lost. */
  restarts = 0;
  private readonly base: URL;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly connection: Connection;
  private failed = false;
  /** Behind a balancer there may be several. */
  private readonly startTimes = new Set<string>();
  private started: string | undefined;
  /** When it will be older than the second in which it was started, by this machine's clock. */
  private certain = Number.POSITIVE_INFINITY;

  constructor(url: string) {
    this.base = new URL(url);
    this.headers = basicAuthorization(this.base);
    this.connection = new Connection(this.base, {
      requestSeconds: PATIENCE_SECONDS,
      connectSeconds: PATIENCE_SECONDS,
      mostBytes: LONGEST_ANSWER,
      advice: EXTRA_CERTIFICATES,
    });
  }

  /** Makes sure that there is a connection, and looks who is there when it is new. Throws when there is nobody. */
  async ready(): Promise<void> {
    if (!this.connection.isOpen) await this.look();
  }

  /** Sends lines of /api/v1/import. Returning means that they were taken, not yet that they would survive a kill -9. */
  async post(lines: string): Promise<void> {
    const { gzip } = await import('node:zlib');
    const body = await new Promise<Buffer>((resolve, reject) => {
      gzip(lines, { level: 1 }, (error, packed) => (error === null ? resolve(packed) : reject(error)));
    });
    const reply = await this.ask('POST', '/api/v1/import', body);
    if (reply.status >= 300) throw new Error(`it answers ${reply.status}: ${reply.text}`);
    if (!reply.reused) await this.look();
  }

  /** Whether it is still there. */
  async ping(): Promise<void> {
    const reply = await this.ask('GET', '/health');
    if (reply.status >= 500) throw new Error(`it answers ${reply.status}: ${reply.text}`);
    if (!reply.reused) await this.look();
  }

  /** When the process on the other side was started: tells it apart from others. Undefined while it may not. */
  get server(): string | undefined {
    return performance.now() >= this.certain ? this.started : undefined;
  }

  close(): void {
    this.connection.close();
  }

  /** Asks when the process was started. */
  private async look(): Promise<void> {
    const { status, text, date } = await this.ask('GET', '/metrics');
    if (status >= 500 || status === 401 || status === 403) throw new Error(`it answers ${status}: ${text}`);
    const started = /^process_start_time_seconds (\S+)$/m.exec(text)?.[1];
    const age = date / 1000 - Number(started);
    if (started === undefined) {
      // a proxy that shows no metrics: after an error the worst is assumed
      if (this.failed) this.restarts++;
    } else if (!this.startTimes.has(started) || (this.failed && age < UNCERTAIN_SECONDS)) {
      if (this.startTimes.size > 0) this.restarts++;
      this.startTimes.add(started);
    }
    this.started = started;
    this.certain = performance.now() + (UNCERTAIN_SECONDS - age) * 1000;
    this.failed = false;
  }

  private async ask(method: 'GET' | 'POST', path: string, body?: Buffer): Promise<HttpResponse> {
    const { base, headers } = this;
    const packed = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
    const request = { method, path: `${base.pathname.replace(/\/+$/, '')}${path}${base.search}` };
    try {
      const storeReply = await this.connection.ask(
        body === undefined ? { ...request, headers } : { ...request, headers: { ...headers, ...packed }, body },
      );
      if (storeReply.again) this.failed = true;
      return storeReply.status < 300
        ? storeReply
        : { ...storeReply, text: storeReply.text.trim().slice(0, LONGEST_WORDS) };
    } catch (error) {
      this.failed = true;
      throw error;
    }
  }
}
