import { type Command, Option } from 'commander';
import { type Fault, usage } from '../base/fault.ts';
import { parseMoment } from '../base/moment.ts';
import { tableWidth } from '../base/page-width.ts';
import { printable } from '../base/printable.ts';
import { commandLine } from '../base/quote.ts';
import { count, listed as errorLine } from '../base/readable.ts';
import { inTwoThreads } from '../base/two-threads.ts';
import { warn } from '../base/warn.ts';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import {
  byTime,
  describeAll,
  foldersOfRecordings,
  type Listed,
  type RecordingFolder,
} from '../recording/folder/list.ts';
import { hiddenText, listText } from '../show/list-text.ts';
import { tell } from './failure.ts';
import { refuseUnknown } from './filter-words.ts';
import { JOBS_ARGUMENT, resolveNames } from './named-recordings.ts';
import { type StoreOptions, storedJobs, storeOption } from './store-option.ts';
import { parseTags } from './tags.ts';
import type { ThreadTask } from './thread.ts';

// biome-ignore format: as in the table
const COLUMNS = [
  'job', 'name', 'user', 'start', 'end', 'nodes', 'bytes', 'state', 'job_state', 'trouble', 'path', 'command', 'tags', 'annotations', 'findings',
];

interface Options extends StoreOptions {
  format: string;
  tables?: boolean;
  tag?: string[];
  user?: string[];
  name?: string[];
  state?: string[];
  finding?: string[];
  from?: number;
  to?: number;
}

const several = (value: string, all: string[] = []): string[] => [...all, ...value.split(',').filter(Boolean)];
/** Values of tags may have commas. */
const whole = (value: string, all: string[] = []): string[] => [...all, value];

export function define(command: Command): void {
  storeOption(command)
    .argument('[recordings...]', JOBS_ARGUMENT)
    .option('--tables', 'the tables that were recorded, instead of the recordings')
    .option('--tag <key:value>', 'only jobs with this tag; several must all be there', whole)
    .option('-u, --user <names>', 'only jobs of these users', several)
    .option('--name <names>', 'only jobs with these names; * and ? as in file names', several)
    .option('--state <states>', 'only in these states: completed, failed, running, damaged…', several)
    .option('--finding <ids>', 'only with one of these findings (gpu-unused, cpu-*); makes their reports', several)
    .option('--from <time>', 'only what ran then or later (2026-11-15, -7d)', (text) => parseMoment(text))
    .option('--to <time>', 'only what ran then or earlier', (text) => parseMoment(text))
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
"ended" is the state of the job; "state" is that of the recording: running (an agent writes), ended, sealed (small and
fast), damaged (see tacho verify) or newer version (update Tacho). On a narrow terminal the two are one column, and columns
that do not fit are left out; the last line names them. A pipe has every column. Findings are shown in a folder with an
index (tacho index), or with --finding. "-" means not known.

Examples:
  tacho list
  tacho list --tag case:baseline --state failed
  tacho list --user ada --name 'train*' --from -7d
  tacho list tacho-4711 --tables
  tacho list /archive/2026 --format json | jq '.[] | select(.user=="ada").path'
  tacho list --store http://vm:8428 --from -7d
`,
    )
    .action(async (names: string[], options: Options) => {
      const { store } = options;
      if (options.tables === true) return void process.stdout.write(await tablesOf(names, options));
      if (store !== undefined && (options.tag ?? options.finding) !== undefined)
        throw usage('a store knows neither tags nor findings of jobs', 'tacho list FOLDER --tag looks at recordings');
      const all = store === undefined ? await here(names, options) : await inStore(store, names, options);
      if (all === undefined) return;
      const ran = all.filter(
        ({ start, end }) => !(start! > (options.to ?? Number.NaN)) && !(end! < (options.from ?? Number.NaN)),
      );
      const listedJobs = await matching(ran, options);
      if (listedJobs.length === 0 && all.length > 0)
        await refuseUnknown({ states: options.state?.map(stateWord), findings: options.finding }, RECORDING_STATES);
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(listedJobs, null, 1)}\n`);
      else if (options.format === 'csv') process.stdout.write(await csv(COLUMNS, listedJobs.map(flat)));
      else if (listedJobs.length > 0) {
        const hidden: string[] = [];
        process.stdout.write(listText(listedJobs, tableWidth(), undefined, hidden));
        process.stdout.write(hiddenText(hidden, tableWidth()));
      } else if (all.length > 0) process.stderr.write(`none of ${count(all.length, 'recording')} matches\n`);
      else if (store === undefined) process.stderr.write('no recordings here; tacho run -- COMMAND makes one\n');
      else process.stderr.write('no jobs there; agents and hubs push them when victoria.url says where\n');
    });
}

