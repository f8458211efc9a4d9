import { createInterface } from 'node:readline/promises';
import { type Command, Option } from 'commander';
import { shownAddress } from '../base/address.ts';
import { formatDuration, parseDuration } from '../base/duration.ts';
import { code, Fault, usage } from '../base/fault.ts';
import { count, figure } from '../base/figure.ts';
import { formatMoment, parseMoment } from '../base/moment.ts';
import { tableWidth } from '../base/page-width.ts';
import { formatBytes } from '../base/size.ts';
import { stated } from '../base/stated.ts';
import { configFlags } from '../config/flags.ts';
import type { Database } from '../database/connect.ts';
import type { StoredJob } from '../database/find-jobs.ts';
import type { DatabaseStatus } from '../database/status.ts';
import { began } from '../show/list-text.ts';
import { paint } from '../show/terminal/paint.ts';
import { progress } from '../show/terminal/progress.ts';
import { printable, textTable, wrap } from '../show/terminal/text-table.ts';
import { needAddress } from './database-address.ts';
import { commaSeparated } from './processes.ts';
import { parseTags } from './tags.ts';

const several = (value: string, all: string[]): string[] => [...all, value];
const print = (text: string): void => void process.stdout.write(text);
const json = (value: unknown): void => print(`${JSON.stringify(value, null, 1)}\n`);

interface Options {
  format: 'text' | 'json' | 'csv';
}

export function define(command: Command): void {
  command
    .helpCommand(false)
    .usage('status|migrate|jobs|tables|table|delete|retire|drop [options]')
    .addHelpText(
      'after',
      `
Examples:
  tacho db migrate --db postgres://tacho@db.site/tacho    makes the tables, or upgrades them
  tacho db status
  tacho db retire --older-than 90d --dry-run
`,
    );
  defineStatus(command.command('status'));
  defineMigrate(command.command('migrate'));
  defineJobs(command.command('jobs'));
  defineTables(command.command('tables'));
  defineTable(command.command('table'));
  defineDelete(command.command('delete'));
  defineRetire(command.command('retire'));
  defineDrop(command.command('drop'));
}

function options(command: Command, formats = ['text', 'json']): Command {
  return configFlags(command, ['db']).addOption(
    new Option('-f, --format <format>', 'output format').choices(formats).default('text'),
  );
}

async function csv(heads: readonly string[], rows: readonly object[]): Promise<string> {
  const { objectCsv } = await import('../show/object-csv.ts');
  return objectCsv(heads, rows);
}

// biome-ignore format: as in the table
const JOB_COLUMNS = [
  'job', 'id', 'restart', 'cluster', 'name', 'user', 'nodes', 'start', 'end', 'state', 'exit_code', 'tags', 'annotations',
  'processes', 'threads', 'cpu_time',
];

async function open<T>(given: object, work: (database: Database) => Promise<T>): Promise<T> {
  const { withDatabase } = await import('../database/connect.ts');
  return withDatabase(await needAddress(given), work);
}

function defineStatus(command: Command): void {
  options(command.description('Show what the database holds, and whether this Tacho can use it.'))
    .addHelpText('after', '\nExamples:\n  tacho db status --db postgres://db.site/tacho\n')
    .action(async (given: Options) => {
      const { databaseStatus } = await import('../database/status.ts');
      const status = await open(given, databaseStatus);
      if (given.format === 'json') json(status);
      else print(statusText(status));
    });
}

function statusText(status: DatabaseStatus): string {
  const { schema, knows } = status;
  const tables =
    schema === 0
      ? 'none yet; tacho db migrate makes them'
      : schema > knows
        ? `of a newer Tacho (schema ${schema}; this one knows up to ${knows}); update Tacho here`
        : schema < knows
          ? `of an older Tacho (schema ${schema} of ${knows}); tacho db migrate brings them forward`
          : `schema ${schema}`;
  const lines: [string, string][] = [
    ['database', `${status.address} (${status.server})`],
    ['tables', tables],
  ];
  if (status.jobs !== undefined) {
    const from = status.oldest === undefined ? '' : `, from ${formatMoment(status.oldest)}`;
    const to = status.newest === undefined ? '' : ` to ${formatMoment(status.newest)}`;
    lines.push(
      [
        'jobs',
        `${figure(status.jobs)} of ${count(status.users!, 'user')} on ${count(status.hosts!, 'host')}${from}${to}`,
      ],
      ['processes', `${figure(status.processes)}, with ${count(status.threads!, 'thread')}`],
      ['models', String(status.models)],
      ['size', formatBytes(status.bytes ?? 0)],
      ['submit', submitText(status)],
    );
  }
  const room = tableWidth() - 11;
  const statusLines = lines.flatMap(([name, value]) =>
    wrap(printable(value), room).map((line, i) => `${(i === 0 ? name : '').padEnd(10)} ${line}\n`),
  );
  return statusLines.join('') + sizesText(status);
}

