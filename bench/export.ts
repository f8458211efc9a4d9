import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as http from 'node:http';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from '../src/base/free-port.ts';
import { writeDemo } from '../src/demo/demo.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { keysOf } from '../src/show/export/node-batch.ts';
import type { Row } from './row.ts';

export interface ExportBenchOptions {
  /** Runs of each, alternating; the median counts. */
  runs?: number;
  /** A demo that is there already. */
  recording?: string;
}

const TACHO = path.join(import.meta.dirname, '..', 'tacho');
const VICTORIA = '/usr/bin/victoria-metrics';
/** The 10.37 million values; processes and markers come on top in `tacho demo` and are left out on both sides. */
const TABLES = ['gpu', 'cpu', 'loadavg', 'meminfo', 'network', 'disk', 'vmstat', 'power', 'cgroup'];

/** How long a wide CSV export of the whole demo takes, against VictoriaMetrics' CSV export of the same values. */
export async function bench(options: ExportBenchOptions = {}): Promise<Row[]> {
  const runs = options.runs ?? 5;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const recording = options.recording ?? (await writeDemo({ folder: path.join(folder, 'demo') }));
    const peer = fs.existsSync(VICTORIA) ? await victoria(recording, folder) : naive(recording, folder);
    const ours: number[] = [];
    const theirs: number[] = [];
    try {
      for (let run = 0; run < runs; run++) {
        ours.push(await seconds(async () => exportWide(recording, path.join(folder, 'wide'))));
        theirs.push(await seconds(() => peer.run()));
      }
    } finally {
      await peer.close();
    }
    const [measured, other] = [median(ours), median(theirs)];
    return [
      {
        what: 'wide CSV of the whole demo (10.37 M values), whole command',
        must: '≤ 1.4 s',
        measured,
        unit: 's',
        peer: `${peer.name} ${other.toFixed(2)} s`,
        ratio: measured / other,
      },
    ];
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

interface Peer {
  name: string;
  run(): Promise<void>;
  close(): Promise<void>;
}

function exportWide(recording: string, to: string): void {
  const tables = TABLES.flatMap((table) => ['--table', table]);
  const done = spawnSync(TACHO, ['export', recording, '--layout', 'wide', '--to', to, ...tables], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(done.stderr);
}

async function seconds(action: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await action();
  return (performance.now() - start) / 1000;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** What most programs do: all values in objects, a string for each cell, rows joined. */
function naive(recording: string, folder: string): Peer {
  return {
    name: 'plain JavaScript',
    async run() {
      for (const table of TABLES) {
        const rows = new Map<number, string[]>();
        const series = [...everySeries(recording, table)];
        series.forEach(({ time, values }, column) => {
          time.forEach((moment, i) => {
            const tick = Math.floor(moment / 1e6);
            let row = rows.get(tick);
            if (row === undefined) {
              row = new Array<string>(series.length).fill('');
              rows.set(tick, row);
            }
            row[column] = String(values[i]);
          });
        });
        const lines = [...rows].map(([tick, row]) => `${new Date(tick * 1000).toISOString()},${row.join(',')}`);
        fs.writeFileSync(path.join(folder, `naive-${table}.csv`), lines.join('\n'));
      }
    },
    async close() {},
  };
}

interface Series {
  name: string;
  labels: Record<string, string>;
  time: Float64Array;
  values: Float64Array;
}

function* everySeries(recording: string, table: string): Generator<Series> {
  for (const node of openRecording(recording).nodes) {
    const batch = readTable(node, table);
    for (const [column, numbers] of batch.numbers) {
      for (let s = 0; s + 1 < batch.series.length; s++) {
        const keys = keysOf(batch, s);
        const labels = Object.fromEntries(batch.table.keys.map((key, k) => [key.name, keys[k]!]));
        const [from, to] = [batch.series[s]!, batch.series[s + 1]!];
        yield {
          name: `${table}_${column}`,
          labels: { node: node.name, ...labels },
          time: batch.time.subarray(from, to),
          values: numbers.subarray(from, to),
        };
      }
    }
  }
}

/** VictoriaMetrics with the same values in it; a run fetches all of them as CSV. */
async function victoria(recording: string, folder: string): Promise<Peer> {
  const port = await freePort();
  const server = spawn(
    VICTORIA,
    [
      `-storageDataPath=${folder}/victoria`,
      `-httpListenAddr=127.0.0.1:${port}`,
      '-retentionPeriod=10y',
      '-loggerLevel=ERROR',
    ],
    { stdio: 'ignore' },
  );
  const close = async (): Promise<void> => {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    if (server.exitCode === null && server.kill('SIGINT')) await ended;
  };
  try {
    await ready(port);
    for (const table of TABLES) await load(port, everySeries(recording, table));
    await request(port, 'GET', '/internal/force_flush');
    const version = spawnSync(VICTORIA, ['-version'], { encoding: 'utf8' });
    const [number = ''] = /\d+\.\d+\.\d+/.exec(version.stdout + version.stderr) ?? [];
    const labels = 'node,gpu,cpu,interface,disk,domain,cgroup';
    const query = `/api/v1/export/csv?format=__name__,__timestamp__:unix_ms,__value__,${labels}&match[]={__name__!=""}`;
    return {
      name: `VictoriaMetrics ${number}`.trim(),
      run: () => request(port, 'GET', query, undefined, path.join(folder, 'victoria.csv')),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function load(port: number, all: Iterable<Series>): Promise<void> {
  let lines = '';
  for (const { name, labels, time, values } of all) {
    const timestamps = Array.from(time, (moment) => Math.floor(moment / 1000));
    lines += `${JSON.stringify({ metric: { __name__: name, ...labels }, values: [...values], timestamps })}\n`;
    if (lines.length < 8 << 20) continue;
    await request(port, 'POST', '/api/v1/import', lines);
    lines = '';
  }
  await request(port, 'POST', '/api/v1/import', lines);
}

async function ready(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      return await request(port, 'GET', '/health');
    } catch {
      await wait(100);
    }
  }
  throw new Error('VictoriaMetrics did not start');
}

function request(port: number, method: string, url: string, body?: string, into?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = http.request({ host: '127.0.0.1', port, method, path: encodeURI(url) }, (response) => {
      if ((response.statusCode ?? 500) >= 300) reject(new Error(`${url}: ${response.statusCode}`));
      if (into === undefined) response.resume().on('end', resolve);
      else response.pipe(fs.createWriteStream(into)).on('finish', resolve).on('error', reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
