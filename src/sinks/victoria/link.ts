import type { Agent as HttpAgent, RequestOptions } from 'node:http';
import { reason } from '../../base/fault.ts';

/** How long one request may take. */
const PATIENCE_MS = 60_000;
/** It says in which second it was started: within so long it may have been started twice. */
const UNCERTAIN_SECONDS = 2;
/** The beginning of an answer that says what was wrong. */
const LONGEST_WORDS = 300;
/** Nothing that it is asked for is longer: its metrics have about 100 KiB. */
const LONGEST_ANSWER = 1 << 20;

interface Reply {
  status: number;
  text: string;
  /** By its clock, in milliseconds. */
  date: number;
  /** It went over a connection that was there before. */
  kept: boolean;
}

/**
 * One kept connection to a VictoriaMetrics. While it lasts, the same process is on the other side; whenever a new one is
 * made, the moment at which the process started tells whether it is still the same.
 */
export class VictoriaLink {
  /** Grows each time that the other side is seen to have been started anew: what it was sent last may be lost. */
  restarts = 0;
  private readonly base: URL;
  private readonly authorization: string | undefined;
  private http: Pick<typeof import('node:http'), 'request'> | undefined;
  private agent: HttpAgent | undefined;
  private connected = false;
  private failed = false;
  /** Behind a balancer there may be several. */
  private readonly known = new Set<string>();
  private started: string | undefined;
  /** When it will be older than the second in which it was started, by this machine's clock. */
  private certain = Number.POSITIVE_INFINITY;

  constructor(url: string) {
    this.base = new URL(url);
    const { username, password } = this.base;
    if (username !== '' || password !== '') {
      const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      this.authorization = `Basic ${Buffer.from(pair).toString('base64')}`;
    }
    this.base.username = '';
    this.base.password = '';
  }

  /** Makes sure that there is a connection, and looks who is there when it is new. Throws when there is nobody. */
  async ready(): Promise<void> {
    if (!this.connected) await this.look();
  }

  /** Sends lines of /api/v1/import. Returning means that they were taken, not yet that they would survive a kill -9. */
  async post(lines: string): Promise<void> {
    const { gzip } = await import('node:zlib');
    const body = await new Promise<Buffer>((resolve, reject) => {
      gzip(lines, { level: 1 }, (error, packed) => (error === null ? resolve(packed) : reject(error)));
    });
    const reply = await this.ask('POST', '/api/v1/import', body);
    if (reply.status >= 300) throw new Error(`it answers ${reply.status}: ${reply.text}`);
    if (!reply.kept) await this.look();
  }

  /** Whether it is still there. */
  async ping(): Promise<void> {
    const reply = await this.ask('GET', '/health');
    if (reply.status >= 500) throw new Error(`it answers ${reply.status}: ${reply.text}`);
    if (!reply.kept) await this.look();
  }

  /** When the process on the other side was started: tells it apart from others. Undefined while it may not. */
  get server(): string | undefined {
    return performance.now() >= this.certain ? this.started : undefined;
  }

  close(): void {
    this.agent?.destroy();
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
    } else if (!this.known.has(started) || (this.failed && age < UNCERTAIN_SECONDS)) {
      if (this.known.size > 0) this.restarts++;
      this.known.add(started);
    }
    this.started = started;
    this.certain = performance.now() + (UNCERTAIN_SECONDS - age) * 1000;
    this.failed = false;
  }

  private async ask(method: string, path: string, body?: Buffer): Promise<Reply> {
    const secure = this.base.protocol === 'https:';
    if (this.http === undefined || this.agent === undefined) {
      const module = secure ? await import('node:https') : await import('node:http');
      this.http = module;
      this.agent = new module.Agent({ keepAlive: true, maxSockets: 1 });
    }
    const { http, agent, base } = this;
    const options: RequestOptions = {
      method,
      agent,
      hostname: base.hostname.replace(/^\[|\]$/g, ''),
      port: base.port === '' ? (secure ? 443 : 80) : base.port,
      path: `${base.pathname.replace(/\/+$/, '')}${path}${base.search}`,
      headers: {
        ...(this.authorization === undefined ? {} : { Authorization: this.authorization }),
        ...(body === undefined
          ? {}
          : { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip', 'Content-Length': body.length }),
      },
      timeout: PATIENCE_MS,
    };
    try {
      return await new Promise<Reply>((resolve, reject) => {
        const request = http.request(options, (response) => {
          const chunks: Buffer[] = [];
          let length = 0;
          response.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
            length += chunk.length;
            if (length <= LONGEST_ANSWER) return;
            reject(new Error('its answer is too long'));
            request.destroy();
          });
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            const status = response.statusCode ?? 0;
            const date = Date.parse(response.headers.date ?? '');
            resolve({
              date,
              status,
              text: status >= 300 ? text.trim().slice(0, LONGEST_WORDS) : text,
              kept: request.reusedSocket,
            });
          });
        });
        request.on('socket', (socket) => {
          if (request.reusedSocket) return;
          this.connected = true;
          socket.once('close', () => {
            this.connected = false;
          });
        });
        request.on('timeout', () => request.destroy(new Error(`no answer within ${PATIENCE_MS / 1000} s`)));
        request.on('error', reject);
        request.end(body);
      });
    } catch (error) {
      this.connected = false;
      this.failed = true;
      throw new Error(reason(error), { cause: error });
    }
  }
}
