import * as fs from 'node:fs';
import * as path from 'node:path';

/** Modules in C that every process of Dask has loaded, and hardly anybody else together. */
const MODULES = [/msgpack[^/]*\/_cmsgpack/, /tornado\/speedups/, /psutil\/_psutil/];
const LISTENS = '0A';

/** A process and all that it has started, as far as they still belong to it. */
export function descendants(pid: number, most = 500): number[] {
  const all = [pid];
  for (let i = 0; i < all.length && all.length < most; i++) {
    const threads = entries(`/proc/${all[i]}/task`);
    for (const thread of threads.slice(0, 64))
      all.push(...read(`/proc/${all[i]}/task/${thread}/children`).split(' ').filter(Boolean).map(Number));
  }
  return all;
}

/** By its program: a process may call itself what it likes. */
export function isPython(pid: number): boolean {
  try {
    return /^(python|pypy)/.test(path.basename(fs.readlinkSync(`/proc/${pid}/exe`)));
  } catch {
    return false;
  }
}

/** Whether a process has loaded Dask: Python modules cannot be seen from outside, those in C can. */
export function hasDask(pid: number): boolean {
  const maps = read(`/proc/${pid}/maps`);
  return MODULES.every((module) => module.test(maps));
}

interface Listener {
  host: string;
  port: number;
  /** Of its socket: another one has another, also at the same port. */
  inode: string;
}

/** How many sockets of TCP there are: while it stays the same nobody has begun to listen. Costs nothing. */
export const socketCount = (): string => /^TCP: inuse \d+/m.exec(read('/proc/self/net/sockstat'))?.[0] ?? '';

/** The sockets of this machine that somebody listens on. The kernel looks for them in a table of millions: it takes 10 ms. */
export const listeningSockets = (): Set<string> => new Set(listeners('self').map(({ inode }) => inode));

/** The TCP ports of this machine that a process listens on. */
export function listeningPorts(pid: number): Listener[] {
  const folder = `/proc/${pid}/fd`;
  const sockets = new Set(
    entries(folder).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(path.join(folder, fd)))?.[1] ?? [];
      } catch {
        return [];
      }
    }),
  );
  return listeners(pid).filter(({ inode }) => sockets.has(inode));
}

/** Who listens in the network of a process. */
function listeners(pid: number | 'self'): Listener[] {
  return read(`/proc/${pid}/net/tcp`)
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const fields = line.trim().split(/\s+/);
      const [address = '', port = ''] = (fields[1] ?? '').split(':');
      if (fields[3] !== LISTENS) return [];
      const bytes = Buffer.from(address, 'hex').reverse();
      const host = bytes.every((byte) => byte === 0) ? '127.0.0.1' : bytes.join('.');
      return [{ host, port: Number.parseInt(port, 16), inode: fields[9] ?? '' }];
    });
}

/** Scheduler files that a command line names. */
export function schedulerFiles(pid: number): string[] {
  const commandWords = read(`/proc/${pid}/cmdline`).split('\0');
  const named = commandWords.flatMap((word, i) =>
    word === '--scheduler-file'
      ? (commandWords[i + 1] ?? [])
      : word.startsWith('--scheduler-file=')
        ? word.slice(17)
        : [],
  );
  try {
    return named.map((file) => path.resolve(fs.readlinkSync(`/proc/${pid}/cwd`), file));
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    // it has ended, or is somebody else's
    return '';
  }
}

function entries(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}
