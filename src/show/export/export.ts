import * as path from 'node:path';
import { smallest } from '../../base/extremes.ts';
import { Fault, usage } from '../../base/fault.ts';
import { ALWAYS, type Intervals, intersect } from '../../base/intervals.ts';
import { type Coarse, coarseColumn } from '../../query/series/coarse.ts';
import type { SpanQuery } from '../../query/spans/select.ts';
import type { Recording } from '../../recording/folder/open.ts';
import { isNumber } from '../../recording/read/batch.ts';
import { beginOf, tickOf } from '../../recording/read/buckets.ts';
import type { Table } from '../../table/table.ts';
import { writeLong } from './long.ts';
import { writeNdjson } from './ndjson.ts';
import { type NodeBatch, union } from './node-batch.ts';
import { type OmnistatFile, omnistatFiles } from './omnistat.ts';
import { fileOutput, type Output, standardOutput } from './output.ts';
import { writeLongParquet } from './parquet.ts';
import { bytesOf, columnsOf, nodeBatchOf, type Selected, selectedOf, tableNames } from './select.ts';
import { type Lane, lanesOf, type WideForm, writeWide } from './wide.ts';

export interface ExportOptions extends SpanQuery, Coarse {
  format: 'csv' | 'parquet' | 'ndjson';
  layout: 'long' | 'wide' | 'omnistat';
  /** A folder, or '-' for standard output. */
  folder?: string;
  tables?: readonly string[];
  columns?: readonly string[];
  /** Seconds: one row for each, gauges as means. */
  interval?: number;
  /** Times as microseconds since 1970. */
  epoch?: boolean;
  /** A table that takes more bytes on disk is exported a stretch of time, or some columns, at a time (default 32 MiB). */
  atOnce?: number;
  /** Told of each file that is written, and of what could not be read. */
  written?: (file: Written) => void;
  note?: (text: string) => void;
  /** Told of each file whose data had to be left out. */
  lost?: (file: string) => void;
}

export interface Written {
  file: string;
  table: string;
  rows: number;
  bytes: number;
}

const AT_ONCE = 32 << 20;
/** Stands in for the interval of a recording whose job.json is lost. */
const USUAL_INTERVAL = 1;

/** Writes recordings in formats that other programs read. */
export async function exportRecordings(recordings: readonly Recording[], options: ExportOptions): Promise<Written[]> {
  if (options.layout !== 'long' && options.format !== 'csv') {
    throw usage(
      `the ${options.layout} layout is CSV only`,
      `leave --format ${options.format} out, or take --layout long`,
    );
  }
  const selected = selectedOf(recordings, options, options.note);
  if (options.layout === 'omnistat') return exportOmnistat(selected, options);
  const names = tableNames(selected, options.tables);
  const chosen = withColumns(selected, names, options);
  if (options.folder === undefined && chosen.length > 1) {
    throw usage(
      `${chosen.length} tables need a folder to go to`,
      `-o DIR writes a file for each; --table NAME chooses one: ${chosen.map((t) => t.name).join(', ')}`,
    );
  }
  if (options.folder === '-' && chosen.length > 1) {
    throw usage(
      'only one table can go to standard output',
      `--table NAME chooses it: ${chosen.map((t) => t.name).join(', ')}`,
    );
  }
  const files: Written[] = [];
  for (const table of chosen) {
    const job = new TableExport(selected, table, options);
    files.push(options.format === 'parquet' ? job.parquet() : await job.text());
    options.written?.(files.at(-1)!);
  }
  return files;
}

