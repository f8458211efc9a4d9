import { stated } from '../../base/stated.ts';
import type { Table } from '../../table/table.ts';
import { type RecordingSummaries, SUMMARY_TABLES, type SummaryTableName } from '../tables/summary.ts';
import type { Entry } from './entry.ts';
import type { UnindexedRecording } from './summarise-one.ts';

/** Longer texts are cut: a million jobs have one each. */
const LONGEST = 4096;
const MOST_ROWS = 100_000;

/**
 * An entry as a process with a user's rights has answered it: only what the tables have, about the recording that was asked
 * for. `user`: whose folder it lies in; nobody speaks for others.
 */
export function checkedEntry(workerEntry: unknown, { id, stamp }: UnindexedRecording, user?: string): Entry {
  const { summaries, trouble, damage } = (
    typeof workerEntry === 'object' && workerEntry !== null ? workerEntry : {}
  ) as Partial<Entry>;
  if (typeof trouble === 'string') return { id, stamp, trouble: trouble.slice(0, LONGEST) };
  if (typeof summaries !== 'object' || summaries === null)
    return { id, stamp, trouble: `cannot summarise ${id}: there was no answer` };
  const rows = (Object.keys(SUMMARY_TABLES) as SummaryTableName[]).map((name) => {
    const all: unknown = summaries[name];
    const list = Array.isArray(all) ? all.slice(0, MOST_ROWS) : [];
    return [name, list.flatMap((row) => checkedRow(row, SUMMARY_TABLES[name], id, user) ?? [])];
  });
  return { id, stamp, summaries: Object.fromEntries(rows) as RecordingSummaries, ...stated({ damage: cut(damage) }) };
}

function checkedRow(row: unknown, table: Table, id: string, user: string | undefined): object | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  const given = row as Record<string, unknown>;
  if (typeof given.time !== 'number' || !Number.isSafeInteger(Math.round(given.time))) return undefined;
  const checked: Record<string, unknown> = { time: given.time };
  for (const { name } of table.keys) checked[name] = cut(given[name]) ?? '';
  for (const { name, type } of table.columns) {
    const value = given[name];
    if (type === 'text') {
      const text = cut(value);
      if (text !== undefined && text !== '') checked[name] = text;
    } else if (typeof value === 'number' && Number.isFinite(value)) checked[name] = value;
  }
  checked.recording = id;
  if (user !== undefined && 'user' in checked) checked.user = user;
  return checked;
}

const cut = (value: unknown): string | undefined => (typeof value === 'string' ? value.slice(0, LONGEST) : undefined);