/** What takes the room: tables with their indexes below them. */
function sizesText({ tables = [], indexes = [] }: DatabaseStatus): string {
  if (tables.length === 0) return '';
  const rows = tables.flatMap(({ table, bytes, rows }) => [
    [table, formatBytes(bytes), rows > 0 ? figure(Math.round(rows)) : ''],
    ...indexes
      .filter((index) => index.table === table)
      .map(({ index, bytes }) => [`  ${index}`, formatBytes(bytes), '']),
  ]);
  const [heads, ...lines] = textTable(
    [
      { head: 'table, index', most: 50 },
      { head: 'size', align: 'right' },
      { head: 'rows (estimated)', align: 'right', spare: 1 },
    ],
    rows,
    tableWidth(),
  );
  return `\n${[paint(process.stdout).dim(heads!), ...lines].join('\n')}\n`;
}

function submitText({ may_submit, read_only }: DatabaseStatus): string {
  if (read_only) return 'not possible: the database is read-only (a standby, or set so)';
  return may_submit ? 'allowed' : 'not allowed: reading only';
}

function defineMigrate(command: Command): void {
  options(command.description('Make the tables, or upgrade them to this version of Tacho. Data is kept.'))
    .addHelpText('after', '\nExamples:\n  tacho db migrate --db postgres://tacho@db.site/tacho\n')
    .action(async (given: Options) => {
      const { migrate } = await import('../database/schema.ts');
      const { SCHEMA } = await import('../database/migrations/index.ts');
      const made = await open(given, (database) => migrate(database));
      if (given.format === 'json')
        json({ schema: SCHEMA, applied: made.map(({ version, what }) => ({ version, what })) });
      else if (made.length === 0) print(`schema ${SCHEMA} already: nothing to do\n`);
      else print(made.map(({ version, what }) => `schema ${version}: ${what}\n`).join(''));
    });
}

interface JobsOptions extends Options {
  user?: string;
  name?: string;
  state?: string;
  tag: string[];
  host?: string;
  note?: string;
  at?: number;
  from?: number;
  to?: number;
  limit: number;
}

function defineJobs(command: Command): void {
  options(
    command
      .description('List jobs in the database, the newest last.')
      .option('-u, --user <name>', 'only those of this user')
      .option('--name <name>', 'only those of this name')
      .option('--state <state>', 'only those that ended so: completed, failed, timeout…')
      .option('--tag <key:value>', 'only those with this tag; several must all be there', several, [])
      .option('--host <name>', 'only those that ran on this node')
      .option('--note <text>', 'only those with this annotation: KEY=VALUE, or a text that is in one')
      .option('--at <time>', 'only those that ran at this moment', parseMoment)
      .option('--from <time>', 'only those that began then or later (2026-11-15, -7d)', parseMoment)
      .option('--to <time>', 'only those that began before', parseMoment)
      .option('-n, --limit <n>', 'show at most N rows', limit, 50),
    ['text', 'json', 'csv'],
  )
    .addHelpText(
      'after',
      '\nExamples:\n  tacho db jobs --user ada --from -7d\n  tacho db jobs --tag exp:D151 --format json\n  tacho db jobs --host c12 --at 2026-11-15T20:49\n',
    )
    .action(async (given: JobsOptions) => {
      const { findJobs } = await import('../database/find-jobs.ts');
      const { needSchema } = await import('../database/schema.ts');
      const { user, name, state, host, note, at, from, to } = given;
      const tags = parseTags(given.tag);
      const wanted = {
        user,
        name,
        state,
        host,
        note,
        at,
        since: from,
        until: to,
        ...(given.tag.length === 0 ? {} : { tags }),
        limit: given.limit,
      };
      const jobs = await open(given, async (database) => {
        await needSchema(database);
        return findJobs(
          database,
          Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)),
        );
      });
      if (given.format === 'json') json(jobs.map(({ metrics, thread_metrics, troubles, ...job }) => job));
      else if (given.format === 'csv') print(await csv(JOB_COLUMNS, jobs));
      else if (jobs.length === 0) process.stderr.write('no job in the database matches; tacho submit stores jobs\n');
      else print(jobsText(jobs));
    });
}

