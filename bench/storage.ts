import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { writeDemo } from '../src/demo/demo.ts';
import { series } from '../src/query/series/series.ts';
import { summarise } from '../src/query/summarise.ts';
import { openRecording, type Recording } from '../src/recording/folder/open.ts';
import { readTable } from '../src/recording/read/read.ts';
import { sealRecording } from '../src/recording/sealed/seal.ts';
import { gpuTable } from '../src/sources/tables.ts';
import type { Row } from './row.ts';
import { findVictoriaMetrics, measureVictoriaMetrics } from './victoria-metrics.ts';

/** What the 180 values a node and second are about; processes and markers come on top in the demo. */
const COUNTED = (table: string): boolean => !/^((gpu_)?process|process_.+|thread_end|marker)$/.test(table);

interface Peer {
  name: string;
  measured: number;
}

export interface StorageOptions {
  nodes?: number;
  gpus?: number;
  seconds?: number;
  rounds?: number;
}

/**
 * The demo's recording (8 nodes × (8 GPUs × 15 + 60) values, 1 s, 2 h) sealed, read and summarised. The peer is
 * VictoriaMetrics with the same values where it is installed, else the same rows as plain CSV.
 */
export async function bench(options: StorageOptions = {}): Promise<Row[]> {
  const { nodes = 8, gpus = 8, seconds = 7200, rounds = 3 } = options;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const recording = await writeDemo({
      folder: path.join(folder, 'demo'),
      nodes,
      gpus,
      seconds,
      interval: 1,
      live: true,
    });
    const live = openRecording(recording);
    const { all, values, csvBytes } = contents(live);
    const readLive = median(rounds, () => readAll(openRecording(recording)));
    const summariseLive = median(rounds, () => summarise([openRecording(recording)]));

    const program = findVictoriaMetrics();
    const peer =
      program === undefined
        ? undefined
        : await measureVictoriaMetrics(program, live, COUNTED, path.join(folder, 'peer'));

    const cpu = process.cpuUsage();
    sealRecording(live);
    const { user, system } = process.cpuUsage(cpu);
    const sealSeconds = (user + system) / 1e6;
    const sealed = openRecording(recording);
    const sealedBytes = bytesOf(sealed);
    const readSealed = median(rounds, () => readAll(openRecording(recording)));
    const report = median(Math.max(5, rounds), () => summarise([openRecording(recording)]));
    const tables = [...new Set(sealed.nodes.flatMap((node) => [...node.tables.keys()]))].filter(COUNTED);
    const figures = median(Math.max(5, rounds), () => summarise([openRecording(recording)], { tables }));

    const points = median(Math.max(9, rounds), () =>
      series(openRecording(recording).nodes, gpuTable.col.utilization_percent, { points: 600 }),
    );

    const csv = { name: 'CSV', measured: csvBytes / values };
    const sizePeer = peer === undefined ? csv : { name: 'VictoriaMetrics', measured: peer.bytes / peer.values };
    const queryPeer =
      peer === undefined
        ? { name: 'unsealed', measured: summariseLive * 1e3 }
        : { name: 'VictoriaMetrics', measured: peer.summarySeconds * 1e3 };
    const speedPeer =
      peer === undefined ? undefined : { name: 'VictoriaMetrics', measured: peer.values / peer.importCpuSeconds / 1e6 };
    return [
      row('sealed size, statistics included', '≤ 1.4', sealedBytes / values, 'bytes a value', sizePeer),
      row('sealing, on one core', '', all / sealSeconds / 1e6, 'million values a second', speedPeer),
      row('all statistics of a sealed recording', '≤ 30', report * 1e3, 'ms', queryPeer),
      row('  without processes, which the peer has not', '≤ 30', figures * 1e3, 'ms', queryPeer),
      row(
        'all statistics, unsealed',
        '≤ 2',
        summariseLive,
        's',
        peer && { name: 'VictoriaMetrics', measured: peer.summarySeconds },
      ),
      row(
        'a column of all GPUs in 600 steps, sealed',
        '≤ 25',
        points * 1e3,
        'ms',
        peer && { name: 'VictoriaMetrics', measured: peer.seriesSeconds * 1e3 },
      ),
      row('reading everything, sealed', '', all / readSealed / 1e6, 'million values a second'),
      row('reading everything, unsealed', '', all / readLive / 1e6, 'million values a second'),
    ];
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function row(what: string, must: string, measured: number, unit: string, peer?: Peer): Row {
  const against = peer === undefined ? '' : `${peer.name}: ${peer.measured.toPrecision(3)}`;
  return { what, must, measured, unit, peer: against, ratio: measured / (peer?.measured ?? Number.NaN) };
}

function readAll(recording: Recording): void {
  for (const node of recording.nodes) for (const table of node.tables.keys()) readTable(node, table);
}

/** Numbers in a recording: all, those that count, and how long the rows of these are as plain CSV. */
function contents(recording: Recording): { all: number; values: number; csvBytes: number } {
  let all = 0;
  let values = 0;
  let csvBytes = 0;
  for (const node of recording.nodes) {
    for (const table of node.tables.keys()) {
      const batch = readTable(node, table);
      let count = 0;
      for (const column of batch.numbers.values()) for (const value of column) if (!Number.isNaN(value)) count++;
      all += count;
      if (!COUNTED(table)) continue;
      values += count;
      csvBytes += rowBytes(batch);
    }
  }
  return { all, values, csvBytes };
}

/** Bytes of a batch as CSV, without its header. */
function rowBytes(batch: ReturnType<typeof readTable>): number {
  let bytes = batch.rows * (1 + batch.table.keys.length + batch.table.columns.length);
  for (const time of batch.time) bytes += String(time).length;
  for (const column of batch.numbers.values()) {
    for (const value of column) if (!Number.isNaN(value)) bytes += String(value).length;
  }
  for (const { codes, values } of batch.texts.values()) {
    const lengths = values.map((value) => Buffer.byteLength(value));
    for (const code of codes) bytes += lengths[code]!;
  }
  return bytes;
}

/** Parquet files and statistics of the tables that count. */
function bytesOf(recording: Recording): number {
  let bytes = 0;
  for (const { folder, tables } of recording.nodes) {
    for (const [table, { sealed, statistics }] of tables) {
      if (!COUNTED(table)) continue;
      // a small table has no statistics
      for (const name of [sealed, statistics])
        if (name !== undefined) bytes += fs.statSync(path.join(folder, name)).size;
    }
  }
  return bytes;
}

/** Seconds that `work` takes, the middle of several rounds. */
function median(rounds: number, work: () => unknown): number {
  const seconds = Array.from({ length: rounds }, () => {
    const start = performance.now();
    work();
    return (performance.now() - start) / 1e3;
  });
  return seconds.sort((a, b) => a - b)[rounds >> 1]!;
}
