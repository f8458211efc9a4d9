import assert from 'node:assert/strict';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ShareClient } from './share-client.ts';

test('what is no page of Tacho, or nothing at all, is said in words', async (t) => {
  const server = http.createServer((_, response) => response.end('<html>'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const client = new ShareClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}/?token=x`);
  await assert.rejects(client.list(), /^Fault: what answers at http:\/\/127\.0\.0\.1:\d+ is no page of Tacho$/);
  const nobody = new ShareClient('http://127.0.0.1:1');
  await assert.rejects(nobody.list(), /^Fault: http:\/\/127\.0\.0\.1:1 does not answer: nobody listens there$/);
});
