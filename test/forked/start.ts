import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { eventually } from '../made/eventually.ts';

/** Forks a release for those who ask `client`, a program and its first argument (forked.c). */
export interface Forking {
  readonly server: ChildProcess;
  readonly client: string;
}

/** As the launcher of a release starts Node for what reads recordings, without the threads that a fork would lose. */
const OPTIONS = '--disable-sigusr1 --disable-warning=ExperimentalWarning --min-semi-space-size=16 --single-threaded';

/** Undefined: there is no C compiler, or the release does not run in this way. */
export async function forkingServer(
  folder: string,
  [node, start]: readonly [node: string, start: string],
  begin: (start: (env: NodeJS.ProcessEnv) => ChildProcess) => ChildProcess,
): Promise<Forking | undefined> {
  const [library, client, socket] = ['forked.so', 'forked', 'socket'].map((name) => path.join(folder, name));
  const source = path.join(import.meta.dirname, 'forked.c');
  for (const flags of [
    ['-DSERVER', '-shared', '-fPIC', '-o', library!],
    ['-o', client!],
  ])
    if (spawnSync('cc', ['-O1', ...flags, source]).status !== 0) return undefined;
  const args = [path.join(import.meta.dirname, 'server.ts'), socket!, start];
  const server = begin((env) =>
    spawn(node, [...OPTIONS.split(' '), ...args], {
      env: { ...env, LD_PRELOAD: library! },
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
    }),
  );
  await eventually('the process that forks', () => fs.existsSync(socket!) || server.exitCode !== null);
  return server.exitCode === null ? { server, client: `${client} ${socket}` } : undefined;
}
