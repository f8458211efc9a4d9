import * as http from 'node:http';
import * as https from 'node:https';
import { code, Fault, reason } from '../base/fault.ts';
import { type NodesReply, PROTOCOL, type SessionReply } from '../sinks/hub/protocol.ts';
import { connectionWords } from '../trust/certificate-words.ts';
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

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ENOTFOUND: 'no machine of this name is known',
  EAI_AGAIN: 'its name cannot be looked up just now',
};
const SECONDS = 20;
const LARGEST_ANSWER = 256 << 20;

/** Asks a hub what it receives. Throws a Fault when it does not answer, or says no. */
export async function askNodes(hub: URL, wanted: Wanted, options: AskOptions = {}): Promise<NodesReply> {
  const credentials = options.credentials ?? NO_CREDENTIALS;
  const headers: http.OutgoingHttpHeaders = {};
  if (credentials.method !== 'none') {
    const authorization = await credentials.authorization('');
    const body = JSON.stringify({ protocol: PROTOCOL });
    const reply = await ask<SessionReply>(hub, 'POST', '/v1/session', { authorization }, body, options);
    headers.authorization = `Bearer ${reply.session}`;
  }
  const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value !== undefined));
  const reply = await ask<NodesReply>(hub, 'GET', `/v1/nodes?${query}`, headers, '', options);
  if (reply.protocol !== PROTOCOL || !Array.isArray(reply.lines)) {
    throw new Fault(`${hub.host} does not answer as a hub of this Tacho does`, { hint: 'is it the same version?' });
  }
  return reply;
}

function ask<T>(
  hub: URL,
  method: string,
  path: string,
  headers: http.OutgoingHttpHeaders,
  body: string,
  { ca }: AskOptions,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (why: string, hint = 'is it running, and is this its address?'): void =>
      reject(new Fault(`cannot ask the hub ${hub.protocol}//${hub.host}: ${why}`, { hint }));
    const secure = hub.protocol === 'https:';
    const request = (secure ? https : http).request(
      hub,
      {
        method,
        path,
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        timeout: SECONDS * 1000,
        ...(secure && ca !== undefined ? { ca } : {}),
      },
      (response) => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        response.on('data', (piece: Buffer) => {
          pieces.push(piece);
          bytes += piece.length;
          if (bytes > LARGEST_ANSWER) request.destroy(new Error('its answer is too long'));
        });
        response.on('error', (error) => fail(reason(error)));
        response.on('end', () => {
          let answer: T & { error?: string };
          try {
            answer = JSON.parse(Buffer.concat(pieces).toString('utf8'));
          } catch {
            return fail('what answers there is not a hub');
          }
          if (response.statusCode === 200) return resolve(answer);
          const hint = response.statusCode === 401 ? '--trust says how to prove who you are' : undefined;
          fail(answer.error ?? `status ${response.statusCode}`, hint);
        });
      },
    );
    request.on('timeout', () => request.destroy(new Error(`no answer for ${SECONDS} s`)));
    request.on('error', (error) => fail(WORDS[code(error) ?? ''] ?? connectionWords(error, !secure)));
    request.end(body);
  });
}
