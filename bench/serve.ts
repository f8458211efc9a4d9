import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { freePort } from '../src/base/free-port.ts';
import { series } from '../src/query/series/series.ts';
import type { AgentRecord } from '../src/recording/folder/agent-record.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import type { Batch } from '../src/recording/read/batch.ts';
import { measureColumn, measureSeries } from '../src/recording/sealed/measure.ts';
import { OverviewMaker } from '../src/recording/sealed/overview.ts';
import { ParquetWriter, packedMetadata, parquetColumns } from '../src/recording/sealed/parquet/write.ts';
import { writeStatistics } from '../src/recording/sealed/statistics-file.ts';
import { gpuTable } from '../src/sources/tables.ts';
import type { Column, Table } from '../src/table/table.ts';
import type { Row } from './row.ts';
import { liveRow } from './serve-live.ts';
import { findVictoriaMetrics, measureVictoriaMetrics } from './victoria-metrics.ts';

export interface ServeBenchOptions {
  nodes?: number;
  gpus?: number;
  hours?: number;
  /** Of the table gpu. */
  columns?: number;
  rounds?: number;
}

/** BENCH_WHOLE=1: 512 GPUs for 24 h at 1 s in 23 columns, 10⁹ values; else a sixteenth of the GPUs. */
const WHOLE = process.env.BENCH_WHOLE === '1';
const START = Date.UTC(2026, 10, 1) * 1000;
/** Nodes that differ; the others are links to these. */
const DISTINCT = 2;

/** The server of the page: how long its answers about a very large job take, what memory it needs, how soon a sample is told of. */
export async function bench(options: ServeBenchOptions = {}): Promise<Row[]> {
  const { nodes = WHOLE ? 64 : 4, gpus = 8, hours = 24, columns = 23, rounds = 3 } = options;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const job = path.join(folder, 'runs/tacho-1');
    const values = writeLarge(job, nodes, gpus, hours * 3600, columns);
    const what = `${nodes * gpus} GPUs × ${hours} h, ${(values / 1e6).toFixed(0)} M values`;
    const rows = await measured(path.join(folder, 'runs'), what, rounds);
    rows.push(await besideVictoria(folder, rounds));
    rows.push(await liveRow(path.join(folder, 'live')));
    return rows;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Sealed files, written without ever being samples: one node after the other, and then links to them. */
function writeLarge(folder: string, nodes: number, gpus: number, seconds: number, columns: number): number {
  const numbers = gpuTable.columns.filter(({ type }) => type !== 'text').slice(0, columns) as Column[];
  const table: Table = { ...gpuTable, columns: numbers };
  const names = Array.from({ length: nodes }, (_, n) => `c${n + 1}`);
  const end = START + seconds * 1e6;
  fs.mkdirSync(folder, { recursive: true });
  const job = {
    ...{ format: 1, tacho: '0.1.0', id: '1', scheduler: 'slurm', name: 'large', user: 'ada', uid: 1000, asked: {} },
    ...{ nodes: names, interval_seconds: 1, start: START, end, state: 'completed', tags: {}, environment: {} },
  };
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  for (const [n, name] of names.entries()) {
    const node = path.join(folder, `node=${name}`);
    fs.mkdirSync(node);
    const agent = {
      ...{
        format: 1,
        tacho: '0.1.0',
        node: name,
        pid: 1,
        interval_seconds: 1,
        start: START,
        end,
        end_reason: 'stopped',
      },
      facts: { hostname: name, kernel: '6.1', architecture: 'x64', cpus: 64, memory_bytes: 2 ** 38, gpus: [] },
      ...{
        scope: { members: 'cgroup' },
        tables: [table],
        unmeasured: [],
        ticks: seconds,
        late_ticks: 0,
        missed_ticks: 0,
      },
      cost: { cpu_seconds: 100, max_rss_bytes: 6e7, bytes_written: 1e8 },
    } as unknown as AgentRecord;
    fs.writeFileSync(path.join(node, 'agent.json'), JSON.stringify(agent));
    if (n < DISTINCT) {
      sealNode(node, table, gpus, seconds, n);
      continue;
    }
    const model = path.join(folder, `node=${names[n % DISTINCT]}`);
    fs.mkdirSync(path.join(node, '.overview'));
    for (const file of fs.globSync(['gpu.*', '.overview/*'], { cwd: model }))
      fs.linkSync(path.join(model, file), path.join(node, file));
  }
  return nodes * gpus * seconds * numbers.length;
}

/** As seal leaves a table: the Parquet file, its statistics and its overview. */
function sealNode(node: string, table: Table, gpus: number, seconds: number, seed: number): void {
  const rows = gpus * seconds;
  const batch: Batch = {
    table,
    rows,
    time: Float64Array.from({ length: rows }, (_, i) => START + (i % seconds) * 1e6),
    numbers: new Map(),
    texts: new Map([
      [
        'gpu',
        {
          values: Array.from({ length: gpus }, (_, g) => String(g)),
          codes: Uint32Array.from({ length: rows }, (_, i) => Math.floor(i / seconds)),
        },
      ],
    ]),
    series: Uint32Array.from({ length: gpus + 1 }, (_, g) => g * seconds),
    interval_seconds: 1,
  };
  const measured = measureSeries(batch);
  const overview = OverviewMaker.of(batch);
  const file = path.join(node, 'gpu.parquet');
  const writer = new ParquetWriter(file, parquetColumns(table), rows, {
    metadata: packedMetadata(table),
    quick: true,
    sync: false,
  });
  writer.column('time', batch.time);
  writer.column('gpu', batch.texts.get('gpu')!);
  let random = seed + 1;
  for (const column of table.columns) {
    const values = new Float64Array(rows);
    let level = 50;
    for (let i = 0; i < rows; i++) {
      // a walk that stands still now and then, as utilisation does; counters only grow
      random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7fffffff;
      if ((random >> 8) % 4 === 0) level += ((random >> 16) % 7) - (column.kind === 'counter' ? 0 : 3);
      if (column.kind !== 'counter') level = Math.min(100, Math.max(0, level));
      values[i] = level;
    }
    writer.column(column.name, values);
    measureColumn(measured, batch, column, values);
    overview?.add(column, values);
  }
  const bytes = writer.finish();
  writeStatistics(path.join(node, 'gpu.stats.json.zst'), measured.table, file);
  overview?.write(node, bytes);
}

/** The server in a process of its own, as a user has it. */
async function measured(folder: string, what: string, rounds: number): Promise<Row[]> {
  const tacho = process.env.TACHO ?? path.join(import.meta.dirname, '..', 'tacho');
  const port = await freePort();
  const state = { ...process.env, XDG_STATE_HOME: path.join(folder, '../state') };
  const server = spawn(tacho, ['serve', folder, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: state,
  });
  try {
    const url = await new Promise<URL>((resolve, reject) => {
      let output = '';
      server.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (output.includes('\n')) resolve(new URL(output.trim()));
      });
      server.once('exit', () => reject(new Error('tacho serve has ended')));
    });
    const headers = { authorization: `Bearer ${url.searchParams.get('token')}` };
    const ask = async (address: string): Promise<number> => {
      const begin = performance.now();
      const response = await fetch(new URL(address, url), { headers });
      const body = await response.text();
      if (!response.ok) throw new Error(`${address}: ${response.status} ${body.slice(0, 200)}`);
      return (performance.now() - begin) / 1e3;
    };
    const timed = async (address: string, name: string): Promise<Row> => {
      const times = [];
      for (let i = 0; i < rounds; i++) times.push(await ask(address));
      // the first one, which has to read everything, counts
      return {
        what: `${name}: ${what}`,
        must: '≤ 1',
        measured: Math.max(...times),
        unit: 's',
        peer: '',
        ratio: Number.NaN,
      };
    };
    const list = await timed('/api/jobs', 'table of jobs');
    const { jobs } = (await (await fetch(new URL('/api/jobs', url), { headers })).json()) as { jobs: { id: string }[] };
    const id = jobs[0]!.id;
    const minute = `from=${START + 3600e6}&to=${START + 3660e6}`;
    const rows = [
      list,
      await timed(`/api/jobs/${id}`, 'report'),
      await timed(`/api/jobs/${id}/charts`, 'list of charts'),
      await timed(`/api/jobs/${id}/charts/gpu?points=400&as=band`, 'GPU use as band'),
      await timed(`/api/jobs/${id}/charts/gpu?points=400&as=heat`, 'GPU use as heat map'),
      await timed(`/api/jobs/${id}/charts/gpu.power_watts?points=400`, 'any column'),
      await timed(`/api/jobs/${id}/charts/gpu?points=400&node=c1&${minute}`, 'one minute of a node'),
      await timed(`/api/jobs/${id}/charts/gpu?points=400&${minute}`, 'one minute of all'),
    ];
    const peak = Number(
      /^VmHWM:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1] ?? Number.NaN,
    );
    rows.push({
      what: `memory of the server: ${what}`,
      must: '≤ 1000',
      measured: peak / 1000,
      unit: 'MB',
      peer: '',
      ratio: Number.NaN,
    });
    return rows;
  } finally {
    server.kill();
  }
}

