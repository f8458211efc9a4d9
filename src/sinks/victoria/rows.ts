import { columnNames, rowEnd, splitLine } from '../../base/csv.ts';
import { hasOmnistatNames, omnistatMetrics, omnistatName, omnistatValue } from '../../prometheus/omnistat-names.ts';
import { type Labels, labelsBeside } from '../../prometheus/series-labels.ts';
import { guessTable } from '../../recording/folder/describe.ts';
import type { gpuTable } from '../../sources/gpu/gpu.ts';
import { markerTable } from '../../sources/own/marker.ts';
import { processTable } from '../../sources/process/table.ts';
import { inBaseUnit, infoName, labelName, labelTexts, metricsOf } from '../../table/names.ts';
import { byName, type NameIn, type NumberName, type Table } from '../../table/table.ts';
import { type Group, type ImportBody, labelJson, lineHead, newGroup } from './body.ts';

export interface RowOptions {
  /** Omnistat's names for GPUs besides Tacho's. */
  omnistat?: boolean;
  /** A process has series once it has used so much CPU time. */
  processCpuSeconds?: number;
}

/** Facts and texts are said again in every minute. */
const MINUTE = 60_000;
/** More series than this are not remembered: processes come and go. */
const MOST_GROUPS = 4096;
const CPU_TIMES = ['user_ms', 'system_ms'] as const satisfies NumberName<typeof processTable>[];

interface Row {
  group: Group;
  /** The texts that were said last, and in which minute. */
  texts: string[];
  minute: number;
}

/** What a header's cells are for. */
interface Layout {
  header: string;
  heads: string[];
  factors: number[];
  /** For each cell: its place among the metrics; −1: it is no number. */
  metrics: Int32Array;
  /** The labels of every series of the table, as JSON. */
  common: string;
  keys: number[];
  keyLabels: string[];
  texts: number[];
  textLabels: string[];
  info: string;
  /** Cells with the CPU time (ms) of a process; only in the table of processes. */
  cpu: number[];
  /** Cells by the column's name, for Omnistat's names. */
  cells: Map<string, number> | undefined;
}

/** Turns the rows of one table of one stream into samples. Events are no samples; phases and figures of merit are. */
export class VictoriaRows {
  private readonly common: Labels;
  private readonly name: string;
  readonly table: Table | undefined;
  private readonly options: RowOptions;
  private layout: Layout | undefined;
  private readonly rows = new Map<string, Row>();
  /** Lines that are no rows of the table. */
  bad = 0;

  constructor(name: string, table: Table | undefined, common: Labels, options: RowOptions = {}) {
    this.name = name;
    this.table = table;
    this.common = common;
    this.options = options;
  }

  /** Whether anything of the table is sent at all. */
  get wanted(): boolean {
    return this.name === markerTable.name || this.table?.events !== true;
  }

  /** Forgets which texts were said: they are said again. */
  reset(): void {
    this.rows.clear();
  }

  /** Adds the samples of whole rows; `tick` is called with each row's time in milliseconds. */
  add(header: string, bytes: Buffer, body: ImportBody, tick?: (time: number) => void): void {
    if (this.layout?.header !== header) {
      this.layout = this.read(header);
      this.rows.clear();
    }
    const { layout } = this;
    if (layout === undefined) {
      this.bad++;
      return;
    }
    const text = bytes.toString('utf8');
    let cells: string[] = [];
    for (let at = 0; at < text.length; ) {
      const end = rowEnd(text, at);
      const line = text.slice(at, end);
      if (line.includes('"')) cells = splitLine(line);
      else split(line, cells);
      at = end + 1;
      const time = Math.floor(Number(cells[0]) / 1000);
      if (cells.length !== layout.metrics.length || !(time > 0)) {
        this.bad++;
        continue;
      }
      if (this.name === markerTable.name) this.marker(layout, cells, time, body);
      else this.row(layout, cells, time, body);
      tick?.(time);
    }
  }

  private row(layout: Layout, cells: string[], time: number, body: ImportBody): void {
    if (layout.cpu.length > 0) {
      let spent = 0;
      for (const cell of layout.cpu) spent += Number(cells[cell]);
      if (spent < (this.options.processCpuSeconds ?? 0) * 1000) return;
    }
    let key = '';
    for (const cell of layout.keys) key += `${cells[cell]}\n`;
    let row = this.rows.get(key);
    if (row === undefined) {
      if (this.rows.size >= MOST_GROUPS) this.rows.clear();
      const labels = labelJson(layout.keys.map((cell, k) => [layout.keyLabels[k]!, cells[cell]!]));
      const group = newGroup(layout.common + labels, layout.heads.length);
      row = { group, texts: layout.texts.map(() => ''), minute: -1 };
      this.rows.set(key, row);
    }
    const { group } = row;
    body.row(layout.heads, group, time);
    for (let c = 1; c < cells.length; c++) {
      const metric = layout.metrics[c]!;
      if (metric < 0) continue;
      const cell = cells[c]!;
      const value = cell === '' ? Number.NaN : inBaseUnit(Number(cell), layout.factors[metric]!);
      body.value(group, metric, Number.isFinite(value) ? value : Number.NaN, time);
    }
    if (layout.texts.length > 0) this.texts(layout, row, cells, time, body);
    if (layout.cells !== undefined) this.omnistat(layout, cells, time, body);
  }

