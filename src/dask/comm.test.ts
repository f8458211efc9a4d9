import assert from 'node:assert/strict';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { parseScheduler } from './address.ts';
import { Comm, WebServer } from './comm.ts';

test('a web server says that it is one when it is greeted first, and is not asked anything', async (t) => {
  const requests: string[] = [];
  const server = http.createServer(({ url = '' }, response) => {
    requests.push(url);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = parseScheduler(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`);
  await assert.rejects(Comm.open(address, {}, { helloFirst: true }), WebServer);
  assert.deepEqual(requests, []);
});