function defineTables(command: Command): void {
  options(command.description('List the tables in the database with their columns.'), ['text', 'json', 'csv'])
    .addHelpText('after', '\nExamples:\n  tacho db tables\n')
    .action(async (given: Options) => {
      const { databaseTables } = await import('../database/tables.ts');
      const { needSchema } = await import('../database/schema.ts');
      const tables = await open(given, async (database) => {
        await needSchema(database);
        return databaseTables(database);
      });
      if (given.format === 'json') return json(tables);
      if (given.format === 'csv') {
        const rows = tables.flatMap(({ name, columns }) =>
          columns.map((column) => ({ table: name, column: column.name, type: column.type })),
        );
        return print(await csv(['table', 'column', 'type'], rows));
      }
      const cells = tables.map(({ name, columns }) => [name, columns.map((column) => column.name).join(' ')]);
      const most = Math.max(...cells.map(([name]) => name!.length));
      for (const [name, columns] of cells) {
        const lines = wrap(columns!, tableWidth() - most - 2);
        print(lines.map((line, i) => `${(i === 0 ? name! : '').padEnd(most)}  ${line}\n`).join(''));
      }
    });
}

function defineTable(command: Command): void {
  configFlags(command, ['db'])
    .description('Write out a table of the database: times as epoch microseconds, lists and objects as JSON.')
    .argument('<table>', 'jobs, users, hosts, job_hosts, processes, threads, operations, models')
    .argument('[jobs...]', 'only what belongs to these jobs')
    .option('--columns <names>', 'only these, e.g. job,exename,args', commaSeparated)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['csv', 'json']).default('csv'))
    .addHelpText(
      'after',
      '\nExamples:\n  tacho db table hosts\n  tacho db table threads 4711 --columns process,tid,cpu_time > threads.csv\n',
    )
    .action(async (table: string, jobs: string[], given: { columns?: string[]; format: 'csv' | 'json' }) => {
      const { writeTable } = await import('../database/tables.ts');
      const { needSchema } = await import('../database/schema.ts');
      const { namedJobs } = await import('../database/find-jobs.ts');
      await open(given, async (database) => {
        await needSchema(database);
        const chosen = jobs.length === 0 ? undefined : (await namedJobs(database, jobs)).map(({ job }) => job);
        const question = {
          ...{ table, format: given.format },
          ...stated({ columns: given.columns, jobs: chosen }),
        };
        await writeTable(database, question, process.stdout);
      });
    });
}

function limit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usage(`"${text}" is not a number of jobs`, 'write it like --limit 100');
  return Number(text);
}

function jobsText(jobs: readonly StoredJob[]): string {
  const width = tableWidth();
  const columns = [
    { head: '#', align: 'right' },
    { head: 'job', most: 28, shrinks: true, middle: true },
    { head: 'cluster', most: 16, spare: 4 },
    { head: 'name', most: 24, spare: 2 },
    // a user who is everybody's says the least
    { head: 'user', most: 16, ...(jobs.every(({ user }) => user === jobs[0]!.user) ? { spare: 6 } : {}) },
    { head: 'start' },
    { head: 'duration', align: 'right', spare: 1 },
    { head: 'state' },
    { head: 'processes', align: 'right', spare: 3 },
    { head: 'tags', most: 60, spare: 5 },
  ] as const;
  const rows = jobs.map((job) => [
    String(job.job),
    job.restart === 0 ? job.id : `${job.id} (restart ${job.restart})`,
    job.cluster,
    job.name,
    job.user,
    began(job.start, width),
    Number.isNaN(job.end) ? '' : formatDuration((job.end - job.start) / 1e6),
    job.state,
    figure(job.processes),
    Object.entries(job.tags)
      .map(([key, value]) => `${key}:${value}`)
      .join(' '),
  ]);
  const [heads, ...lines] = textTable(columns, rows, width);
  return `${[paint(process.stdout).dim(heads!), ...lines].join('\n')}\n`;
}