/** The tables with the columns that are wanted; those without any are left out. */
function withColumns(selected: readonly Selected[], names: readonly string[], options: ExportOptions): Table[] {
  const { columns } = options;
  const tables = names.map((name) =>
    union(
      selected.flatMap(({ recording }) =>
        recording.nodes.flatMap((node) => (node.tables.has(name) ? (columnsOf(node, name, columns) ?? []) : [])),
      ),
    ),
  );
  const unknown = columns?.find((name) => !tables.some((table) => table.columns.some((c) => c.name === name)));
  if (unknown !== undefined) {
    throw usage(`no column "${unknown}" in ${names.join(', ')}`, 'docs/metrics.md lists the columns of every table');
  }
  const wanted = columns === undefined ? tables : tables.filter((table) => table.columns.length > 0);
  if (options.layout !== 'wide') return wanted;
  // what happened has no row a tick
  const wide = wanted.filter((table) => table.columns.some(isNumber) && table.events !== true);
  if (wide.length === 0)
    throw usage('the wide layout has samples of numbers only, and there are none', 'take --layout long');
  return wide;
}

/** One table of an export. */
class TableExport {
  private readonly selected: readonly Selected[];
  private readonly table: Table;
  private readonly options: ExportOptions;
  private readonly interval: number | undefined;
  /** Microseconds: the interval of the samples, the shortest if jobs differ. */
  private readonly sampled: number;
  private readonly atOnce: number;
  private readonly reported = new Set<string>();

  constructor(selected: readonly Selected[], table: Table, options: ExportOptions) {
    this.selected = selected;
    this.table = table;
    this.options = options;
    this.sampled = sampledAt(selected) * 1e6;
    this.atOnce = options.atOnce ?? AT_ONCE;
    const { interval, rates } = options;
    // there is no mean of what happened
    const isAsIs = table.events === true || (interval === undefined && rates !== true);
    this.interval = isAsIs ? undefined : gridOf(selected, table, interval && Math.round(interval * 1e6));
  }

  async text(): Promise<Written> {
    const { layout, format, folder } = this.options;
    const name = layout === 'wide' ? `${this.table.name}-wide.csv` : `${this.table.name}.${format}`;
    const output = folder === undefined || folder === '-' ? standardOutput() : fileOutput(path.join(folder, name));
    return finished(output, this.table.name, () => (layout === 'wide' ? this.wide(output) : this.long(output)));
  }

  private async long(output: Output): Promise<number> {
    const form = { epoch: this.options.epoch === true, recordings: this.named() };
    const table = this.interval === undefined ? this.table : this.finer();
    if (this.options.format === 'ndjson') return writeNdjson(output, table, this.nodeBatches(), form);
    return writeLong(output, table, this.nodeBatches(), form);
  }

  parquet(): Written {
    const { folder } = this.options;
    if (folder === undefined || folder === '-')
      throw usage('Parquet cannot go to standard output', '-o DIR names a folder');
    const file = path.join(folder, `${this.table.name}.parquet`);
    const columns = this.table.columns.map((c) => c.name);
    const size = Math.ceil(columns.length / Math.ceil((bytesOf(this.selected, this.table.name) + 1) / this.atOnce));
    const groups = Array.from({ length: Math.ceil(columns.length / size) }, (_, g) =>
      columns.slice(g * size, (g + 1) * size),
    );
    const table = this.interval === undefined ? this.table : this.finer();
    const written = writeLongParquet(file, table, groups, (some) => [...this.each(some)], this.named());
    return { file, table: this.table.name, ...written };
  }

  private async wide(output: Output): Promise<number> {
    const several = this.selected.length > 1;
    const named = this.named();
    const { table } = this;
    const metrics = (this.interval === undefined ? table : this.finer()).columns.filter(isNumber);
    const { lanes, windows } = this.windows();
    const form: WideForm = {
      table,
      metrics,
      lanes,
      interval: gridOf(this.selected, table, this.interval),
      levels: [
        'metric',
        ...(several ? ['job'] : []),
        ...(named ? ['recording'] : []),
        'node',
        ...table.keys.map((k) => k.name),
      ],
      names: (lane) => [
        ...(several ? [lane.job] : []),
        ...(named ? [lane.recording ?? ''] : []),
        lane.node,
        ...lane.keys,
      ],
      index: 'time',
      time: this.options.epoch === true ? 'epoch' : 'iso',
    };
    return writeWide(output, form, windows);
  }