const RECORDING_STATES = ['running', 'ended', 'sealed', 'damaged', 'newer_version'];

const stateWord = (text: string): string => text.toLowerCase().replaceAll(' ', '_');

/** Number of recordings that are described at a time. */
const LOT = 100;
/** From so many on a second thread helps: it describes while this one still looks for others. */
const MANY = 1000;

async function listAll(folders: Iterable<RecordingFolder>): Promise<Listed[]> {
  const now = Date.now() * 1000;
  const task: ThreadTask = 'list';
  const more = folders[Symbol.iterator]();
  const first = taken(more, MANY);
  const listed: Listed[] = [];
  for await (const lot of inTwoThreads(task, lotsOf(first, more, now), describeAll, first.length === MANY))
    listed.push(...lot);
  return byTime(listed);
}

function* lotsOf(first: RecordingFolder[], more: Iterator<RecordingFolder>, now: number): Generator<Lot> {
  for (let i = 0; i < first.length; i += LOT) yield { folders: first.slice(i, i + LOT), now };
  for (let lot = taken(more, LOT); lot.length > 0; lot = taken(more, LOT)) yield { folders: lot, now };
}

type Lot = Parameters<typeof describeAll>[0];

function taken<T>(items: Iterator<T>, most: number): T[] {
  const some: T[] = [];
  while (some.length < most) {
    const item = items.next();
    if (item.done === true) break;
    some.push(item.value);
  }
  return some;
}

/** Undefined: no place could be looked at, which was said. */
async function here(names: readonly string[], options: Options): Promise<Listed[] | undefined> {
  const { paths, refused } = await resolveNames(names);
  let unseen = refused.length;
  const failed = (why: Fault): void => {
    unseen++;
    process.exitCode = tell(why);
  };
  for (const why of refused) process.exitCode = tell(why);
  const closed: string[] = [];
  const listed = await listAll(foldersOfRecordings(paths, failed, (folder) => closed.push(folder)));
  if (closed.length > 0) {
    warn(`not looked into, as you may not read them: ${errorLine(closed.map(printable))}`);
  }
  if (unseen > 0 && unseen === paths.length + refused.length) return undefined;
  const isOpen = listed.some(({ job_state }) => job_state === 'running' || job_state === 'unknown');
  const listedJobs = isOpen
    ? await (await import('../jobs/schedulers/refresh-listed.ts')).refreshListed(listed)
    : listed;
  return withFindings(listedJobs, paths, options.finding !== undefined);
}

/** What was found in jobs, where an index says it; with `all`, of the others by their reports. */
async function withFindings(listedJobs: readonly Listed[], paths: readonly string[], all: boolean): Promise<Listed[]> {
  const { hasIndex } = await import('../history/index/index-files.ts');
  const indexed = paths.filter(hasIndex);
  if (indexed.length === 0 && !all) return [...listedJobs];
  const path = await import('node:path');
  const { indexedFindings } = await import('../history/index/indexed-findings.ts');
  const findingsByPath = new Map(indexed.flatMap((archivePath) => [...indexedFindings(archivePath)]));
  const rules = all ? await (await import('./rule-settings.ts')).forgivingRules() : undefined;
  const listed: Listed[] = [];
  for (const each of listedJobs) {
    const findings =
      findingsByPath.get(path.resolve(each.path)) ??
      (rules === undefined ? undefined : await reportedFindings(each, rules));
    listed.push(findings === undefined ? each : { ...each, findings });
  }
  return listed;
}

