import * as fs from 'node:fs';
import * as path from 'node:path';
import { reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { quickMark } from '../../base/quick-hash.ts';
import { SUMMARY_TABLES, type SummaryTableName } from '../tables/summary.ts';
import { connectDuckDb } from './connect-duckdb.ts';
import { dayFolder, dayOf, daysOf, partsIn } from './index-files.ts';

/**
 * Copies of months that are over, one file for each month of a table: a question about a year opens twelve files instead of
 * 365. The files by day stay what counts. A copy is called by what it was made of: after any change of its days it is none.
 */
export const MONTHS = 'months';

/** A month with fewer files is read quickly enough as it is. */
const LEAST_PARTS = 16;
/** Days after its end when a month is joined: late rows have arrived by then. */
const DAYS_AFTER = 3;
/** Rows that are read together: the users of a group are few, so most groups are passed by. */
const GROUP_ROWS = 16_384;

/** What rows are sorted by: questions ask about users, or about nodes. */
const ORDER: Record<SummaryTableName, string> = {
  jobs: '"user", time',
  job_nodes: 'node, time',
  node_hours: 'node, time',
  findings: 'finding, time',
};

/** Files of a table, as paths: those of days, and copies of months. */
export interface TableParts {
  days: string[];
  months: string[];
}

const monthOf = (day: string): string => day.slice(0, -'-DD'.length);

/** The files that have the rows of the days from `first` to `last`; copies of months also have other days. */
export function partsBetween(index: string, table: SummaryTableName, first: string, last: string): TableParts {
  const copies = copiesOf(index, table);
  const tableFiles: TableParts = { days: [], months: [] };
  for (const [month, days] of Map.groupBy(daysOf(index, table), monthOf)) {
    const wanted = days.filter((day) => day >= first && day <= last);
    if (wanted.length === 0) continue;
    const copy = copies.has(month) && wanted.length > 1 ? copyName(month, partsOf(index, table, days)) : undefined;
    if (copy !== undefined && copies.get(month)!.includes(copy)) tableFiles.months.push(copyPath(index, table, copy));
    else tableFiles.days.push(...partsOf(index, table, wanted).map((name) => path.join(index, table, name)));
  }
  return tableFiles;
}

export const isMonth = (file: string): boolean => path.basename(path.dirname(path.dirname(file))) === MONTHS;

/** Paths of files below the folder of the table. */
const partsOf = (index: string, table: SummaryTableName, days: readonly string[]): string[] =>
  days.flatMap((day) => {
    const folder = path.relative(table, dayFolder(table, day));
    return partsIn(path.join(index, table, folder))
      .map(({ name }) => `${folder}/${name}`)
      .sort();
  });

const copyName = (month: string, partFiles: readonly string[]): string =>
  `${month}-${quickMark(partFiles.join('\n'))}.parquet`;

const copyPath = (index: string, table: SummaryTableName, name: string): string =>
  path.join(index, MONTHS, table, name);

/** Names of copies by month, whether they still hold or not. */
function copiesOf(index: string, table: SummaryTableName): Map<string, string[]> {
  let names: string[] = [];
  try {
    names = fs.readdirSync(path.join(index, MONTHS, table));
  } catch {
    // there are none
  }
  return Map.groupBy(names, (name) => name.slice(0, name.lastIndexOf('-')));
}

/**
 * Joins the months that are over and have no copy that holds, and removes copies that hold no more. True: something has
 * changed, and who is asking has to ask again.
 */
export async function joinMonths(index: string, now = Date.now() * 1000): Promise<boolean> {
  const over = monthOf(dayOf(now - DAYS_AFTER * 86_400e6));
  let isChanged = false;
  for (const table of Object.keys(SUMMARY_TABLES) as SummaryTableName[]) {
    const copies = copiesOf(index, table);
    const months = Map.groupBy(daysOf(index, table), monthOf);
    const holding = new Set<string>();
    for (const [month, days] of months) {
      const partFiles = partsOf(index, table, days);
      if (month >= over || partFiles.length < LEAST_PARTS) continue;
      const name = copyName(month, partFiles);
      holding.add(name);
      if (copies.get(month)?.includes(name) === true) continue;
      await join(
        partFiles.map((partFile) => path.join(index, table, partFile)),
        copyPath(index, table, name),
        ORDER[table],
      );
      isChanged = true;
    }
    for (const name of [...copies.values()].flat())
      if (!holding.has(name)) {
        fs.rmSync(copyPath(index, table, name), { force: true });
        isChanged = true;
      }
  }
  return isChanged;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** DuckDB does that in a tenth of the time that rows take as objects. */
async function join(partFiles: readonly string[], file: string, order: string): Promise<void> {
  makeFolder(path.dirname(file), 0o700);
  const connection = await connectDuckDb();
  try {
    await connection.run(`copy (select * from read_parquet([${partFiles.map(quoted).join(', ')}], hive_partitioning = true,
        hive_types = {day: date}) order by ${order})
      to ${quoted(`${file}.tmp`)} (format parquet, compression zstd, row_group_size ${GROUP_ROWS})`);
  } finally {
    connection.closeSync();
  }
  fs.chmodSync(`${file}.tmp`, 0o600);
  fs.renameSync(`${file}.tmp`, file);
}

/** What is wrong with the copies that hold: all of them are read. */
export async function verifyMonths(index: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const table of Object.keys(SUMMARY_TABLES) as SummaryTableName[]) {
    const days = daysOf(index, table);
    const { months } = partsBetween(index, table, '', '9');
    for (const file of months) {
      const own = days.filter((day) => path.basename(file).startsWith(`${monthOf(day)}-`));
      const rows = own
        .flatMap((day) => partsIn(path.join(index, dayFolder(table, day))))
        .reduce((a, b) => a + b.rows, 0);
      const connection = await connectDuckDb();
      try {
        const read = await connection.runAndReadAll(
          `select count(*), max(hash(m)) from read_parquet(${quoted(file)}) m`,
        );
        const [[all]] = read.getRows() as [[bigint]];
        if (Number(all) !== rows) wrong.push(`${file} has ${all} rows, its days have ${rows}`);
      } catch (error) {
        wrong.push(`${file}: ${reason(error)}`);
      } finally {
        connection.closeSync();
      }
    }
  }
  return wrong;
}