  /** All series there are, and their samples, no more at a time than memory should hold. */
  windows(convert: (batch: NodeBatch) => NodeBatch = (nodeBatch) => nodeBatch): {
    lanes: Lane[];
    windows: AsyncIterable<NodeBatch[]>;
  } {
    const columns = this.table.columns.map((c) => c.name);
    // what holds, and what a counter grew by, goes on from one stretch to the next
    const isWhole = this.table.sparse === true || this.options.rates === true;
    const sliceCount = isWhole ? 1 : Math.ceil(bytesOf(this.selected, this.table.name) / this.atOnce);
    if (sliceCount <= 1) {
      const nodeBatches = [...this.each(columns)].map(convert);
      return { lanes: lanesOf(nodeBatches), windows: once(nodeBatches) };
    }
    let lanes: Lane[] = [];
    let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    const texts = this.table.columns.filter((c) => !isNumber(c)).map((c) => c.name);
    for (const nodeBatch of this.each(texts)) {
      lanes = lanesOf([convert(nodeBatch)], lanes);
      for (const time of nodeBatch.batch.time) {
        if (time < from) from = time;
        if (time > to) to = time;
      }
    }
    const grid = gridOf(this.selected, this.table, this.interval);
    const self = this;
    const windows = async function* (): AsyncGenerator<NodeBatch[]> {
      // windows end where ticks end, so that no row is torn in two
      const sampled = self.interval === undefined ? grid : Math.min(grid, self.sampled);
      const ticks = Math.ceil((to - from + 1) / sliceCount / grid);
      for (let tick = tickOf(from, grid, sampled); beginOf(tick, grid, sampled) <= to; tick += ticks) {
        const [begin, end] = [beginOf(tick, grid, sampled), beginOf(tick + ticks, grid, sampled)];
        yield [...self.each(columns, [[begin, end - 1]])].map(convert);
      }
    };
    return { lanes, windows: windows() };
  }

  /** Is the job's id not enough to tell which recording a row comes from? */
  private named(): boolean {
    return this.selected.some(({ name }) => name !== undefined);
  }

  private async *nodeBatches(): AsyncGenerator<NodeBatch> {
    yield* this.each(this.table.columns.map((c) => c.name));
  }

  /** What every node of every job recorded. */
  private *each(columns: readonly string[], window: Intervals = ALWAYS): Generator<NodeBatch> {
    const damaged = (file: string, what: string, lost: boolean): void => {
      if (this.reported.has(what)) return;
      this.reported.add(what);
      this.options.note?.(what);
      if (lost) this.options.lost?.(file);
    };
    const interval = this.interval === undefined ? {} : { interval: this.interval };
    for (const one of this.selected) {
      const intervals = intersect(one.intervals, window);
      for (const node of one.recording.nodes) {
        const nodeBatch = nodeBatchOf(one, node, this.table.name, {
          columns,
          intervals,
          damaged,
          sampled: this.sampled,
          coarse: this.options,
          ...interval,
        });
        if (nodeBatch !== undefined) yield nodeBatch;
      }
    }
  }

  /** The table as its means are described. */
  private finer(): Table {
    return { ...this.table, columns: this.table.columns.flatMap((column) => coarseColumn(column, this.options)) };
  }
}

async function* once(nodeBatches: NodeBatch[]): AsyncGenerator<NodeBatch[]> {
  yield nodeBatches;
}

/** Microseconds from row to row: the interval asked for, or at which the jobs (or this table) were sampled. */
function gridOf(selected: readonly Selected[], table: Table, interval: number | undefined): number {
  if (interval !== undefined) return interval;
  const every = (table as Table & { every?: number }).every ?? 0;
  return Math.round(Math.max(every, sampledAt(selected)) * 1e6);
}

