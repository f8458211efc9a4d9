import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { count } from '../base/figure.ts';
import { tableWidth } from '../base/page-width.ts';
import { indexOf } from '../history/ask/history.ts';
import type { SqlAnswer } from '../history/ask/sql.ts';
import { asOwner } from '../recording/folder/as-owner.ts';
import type { Recording } from '../recording/folder/open.ts';
import { findRecordings } from './find-recordings.ts';
import { numberOf } from './history-options.ts';

interface Options {
  recording?: string[];
  limit?: number;
  format: string;
}

const MOST = 1000;

export function define(command: Command): void {
  command
    .argument('<query>', 'one SQL query (DuckDB) over jobs, job_nodes, node_hours, findings')
    .argument('[archive...]', 'archives with an index (default: the current folder)')
    .option('--recording <folder...>', 'also over the tables of these recordings (cpu, gpu, process…)')
    .option('-n, --limit <n>', `show at most N rows (0: all; default: ${MOST} as text)`, numberOf('rows'))
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
Nothing can be changed, and no other file read. "show tables" lists the tables, "describe jobs" the columns. Times are
timestamps (time) or microseconds since 1970 (end_time: make_timestamp(end_time)). Tables of recordings have the columns job and
node before their own.

Examples:
  tacho sql "select user, sum(core_hours) from jobs group by user" runs
  tacho sql "select finding, count(*) from findings group by 1" --format csv
  tacho sql "select max(power_watts) from gpu" --recording tacho-4711
`,
    )
    .action(async (query: string, paths: string[], options: Options) => {
      const sqlAnswer = await asked(query, paths, options.recording ?? []);
      process.stdout.write(await printed(sqlAnswer, options));
    });
}

async function asked(query: string, paths: readonly string[], folders: readonly string[]): Promise<SqlAnswer> {
  const { askSql } = await import('../history/ask/sql.ts');
  const named = paths.length === 0 && folders.length === 0 ? ['.'] : paths;
  const archives = named.map((archivePath) => {
    const archive = indexOf(archivePath);
    if (archive === undefined)
      throw usage(
        `${archivePath === '.' ? 'the current folder' : archivePath} has no index`,
        `tacho index ${archivePath} makes it; --recording asks one recording`,
      );
    return archive;
  });
  const recordings = folders.length === 0 ? [] : await findRecordings(folders);
  return askSql(query, { archives, recordings: await own(recordings) });
}

/** Files of other users are not for root's SQL to read: what is in them is theirs. */
async function own(recordings: readonly Recording[]): Promise<readonly Recording[]> {
  for (const { path } of recordings)
    await asOwner(path, () => {
      if (process.geteuid!() !== process.getuid!())
        throw usage(`${path} belongs to another user`, 'as root, ask the index; let its owner ask the recording');
    });
  return recordings;
}

async function printed({ columns, rows }: SqlAnswer, { format, limit }: Options): Promise<string> {
  const most = limit ?? (format === 'text' ? MOST : 0);
  const shown = most === 0 ? rows : rows.slice(0, most);
  const objects = (): object[] => shown.map((row) => Object.fromEntries(row.map((cell, i) => [columns[i]!, cell])));
  if (format === 'json') return `${JSON.stringify(objects(), null, 1)}\n`;
  if (format === 'csv') return (await import('../show/object-csv.ts')).objectCsv(columns, objects());
  const { textTable } = await import('../show/terminal/text-table.ts');
  const heads = columns.map((head, i) => ({
    head,
    ...(typeof rows[0]?.[i] === 'number' ? { align: 'right' as const } : {}),
  }));
  const cells = shown.map((row) => row.map((cell) => (cell === null ? '-' : String(cell))));
  const rest = rows.length - shown.length;
  const lines = rows.length === 0 ? ['no rows'] : textTable(heads, cells, tableWidth());
  return `${lines.join('\n')}\n${rest > 0 ? `and ${count(rest, 'more row')}; --limit 0 shows all\n` : ''}`;
}
