import { type Command, Option } from 'commander';
import { shownAddress } from '../base/address.ts';
import { Fault, usage } from '../base/fault.ts';
import { count } from '../base/figure.ts';
import { parseMoment } from '../base/moment.ts';
import { nodeList } from '../base/node-list.ts';
import { stated } from '../base/stated.ts';
import type { AddedAccounting } from '../history/index/accounting-store.ts';
import type { ImportedAccounting } from '../history/index/import-slurm.ts';
import type { Imported, Refused } from '../import/epmt/import.ts';
import type { SacctJob } from '../import/slurm/sacct-job.ts';
import type { ImportedSonar } from '../import/sonar/import.ts';
import type { Imported as ImportedSeries } from '../import/victoria/own.ts';
import { progress } from '../show/terminal/progress.ts';
import { ascii, printable } from '../show/terminal/text-table.ts';
import { type DatabaseOptions, databaseOption, namedDatabase } from './database-option.ts';
import { tell } from './failure.ts';

/** Names of nodes that would fill more than this are counted. */
const LONG_LIST = 60;

interface Options {
  output: string;
  format: 'text' | 'json';
}

export function define(command: Command): void {
  command
    .helpCommand(false)
    .usage('PROGRAM WHAT… [options]')
    .addHelpText(
      'after',
      `
Examples:
  tacho import epmt 685000.tgz -o imported
  tacho import victoria http://vm:8428 --job 4711
  tacho import omnistat data_prom -o imported
  tacho import slurm --from -30d --archive /archive/tacho
  tacho import sonar /data/sonar/2026 -o imported
  tacho report imported
`,
    );
  defineVictoria(command);
  defineOmnistat(command);
  defineSlurm(command);
  defineSonar(command);
  command
    .command('epmt')
    .summary("EPMT's staged archives and folders")
    .description("Import jobs that EPMT recorded: its staged archives (.tgz) or a job's folder, one recording per job.")
    .usage('FILE… [options]')
    .argument('<files...>', 'archives, job folders, or folders with either')
    .option('-o, --output <folder>', 'where the recordings go, each as tacho-<job id>', '.')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
A job is imported whole or not at all: a line that is corrupted is named, and nothing of that job is stored.

Examples:
  tacho import epmt 685000.tgz                       makes tacho-685000
  tacho import epmt /staged/*.tgz -o jobs --format json
`,
    )
    .action(async (files: string[], options: Options) => {
      const { importEpmt, listInputs } = await import('../import/epmt/import.ts');
      const signal = interruption();
      const inputs = listInputs(files);
      const { keepImportedFeatures } = await import('../judge/outliers/imported-features.ts');
      const bar = progress('importing', inputs.length);
      const { imported, refused } = await importEpmt(inputs, {
        folder: options.output,
        signal,
        complete: keepImportedFeatures,
        progress: () => bar.advance(1),
      });
      bar.done();
      if (options.format === 'json') process.stdout.write(jsonText(imported, refused));
      else printText(imported.map(text).join(''));
      for (const { fault } of refused) tell(fault);
      if (refused.length > 0) process.exitCode = 1;
    });
}

interface VictoriaFlags extends Options {
  job?: string[];
  match?: string;
  from?: number;
  to?: number;
}

function defineVictoria(command: Command): void {
  command
    .command('victoria')
    .summary('what a VictoriaMetrics holds')
    .description(
      'Import what a VictoriaMetrics holds: jobs that Tacho pushed come back as they were recorded, one recording per job; any other series become tables by their names and labels.',
    )
    .usage('URL|DIR [options]')
    .argument('<source>', 'its address (http://vm:8428), or its data folder, which is only read')
    .option('-j, --job <id>', 'only this job of Tacho’s; may be given several times', (id, all: string[] = []) => [
      ...all,
      id,
    ])
    .option('--match <selector>', 'instead: all series that match, as one recording ({__name__=~"node_.+"})')
    .option('--from <time>', 'only from this time on (2026-11-15T20:49, -7d)', (text) => parseMoment(text))
    .option('--to <time>', 'only until this time', (text) => parseMoment(text))
    .option('-o, --output <folder>', 'where the recordings go', '.')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Examples:
  tacho import victoria http://vm:8428 --job 4711         makes tacho-4711
  tacho import victoria /var/lib/victoria-metrics -o all  every job in a data folder
  tacho import victoria http://vm:8428 --match '{job="node"}' --from -1d
`,
    )
    .action(async (source: string, options: VictoriaFlags) => {
      const { importVictoria } = await import('../import/victoria/import.ts');
      const bar = progress('importing');
      const imported = await importVictoria(source, {
        folder: options.output,
        ...stated({ jobs: options.job, match: options.match, from: options.from, to: options.to }),
        signal: interruption(),
        progress: () => bar.advance(1),
      });
      bar.done();
      printImported(imported, options);
    });
}

function printImported(imported: readonly ImportedSeries[], { format }: Options): void {
  if (format === 'json') process.stdout.write(`${JSON.stringify({ imported }, null, 1)}\n`);
  else printText(imported.map(seriesText).join(''));
}

/** Pipes and files get ASCII. */
const printText = (text: string): boolean => process.stdout.write(process.stdout.isTTY ? text : ascii(text));

function defineOmnistat(command: Command): void {
  command
    .command('omnistat')
    .summary('what Omnistat recorded')
    .description(
      'Import what Omnistat recorded: GPUs, hosts, networks, steps and annotations of every job, one recording per job. Metrics that Tacho has no column for become tables under their own names.',
    )
    .usage('URL|DIR|CSV [options]')
    .argument(
      '<source>',
      'the address of its VictoriaMetrics, a data folder of user mode, an exported CSV file or a folder of them',
    )
    .option('-j, --job <id>', 'only this job; may be given several times', (id, all: string[] = []) => [...all, id])
    .option('-o, --output <folder>', 'where the recordings go, each as tacho-<job id>', '.')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Examples:
  tacho import omnistat http://localhost:9090 --job 74129
  tacho import omnistat data_prom -o imported         every job in the data folder of user mode
  tacho import omnistat export-data --job 74129       files that omnistat-query --export wrote
`,
    )
    .action(async (source: string, options: VictoriaFlags) => {
      const { importOmnistat } = await import('../import/omnistat/import.ts');
      const bar = progress('importing');
      const imported = await importOmnistat(source, {
        folder: options.output,
        ...stated({ jobs: options.job }),
        signal: interruption(),
        progress: () => bar.advance(1),
      });
      bar.done();
      printImported(imported, options);
    });
}

interface SlurmFlags extends DatabaseOptions {
  archive?: string;
  output?: string;
  from?: number;
  to?: number;
  timezone?: string;
  format: 'text' | 'json';
}

function defineSlurm(command: Command): void {
  databaseOption(command.command('slurm'))
    .summary('jobs that Slurm’s accounting knows')
    .description(
      'Bring jobs that were never recorded into the history, from Slurm’s accounting: what they asked for, how long they ran, how they ended, and bounds of what they used.',
    )
    .usage('[FILE…] [options]')
    .argument(
      '[files...]',
      'what sacct has printed: parsable text (-P) with the names of its columns, or JSON; - is the standard input. Without any, sacct is asked',
    )
    .option('--from <time>', 'only from this time on (2026-11-01, -30d; default without files: -30d)', (text) =>
      parseMoment(text),
    )
    .option('--to <time>', 'only until this time (default: now)', (text) => parseMoment(text))
    .option('--archive <folder>', 'whose history gets the jobs (default: the current folder)')
    .option('-o, --output <folder>', 'the same')
    .option('--timezone <zone>', 'zone of the times in the files, as Europe/Oslo (default: that of this machine)')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
tacho jobs, history, waste and advise then know these jobs; everywhere they are marked as known from accounting only. A job
that is recorded keeps the row of its recording. Importing again brings what has changed. docs/import-slurm.md says what
the figures mean, and how sure they are.

Examples:
  tacho import slurm --from -90d --archive /archive/tacho
  tacho import slurm --from -90d --db postgres://db.site/tacho
  tacho import slurm sacct.txt --timezone Europe/Oslo
  sacct -aD --json -S 2026-11-01 | tacho import slurm - --archive runs
`,
    )
    .action(async (files: string[], options: SlurmFlags) => {
      if (options.archive !== undefined && options.output !== undefined)
        throw usage('--archive and -o mean the same', 'give one of them');
      const archive = options.archive ?? options.output;
      if (archive !== undefined && options.db !== undefined)
        throw usage('name an archive or a database, not both', 'leave out --db, or the archive');
      const { accountedRows, importSlurm } = await import('../history/index/import-slurm.ts');
      const database = await namedDatabase(options);
      const bar = progress('importing');
      const reading = {
        ...stated({ from: options.from, to: options.to, zone: options.timezone }),
        signal: interruption(),
        progress: () => bar.advance(1),
      };
      const toDatabase = async (): Promise<ImportedAccounting> => {
        const { storeAccounting } = await import('../database/store-accounting.ts');
        const { rows, versions, notes } = await accountedRows(files, reading);
        return { ...(await storeAccounting(database!, rows)), versions, notes };
      };
      const result = await (database === undefined
        ? importSlurm(files, { archive: archive ?? '.', ...reading })
        : toDatabase()
      ).finally(() => bar.done());
      const target = database === undefined ? (archive ?? '.') : shownAddress(database.address);
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(result, null, 1)}\n`);
      else printText(slurmText(target, result));
    });
}

interface SonarFlags extends Options {
  minSamples: number;
  all?: boolean;
  separateNodes?: boolean;
}

function defineSonar(command: Command): void {
  command
    .command('sonar')
    .summary('what Sonar sampled')
    .description(
      'Import what Sonar sampled, in any of its formats: one recording per job, one per day with what the nodes did, and Slurm’s jobs where they are among the data.',
    )
    .usage('PATH… [options]')
    .argument('<paths...>', 'files of Sonar (CSV until 0.16, JSON since 0.13), or folders with such files')
    .option('--min-samples <n>', 'leave out jobs with fewer samples', (text) => samplesOf(text), 2)
    .option('--all', 'also jobs that have only shells and daemons of logins')
    .option('--separate-nodes', 'the same id on two nodes is two jobs, also where the data do not say so')
    .option('-o, --output <folder>', 'where the recordings go', '.')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
tacho index FOLDER then lets tacho jobs, load, uptime, hogs and history answer. What is there already is left alone.
docs/import-sonar.md says what becomes of each figure.

Examples:
  tacho import sonar /data/sonar/mlx/2026/03 -o march
  tacho import sonar samples.csv sysinfo.json -o imported
`,
    )
    .action(async (paths: string[], options: SonarFlags) => {
      const { importSonar } = await import('../import/sonar/import.ts');
      let bar: ReturnType<typeof progress> | undefined;
      const { accounted, ...result } = importSonar(paths, {
        folder: options.output,
        minSamples: options.minSamples,
        ...stated({ all: options.all, separate: options.separateNodes }),
        signal: interruption(),
        progress: (_done, of) => {
          bar ??= progress('importing', of);
          bar.advance(1);
        },
      });
      bar?.done();
      const added = accounted.length === 0 ? undefined : await addSlurmJobs(options.output, accounted);
      const shown = { ...result, ...stated({ accounted: added?.jobs }) };
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(shown, null, 1)}\n`);
      else printText(sonarText(options.output, shown));
    });
}

async function addSlurmJobs(archive: string, jobs: readonly SacctJob[]): Promise<AddedAccounting> {
  const { addAccounting } = await import('../history/index/add-accounting.ts');
  const { summariesOfAccounted } = await import('../history/make/accounted.ts');
  return addAccounting(archive, jobs.map(summariesOfAccounted));
}

function samplesOf(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw usage(`"${text}" is not a number of samples`, 'write it like --min-samples 2');
  return Number(text);
}

function sonarText(
  folder: string,
  { jobs, days, there, nodes, accounted, notes }: Omit<ImportedSonar, 'accounted'> & { accounted?: number },
): string {
  const counts = [
    count(jobs, 'job'),
    `${days} of nodes (${count(nodes.length, 'node')})`,
    ...(there > 0 ? [`${there} there already`] : []),
    ...(accounted === undefined ? [] : [`${count(accounted, 'job')} of Slurm’s accounting`]),
  ];
  return [`${folder}: recordings: ${counts.join(', ')}`, ...notes.map((note) => `  ${note}`), '']
    .map(printable)
    .join('\n');
}

function slurmText(archive: string, { jobs, added, unchanged, recorded, versions, notes }: ImportedAccounting): string {
  const from = versions.length === 0 ? '' : ` of Slurm ${versions.join(', ')}`;
  const lines = [
    `${archive}: ${count(jobs, 'job')}${from}: ${added} new or changed, ${unchanged} unchanged, ${recorded} recorded as well`,
    ...notes.map((note) => `  ${note}`),
    '',
  ];
  return lines.map(printable).join('\n');
}

/** Ends the work between two jobs when somebody wants it to. */
function interruption(): AbortSignal {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort(new Fault('interrupted; whole jobs were kept', { exit: 130 })));
  process.once('SIGTERM', () => stop.abort(new Fault('ended by SIGTERM; whole jobs were kept', { exit: 143 })));
  return stop.signal;
}

function seriesText({ recording, nodes, rows, notes }: ImportedSeries): string {
  return resultText(recording, [count(rows, 'row')], nodes, notes);
}

function text({ recording, nodes, processes, threads, notes }: Imported): string {
  return resultText(recording, [count(processes, 'process', 'processes'), count(threads, 'thread')], nodes, notes);
}

function resultText(
  recording: string,
  counts: readonly string[],
  nodes: readonly string[],
  notes: readonly string[],
): string {
  const names = nodeList(nodes);
  const where = names.length > LONG_LIST ? count(nodes.length, 'node') : names;
  return [`${recording}: ${[...counts, where].join(', ')}`, ...notes.map((note) => `  ${note}`), '']
    .map(printable)
    .join('\n');
}

const jsonText = (imported: readonly Imported[], refused: readonly Refused[]): string =>
  `${JSON.stringify(
    {
      imported,
      refused: refused.map(({ input, fault }) => ({ input, error: fault.message, hint: fault.hint })),
    },
    null,
    1,
  )}\n`;