function defineDelete(command: Command): void {
  options(
    command
      .description('Remove jobs with their processes and threads. Recordings stay as they are.')
      .argument('<jobs...>', 'ids of jobs, or their numbers in the database (#12)')
      .option('--dry-run', 'only print what would be removed'),
  )
    .addHelpText('after', '\nExamples:\n  tacho db delete 4711 4712 --dry-run\n  tacho db delete "#12"\n')
    .action(async (names: string[], given: Options & { dryRun?: boolean }) => {
      const { removeJobs } = await import('../database/retire.ts');
      const { namedJobs } = await import('../database/find-jobs.ts');
      const { needSchema } = await import('../database/schema.ts');
      const dryRun = given.dryRun === true;
      const { jobs, gone } = await open(given, async (database) => {
        await needSchema(database);
        const jobs = await namedJobs(database, names);
        return { jobs, gone: await removeJobs(database, jobs, { dryRun }) };
      });
      const ids = jobs.map(({ id, job }) => ({ id, job }));
      if (given.format === 'json') return json({ ...gone, deleted: ids, dry_run: dryRun });
      const held = `${count(gone.processes, 'process', 'processes')}, ${count(gone.threads, 'thread')}`;
      const named = ids.map(({ id, job }) => `${printable(id)} (#${job})`).join(', ');
      print(`${dryRun ? 'would be removed' : 'removed'}: ${named}: ${held}\n`);
    });
}

function defineRetire(command: Command): void {
  options(
    command
      .description('Remove jobs that ended long ago, with their processes and threads.')
      .requiredOption('--older-than <duration>', 'those that ended longer ago than this, e.g. 90d', parseDuration)
      .option('--dry-run', 'only print what would be removed'),
  )
    .addHelpText('after', '\nExamples:\n  tacho db retire --older-than 90d --dry-run\n')
    .action(async (given: Options & { olderThan: number; dryRun?: boolean }) => {
      const { retire } = await import('../database/retire.ts');
      const { needSchema } = await import('../database/schema.ts');
      const bar = progress('retiring jobs');
      const before = (Date.now() - given.olderThan * 1000) * 1000;
      const gone = await open(given, async (database) => {
        await needSchema(database);
        const dryRun = given.dryRun === true;
        return retire(database, { before, dryRun, progress: (jobs) => bar.advance(jobs) });
      });
      bar.done();
      if (given.format === 'json') json({ ...gone, before, dry_run: given.dryRun === true });
      else {
        const done = given.dryRun ? 'would be removed' : 'removed';
        const accounted =
          gone.accounted === undefined ? '' : `, ${count(gone.accounted, 'job')} known from accounting only`;
        print(
          `${done}: ${count(gone.jobs, 'job')} that ended before ${formatMoment(before)} (${count(gone.processes, 'process', 'processes')}, ${count(gone.threads, 'thread')})${accounted}\n`,
        );
      }
    });
}

function defineDrop(command: Command): void {
  options(
    command.description("Remove Tacho's tables and everything in them. It asks first.").option('--yes', 'do not ask'),
  )
    .addHelpText('after', '\nExamples:\n  tacho db drop --db postgres://tacho@localhost/test\n')
    .action(async (given: Options & { yes?: boolean }) => {
      const { drop, refuseNewer } = await import('../database/schema.ts');
      const { databaseStatus } = await import('../database/status.ts');
      await open(given, async (database) => {
        await refuseNewer(database);
        const shown = shownAddress(database.address);
        const { schema, jobs } = await databaseStatus(database);
        if (schema === 0) throw new Fault(`the database ${shown} has no tables of Tacho's: there is nothing to drop`);
        const loss = jobs === undefined ? 'everything' : count(jobs, 'job');
        if (given.yes !== true && !(await agreed(`Remove ${loss} from ${shown}? Type yes: `, loss))) {
          throw new Fault('nothing was removed');
        }
        await drop(database);
        if (given.format === 'json') json({ dropped: true, jobs: jobs ?? null });
        else print(`${loss} removed from ${shown}\n`);
      });
    });
}

async function agreed(question: string, loss: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    throw usage(`this would remove ${loss}, and there is no terminal to ask on`, '--yes removes without asking');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(question)).trim() === 'yes';
  } catch (error) {
    if (code(error) !== 'ABORT_ERR') throw error;
    process.stderr.write('\n');
    throw new Fault('nothing was removed', { exit: 130, cause: error });
  } finally {
    terminal.close();
  }
}
