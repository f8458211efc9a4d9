import { type Command, Option } from 'commander';
import type { Fault } from '../base/fault.ts';
import { parseMoment } from '../base/moment.ts';
import { tableWidth } from '../base/page-width.ts';
import { type Listed, listRecordings } from '../recording/folder/list.ts';
import { listText } from '../show/list-text.ts';
import { tell } from './failure.ts';
import { type StoreOptions, storedJobs, storeOption } from './store-option.ts';

const COLUMNS = ['job', 'name', 'user', 'start', 'end', 'nodes', 'bytes', 'state', 'job_state', 'trouble', 'path'];

interface Options extends StoreOptions {
  format: string;
  tables?: boolean;
  from?: number;
  to?: number;
}

export function define(command: Command): void {
  storeOption(command)
    .argument('[folder...]', 'where to look (default: the current folder)')
    .option('-t, --tables', 'the tables that were recorded, instead of the recordings')
    .option('--from <time>', 'only what ran then or later (2026-11-15, -7d)', (text) => parseMoment(text))
    .option('--to <time>', 'only what ran then or earlier', (text) => parseMoment(text))
    .addOption(new Option('-f, --format <format>', 'how it looks').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
Ended: how the job did, as its report says it.
States: running (an agent writes), ended, sealed (small and fast), damaged (see tacho verify), newer
version (recorded by a newer Tacho: update this one). On a narrow terminal a state stands under "ended"
where it says more than how the job did, and sizes and what is told twice are left out; a pipe has every column.

Examples:
  tacho list
  tacho list tacho-4711 --tables
  tacho list /archive/2026 --format json | jq '.[] | select(.user=="ada").path'
  tacho list --store http://vm:8428 --from -7d
`,
    )
    .action(async (folders: string[], options: Options) => {
      const { store } = options;
      const places = folders.length === 0 && store === undefined ? ['.'] : folders;
      if (options.tables === true) return void process.stdout.write(await tablesOf(places, options));
      let unseen = 0;
      const failed = (why: Fault): void => {
        unseen++;
        process.exitCode = tell(why);
      };
      const all = store === undefined ? await here(places, failed) : await inStore(store, places, options);
      if (unseen === places.length && unseen > 0) return;
      const found = all.filter(
        ({ start, end }) => !(start! > (options.to ?? Number.NaN)) && !(end! < (options.from ?? Number.NaN)),
      );
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(found, null, 1)}\n`);
      else if (options.format === 'csv') process.stdout.write(await csv(COLUMNS, found));
      else if (found.length > 0) process.stdout.write(listText(found, tableWidth()));
      else if (store === undefined) process.stderr.write('no recordings here; tacho run -- COMMAND makes one\n');
      else process.stderr.write('no jobs there; agents and hubs push them when victoria.url says where\n');
    });
}

async function here(places: readonly string[], failed: (why: Fault) => void): Promise<Listed[]> {
  const found = listRecordings(places, { failed });
  if (found.every(({ job_state }) => job_state !== 'running' && job_state !== 'unknown')) return found;
  return (await import('../jobs/schedulers/refresh-listed.ts')).refreshListed(found);
}

async function inStore(address: string, ids: readonly string[], options: Options): Promise<Listed[]> {
  const [{ openStore }, { listStored }] = await Promise.all([
    import('../query/store/client.ts'),
    import('../query/store/list.ts'),
  ]);
  const found = await listStored(openStore(address), options);
  return ids.length === 0 ? found : found.filter(({ job }) => ids.includes(job));
}

async function tablesOf(places: readonly string[], { format, store }: Options): Promise<string> {
  const { findRecordings } = await import('./find-recordings.ts');
  const { recordedTables, tableListText } = await import('../show/table-list.ts');
  const recordings =
    store === undefined
      ? await findRecordings(places)
      : (await storedJobs(store, places)).map(({ recording }) => recording);
  const tables = recordedTables(recordings);
  if (format === 'csv') {
    const rows = tables.map((table) => ({
      ...table,
      table: table.name,
      keys: names(table.keys),
      columns: names(table.columns),
    }));
    return csv(['table', 'nodes', 'keys', 'columns', 'help'], rows);
  }
  return format === 'json' ? `${JSON.stringify(tables, null, 1)}\n` : tableListText(tables, tableWidth());
}

const names = (columns: readonly { name: string }[]): string => columns.map(({ name }) => name).join(' ');

async function csv(heads: readonly string[], rows: readonly object[]): Promise<string> {
  const { objectCsv } = await import('../show/object-csv.ts');
  return objectCsv(heads, rows);
}
