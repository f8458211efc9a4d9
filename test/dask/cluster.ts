import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import * as path from 'node:path';
import * as readline from 'node:readline';

/** The Python whose Dask is tested: Debian's, or that of the second suite. */
export const PYTHON = process.env.DASK_PYTHON ?? '/usr/bin/python3';

export const whyNoDask =
  spawnSync(PYTHON, ['-c', 'import distributed']).status !== 0 && 'needs python3-distributed (a real Dask cluster)';

export interface ClusterOptions {
  workers?: number;
  threads?: number;
  memory?: string;
  config?: Record<string, unknown>;
  /** What its scheduler takes for its version. */
  version?: string;
  /** Its dashboard cannot write who it is, as those of newer versions cannot while tasks run. */
  busy?: boolean;
  tls?: { ca: string; cert: string; key: string };
}

export interface TestCluster {
  address: string;
  dashboard: string;
  /** Has the cluster do something (cluster.py), and returns its answer. */
  ask(request: string): Promise<unknown>;
  /** Runs workflows of workflow.py, each call with a client of its own. */
  run(names: readonly string[], env?: Record<string, string>): Promise<void>;
  child: ChildProcess;
  end(): Promise<void>;
}

/** A LocalCluster in a process of its own. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const child = spawn(PYTHON, [path.join(import.meta.dirname, 'cluster.py'), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-4000);
  });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the cluster has ended: ${complaint}`);
    return JSON.parse(value as string);
  };
  const { address, dashboard } = (await next()) as Pick<TestCluster, 'address' | 'dashboard'>;
  return {
    address,
    dashboard,
    child,
    async ask(request) {
      child.stdin.write(`${request}\n`);
      return next();
    },
    async run(names, env = {}) {
      child.stdin.write(`run ${JSON.stringify({ names, env })}\n`);
      await next();
    },
    async end() {
      if (child.exitCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.stdin.end('end\n');
      const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await ended;
      clearTimeout(timer);
    },
  };
}
