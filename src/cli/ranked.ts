import { type Command, Option } from 'commander';
import { type FilterOptions, historyPlaces, jobFilters, numberOf, periodOptions } from './history-options.ts';

/** What verbs have that list who is first in a period. */
export interface RankedOptions<G extends string> extends FilterOptions {
  by: G;
  limit: number;
  format: string;
}

/** Gives a verb the jobs, the period, the groups and the formats. */
export function rankedOptions(command: Command, period: string, groups: readonly string[], who: string): Command {
  return periodOptions(jobFilters(historyPlaces(command)), period)
    .addOption(new Option('--by <what>', who).choices(groups).default('user'))
    .option('-n, --limit <n>', 'show at most N (0: all)', numberOf('rows'), 20)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'));
}

/** The rows in the format that was chosen. */
export async function writeRanked<R extends object>(
  rows: readonly R[],
  format: string,
  columns: readonly string[],
  text: (rows: readonly R[]) => Promise<string>,
): Promise<void> {
  const csv = async (): Promise<string> => (await import('../show/object-csv.ts')).objectCsv(columns, rows);
  process.stdout.write(
    format === 'json' ? `${JSON.stringify(rows, null, 1)}\n` : format === 'csv' ? await csv() : await text(rows),
  );
}
