import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../src/base/free-port.ts';
import type { Recording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';

export interface PeerFigures {
  values: number;
  /** Its data folder after everything was flushed and merged. */
  bytes: number;
  importCpuSeconds: number;
  /** Least, mean and greatest of every series. */
  summarySeconds: number;
  /** Least, mean and greatest of one column of the GPUs in each of 600 steps. */
  seriesSeconds: number;
}

const ROUNDS = 5;

/** VictoriaMetrics as Debian installs it, or as VICTORIA_METRICS says; undefined when it is not there. */
export function findVictoriaMetrics(): string | undefined {
  const candidates = [process.env.VICTORIA_METRICS, '/usr/bin/victoria-metrics', '/usr/local/bin/victoria-metrics'];
  return candidates.find((file) => file !== undefined && fs.existsSync(file));
}

/** The same values in VictoriaMetrics: how large they are there, and how fast they are summarised. */
export async function measureVictoriaMetrics(
  program: string,
  recording: Recording,
  wanted: (table: string) => boolean,
  folder: string,
): Promise<PeerFigures> {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const child = spawn(
    program,
    [
      `-storageDataPath=${folder}`,
      `-httpListenAddr=127.0.0.1:${port}`,
      '-retentionPeriod=100y',
      '-search.maxUniqueTimeseries=1000000',
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => child.on('exit', resolve));
  try {
    await until(address);
    const { values, start, end } = await send(recording, wanted, address);
    await fetch(`${address}/internal/force_flush`);
    await fetch(`${address}/internal/force_merge`);
    await sleep(2000);
    const importCpuSeconds = cpuSeconds(child.pid!);
    const seconds = Math.ceil((end - start) / 1e6) + 1;
    // least, mean and greatest by one question, its fastest way
    const all = encodeURIComponent(`rollup({__name__=~".+"}[${seconds}s])`);
    const summarySeconds = await timed(`${address}/api/v1/query?nocache=1&time=${end / 1e6}&query=${all}`);
    const step = Math.ceil(seconds / 600);
    const rollup = encodeURIComponent(`rollup(gpu_utilization_percent[${step}s])`);
    const range = `start=${start / 1e6}&end=${end / 1e6}&step=${step}`;
    const seriesSeconds = await timed(`${address}/api/v1/query_range?nocache=1&query=${rollup}&${range}`);
    return { values, bytes: folderBytes(folder), importCpuSeconds, summarySeconds, seriesSeconds };
  } finally {
    child.kill();
    await ended;
  }
}

/** How long a question takes, the median of several. */
async function timed(question: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const begin = performance.now();
    const response = await fetch(question);
    const { data } = (await response.json()) as { data: { result: unknown[] } };
    if (data.result.length === 0) throw new Error('VictoriaMetrics does not have the values');
    times.push((performance.now() - begin) / 1e3);
  }
  return times.sort((a, b) => a - b)[ROUNDS >> 1]!;
}

/** One line of JSON a series, as its import wants it. */
async function send(
  recording: Recording,
  wanted: (table: string) => boolean,
  address: string,
): Promise<{ values: number; start: number; end: number }> {
  let values = 0;
  let start = Number.POSITIVE_INFINITY;
  let end = 0;
  for (const node of recording.nodes) {
    for (const name of node.tables.keys()) {
      if (!wanted(name)) continue;
      const batch = readTable(node, name);
      const lines: string[] = [];
      for (let s = 0; s + 1 < batch.series.length; s++) {
        const from = batch.series[s]!;
        const to = batch.series[s + 1]!;
        start = Math.min(start, batch.time[from]!);
        end = Math.max(end, batch.time[to - 1]!);
        const labels: Record<string, string> = { node: node.name };
        for (const key of batch.table.keys) {
          const { codes, values: texts } = batch.texts.get(key.name)!;
          labels[key.name] = texts[codes[from]!]!;
        }
        for (const [column, numbers] of batch.numbers) {
          const rows = Array.from({ length: to - from }, (_, i) => from + i).filter((i) => !Number.isNaN(numbers[i]));
          if (rows.length === 0) continue;
          values += rows.length;
          lines.push(
            JSON.stringify({
              metric: { __name__: `${name}_${column}`, ...labels },
              values: rows.map((i) => numbers[i]),
              timestamps: rows.map((i) => Math.round(batch.time[i]! / 1e3)),
            }),
          );
        }
      }
      if (lines.length > 0) await fetch(`${address}/api/v1/import`, { method: 'POST', body: lines.join('\n') });
    }
  }
  return { values, start, end };
}

async function until(address: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      if ((await fetch(`${address}/health`)).ok) return;
    } catch {
      // not yet
    }
    await sleep(100);
  }
  throw new Error('VictoriaMetrics did not start within ten seconds');
}

/** User and system time of a process, from /proc, in ticks of 10 ms. */
function cpuSeconds(pid: number): number {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function folderBytes(folder: string): number {
  let bytes = 0;
  for (const name of fs.readdirSync(folder, { recursive: true }) as string[]) {
    const stat = fs.statSync(path.join(folder, name), { throwIfNoEntry: false });
    if (stat?.isFile()) bytes += stat.size;
  }
  return bytes;
}
