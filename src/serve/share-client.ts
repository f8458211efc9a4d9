import { Fault, usage } from '../base/fault.ts';
import { askOnce } from '../http/ask-once.ts';
import type { HttpRequest, HttpResponse } from '../http/connection.ts';
import { unreachableText } from '../trust/connection-text.ts';
import type { JobList, JobShare, ListedJob, MadeShare } from './api.ts';

const PATIENCE_SECONDS = 120;

/** Asks a page that is served about links to its jobs. */
export class ShareClient {
  private readonly origin: string;
  private readonly headers: Record<string, string>;

  /** `address`: what `tacho serve` printed. */
  constructor(address: string) {
    const url = URL.parse(address);
    if (url === null || !/^https?:$/.test(url.protocol))
      throw usage(`"${address}" is no address of a page`, 'give --server what tacho serve printed');
    const token = url.searchParams.get('token');
    this.origin = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
    this.headers = { accept: 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) };
  }

  async make(name: string, days: number): Promise<MadeShare> {
    const { id } = await this.jobNamed(name);
    return this.ask('POST', `/api/jobs/${encodeURIComponent(id)}/shares`, { days });
  }

  list(): Promise<JobShare[]> {
    return this.ask('GET', '/api/shares');
  }

  revoke(id: string): Promise<JobShare> {
    return this.ask('DELETE', `/api/shares/${encodeURIComponent(id)}`);
  }

  private async jobNamed(name: string): Promise<ListedJob> {
    const { jobs } = await this.ask<JobList>('GET', '/api/jobs');
    const namedJobs = jobs.filter((each) => each.job === name || each.path === name);
    if (namedJobs.length === 1) return namedJobs[0]!;
    if (namedJobs.length > 1)
      throw usage(
        `the page shows ${namedJobs.length} jobs ${name}`,
        `name one by its recording: ${namedJobs.map(({ path }) => path).join(', ')}`,
      );
    throw new Fault(`the page shows no job ${name}`, { hint: 'its table of jobs has the ids' });
  }

  private async ask<T>(method: HttpRequest['method'], path: string, body?: object): Promise<T> {
    const sent = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) };
    const headers = body === undefined ? this.headers : { ...this.headers, 'content-type': 'application/json' };
    let response: HttpResponse;
    try {
      response = await askOnce(new URL(`${this.origin}${path}`), PATIENCE_SECONDS, { method, headers, ...sent });
    } catch (error) {
      throw new Fault(`${this.origin} does not answer: ${unreachableText(error)}`, {
        hint: 'is tacho serve still running?',
      });
    }
    if (response.status === 401)
      throw new Fault(`${this.origin} does not know you`, {
        hint: 'give --server the whole address that tacho serve printed; where people log in, make links on the page of the job',
      });
    const value = objectOf(response.text);
    const isOk = response.status >= 200 && response.status < 300;
    if (isOk && value === undefined) throw new Fault(`what answers at ${this.origin} is no page of Tacho`);
    if (isOk) return value as T;
    const { title = `status ${response.status}`, detail } = (value ?? {}) as { title?: string; detail?: string };
    throw new Fault([title, detail].filter(Boolean).join(': '));
  }
}

function objectOf(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
