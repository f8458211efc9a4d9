import { Fault } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { Connection, type HttpRequest, type HttpResponse } from '../http/connection.ts';
import { type NodesReply, PROTOCOL, type SessionReply } from '../sinks/hub/protocol.ts';
import { unreachableText } from '../trust/connection-text.ts';
import { type Credentials, NO_CREDENTIALS } from '../trust/identity.ts';

export interface Wanted {
  node?: string;
  user?: string;
  job?: string;
}

export interface AskOptions {
  credentials?: Credentials;
  /** PEM certificates to trust instead of the system's. */
  ca?: string | Buffer;
}

const SECONDS = 20;
const LARGEST_ANSWER = 256 << 20;

/** Asks a hub what it receives. Throws a Fault when it does not answer, or says no. */
export async function askNodes(hub: URL, wanted: Wanted, options: AskOptions = {}): Promise<NodesReply> {
  const { credentials = NO_CREDENTIALS, ca } = options;
  const connection = new Connection(hub, {
    requestSeconds: SECONDS,
    connectSeconds: SECONDS,
    mostBytes: LARGEST_ANSWER,
    ...stated({ ca }),
  });
  let reply: NodesReply;
  try {
    const headers: Record<string, string> = {};
    if (credentials.method !== 'none') {
      const { session } = await ask<SessionReply>(connection, hub, {
        method: 'POST',
        path: '/v1/session',
        headers: authorizedBy(await credentials.authorization('')),
        body: Buffer.from(JSON.stringify({ protocol: PROTOCOL })),
      });
      headers.Authorization = `Bearer ${session}`;
    }
    const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value !== undefined));
    reply = await ask<NodesReply>(connection, hub, { method: 'GET', path: `/v1/nodes?${query}`, headers });
  } finally {
    connection.close();
  }
  if (reply.protocol !== PROTOCOL || !Array.isArray(reply.lines)) {
    throw new Fault(`${hub.host} does not answer as a hub of this Tacho does`, { hint: 'is it the same version?' });
  }
  return reply;
}

const authorizedBy = (authorization: string | undefined): Record<string, string> =>
  authorization === undefined ? {} : { Authorization: authorization };

async function ask<T>(connection: Connection, hub: URL, request: HttpRequest): Promise<T> {
  const failed = (why: string, hint = 'is it running, and is this its address?'): Fault =>
    new Fault(`cannot ask the hub ${hub.protocol}//${hub.host}: ${why}`, { hint });
  let reply: HttpResponse;
  try {
    reply = await connection.ask(request);
  } catch (error) {
    throw failed(unreachableText(error));
  }
  let nodeReply: T & { error?: string };
  try {
    nodeReply = JSON.parse(reply.text);
  } catch {
    throw failed('what answers there is not a hub');
  }
  if (reply.status === 200) return nodeReply;
  const hint =
    reply.status === 401
      ? 'choose the method of the hub: --trust munge, or --trust token (setting trust.method)'
      : undefined;
  throw failed(nodeReply.error ?? `status ${reply.status}`, hint);
}
