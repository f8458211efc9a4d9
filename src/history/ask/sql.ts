import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Fault, usage } from '../../base/fault.ts';
import { isParquet } from '../../recording/folder/files.ts';
import type { Recording } from '../../recording/folder/open.ts';
import { readTable } from '../../recording/read/read.ts';
import { writeParquet } from '../../recording/sealed/parquet/write.ts';
import { connectDuckDb } from '../index/connect-duckdb.ts';
import { indexFolder } from '../index/index-files.ts';
import { SUMMARY_TABLES, type SummaryTableName } from '../tables/summary.ts';
import { duckdb } from './dialect.ts';
import { cellOf, emptyTable, filesOf } from './duckdb-engine.ts';
import type { Cell } from './engine.ts';

export interface SqlAnswer {
  columns: string[];
  rows: Cell[][];
}

export interface SqlPlace {
  /** Archives with an index. */
  archives: readonly string[];
  /** Recordings whose tables can be asked, too. */
  recordings?: readonly Recording[];
}

/** Runs one query that changes nothing. Files other than those of the tables are out of its reach. */
export async function askSql(query: string, { archives, recordings = [] }: SqlPlace): Promise<SqlAnswer> {
  const connection = await connectDuckDb();
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-sql-'));
  try {
    const statements = await connection.extractStatements(query).catch((error: Error) => {
      throw wrongSql(error);
    });
    if (statements.count !== 1)
      throw usage('give one query', 'tacho sql "select user, sum(core_hours) from jobs group by user"');
    const indexes = archives.map(indexFolder);
    for (const name of Object.keys(SUMMARY_TABLES) as SummaryTableName[])
      await connection.run(
        `create view ${name} as select * from ${indexes.length === 0 ? emptyTable(name) : filesOf(indexes, name)}`,
      );
    const folders = new Set([...indexes, scratch]);
    for (const name of mentioned(query, recordings)) {
      const files = recordings.flatMap((recording) => tableFiles(recording, name, scratch, folders));
      if (files.length === 0) continue;
      const list = files.map(
        ({ file, job, node }) =>
          `select ${duckdb.text(job)} as job, ${duckdb.text(node)} as node, * from read_parquet(${duckdb.text(file)}, hive_partitioning = false)`,
      );
      await connection.run(`create view "${name.replaceAll('"', '""')}" as ${list.join(' union all by name ')}`);
    }
    const allowed = [...folders].map((folder) => duckdb.text(`${path.resolve(folder)}/`));
    await connection.run(`set allowed_directories = [${allowed.join(', ')}]`);
    await connection.run('set enable_external_access = false');
    await connection.run('set lock_configuration = true');
    const prepared = await statements.prepare(0).catch((error: Error) => {
      throw wrongSql(error);
    });
    if (!READING.has(prepared.statementType))
      throw usage('this query would change something', 'tacho sql only reads: select, with, describe, explain');
    const reader = await prepared.runAndReadAll().catch((error: Error) => {
      throw wrongSql(error);
    });
    return { columns: reader.deduplicatedColumnNames(), rows: reader.getRows().map((row) => row.map(cellOf)) };
  } finally {
    connection.closeSync();
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

/** SELECT and EXPLAIN, as DuckDB numbers them; `describe`, `show` and `summarize` are selects. */
const READING = new Set([1, 12]);

function wrongSql(error: Error): Fault {
  const [first, ...rest] = error.message.split('\n').filter((line) => line.trim() !== '');
  return new Fault(first ?? 'the query failed', {
    exit: 2,
    hint:
      rest.length > 0
        ? rest.join('\n')
        : 'tacho sql "show tables" lists the tables, "describe jobs" the columns of one',
    cause: error,
  });
}

/** Tables of recordings whose names are in the query. */
function mentioned(query: string, recordings: readonly Recording[]): string[] {
  const names = new Set(recordings.flatMap(({ nodes }) => nodes.flatMap(({ tables }) => [...tables.keys()])));
  const queryWords = new Set(query.toLowerCase().match(/[a-z_][\w-]*/g) ?? []);
  return [...names].filter((name) => !(name in SUMMARY_TABLES) && queryWords.has(name.toLowerCase()));
}

interface NodeFile {
  file: string;
  job: string;
  node: string;
}

/** The files of a table: sealed ones as they are, others as Parquet for the time of the query. */
function tableFiles({ job, nodes }: Recording, table: string, scratch: string, folders: Set<string>): NodeFile[] {
  return nodes.flatMap((node): NodeFile[] => {
    const files = node.tables.get(table);
    if (files === undefined) return [];
    const of = { job: job.id, node: node.name };
    if (files.parts.length === 0 && isParquet(files.sealed)) {
      folders.add(node.folder);
      return [{ ...of, file: path.resolve(node.folder, files.sealed!) }];
    }
    const batch = readTable(node, table);
    if (batch.rows === 0) return [];
    const file = path.join(scratch, `${fs.readdirSync(scratch).length}.parquet`);
    writeParquet(file, batch, { quick: true });
    return [{ ...of, file }];
  });
}
