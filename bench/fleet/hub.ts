import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { costOf, type FleetResult, simulateFleet } from './agents.ts';
import type { Recorded } from './ticks.ts';

export interface HubProcess {
  readonly address: string;
  readonly archive: string;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

export async function startHubProcess(folder: string, args: readonly string[] = []): Promise<HubProcess> {
  const archive = fs.mkdtempSync(path.join(folder, 'archive-'));
  const tacho = path.join(import.meta.dirname, '../../tacho');
  const child = spawn(tacho, ['hub', '--listen', '127.0.0.1:0', '--archive', archive, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      const addressMatch = /http:[^ ,]+/.exec(chunk.toString());
      if (addressMatch !== null) resolve(addressMatch[0]);
    });
    child.once('exit', () => reject(new Error('the hub did not start')));
  });
  return {
    address,
    archive,
    child,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export interface HubFigures extends FleetResult {
  /** CPU seconds of the hub, all its threads, while the agents sent; of another process (a store) beside it. */
  cpu: number;
  otherCpu: number;
  /** Bytes of resident memory that each node adds. */
  memory: number;
  /** Bytes that were sent and are not in the files of the archive. */
  lost: number;
}

export interface HubLoad {
  nodes: number;
  seconds: number;
  /** So long they send before that: V8 compiles what is used much. */
  warmSeconds?: number;
}

/** So many nodes at 1 Hz against this hub, and what that costs it (and, `other`, a process that it sends to). */
export async function measureHub(
  hub: HubProcess,
  { nodes, seconds, warmSeconds = 0 }: HubLoad,
  recorded: Recorded,
  other?: number,
): Promise<HubFigures> {
  const pid = hub.child.pid!;
  const idle = costOf(pid);
  let before = [0, 0];
  let after = [0, 0];
  let memory = 0;
  const cpu = (): number[] => [costOf(pid).cpu, other === undefined ? 0 : costOf(other).cpu];
  const result = await simulateFleet({
    address: hub.address,
    nodes,
    seconds,
    warmSeconds,
    recorded,
    begun: () => {
      before = cpu();
    },
    over: () => {
      after = cpu();
      memory = (costOf(pid).memory - idle.memory) / nodes;
    },
  });
  const lost = result.sentBytes - result.storedBytes + result.totalBytes - archivedBytes(hub.archive);
  return { ...result, cpu: after[0]! - before[0]!, otherCpu: after[1]! - before[1]!, memory, lost };
}

function archivedBytes(archive: string): number {
  return fs
    .globSync('user=*/job=*/node=*/*.csv', { cwd: archive })
    .reduce((sum, file) => sum + fs.statSync(path.join(archive, file)).size, 0);
}
