import { createHmac } from 'node:crypto';
import * as http from 'node:http';
import * as https from 'node:https';
import { usage } from '../base/fault.ts';
import type { Config } from '../config/config.ts';
import { readSecret } from '../trust/token.ts';
import type { Message } from './ledger.ts';
import type { Outcome, Sender } from './sender.ts';

const PATIENCE_MS = 30_000;

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

function post(url: URL, secret: string, { id, user, data }: Message): Promise<Outcome> {
  const body = Buffer.from(JSON.stringify({ id, user, ...data }));
  const time = String(Math.floor(Date.now() / 1000));
  let isOut = false;
  return new Promise((resolve) => {
    const failed = (error: Error): void =>
      resolve(
        isOut ? { state: 'unsure', error: error.message } : { state: 'waiting', error: error.message, down: true },
      );
    const request = (url.protocol === 'https:' ? https : http).request(
      url,
      {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          'Content-Length': body.length,
          'User-Agent': 'tacho',
          'Idempotency-Key': id,
          'X-Tacho-Timestamp': time,
          'X-Tacho-Signature': signatureOf(secret, time, body),
        },
        timeout: PATIENCE_MS,
        agent: false,
      },
      (webhookResponse) => {
        webhookResponse.resume();
        const { statusCode: status = 0 } = webhookResponse;
        resolve(outcomeOf(status));
      },
    );
    request.on('timeout', () => request.destroy(new Error(`no answer in ${PATIENCE_MS / 1000} s`)));
    request.on('error', failed);
    // before that nothing of it can have arrived
    request.on('socket', (socket) => {
      const out = (): void => {
        isOut = true;
      };
      if (!socket.connecting) out();
      else socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', out);
    });
    request.end(body);
  });
}

function outcomeOf(status: number): Outcome {
  if (status >= 200 && status < 300) return { state: 'sent' };
  const error = `it answered ${status}`;
  // it may be asked later, or somebody mends the address or the secret
  const isLater = status >= 500 || [401, 403, 404, 408, 425, 429].includes(status) || (status >= 300 && status < 400);
  return { state: isLater ? 'waiting' : 'refused', error };
}