/** The same series, asked of us and of VictoriaMetrics on the same data: 64 GPUs for 12 hours. */
async function besideVictoria(folder: string, rounds: number): Promise<Row> {
  const storedFolder = path.join(folder, 'small/tacho-2');
  writeLarge(storedFolder, 8, 8, 12 * 3600, 1);
  const recording = openRecording(storedFolder);
  const [column] = gpuTable.columns.filter(({ type }) => type !== 'text');
  const ours: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const begin = performance.now();
    const { nodes } = openRecording(storedFolder);
    const nodeSeries = series(nodes, gpuTable.col[column!.name as 'utilization_percent'], { points: 600 });
    if (nodeSeries.length !== 64) throw new Error(`${nodeSeries.length} series`);
    ours.push((performance.now() - begin) / 1e3);
  }
  const measured = ours.sort((a, b) => a - b)[rounds >> 1]!;
  const row = { what: '600 steps of 64 GPUs × 12 h', must: '≤ 0.333 ×', measured, unit: 's' };
  const program = findVictoriaMetrics();
  if (program === undefined) return { ...row, must: '', peer: 'no VictoriaMetrics', ratio: Number.NaN };
  const { seriesSeconds } = await measureVictoriaMetrics(
    program,
    recording,
    (table) => table === 'gpu',
    path.join(folder, 'peer'),
  );
  return { ...row, peer: `VictoriaMetrics ${seriesSeconds.toPrecision(3)} s`, ratio: measured / seriesSeconds };
}
