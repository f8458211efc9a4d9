import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Fault, reason, usage } from '../base/fault.ts';
import { ours } from '../base/ours.ts';
import { theirEnvironment } from '../base/own-node.ts';

/** What may start a notebook, the best first. */
const PROGRAMS = [['jupyter-lab'], ['jupyter-notebook'], ['jupyter', 'notebook']] as const;

/** The Jupyter of the path, with its first arguments. */
export function findJupyter(search = process.env.PATH ?? ''): readonly string[] {
  // an environment that was activated comes first in the path, whichever of them it has
  for (const folder of search.split(path.delimiter).filter((each) => each !== '')) {
    for (const [name, ...args] of PROGRAMS) {
      if (executable(path.join(folder, name))) return [path.join(folder, name), ...args];
    }
  }
  throw new Fault('Jupyter is not installed', {
    hint: 'apt-get install jupyter-notebook python3-pandas python3-matplotlib\nor: pip install notebook pandas matplotlib',
  });
}

function executable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

export interface JupyterOptions {
  port?: number;
  browser: boolean;
  /** For Jupyter itself. */
  extra: readonly string[];
  /** The password of a database, which is not in the notebook. */
  environment?: Readonly<Record<string, string>>;
}

/** Would open the notebook, which runs whatever it is sent, to other machines. */
const ELSEWHERE = /^--(ip|[A-Za-z]+App\.ip)(=|$)/;

/** Refuses arguments for Jupyter with which others could reach the notebook. */
export function checkArguments(extra: readonly string[]): void {
  const refused = extra.find((word) => ELSEWHERE.test(word));
  if (refused === undefined) return;
  throw usage(
    `${refused}: a notebook listens on this machine only`,
    `ssh -L 8888:localhost:8888 ${os.hostname()} brings its port 8888 to another`,
  );
}

/** Starts Jupyter on a notebook, and waits for its end. Returns the exit code. */
export async function runJupyter(
  jupyter: readonly string[],
  notebook: string,
  options: JupyterOptions,
): Promise<number> {
  const [program, ...first] = jupyter;
  const args = [
    ...first,
    notebook,
    '--ip=127.0.0.1',
    ...(options.port === undefined ? [] : [`--port=${options.port}`]),
    ...(options.browser ? [] : ['--no-browser']),
    // Ctrl-C asks nothing back
    '-y',
    ...options.extra,
  ];
  const packages = [ours('python'), process.env.PYTHONPATH].filter((folder) => folder !== undefined && folder !== '');
  const child = spawn(program!, args, {
    stdio: 'inherit',
    env: { ...theirEnvironment(), ...options.environment, PYTHONPATH: packages.join(path.delimiter) },
  });
  // a terminal sends its Ctrl-C to both; whoever signals this process alone means Jupyter
  const stop = (signal: NodeJS.Signals): void => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill('SIGTERM');
  };
  const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, stop);
  try {
    return await new Promise((resolve, reject) => {
      child.on('error', (error) => reject(new Fault(`cannot start ${program}: ${reason(error)}`, { cause: error })));
      child.on('close', (exit, signal) => resolve(exit ?? 128 + os.constants.signals[signal!]));
    });
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
}
