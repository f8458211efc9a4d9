import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { eventually } from '../made/eventually.ts';

/** Why there can be no MUNGE daemon here; false: there can. */
export function whyNoMunge(): string | false {
  if (spawnSync('munged', ['--version']).error !== undefined) return 'munge is not installed';
  return process.getuid!() === 0 ? false : 'a MUNGE daemon for several users needs root';
}

export interface MungeDaemon {
  socket: string;
  stop(): Promise<void>;
}

/** A daemon with a key and a socket of its own, which every user may ask. */
export async function startMunge(): Promise<MungeDaemon> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-munge-'));
  fs.chmodSync(folder, 0o755);
  const file = (name: string): string => path.join(folder, name);
  const socket = file('socket');
  fs.writeFileSync(file('key'), randomBytes(1024), { mode: 0o600 });
  const fileOptions = ['key', 'pid', 'log', 'seed'].map((name) => `--${name}-file=${file(name)}`);
  const daemon = spawn('munged', ['--foreground', '--force', `--socket=${socket}`, ...fileOptions], {
    stdio: 'ignore',
  });
  await eventually('the socket of munged', () => {
    if (daemon.exitCode !== null) throw new Error(`munged: ${fs.readFileSync(file('log'), 'utf8')}`);
    return fs.existsSync(socket);
  });
  return {
    socket,
    async stop() {
      daemon.kill();
      if (daemon.exitCode === null && daemon.signalCode === null) await once(daemon, 'exit');
      fs.rmSync(folder, { recursive: true });
    },
  };
}
