import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { freePort } from '../../src/base/free-port.ts';
import { eventually } from '../made/eventually.ts';
import { started } from '../made/started.ts';

/** Why there can be no VictoriaMetrics on this machine; false: there can. */
export function whyNoVictoria(): string | false {
  const version = spawnSync('victoria-metrics', ['-version'], { stdio: 'ignore' });
  return version.error === undefined ? false : "Debian's VictoriaMetrics (package victoria-metrics)";
}

/** A running VictoriaMetrics of the test's own. */
export interface Victoria {
  /** http://127.0.0.1:port */
  readonly url: string;
  /** Its data folder. */
  readonly data: string;
  /** Samples that were pushed can be asked for. */
  flush(): Promise<void>;
  /** Loads lines of the Prometheus text format (with times in milliseconds) and makes them visible. */
  load(lines: string): Promise<void>;
  /** kill -9, as nodes do; `start` brings it back. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes it. */
  remove(): Promise<void>;
}

/** Starts a VictoriaMetrics on a free port of the loopback interface; `flags` are given to it besides. */
export async function startVictoria(flags: readonly string[] = []): Promise<Victoria> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-victoria-'));
  const data = path.join(folder, 'data');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let running: ChildProcess | undefined;

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const child = running;
    running = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  };
  const server: Victoria = {
    url,
    data,
    async flush() {
      await fetch(`${url}/internal/force_flush`);
    },
    async load(lines) {
      const response = await fetch(`${url}/api/v1/import/prometheus`, { method: 'POST', body: lines });
      if (!response.ok) throw new Error(`VictoriaMetrics refused the samples: ${await response.text()}`);
      await server.flush();
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    async start() {
      const log = fs.openSync(path.join(folder, 'log'), 'a');
      const options = [
        `-storageDataPath=${data}`,
        `-httpListenAddr=127.0.0.1:${port}`,
        '-retentionPeriod=100y',
        '-search.latencyOffset=0s',
        '-memory.allowedBytes=200MB',
        ...flags,
      ];
      const child = spawn('victoria-metrics', options, { stdio: ['ignore', log, log] });
      fs.closeSync(log);
      running = child;
      const outputText = (): string => fs.readFileSync(path.join(folder, 'log'), 'utf8');
      await eventually(
        () => `VictoriaMetrics, which said: ${outputText()}`,
        async () => {
          if (child.exitCode !== null || child.signalCode !== null)
            throw new Error(`VictoriaMetrics did not start: ${outputText()}`);
          return (await fetch(`${url}/health`).catch(() => undefined))?.ok ?? false;
        },
      );
    },
    async remove() {
      await end('SIGKILL');
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
  return started(server);
}
