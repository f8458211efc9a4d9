import { prometheusName } from './names.ts';
import type { Column, Table } from './table.ts';

export interface ReferenceEntry {
  readonly table: Table;
  /** Read at most once in so many seconds. */
  readonly every?: number;
}

const HEAD = `# The metric reference

Made by \`npm run docs\` from the table definitions in src/sources/; do not edit it.

Each table is a file of the recording: \`node=<name>/<table>.csv\` while it is written, \`<table>.parquet\` (small ones: \`<table>.csv.zst\`) when sealed.
Its columns are \`time\` (microseconds since 1970, UTC), the keys, then the columns below. A value that could not be read is
empty. A *gauge* is a level at that time, a *counter* only grows and its differences matter, an *info* describes.
`;

/** docs/metrics.md: every table with its keys, columns, units and Prometheus names. */
export function metricReference(entries: readonly ReferenceEntry[]): string {
  const index = entries.map(({ table }) => `| [${table.name}](#${table.name}) | ${cell(table.help)} |`);
  return `${[HEAD, '| table | |\n|---|---|', ...index].join('\n')}\n\n${entries.map(section).join('\n')}`;
}

function section({ table, every }: ReferenceEntry): string {
  const facts = [table.scope === 'job' ? "The job's part of the node." : 'The whole node.'];
  if (every !== undefined) facts.push(`Read every ${every} s at most.`);
  if (table.sparse) facts.push('A row is written when something changed; the last one holds until the next.');
  if (table.events) facts.push('A row is something that happened, at the time it happened.');
  if (table.open !== undefined) facts.push(table.open.help);
  const lines = [`## ${table.name}`, '', table.help, facts.join(' '), ''];
  if (table.keys.length > 0) {
    lines.push('| key | |', '|---|---|', ...table.keys.map((key) => `| \`${key.name}\` | ${cell(key.help)} |`), '');
  }
  lines.push('| column | unit | kind | Prometheus | |', '|---|---|---|---|---|');
  for (const column of table.columns) lines.push(row(table, column));
  return `${lines.join('\n')}\n`;
}

function row(table: Table, column: Column): string {
  const unit = column.unit === 'none' ? 'text' : column.unit;
  const cells = [`\`${column.name}\``, unit, column.kind, `\`${prometheusName(table, column)}\``, cell(column.help)];
  return `| ${cells.join(' | ')} |`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