async function reportedFindings({ path, state }: Listed, rules: RuleSettings): Promise<string[] | undefined> {
  if (state === 'newer version') return undefined;
  const [{ openRecording }, { summariesOf }] = await Promise.all([
    import('../recording/folder/open.ts'),
    import('../history/make/summaries.ts'),
  ]);
  try {
    return summariesOf(openRecording(path), { nodeHours: false, rules }).findings.map(({ finding }) => finding);
  } catch {
    // what is damaged says so in its own column
    return undefined;
  }
}

async function matching(all: readonly Listed[], options: Options): Promise<Listed[]> {
  const tags = Object.entries(parseTags(options.tag ?? []));
  const { user, name, state, finding } = options;
  if (tags.length === 0 && [user, name, state, finding].every((each) => each === undefined)) return [...all];
  const { globPattern } = await import('../history/ask/filter.ts');
  const isOneOf = (globs: readonly string[] | undefined, values: readonly string[]): boolean =>
    globs?.some((glob) => values.some((value) => new RegExp(globPattern(glob), 's').test(value))) ?? true;
  return all.filter(
    (each) =>
      tags.every(([key, value]) => each.tags?.[key] === value) &&
      isOneOf(user, [each.user]) &&
      isOneOf(name, [each.name]) &&
      isOneOf(state?.map(stateWord), [each.job_state, each.state.replaceAll(' ', '_')]) &&
      isOneOf(finding, each.findings ?? []),
  );
}

const pairs = (all: Readonly<Record<string, string>> | undefined, between: string): string =>
  Object.entries(all ?? {})
    .map(([key, value]) => `${key}${between}${value}`)
    .join(';');

/** One text for each column. */
const flat = (each: Listed): object => ({
  ...each,
  command: each.command && commandLine(each.command),
  tags: pairs(each.tags, ':'),
  annotations: pairs(each.annotations, '='),
  findings: each.findings?.join(','),
});

async function inStore(address: string, ids: readonly string[], options: Options): Promise<Listed[]> {
  const [{ openStore }, { listStored }] = await Promise.all([
    import('../query/store/client.ts'),
    import('../query/store/list.ts'),
  ]);
  const listedJobs = await listStored(openStore(address), options);
  return ids.length === 0 ? listedJobs : listedJobs.filter(({ job }) => ids.includes(job));
}

async function tablesOf(names: readonly string[], { format, store }: Options): Promise<string> {
  const { findRecordings } = await import('./find-recordings.ts');
  const { recordedTables, tableListText } = await import('../show/table-list.ts');
  const recordings =
    store === undefined
      ? await findRecordings(names)
      : (await storedJobs(store, names)).map(({ recording }) => recording);
  const tables = recordedTables(recordings);
  if (format === 'csv') {
    const rows = tables.map((table) => ({
      ...table,
      table: table.name,
      keys: columnNames(table.keys),
      columns: columnNames(table.columns),
    }));
    return csv(['table', 'nodes', 'keys', 'columns', 'help'], rows);
  }
  return format === 'json' ? `${JSON.stringify(tables, null, 1)}\n` : tableListText(tables, tableWidth());
}

const columnNames = (columns: readonly { name: string }[]): string => columns.map(({ name }) => name).join(' ');

async function csv(heads: readonly string[], rows: readonly object[]): Promise<string> {
  const { objectCsv } = await import('../show/object-csv.ts');
  return objectCsv(heads, rows);
}
