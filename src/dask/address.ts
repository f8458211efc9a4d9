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
}

const FORMS = 'write it like tcp://HOST:8786, tls://HOST:8786, http://HOST:8787 or the name of a scheduler file';

/** tcp://host:port or tls://host:port; other protocols of Dask are refused. */
export function parseScheduler(text: string): SchedulerAddress {
  const addressMatch = /^(?:(tcp|tls):\/\/)?(\[[^\]]+\]|[^:/[\]]+):(\d{1,5})\/?$/.exec(text);
  if (addressMatch === null) {
    const protocol = /^([a-z]+):\/\//.exec(text)?.[1];
    if (protocol === 'inproc')
      throw new Fault(`${text} is inside one Python process: nobody else can connect to it`, {
        hint: 'use LocalCluster(processes=True), or tacho.dask.Monitor inside that process',
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
  let identity: Identity;
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
  if (identity.type !== 'Scheduler' || typeof identity.address !== 'string')
    throw new Fault(`${dashboard} is not the dashboard of a Dask scheduler`, { hint: FORMS });
  return { dashboard, scheduler: parseScheduler(identity.address) };
}

/** What a scheduler says of itself on its dashboard. */
interface Identity {
  type?: unknown;
  id?: string;
  address?: unknown;
  workers?: Record<string, { name?: unknown }>;
}

export async function identityOf(dashboard: string): Promise<Identity> {
  const { status, text } = await askOnce(new URL(`${dashboard}/json/identity.json`), 10);
  if (status !== 200) throw new Error(`status ${status}`);
  return JSON.parse(text) as Identity;
}
