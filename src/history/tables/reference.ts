import { SUMMARY_TABLES } from './summary.ts';

const HEAD = `# The tables of the history

Made by \`npm run docs\` from the definitions in src/history/tables/; do not edit it. [history.md](history.md) says how they are kept and
asked. Each is a folder of Parquet files, \`ARCHIVE/.tacho-index/TABLE/day=2026-03-02/part-….parquet\`, and a table
\`tacho.summary_TABLE\` in PostgreSQL. What was not measured is empty. Moments other than \`time\` are microseconds since 1970, UTC.
`;

/** docs/history-tables.md: every table with its keys and columns. */
export function historyReference(): string {
  const sections = Object.values(SUMMARY_TABLES).map(({ name, help, keys, columns }) => {
    const rows = [
      '| `time` | timestamp | See above. |',
      ...keys.map((key) => `| \`${key.name}\` | text | ${key.help} |`),
      ...columns.map(
        (column) => `| \`${column.name}\` | ${column.type === 'text' ? 'text' : column.unit} | ${column.help} |`,
      ),
    ];
    return `## ${name}\n\n${help}\n\n| column | unit | |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `${HEAD}\n${sections.join('\n')}`;
}
