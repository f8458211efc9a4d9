import { Socket } from 'node:net';
import { guardMessage } from './guard.ts';

let socket: Socket | undefined;

/** The guard's channel: what is written asks it, what comes are lines that it says. */
export function guardChannel(fd: number): Socket {
  socket ??= new Socket({ fd }).on('error', () => {});
  return socket;
}

/** Has the guard start a program, without inputs and outputs. Undefined: it does not say in time how that ended. */
export function tryByGuard(
  fd: number,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  patienceMs: number,
): Promise<number | undefined> {
  const channel = guardChannel(fd);
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  let text = '';
  const hear = (bytes: Buffer): void => {
    text += bytes.toString('latin1');
    const status = /^tried (-?\d+)\n/m.exec(text)?.[1];
    if (status !== undefined) resolve(Number(status));
  };
  const giveUp = (): void => resolve(undefined);
  const timer = setTimeout(giveUp, patienceMs);
  channel.on('data', hear).once('close', giveUp);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  channel.write(guardMessage('try', [...command, ...variables], command.length));
  return promise.finally(() => {
    clearTimeout(timer);
    channel.off('data', hear).off('close', giveUp);
  });
}
