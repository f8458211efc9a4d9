import assert from 'node:assert/strict';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { HubAway, HubLink, HubRefusal } from './link.ts';

test('a hub that says no, or not now, and what is no hub', async (t) => {
  const answers: [number, string][] = [
    [413, '{"error":"more than 8388608 bytes"}'],
    [404, '{"error":"no such stream"}'],
    [503, ''],
    [200, 'not JSON'],
  ];
  const server = http.createServer((request, response) => {
    const [status, text] = answers.shift()!;
    request.resume().once('end', () => response.writeHead(status, { connection: 'close' }).end(text));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const link = new HubLink(url, { credentials: { method: 'none', authorization: async () => undefined }, node: 'c1' });
  t.after(() => link.close());
  const refusal = (code: number, message: string) => (error: unknown) =>
    error instanceof HubRefusal && error.status === code && error.message === message;
  const post = (): Promise<unknown> => link.post('/v1/append', Buffer.from('body'));
  await assert.rejects(post(), refusal(413, 'more than 8388608 bytes'));
  await assert.rejects(post(), refusal(404, 'no such stream'));
  await assert.rejects(post(), (error) => error instanceof HubAway && /503/.test(error.message));
  await assert.rejects(post(), /no hub of Tacho/);
});
