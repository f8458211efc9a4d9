import { columnNames, rowEnd, splitLine } from '../../base/csv.ts';
import { guessColumn, guessTable, layoutOf } from '../../recording/folder/describe.ts';
import type { Job } from '../../recording/folder/job.ts';
import type { Position } from '../../recording/live/position.ts';
import type { Lines } from '../../recording/live/tail.ts';
import type { CellUse } from '../../recording/read/csv-read.ts';
import { byName, type Table } from '../../table/table.ts';
import { tableVersion } from '../table-version.ts';

/** One row as it travels. */
export interface KafkaRow {
  /** A JSON object. */
  readonly value: string;
  /** Epoch microseconds. */
  readonly time: number;
  /** Where the row ends in what its node wrote of the table. */
  readonly position: Position;
}

/** What every row says besides its table's columns, in this order. */
export const IDENTITY = ['time', 'node', 'user', 'job', 'restart', 'cluster', 'recorded_by'] as const;

/** A column that is called like something every row says is named after its table: `process_user`. */
export function fieldName(table: string, column: string): string {
  return (IDENTITY as readonly string[]).includes(column) ? `${table}_${column}` : column;
}

/** As JSON wants it: no leading zeros, no bare point. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Turns the lines of one table of one stream into JSON objects: time, node, user, job, keys and columns. Numbers are
 * numbers, with the digits of the file; what is missing is left out.
 */
export class KafkaRows {
  private readonly name: string;
  private readonly described: Table | undefined;
  private readonly identity: string;
  private header: string | undefined;
  private uses: readonly CellUse[] = [];
  private fields: string[] = [];
  /** The table as the newest lines have it; undefined before the first ones. */
  table: Table | undefined;
  /** Lines that are no rows. */
  bad = 0;

  constructor(name: string, described: Table | undefined, node: string, job: Job) {
    this.name = name;
    this.described = described;
    const facts: Record<string, unknown> = { node, user: job.user, job: job.id };
    if (job.restart !== undefined && job.restart > 0) facts.restart = job.restart;
    if (job.cluster !== undefined && job.cluster !== '') facts.cluster = job.cluster;
    if (job.recorded_by !== undefined) facts.recorded_by = job.recorded_by;
    this.identity = JSON.stringify(facts).slice(1, -1);
  }

  get version(): string {
    return tableVersion(this.table!);
  }

  /** The rows among whole lines, oldest first. */
  read(lines: Lines): KafkaRow[] {
    const rows: KafkaRow[] = [];
    const text = lines.bytes.toString('utf8');
    if (this.header !== lines.header && !this.take(lines.header, text)) {
      this.bad += text.split('\n').length - 1;
      return rows;
    }
    // positions are bytes: texts beyond ASCII are longer than they seem
    const ascii = text.length === lines.bytes.length;
    let bytes = lines.from;
    for (let at = 0; at < text.length; ) {
      const end = rowEnd(text, at);
      const line = text.slice(at, end);
      bytes += (ascii ? line.length : Buffer.byteLength(line)) + 1;
      at = end + 1;
      const row = this.row(line);
      if (row === undefined) this.bad++;
      else rows.push({ ...row, position: { part: lines.part, bytes } });
    }
    return rows;
  }

  private take(header: string, text: string): boolean {
    this.header = undefined;
    const names = columnNames(header);
    if (names === undefined) return false;
    const sample = (): string[][] => text.slice(0, 16384).split('\n').slice(0, 20).map(splitLine);
    const uses = layoutOf(this.described, names, sample);
    if (uses === undefined) return false;
    const table = this.described ?? guessTable(this.name, names, uses);
    const keys = new Set(table.keys.map((key) => key.name));
    const columnsByName = byName(table.columns);
    const columns = names.flatMap((name, i) => {
      if (i === 0 || keys.has(name)) return [];
      return [columnsByName.get(name) ?? guessColumn(name, uses[i]!)];
    });
    const same = columns.length === table.columns.length && columns.every((column, i) => column === table.columns[i]);
    this.table = same ? table : { ...table, columns };
    this.uses = uses;
    this.fields = names.map((name, i) => (i === 0 ? '' : `,${JSON.stringify(fieldName(this.name, name))}:`));
    this.header = header;
    return true;
  }

  private row(line: string): { value: string; time: number } | undefined {
    const cells = splitLine(line);
    const time = Number(cells[0]);
    if (cells.length !== this.uses.length || cells[0] === '' || !(time >= 0)) return undefined;
    let value = `{"time":${Math.round(time)},${this.identity}`;
    for (let i = 1; i < cells.length; i++) {
      const cell = cells[i]!;
      if (cell === '') continue;
      if (this.uses[i] === 'text') value += this.fields[i]! + JSON.stringify(cell);
      else if (NUMBER.test(cell)) value += this.fields[i]! + cell;
      else if (Number.isFinite(Number(cell))) value += this.fields[i]! + String(Number(cell));
      else return undefined;
    }
    return { value: `${value}}`, time };
  }
}
