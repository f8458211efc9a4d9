import { EXTRA_CERTIFICATES } from '../trust/connection-text.ts';
import { Connection, type HttpRequest, type HttpResponse } from './connection.ts';

const LARGEST_ANSWER = 256 << 20;

/**
 * One request over a connection of its own, to servers for which Tacho has no settings of trust. Throws an Error that says
 * why there is no answer.
 *
 *     const { status, text } = await askOnce(new URL('http://localhost:8428/health'), 10)
 */
export async function askOnce(
  url: URL,
  seconds: number,
  request: Omit<HttpRequest, 'path'> = { method: 'GET' },
): Promise<HttpResponse> {
  const connection = new Connection(url, {
    connectSeconds: seconds,
    requestSeconds: seconds,
    mostBytes: LARGEST_ANSWER,
    advice: EXTRA_CERTIFICATES,
  });
  try {
    return await connection.ask({ ...request, path: `${url.pathname}${url.search}` });
  } finally {
    connection.close();
  }
}
