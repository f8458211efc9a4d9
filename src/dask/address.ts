import * as fs from 'node:fs';
import { Fault, reason, usage } from '../base/fault.ts';
import { askOnce } from '../http/ask-once.ts';
import { NotHttp } from '../http/response-reader.ts';
import { unreachableText } from '../trust/connection-text.ts';

/** Where a scheduler listens. */
export interface SchedulerAddress {
  readonly text: string;
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

/** What a user may name a cluster by. */
export interface ClusterAddress {
  scheduler?: SchedulerAddress;
  /** The dashboard, without a slash at its end. */
  dashboard?: string;
  /** The address of a scheduler that only its own Python process can connect to; it has a dashboard. */
  inProcess?: string;
}

const FORMS = 'write it like tcp://HOST:8786, tls://HOST:8786, http://HOST:8787 or the name of a scheduler file';

export const inProcessText = (address: string): string =>
  `${address} is inside one Python process: nobody else can connect to it`;

const isInProcess = (address: string): boolean => address.startsWith('inproc://');

/** tcp://host:port or tls://host:port; other protocols of Dask are refused. */
export function parseScheduler(text: string): SchedulerAddress {
  const addressMatch = /^(?:(tcp|tls):\/\/)?(\[[^\]]+\]|[^:/[\]]+):(\d{1,5})\/?$/.exec(text);
  if (addressMatch === null) {
    const protocol = /^([a-z]+):\/\//.exec(text)?.[1];
    if (isInProcess(text))
      throw new Fault(inProcessText(text), {
        hint: 'name its dashboard (http://HOST:8787), or use LocalCluster(processes=True), or tacho.dask.Monitor inside that process',
      });
    if (protocol === 'ws' || protocol === 'wss' || protocol === 'ucx')
      throw new Fault(`${text}: Tacho does not speak Dask over ${protocol}`, { hint: FORMS });
    throw usage(`"${text}" is no address of a Dask scheduler`, FORMS);
  }
  const [, protocol = 'tcp', host, port] = addressMatch;
  if (Number(port) < 1 || Number(port) > 65535) throw usage(`"${text}" has no usable port`, FORMS);
  return {
    text: `${protocol}://${host}:${port}`,
    host: host!.replace(/^\[|\]$/g, ''),
    port: Number(port),
    secure: protocol === 'tls',
  };
}

/** From what the user gives: an address, the dashboard, or a scheduler file. */
export async function findCluster(given: string): Promise<ClusterAddress> {
  if (/^https?:\/\//.test(given)) return fromDashboard(given);
  if (/^[a-z]+:\/\//.test(given)) return { scheduler: parseScheduler(given) };
  if (fs.existsSync(given)) return { scheduler: fromFile(given) };
  if (/^[^/]+:\d+$/.test(given)) return { scheduler: parseScheduler(given) };
  throw usage(`"${given}" is neither an address nor a file`, FORMS);
}

/** The file that `dask scheduler --scheduler-file` writes. */
export function fromFile(file: string): SchedulerAddress {
  let content: unknown;
  try {
    content = JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is no JSON' : reason(error);
    throw new Fault(`cannot read the scheduler file ${file}: ${why}`, { cause: error });
  }
  const address = (content as { address?: unknown } | null)?.address;
  if (typeof address !== 'string')
    throw new Fault(`${file} is no scheduler file: it has no "address"`, {
      hint: 'dask scheduler --scheduler-file FILE writes one',
    });
  return parseScheduler(address);
}

async function fromDashboard(given: string): Promise<ClusterAddress> {
  // people copy the address of a page: /status, /workers
  const url = new URL(given);
  const dashboard = `${url.origin}${url.pathname.replace(/\/(status|workers|tasks|system|profile|graph|groups|info.*|json.*)?\/?$/, '')}`;
  let identity: DashboardIdentity | undefined;
  try {
    identity = await identityOf(dashboard);
  } catch (error) {
    const isOther = error instanceof NotHttp;
    const why = isOther ? 'what listens there is no web server' : unreachableText(error);
    throw new Fault(`cannot reach a Dask dashboard at ${dashboard}: ${why}`, {
      hint: isOther
        ? `a scheduler is named tcp://${url.host}`
        : 'the scheduler’s log says the address of its dashboard; tcp://HOST:8786 needs none',
      cause: error,
    });
  }
  if (identity === undefined) throw new Fault(`${dashboard} is not the dashboard of a Dask scheduler`, { hint: FORMS });
  // inside one process the dashboard is the only way in
  if (isInProcess(identity.address)) return { dashboard, inProcess: identity.address };
  return { dashboard, scheduler: parseScheduler(identity.address) };
}

/** What a scheduler says of itself on its dashboard. */
interface DashboardIdentity {
  address: string;
  workers: readonly { address: string; name: string }[];
}

/**
 * Of the page of workers; undefined: it is no dashboard of Dask. `/json/identity.json` would say the same, but versions of Dask
 * from 2023 to 2026 at least fail to write it while tasks run, and have a traceback in the scheduler's log each time.
 */
export async function identityOf(dashboard: string): Promise<DashboardIdentity | undefined> {
  const { status, text } = await askOnce(new URL(`${dashboard}/info/main/workers.html`), 10);
  if (status !== 200) throw new Error(`status ${status}`);
  const address = /<h1[^>]*>\s*Scheduler\s+([a-z]+:\/\/[^\s<]+)/.exec(text)?.[1];
  if (address === undefined) return undefined;
  const rows = text.matchAll(/<a href="\.\.\/worker\/[^"]*">([^<]*)<\/a><\/td>\s*<td>([^<]*)<\/td>/g);
  const workers = Array.from(rows, ([, worker, name]) => ({
    address: unescapeHtml(worker!),
    name: unescapeHtml(name!).trim(),
  }));
  return { address: unescapeHtml(address), workers };
}

const ENTITIES: { readonly [entity: string]: string } = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  '#x27': "'",
};
const unescapeHtml = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39|#x27);/g, (_, entity: string) => ENTITIES[entity]!);
