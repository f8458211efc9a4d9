import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { writeDemo } from '../src/demo/demo.ts';
import { series } from '../src/query/series/series.ts';
import { summarise } from '../src/query/summarise.ts';
import type { AgentRecord } from '../src/recording/folder/agent-record.ts';
import { openRecording } from '../src/recording/folder/open.ts';
import { gpuTable } from '../src/sources/tables.ts';
import type { Row } from './row.ts';

export interface DuckOptions {
  nodes?: number;
  seconds?: number;
  /** Of each, alternating; the median counts. */
  rounds?: number;
}

const POINTS = 600;
/** So often before it counts: V8 compiles what has run some times. */
const UNCOUNTED = 3;

type TableDescription = AgentRecord['tables'][number];

/** The questions of the report card and of charts, of a sealed demo, beside DuckDB on the same Parquet files. */
export async function bench({ nodes = 8, seconds = 7200, rounds = 5 }: DuckOptions = {}): Promise<Row[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const recording = await writeDemo({ folder: path.join(folder, 'demo'), nodes, gpus: 8, seconds, interval: 1 });
    const began = performance.now();
    const connection = await (await DuckDBInstance.create()).connect();
    const loading = performance.now() - began;
    const ask = async (...queries: string[]): Promise<void> => {
      for (const query of queries) await connection.runAndReadAll(query);
    };
    const tables = sampledTables(recording);
    const statistics = statisticsQueries(recording, tables);
    const { name: gpu, col } = gpuTable;
    const used = col.utilization_percent.name;
    const stretch = Math.round((seconds * 1e6) / POINTS);
    const curve = `select filename, gpu, (epoch_us(time) // ${stretch}) as step, count(${used}), min(${used}), avg(${used}), max(${used})
      from read_parquet('${recording}/node=*/${gpu}.parquet', filename = true) group by all order by all`;
    const all = await alternating(
      rounds,
      () => summarise([openRecording(recording)], { tables: tables.map(({ name }) => name) }),
      () => ask(...statistics),
    );
    const points = await alternating(
      rounds,
      () => series(openRecording(recording).nodes, col.utilization_percent, { points: POINTS }),
      () => ask(curve),
    );
    return [
      row('all statistics of the tables of samples, sealed', '≤ 30', all),
      row('a column of all GPUs in 600 steps, sealed', '≤ 25', points),
      { what: 'loading DuckDB', must: '', measured: loading, unit: 'ms', peer: '', ratio: Number.NaN },
    ];
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Tables that lie there as Parquet. Small ones, and those of events, are CSV without statistics: DuckDB is not asked for these. */
function sampledTables(recording: string): TableDescription[] {
  const tables = new Map(
    openRecording(recording).nodes.flatMap((node) => (node.agent?.tables ?? []).map((t) => [t.name, t])),
  );
  return [...tables.values()].filter(({ name }) => fs.globSync(`${recording}/node=*/${name}.parquet`).length > 0);
}

/** One query for each sealed table: five figures of every column, by node and keys. */
function statisticsQueries(recording: string, tables: readonly TableDescription[]): string[] {
  return tables.flatMap(({ name, keys, columns }) => {
    const figures = columns
      .filter(({ type }) => type !== 'text')
      .flatMap(({ name: column }) =>
        ['count', 'min', 'max', 'avg', 'stddev_pop'].map((figure) => `${figure}("${column}")`),
      );
    const by = ['filename', ...keys.map((key) => `"${key.name}"`)];
    const from = `read_parquet('${recording}/node=*/${name}.parquet', filename = true)`;
    return figures.length === 0
      ? []
      : [`select ${[...by, ...figures].join(', ')} from ${from} group by ${by.join(', ')}`];
  });
}

interface Pair {
  ours: number;
  theirs: number;
}

async function alternating(rounds: number, ours: () => unknown, theirs: () => Promise<void>): Promise<Pair> {
  const times = { ours: [] as number[], theirs: [] as number[] };
  for (let round = -UNCOUNTED; round < rounds; round++) {
    for (const [who, work] of [['ours', ours] as const, ['theirs', theirs] as const]) {
      const began = performance.now();
      await work();
      if (round >= 0) times[who].push(performance.now() - began);
    }
  }
  const median = (all: number[]): number => all.sort((a, b) => a - b)[all.length >> 1]!;
  return { ours: median(times.ours), theirs: median(times.theirs) };
}

const row = (what: string, must: string, { ours, theirs }: Pair): Row => ({
  what,
  must,
  measured: ours,
  unit: 'ms',
  peer: `DuckDB: ${theirs.toPrecision(3)}`,
  ratio: ours / theirs,
});
