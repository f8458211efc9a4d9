import { type RecordingSummaries, SUMMARY_TABLES, type SummaryTableName } from '../history/tables/summary.ts';
import type { Table } from '../table/table.ts';
import type { Database } from './connect.ts';
import { storableJson } from './copy-write.ts';

/** Stores what the history has of a job: rows go with their job. */
export async function storeSummaries(database: Database, job: number, summaries: RecordingSummaries): Promise<void> {
  for (const name of Object.keys(SUMMARY_TABLES) as SummaryTableName[])
    await storeRows(
      database,
      name,
      summaries[name].map((row) => ({ ...row, stored: job })),
    );
}

export async function storeRows(database: Database, name: SummaryTableName, rows: readonly object[]): Promise<void> {
  if (rows.length === 0) return;
  await database.query(
    `insert into tacho.summary_${name} select * from jsonb_populate_recordset(null::tacho.summary_${name}, $1::jsonb)`,
    [storableJson(rows.map((row) => rowOf(row, SUMMARY_TABLES[name])))],
  );
}

/** As the columns are: times as text, whole numbers without a fraction. */
function rowOf(row: object, { columns }: Table): object {
  const given = row as Record<string, unknown>;
  const stored: Record<string, unknown> = { ...given, time: timeText(given.time as number) };
  for (const { name, type } of columns)
    if (type === 'int' && typeof given[name] === 'number') stored[name] = Math.round(given[name]);
  return stored;
}

/** To the microsecond. */
function timeText(moment: number): string {
  const milliseconds = Math.floor(moment / 1000);
  const rest = String(Math.round(moment) - milliseconds * 1000).padStart(3, '0');
  return new Date(milliseconds).toISOString().replace('Z', `${rest}Z`);
}
