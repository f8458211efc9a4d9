import { Fault, reason, usage } from '../base/fault.ts';
import type { JobList, JobShare, ListedJob, MadeShare } from './api.ts';

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

  private async ask<T>(method: string, path: string, body?: object): Promise<T> {
    const sent =
      body === undefined
        ? { headers: this.headers }
        : { headers: { ...this.headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
    let response: Response;
    try {
      response = await fetch(`${this.origin}${path}`, { method, ...sent });
    } catch (error) {
      throw new Fault(`${this.origin} does not answer: ${reason((error as Error).cause ?? error)}`, {
        hint: 'is tacho serve still running?',
      });
    }
    if (response.status === 401)
      throw new Fault(`${this.origin} does not know you`, {
        hint: 'give --server the whole address that tacho serve printed; where people log in, make links on the page of the job',
      });
    const value = (await response.json().catch(() => ({}))) as T & { title?: string; detail?: string };
    if (response.ok) return value;
    throw new Fault([value.title ?? `status ${response.status}`, value.detail].filter(Boolean).join(': '));
  }
}
