import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { Connections } from './connections.ts';

const LIMITS = { strangers: 100, perAddress: 4, perNetwork: 10, users: 12, perOwner: 8 };

function holding() {
  const messages: string[] = [];
  const connections = new Connections({ ...LIMITS, closed: (whose, why) => messages.push(`${whose}: ${why}`) });
  let port = 0;
  const connect = (remoteAddress: string, owner?: string) => {
    const socket = Object.assign(new EventEmitter(), {
      remoteAddress,
      remotePort: ++port,
      isOpen: true,
      destroy() {
        socket.isOpen = false;
        socket.emit('close');
      },
    });
    connections.add(socket as unknown as Socket);
    if (owner !== undefined) connections.prove(socket as unknown as Socket, owner);
    return socket;
  };
  return { messages, connect };
}

const open = (sockets: readonly { isOpen: boolean }[]): number => sockets.filter(({ isOpen }) => isOpen).length;

test('a host with many addresses is one network; others come in beside it', () => {
  const { messages, connect } = holding();
  const there = connect('2001:db8:0:1::1');
  const many = Array.from({ length: 50 }, (_, i) => connect(`2001:db8:0:2::${i.toString(16)}`));
  assert.deepEqual([there.isOpen, open(many), many.at(-1)!.isOpen], [true, 10, true]);
  const why = 'more than 10 connections from 2001:db8:0:2::/64 that have not proved who they are: the oldest is closed';
  assert.equal(messages[0], `2001:db8:0:2::0: ${why}`);
});

test('all users together leave the rest to nodes, and whoever has most makes room for another', () => {
  const { messages, connect } = holding();
  const ada = [1, 2].map(() => connect('10.0.0.1', 'user ada'));
  const eve = Array.from({ length: 20 }, () => connect('10.0.0.2', 'user eve'));
  assert.deepEqual([open(ada), open(eve)], [2, 8]);
  const bob = Array.from({ length: 5 }, () => connect('10.0.0.3', 'user bob'));
  assert.deepEqual([open(ada), open(eve), open(bob)], [2, 5, 5]);
  const nodes = Array.from({ length: 40 }, (_, i) => connect('10.0.0.4', `node c${i}`));
  assert.equal(open(nodes), 40);
  assert.deepEqual(
    [...new Set(messages)],
    [
      'user eve: more than 8 connections of user eve: the oldest is closed',
      'user eve: more than 12 connections of users: the oldest is closed',
    ],
  );
});
