import { line } from '../../base/csv.ts';
import { fieldName, IDENTITY } from '../../sinks/kafka/rows.ts';
import { header, type Table } from '../../table/table.ts';

/** What a row says of itself besides its table's columns. */
export interface RowIdentity {
  node: string;
  user: string;
  job: string;
  restart?: number;
  cluster?: string;
}

/** Turns the JSON objects of one version of a table back into the lines that they were made from, byte for byte. */
export class KafkaLines {
  /** With its newline. */
  readonly header: string;
  private readonly fields: readonly string[];

  constructor(table: Table) {
    const names = header(table);
    this.header = line(names);
    this.fields = names.map((name, i) => (i === 0 ? name : fieldName(table.name, name)));
  }

  /** Throws when it is no row. */
  read(value: string): { identity: RowIdentity; line: string } {
    const cells = new Map<string, string>();
    // numbers keep the digits that they were written with
    const take = (key: string, each: unknown, context?: { source?: string }): unknown => {
      if (typeof each === 'string') cells.set(key, each);
      else if (typeof each === 'number') cells.set(key, context?.source ?? String(each));
      return each;
    };
    JSON.parse(value, take as (key: string, each: unknown) => unknown);
    const [time, node, user, job] = IDENTITY.map((name) => cells.get(name)) as [string, string, string, string];
    if (time === undefined || node === undefined || user === undefined || job === undefined)
      throw new Error(`a row says no time, node, user or job: ${value.slice(0, 100)}`);
    const identity: RowIdentity = { node, user, job };
    if (cells.has('restart')) identity.restart = Number(cells.get('restart'));
    if (cells.has('cluster')) identity.cluster = cells.get('cluster')!;
    return { identity, line: line(this.fields.map((field) => cells.get(field) ?? '')) };
  }
}

/** Whose a row is, whatever its table is; undefined: it does not say. */
export function identityOf(value: string): RowIdentity | undefined {
  try {
    return new KafkaLines(NO_TABLE).read(value).identity;
  } catch {
    return undefined;
  }
}

const NO_TABLE: Table = { name: '', help: '', scope: 'node', keys: [], columns: [] };