  /** What does not change travels in the labels of an info metric. A text that is missing holds on. */
  private texts(layout: Layout, row: Row, cells: string[], time: number, body: ImportBody): void {
    let changed = false;
    for (let t = 0; t < layout.texts.length; t++) {
      const cell = cells[layout.texts[t]!]!;
      if (cell === '' || cell === row.texts[t]) continue;
      row.texts[t] = cell;
      changed = true;
    }
    const minute = Math.floor(time / MINUTE);
    if (!changed && minute === row.minute) return;
    row.minute = minute;
    const labels = labelJson(row.texts.map((text, t) => [layout.textLabels[t]!, text]));
    if (labels !== '') body.single(layout.info, row.group.labels + labels, 1, time);
  }

  private marker(layout: Layout, cells: string[], time: number, body: ImportBody): void {
    const cell = (name: NameIn<typeof markerTable>): string => cells[layout.cells!.get(name) ?? -1] ?? '';
    const labels = layout.common + labelJson([['name', cell('name')]]);
    const action = cell('action');
    if (action === 'begin' || action === 'end') {
      body.single('tacho_marker_phase', labels, action === 'begin' ? 1 : 0, time);
    } else if (action === 'fom' && cell('value') !== '' && Number.isFinite(Number(cell('value')))) {
      body.single('tacho_marker_fom', labels, Number(cell('value')), time);
    }
  }

  private omnistat(layout: Layout, cells: string[], time: number, body: ImportBody): void {
    const cell = (name: NameIn<typeof gpuTable>): string => cells[layout.cells!.get(name) ?? -1] ?? '';
    const number = (name: NumberName<typeof gpuTable> | undefined): number =>
      name === undefined || cell(name) === '' ? Number.NaN : Number(cell(name));
    const node = this.common.find(([name]) => name === 'node')?.[1] ?? '';
    for (const metric of omnistatMetrics) {
      const { stem, columns, location } = metric;
      const value = omnistatValue(metric, number(columns[0]), number(columns[1]));
      if (!Number.isFinite(value)) continue;
      const labels = labelJson([
        ['instance', node],
        ['card', cell('gpu')],
        ['location', location ?? ''],
      ]);
      body.single(omnistatName(cell('vendor'), stem), labels, value, time);
    }
  }

  private read(header: string): Layout | undefined {
    const names = columnNames(header);
    if (names?.[0] !== 'time') return undefined;
    // of columns with the same name the first counts
    const cells = new Map(names.map((name, i) => [name, i] as const).reverse());
    const cellOf = (name: string): number => cells.get(name) ?? -1;
    // a table that nobody described: without a look at its rows every column is a number
    const guess = guessTable(
      this.name,
      names,
      names.map((_, i) => (i === 0 ? 'time' : 'number')),
    );
    const described = this.table ?? guess;
    const columns = byName(described.columns);
    const keyNames = byName(described.keys);
    const keys = described.keys.map(({ name }) => cellOf(name));
    if (keys.includes(-1) || keys.length > names.length) return undefined;
    const table = {
      ...described,
      columns: guess.columns.flatMap((column) =>
        keyNames.has(column.name) ? [] : (columns.get(column.name) ?? column),
      ),
    };
    const all = metricsOf(table);
    const layout: Layout = {
      header,
      heads: [],
      factors: [],
      metrics: new Int32Array(names.length).fill(-1),
      common: '',
      keys,
      keyLabels: table.keys.map((key) => labelName(key.name)),
      texts: [],
      textLabels: [],
      info: infoName(table),
      cpu: table.name === processTable.name ? CPU_TIMES.map(cellOf).filter((i) => i > 0) : [],
      cells: undefined,
    };
    for (const [c, metric] of all.entries()) {
      if (metric === undefined) continue;
      layout.metrics[cellOf(table.columns[c]!.name)] = layout.heads.length;
      layout.heads.push(lineHead(metric.name));
      layout.factors.push(metric.factor);
    }
    for (const column of labelTexts(table)) {
      layout.texts.push(cellOf(column.name));
      layout.textLabels.push(labelName(column.name));
    }
    const own = [...layout.keyLabels, ...layout.textLabels];
    layout.common = labelJson(labelsBeside(this.common, this.name === markerTable.name ? ['name'] : own));
    if (this.name === markerTable.name || (this.options.omnistat === true && hasOmnistatNames(table))) {
      layout.cells = cells;
    }
    return layout;
  }
}

function split(line: string, cells: string[]): void {
  let n = 0;
  let at = 0;
  for (let comma = line.indexOf(','); comma >= 0; comma = line.indexOf(',', at)) {
    cells[n++] = line.slice(at, comma);
    at = comma + 1;
  }
  cells[n++] = line.slice(at);
  cells.length = n;
}
