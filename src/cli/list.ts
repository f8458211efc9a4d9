import { type Command, Option } from 'commander';
import { listRecordings } from '../recording/list.ts';
import { listText } from '../show/list-text.ts';

export function define(command: Command): void {
  command
    .argument('[folder...]', 'where to look (default: the current folder)')
    .option('-t, --tables', 'the tables that were recorded, instead of the recordings')
    .addOption(new Option('-f, --format <format>', 'how it looks').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
States: running (an agent writes), ended, sealed (small and fast), damaged (see tacho verify).

Examples:
  tacho list
  tacho list tacho-4711 --tables
  tacho list /archive/2026 --format json | jq '.[] | select(.user=="ada").path'
`,
    )
    .action(async (folders: string[], options: { format: string; tables?: boolean }) => {
      const places = folders.length === 0 ? ['.'] : folders;
      if (options.tables === true) return void process.stdout.write(await tablesOf(places, options.format));
      const found = listRecordings(places);
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(found, null, 1)}\n`);
      else if (found.length === 0) process.stderr.write('no recordings here; tacho run -- COMMAND makes one\n');
      else process.stdout.write(listText(found, terminalWidth()));
    });
}

async function tablesOf(places: readonly string[], format: string): Promise<string> {
  const { findRecordings } = await import('../recording/open.ts');
  const { recordedTables, tableListText } = await import('../show/table-list.ts');
  const tables = recordedTables(findRecordings(places));
  return format === 'json' ? `${JSON.stringify(tables, null, 1)}\n` : tableListText(tables, terminalWidth());
}

/** Whoever reads a pipe gets everything. */
const terminalWidth = (): number | undefined => (process.stdout.isTTY ? (process.stdout.columns ?? 80) : undefined);
