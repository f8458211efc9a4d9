import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { startBroker, whyNoKafka, whyNoKcat } from '../../test/kafka/broker.ts';
import { startVictoria, whyNoVictoria } from '../../test/victoria/server.ts';
import { type HubLoad, measureHub, startHubProcess } from './hub.ts';
import type { Recorded } from './ticks.ts';

/** What a store that a hub sends to costs, per node and second. */
export interface StoreFigures {
  /** CPU seconds of the store, and of the hub with it. */
  cpu: number;
  hubCpu: number;
  /** Rows of meminfo that were sent and are not there; NaN: nobody could count them. */
  missing: number;
}

const WAIT_SECONDS = 60;

interface Store {
  args: string[];
  pid: number;
  /** Rows of meminfo that can be read from it. */
  rows(): Promise<number>;
}

async function measureStore(folder: string, store: Store, load: HubLoad, recorded: Recorded): Promise<StoreFigures> {
  const hub = await startHubProcess(folder, store.args);
  try {
    const { ticks, cpu, otherCpu } = await measureHub(hub, load, recorded, store.pid);
    // each sends once before the time begins
    const sent = ticks + load.nodes * (1 + (load.warmSeconds ?? 0));
    let rows = await store.rows();
    for (let i = 0; i < WAIT_SECONDS && rows < sent; i++) {
      await pause(1000);
      rows = await store.rows();
    }
    return { cpu: otherCpu / ticks, hubCpu: cpu / ticks, missing: sent - rows };
  } finally {
    await hub.stop();
  }
}

/** A reason, when there is none on this machine. */
export async function measureVictoria(
  folder: string,
  load: HubLoad,
  recorded: Recorded,
): Promise<StoreFigures | string> {
  const none = whyNoVictoria();
  if (none !== false) return none;
  const server = await startVictoria();
  try {
    const rows = async (): Promise<number> => {
      await server.flush();
      const query = encodeURIComponent('sum(count_over_time(tacho_meminfo_MemFree_bytes[1h]))');
      const response = await fetch(`${server.url}/api/v1/query?nocache=1&query=${query}`);
      const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
      return Number(data.result[0]?.value[1] ?? 0);
    };
    const store = { args: ['--victoria', server.url], pid: childOf('victoria-metrics'), rows };
    return await measureStore(folder, store, load, recorded);
  } finally {
    await server.remove();
  }
}

/** A reason, when there is none on this machine. */
export async function measureKafka(folder: string, load: HubLoad, recorded: Recorded): Promise<StoreFigures | string> {
  const none = whyNoKafka() || whyNoKcat();
  if (none !== false) return none;
  const broker = await startBroker();
  try {
    const topic = ['-b', broker.address, '-C', '-e', '-q', '-o', 'beginning', '-t', 'tacho.meminfo', '-f', '.'];
    const rows = async (): Promise<number> => {
      try {
        return execFileSync('kcat', topic, { encoding: 'latin1', maxBuffer: 1 << 28, stdio: 'pipe' }).length;
      } catch {
        // the topic is not there yet
        return 0;
      }
    };
    const store = { args: ['--kafka', broker.address], pid: childOf('kafka.Kafka'), rows };
    return await measureStore(folder, store, load, recorded);
  } finally {
    await broker.remove();
  }
}

/** The process that this one has started whose command line has this in it. */
function childOf(word: string): number {
  const children = fs.readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1').trim().split(' ');
  const childPid = children.find((pid) => fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(word));
  if (childPid === undefined) throw new Error(`no process ${word}`);
  return Number(childPid);
}