/** Seconds between samples. */
function sampledAt(selected: readonly Selected[]): number {
  const seconds = selected.map(({ recording }) => recording.job.interval_seconds).filter((s) => s > 0);
  return seconds.length > 0 ? smallest(seconds) : USUAL_INTERVAL;
}

/** Writes an output to its end, or not at all. */
async function finished(output: Output, table: string, write: () => Promise<number>): Promise<Written> {
  try {
    const rows = await write();
    output.finish();
    return { file: output.name, table, rows, bytes: output.bytesWritten };
  } catch (error) {
    output.abandon();
    throw error;
  }
}

/** Omnistat's files of each job; several jobs get a folder each, named after the job, with one a recording below. */
async function exportOmnistat(selected: readonly Selected[], options: ExportOptions): Promise<Written[]> {
  const folder = options.folder ?? '.';
  if (folder === '-')
    throw usage('the omnistat layout is two files', '-o DIR says where; the current folder is the default');
  const { tables = [] } = options;
  const other = tables.find((name) => !omnistatFiles.some(({ source }) => source === name));
  if (other !== undefined) {
    const ownFiles = omnistatFiles.map(({ source, file }) => `${source} (${file})`).join(' and ');
    throw usage(`the omnistat layout has no table "${other}"`, `it is made of ${ownFiles}`);
  }
  const choice =
    options.columns !== undefined ? '--columns' : options.rates ? '--rates' : options.extremes && '--extremes';
  if (choice !== undefined)
    throw usage('the columns of the omnistat layout are fixed', `leave ${choice} out, or take --layout wide`);
  const wanted = omnistatFiles.filter(({ source }) => tables.length === 0 || tables.includes(source));
  const files: Written[] = [];
  for (const one of selected) {
    const own = [one.job, ...(one.name === undefined ? [] : [one.name])].map(encodeURIComponent);
    const targetFolder = selected.length > 1 ? path.join(folder, ...own) : folder;
    for (const file of wanted) {
      const written = await omnistatFile(one, file, targetFolder, options);
      if (written === undefined) continue;
      files.push(written);
      options.written?.(written);
    }
  }
  if (files.length === 0)
    throw new Fault(
      `${tables.length === 1 ? `no table ${tables[0]} was` : 'neither GPUs nor networks were'} recorded: there is nothing for the omnistat layout`,
    );
  return files;
}

async function omnistatFile(
  one: Selected,
  file: OmnistatFile,
  folder: string,
  options: ExportOptions,
): Promise<Written | undefined> {
  const nodes = one.recording.nodes.filter((node) => node.tables.has(file.source));
  if (nodes.length === 0) return undefined;
  const table = union(nodes.flatMap((node) => columnsOf(node, file.source, file.needs) ?? []));
  const memory = new Map(
    nodes.map((node) => [node.name, new Map(node.agent?.facts.gpus.map((g) => [g.gpu, g.memory_bytes ?? Number.NaN]))]),
  );
  const short = shortNames(nodes.map((node) => node.name));
  const exported = new TableExport([one], table, options);
  const { lanes, windows } = exported.windows((nodeBatch) =>
    file.convert(nodeBatch, memory.get(nodeBatch.node) ?? new Map()),
  );
  if (lanes.length === 0) return undefined;
  const form: WideForm = {
    table: file.table,
    metrics: file.table.columns,
    lanes,
    interval: gridOf([one], table, options.interval === undefined ? undefined : Math.round(options.interval * 1e6)),
    levels: ['metric', ...file.levels],
    names: (lane) => [short.get(lane.node)!, ...lane.keys],
    index: 'timestamp',
    time: 'naive',
    floats: true,
  };
  const output = fileOutput(path.join(folder, file.file));
  return finished(output, file.source, () => writeWide(output, form, windows));
}

/** Names of nodes without their domain, as long as they are still different. */
function shortNames(names: readonly string[]): Map<string, string> {
  const short = names.map((name) => name.split('.')[0]!);
  const alike = new Set(short).size < short.length;
  return new Map(names.map((name, i) => [name, alike ? name : short[i]!]));
}
