import assert from 'node:assert/strict';
import * as net from 'node:net';
import { type TestContext, test } from 'node:test';
import { Connection } from './connection.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
const BODY = Buffer.from('body');

/** A server that does with the n-th request of all (from 0) what the test says. */
async function serve(t: TestContext, respond: (socket: net.Socket, request: string, n: number) => void) {
  const requests: string[] = [];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const length = /content-length: (\d+)/i.exec(text)?.[1];
      const end = text.indexOf('\r\n\r\n') + 4;
      if (end < 4 || text.length < end + Number(length ?? 0)) return;
      requests.push(text);
      text = '';
      respond(socket, requests.at(-1)!, requests.length - 1);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as net.AddressInfo).port}`);
  const opened: Connection[] = [];
  const connect = (requestSeconds: number): Connection => {
    opened.push(new Connection(url, { requestSeconds, connectSeconds: 60 }));
    return opened.at(-1)!;
  };
  t.after(() => {
    for (const connection of opened) connection.close();
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  // a machine with much to do is no server that does not answer
  return { url, connection: connect(60), connect, requests, connections: () => sockets.size };
}

const next = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

test('requests follow each other on one connection', async (t) => {
  const { connection, requests, connections, url } = await serve(t, (socket) => socket.write(OK));
  for (let i = 0; i < 3; i++)
    assert.deepEqual(await connection.post(`/${i}`, BODY, 'Bearer x'), { status: 200, text: '{}' });
  assert.equal(connections(), 1);
  assert.equal(
    requests[2],
    `POST /2 HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer x\r\nContent-Length: 4\r\n\r\nbody`,
  );
});

test('an answer in pieces of one byte, with a length, in chunks, and until the end', async (t) => {
  const responses = [
    'HTTP/1.1 200 OK\r\ncontent-length:  7 \r\n\r\n{"é":1}'.replace('7', '8'),
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4;x=y\r\n":1}\r\n0\r\n\r\n',
    'HTTP/1.0 404 Not Found\r\n\r\nnothing',
  ];
  const { connection, connections } = await serve(t, async (socket, _, n) => {
    for (const byte of Buffer.from(responses[n]!)) {
      socket.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    if (n === 2) socket.end();
  });
  assert.deepEqual(await connection.post('/', BODY), { status: 200, text: '{"é":1}' });
  assert.deepEqual(await connection.post('/', BODY), { status: 200, text: '{"a":1}' });
  assert.deepEqual(await connection.post('/', BODY), { status: 404, text: 'nothing' });
  assert.equal(connections(), 1);
});

test('a connection that was closed between requests, or that the answer closes, is made anew', async (t) => {
  const { connection, requests, connections } = await serve(t, (socket, _, n) => {
    if (n === 0) socket.end(OK);
    else if (n === 1) socket.write(OK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    else if (n === 3) socket.destroy();
    else socket.write(OK);
  });
  await connection.post('/', BODY);
  await next();
  await connection.post('/', BODY);
  await connection.post('/', BODY);
  assert.equal(connections(), 3);
  // closed without an answer on a connection that had served before: asked once more, and only then
  await connection.post('/', BODY);
  assert.equal(requests.length, 5);
  assert.equal(connections(), 4);
});

test('no answer on a new connection is a failure; so is half an answer', async (t) => {
  const { connection, connect, requests } = await serve(t, (socket, _, n) => {
    if (n === 0) socket.destroy();
    else if (n === 1) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}');
    else if (n === 2) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}');
    else socket.write('220 mail.example.org ESMTP\r\n');
  });
  await assert.rejects(
    connection.post('/', BODY),
    /took the connection and closed it without an answer: it speaks TLS/,
  );
  await assert.rejects(connection.post('/', BODY), /^Error: it closed the connection in the middle of its answer$/);
  await assert.rejects(connect(2).post('/', BODY), /it took the connection, but gave no answer within 2 s/);
  await assert.rejects(connection.post('/', BODY), /no HTTP server/);
  assert.equal(requests.length, 4);
});

test('answers without end are cut off, and what nobody asked for is no answer to the next question', async (t) => {
  const { connection } = await serve(t, (socket, _, n) => {
    if (n === 0) socket.write(`${OK}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong`);
    else if (n === 1) socket.write(OK);
    else {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n');
      for (let i = 0; i < 17; i++) socket.write(Buffer.alloc(1 << 20, ' '));
    }
  });
  assert.equal((await connection.post('/', BODY)).text, '{}');
  assert.equal((await connection.post('/', BODY)).text, '{}');
  await assert.rejects(connection.post('/', BODY), /too long/);
});

test('a large body arrives whole', async (t) => {
  const { connection, requests } = await serve(t, (socket) => socket.write(OK));
  const body = Buffer.from('0123456789'.repeat(50_000));
  await connection.post('/', body);
  assert.ok(requests[0]!.endsWith(`Content-Length: 500000\r\n\r\n${body.toString()}`));
});

test('closing it ends what is under way', async (t) => {
  const { connection, url } = await serve(t, () => {});
  const pendingReply = connection.post('/', BODY);
  setTimeout(() => connection.close(), 20);
  await assert.rejects(pendingReply, /given up/);
  const nowhere = new Connection(new URL(`https://${url.host}`), { requestSeconds: 5, connectSeconds: 5 });
  const handshake = nowhere.post('/', BODY);
  setTimeout(() => nowhere.close(), 50);
  await assert.rejects(handshake, /given up/);
});

test('an answer that is used while it comes: slowly, cut off, given up', async (t) => {
  const MIB = Buffer.alloc(1 << 20, 'x');
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${8 * MIB.length}\r\n\r\n`;
  let sent = 0;
  const { connections, url } = await serve(t, async (socket, _, n) => {
    socket.write(head);
    for (sent = 0; sent < (n === 1 ? 4 : 8) && !socket.destroyed; sent++) {
      if (!socket.write(MIB))
        await Promise.race(['drain', 'close'].map((event) => new Promise((resolve) => socket.once(event, resolve))));
    }
    if (n === 1) socket.destroy();
  });
  const large = new Connection(url, { requestSeconds: 60, connectSeconds: 60, mostBytes: 1 << 30 });
  t.after(() => large.close());
  const request = { method: 'POST', path: '/', body: BODY } as const;
  const first = await large.stream(request);
  assert.equal(first.status, 200);
  await next();
  assert.ok(sent < 8, 'nobody reads what nobody takes');
  let bytes = 0;
  for await (const chunk of first.body) bytes += chunk.length;
  assert.equal(bytes, 8 * MIB.length);
  const cut = await large.stream(request);
  await assert.rejects(async () => {
    for await (const chunk of cut.body) bytes += chunk.length;
  }, /in the middle of its answer/);
  assert.equal(connections(), 1);
  for await (const chunk of (await large.stream(request)).body) {
    assert.ok(chunk.length > 0);
    break;
  }
  assert.equal(large.isOpen, false);
});

test('no answer to what would be used while it comes is a failure of the request alone', async (t) => {
  const { connection } = await serve(t, (socket, _, n) => {
    if (n === 0) socket.destroy();
    else socket.write('HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n');
  });
  await assert.rejects(connection.stream({ method: 'GET', path: '/' }), /closed it without an answer/);
  await assert.rejects(connection.stream({ method: 'GET', path: '/' }), /no HTTP server/);
});
