import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as net from 'node:net';
import { test } from 'node:test';
import fastify from 'fastify';
import { takeTurns } from './turns.ts';

test('for who has gone nothing is worked out, and others get their answers in order', async () => {
  const app = fastify({ forceCloseConnections: true });
  takeTurns(app);
  const asked: string[] = [];
  app.get<{ Params: { name: string } }>('/:name', async ({ params: { name } }) => {
    asked.push(name);
    return name;
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const { port } = app.server.address() as net.AddressInfo;
    const connected = async (): Promise<net.Socket> => {
      const socket = net.connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    };
    const ask = (socket: net.Socket, name: string): net.Socket => {
      socket.write(`GET /${name} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n`);
      return socket;
    };
    const sockets = await Promise.all(['left', 'left-too', 'first', 'second'].map(connected));
    for (const [i, name] of ['left', 'left-too'].entries()) ask(sockets[i]!, name).destroy();
    const results = await Promise.all(
      ['first', 'second'].map(async (name, i) => {
        let text = '';
        for await (const chunk of ask(sockets[2 + i]!, name).setEncoding('utf8')) text += chunk;
        return text.split('\r\n\r\n')[1];
      }),
    );
    assert.deepEqual(results, ['first', 'second']);
    assert.deepEqual(asked, ['first', 'second']);
  } finally {
    await app.close();
  }
});
