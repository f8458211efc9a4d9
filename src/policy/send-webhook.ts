import { createHmac } from 'node:crypto';
import { usage } from '../base/fault.ts';
import type { Config } from '../config/config.ts';
import { basicAuthorization } from '../http/basic-authorization.ts';
import { Connection, NotConnected } from '../http/connection.ts';
import { EXTRA_CERTIFICATES } from '../trust/connection-text.ts';
import { readSecret } from '../trust/token.ts';
import type { Message } from './ledger.ts';
import type { Outcome, Sender } from './sender.ts';

const PATIENCE_SECONDS = 30;

/** What a receiver computes, too, with the same secret: of the time and the body as they came. */
export const signatureOf = (secret: string, time: string, body: Buffer): string =>
  `sha256=${createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex')}`;

/** Posts messages as JSON, signed. Throws a Fault where the configuration lacks something. */
export function openWebhook(config: Config): Sender {
  const url = config['webhook.url'];
  if (url === undefined) throw usage('where policies post to is not configured', 'set webhook.url');
  const file = config['webhook.secret_file'];
  if (file === undefined)
    throw usage(
      'the secret with which posts are signed is not configured',
      'set webhook.secret_file: a file of mode 600',
    );
  const secret = readSecret(
    file,
    'the secret of the webhook',
    'write one, for example with openssl rand -hex 32',
  ).trim();
  if (secret === '') throw usage(`${file} is empty: posts could not be signed`);
  return (message) => post(new URL(url), secret, message);
}

async function post(url: URL, secret: string, { id, user, data }: Message): Promise<Outcome> {
  const body = Buffer.from(JSON.stringify({ id, user, ...data }));
  const time = String(Math.floor(Date.now() / 1000));
  const headers = {
    ...basicAuthorization(url),
    'Content-Type': 'application/json',
    'User-Agent': 'tacho',
    'Idempotency-Key': id,
    'X-Tacho-Timestamp': time,
    'X-Tacho-Signature': signatureOf(secret, time, body),
  };
  const connection = new Connection(url, {
    connectSeconds: PATIENCE_SECONDS,
    requestSeconds: PATIENCE_SECONDS,
    advice: EXTRA_CERTIFICATES,
  });
  try {
    // the status says it; what else it answers may be long, or cut off
    const reply = await connection.stream({
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers,
      body,
    });
    reply.body.destroy();
    return outcomeOf(reply.status);
  } catch (error) {
    const { message } = error as Error;
    return error instanceof NotConnected
      ? { state: 'waiting', error: message, down: true }
      : { state: 'unsure', error: message };
  } finally {
    connection.close();
  }
}

function outcomeOf(status: number): Outcome {
  if (status >= 200 && status < 300) return { state: 'sent' };
  const error = `it answered ${status}`;
  // it may be asked later, or somebody mends the address or the secret
  const isLater = status >= 500 || [401, 403, 404, 408, 425, 429].includes(status) || (status >= 300 && status < 400);
  return { state: isLater ? 'waiting' : 'refused', error };
}
