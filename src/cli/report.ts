import * as fs from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { collectGarbage } from '../base/collect-garbage.ts';
import { Fault, reason, usage } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { inTwoThreads } from '../base/two-threads.ts';
import { loadConfig } from '../config/config.ts';
import type { Database } from '../database/connect.ts';
import { idsText, isOfJob } from '../jobs/on-node/of-job.ts';
import { confinedTo } from '../judge/confined-to.ts';
import type { GatherOptions } from '../judge/facts/gather.ts';
import type { Results } from '../judge/keep-results.ts';
import { readKeptReport, withFinish } from '../judge/kept-report.ts';
import type { Report } from '../judge/report-schema.ts';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import { isWrongUse, ranThen } from '../query/spans/select.ts';
import type { Recording } from '../recording/folder/open.ts';
import { MOST_CARDS } from '../show/report/several.ts';
import { type Card, cardOf, reportCards } from '../show/report/text.ts';
import { type DatabaseOptions, databaseFor, databaseOption } from './database-option.ts';
import { type FoundRecording, findEach, openFound } from './find-recordings.ts';
import { hasRuleSettings } from './has-rule-settings.ts';
import { JOBS_ARGUMENT } from './named-recordings.ts';
import { leaveOut, type SpanOptions, spanOptions, spanQuery } from './span-options.ts';
import { type StoreOptions, storedJobs, storeOption } from './store-option.ts';
import type { ThreadTask } from './thread.ts';

/** More reports than this are made sparing memory, which then does not grow with their number. */
const MANY = 100;
/** V8's last compiler takes up to 30 MB beside the heap: of threads of its own malloc would keep it. Both cores are busy anyway. */
const SPARING = ['--semi-space-growth-factor=1', '--heap-growing-percent=50', '--no-concurrent-recompilation'];

const FORMATS = ['text', 'markdown', 'json', 'html', 'pdf'] as const;
type Format = (typeof FORMATS)[number];

export interface ReportOptions extends StoreOptions, DatabaseOptions, SpanOptions {
  format?: Format;
  /** Only the job with this id, or the tasks of this array. */
  job?: string;
  /** No folded tables. */
  all?: boolean;
  /** What each phase did on its own. */
  phases?: boolean;
  /** Five lines for each job. */
  short?: boolean;
  /** The file that it goes to. */
  output?: string;
  /** Where text is going to be written: colours follow from it. */
  stream?: { readonly isTTY?: boolean | undefined };
  /** Of the card at the end of a recording: what is wrong in the configuration is said, and not used. */
  isForgiving?: boolean;
  /** Called with what was worked out for the usual report, which may then be kept with the recording. */
  keep?: (results: Results) => void;
  /** Whoever has recorded reports: CPU seconds of its own that the recording does not have yet. */
  spent?: () => number;
}

export function define(command: Command): void {
  spanOptions(storeOption(databaseOption(command)))
    .argument('[recording...]', JOBS_ARGUMENT)
    .addOption(command.createOption('-f, --format <format>', 'output format').choices(FORMATS).default('text'))
    .option('-o, --output <file>', 'write it to this file (pdf: else to a pipe)')
    .option('-j, --job <id>', 'only the job with this id (of an array: all of its tasks)')
    .option('--phases', 'also say what each phase used; reads the data instead of their statistics')
    .option('--short', 'five lines: state, time, CPU, memory, verdict')
    .option('-a, --all', 'show every row, process and figure')
    .addHelpText(
      'after',
      `
Examples:
  tacho report                             this folder; more than 3 jobs as a table
  tacho report 4711                        the job with this id
  tacho report 4711 --short                its state, use and verdict in five lines
  tacho report tacho-4711 --format html -o report.html
  tacho report 4711 --format pdf -o job.pdf
  tacho report tacho-4711 --marker "epoch 3"
  tacho report runs/ --format json | jq '.[].summary.energy_joules'
  tacho report 4711 --store http://vm:8428
  tacho report 4711 --db postgres://db.site/tacho
`,
    )
    .action(async (paths: string[], options: ReportOptions) => {
      if (options.output !== undefined || options.format === 'pdf' || isPage(options))
        return writeReport(paths, options);
      const reportTexts = reportParts(paths, { ...options, stream: process.stdout });
      // what is asked for may be wrong for all of them: that is said before anything is printed
      const isAll = [options.step, options.marker, options.from, options.to].every((each) => each === undefined);
      if (!isAll) process.stdout.write(await joined(reportTexts));
      else for await (const text of reportTexts) process.stdout.write(text);
    });
}

/** Whether it is a page with charts and processes. */
const isPage = ({ format, short }: ReportOptions): boolean => format === 'html' && short !== true;

/** The whole report in a file or on standard output: what is not made bit by bit. */
async function writeReport(paths: string[], { output, ...options }: ReportOptions): Promise<void> {
  const isPdf = options.format === 'pdf';
  if (output === undefined && isPdf && process.stdout.isTTY)
    throw usage('a PDF is not for a terminal', 'name a file: -o job.pdf');
  const bytes = await (isPdf ? pdfFile : isPage(options) ? htmlFile : reportCard)(paths, options);
  if (output === undefined) {
    process.stdout.write(bytes);
    return;
  }
  try {
    fs.writeFileSync(output, bytes);
  } catch (error) {
    throw new Fault(`cannot write ${output}: ${reason(error)}`);
  }
}

/** Report cards on pages; of one recording its charts, too. */
async function pdfFile(paths: readonly string[], { format: _, ...options }: ReportOptions): Promise<Buffer> {
  const { reportPdf } = await import('../show/report/pdf.ts');
  if (options.short === true) return reportPdf(await reportCard(paths, options));
  const made = await listOf(
    madeOf(paths, options, {
      task: 'report',
      of: (report, looks, open) => ({ card: cardOf(report, looks), report, open }),
    }),
  );
  const cards = reportCards(options);
  for (const { card } of made) cards.add(card);
  const text = [...cards.texts()].join('');
  const [only] = made;
  if (made.length > 1 || only?.open === undefined) return reportPdf(text);
  const [{ gather }, { chartPictures }] = await Promise.all([
    import('../judge/facts/gather.ts'),
    import('../charts/chart-pictures.ts'),
  ]);
  return reportPdf(text, chartPictures(gather(await only.open()), confinedTo(only.report)));
}

/** The report of one recording as a page with all that it shows; of several, or of jobs kept elsewhere, without scripts. */
async function htmlFile(paths: readonly string[], options: ReportOptions): Promise<string> {
  const openers = new Map<Report, OpenRecording>();
  const reports = await listOf(
    madeOf(paths, options, {
      task: 'report',
      of(made, _, open) {
        if (open !== undefined) openers.set(made, open);
        return made;
      },
    }),
  );
  const { reportHtml } = await import('../show/report/html.ts');
  const open = reports.length === 1 ? openers.get(reports[0]!) : undefined;
  if (open === undefined) return reportHtml(reports);
  const { interactivePage } = await import('../serve/job-file/make.ts');
  try {
    return reportHtml(reports, interactivePage(reports[0]!, await open()));
  } catch (error) {
    // without the packages that the page is made of (a checkout without a network) the report itself can be had
    if (!(error instanceof Fault)) throw error;
    process.stderr.write(`tacho report: charts and processes are not in the file: ${error.message}\n`);
    return reportHtml(reports);
  }
}

/** The report of one or several recordings as text of the wanted format. */
export async function reportCard(recordingPaths: readonly string[], options: ReportOptions = {}): Promise<string> {
  return joined(reportParts(recordingPaths, options));
}

const joined = async (texts: AsyncIterable<string>): Promise<string> => (await listOf(texts)).join('');

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** The same bit by bit: of very many recordings not all reports are in memory at once. */
async function* reportParts(recordingPaths: readonly string[], options: ReportOptions): AsyncGenerator<string> {
  const format = options.format ?? 'text';
  if (!FORMATS.includes(format)) throw usage(`there is no format "${format}"`, `use one of ${FORMATS.join(', ')}`);
  if (options.short === true) {
    if (format !== 'text') throw usage('--short is text', `leave out --short, or --format ${format}`);
    const { shortText } = await import('../show/report/short.ts');
    let before = '';
    for await (const each of madeOf(recordingPaths, options, REPORT)) {
      yield `${before}${shortText(each, stated({ stream: options.stream }))}`;
      before = '\n';
    }
    return;
  }
  if (format === 'text') {
    const cards = reportCards(options);
    for await (const each of madeOf(recordingPaths, options, CARD)) cards.add(each);
    return yield* cards.texts();
  }
  const reports = madeOf(recordingPaths, options, REPORT);
  if (format === 'json') yield* (await import('../show/report/json.ts')).reportJsonParts(reports);
  else {
    const all = await listOf(reports);
    if (format === 'markdown') yield (await import('../show/report/markdown.ts')).reportMarkdown(all);
    else yield (await import('../show/report/html.ts')).reportHtml(all);
  }
}

/** How cards look. */
type Looks = Pick<ReportOptions, 'stream' | 'all'> & { isTableOnly?: boolean };

/** What is made of each report, and which task of another thread makes the same. */
interface Making<T> {
  task: ThreadTask;
  of(made: Report, options: Looks, open: OpenRecording | undefined): T;
}

/** Opens the recording that a report was made of; of jobs in a store or a database there is none. */
type OpenRecording = () => Promise<Recording>;

const REPORT: Making<Report> = { task: 'report', of: (made) => made };
/** A card is much smaller than its report. */
const CARD: Making<Card> = { task: 'card', of: cardOf };

async function* madeOf<T extends object>(
  paths: readonly string[],
  options: ReportOptions,
  making: Making<T>,
): AsyncGenerator<T> {
  const wanted = wantedOf(options);
  const settings = await ruleSettings(options);
  if (options.store !== undefined) {
    const ids = options.job === undefined ? paths : [...paths, options.job];
    const timed = wanted.from !== undefined || wanted.to !== undefined;
    const jobs = await storedJobs(options.store, ids, !timed);
    const then = jobs.filter(({ recording }) => ranThen(recording, wanted));
    const [{ gatherStored }, { report }] = await judging();
    for (const job of then.length > 0 ? then : jobs)
      yield making.of(report(await gatherStored(job, wanted), settings), options, undefined);
    return;
  }
  const ids = options.job === undefined || options.db === undefined ? paths : [...paths, options.job];
  const database = await databaseFor(ids, options);
  if (database !== undefined) {
    for await (const stored of storedCards(database, ids, options)) yield making.of(stored, options, undefined);
    return;
  }
  const all = await findEach(paths, options, (before) => {
    if (before === MANY) spareMemory();
  });
  const matchingRecordings = options.job === undefined ? all : all.filter((r) => isOfJob(r.job.id, options.job!));
  if (matchingRecordings.length === 0) {
    throw usage(`no recording of job ${options.job} here`, `there are ${idsText(all.map((r) => r.job.id))}`);
  }
  // of many recordings only what is wanted is asked for: a scheduler serves others too
  const steps = options.step !== undefined || matchingRecordings.length === 1;
  await Promise.all(matchingRecordings.flatMap((each) => askHowItEnded(each, steps) ?? []));
  // of several recordings those that ran at that time are meant; of one it is wrong use
  const then = matchingRecordings.filter((recording) => ranThen(recording, wanted));
  const chosen = then.length > 0 ? then : matchingRecordings;
  // what a folder holds comes by time, what is named one by one as it is named
  if (paths.length <= 1) chosen.sort((a, b) => a.job.start - b.job.start || 0);
  const isMany = chosen.length > MANY;
  let [wrong, isSome] = [undefined as unknown, false];
  const { all: isWhole } = options;
  const isTableOnly = chosen.length > MOST_CARDS && isWhole !== true;
  const shown = { ...stated({ all: isWhole }), stream: { isTTY: options.stream?.isTTY }, isTableOnly };
  const items = chosen.map(
    ({ path, names, refreshed, recording }): Reported => ({
      ...{ path, names, wanted, settings, shown },
      ...stated({ refreshed }),
      // another thread opens it quicker than it takes one that is open
      ...(isMany ? {} : stated({ recording })),
    }),
  );
  const orFailed = async (item: Reported): Promise<T | Failed> => {
    try {
      const made = await reportOf(item, options.keep);
      if (options.spent !== undefined && made.cost.cpu_seconds !== undefined) made.cost.cpu_seconds += options.spent();
      return making.of(made, shown, () => openFound(item));
    } catch (error) {
      return { failed: item.path, error };
    }
  };
  for await (const made of inTwoThreads(making.task, items, orFailed, isMany)) {
    if ('failed' in made) {
      const { failed: path, error } = made;
      if (chosen.length === 1) throw error;
      // what is wrong with one says nothing about the others
      leaveOut({ path }, error);
      if (isWrongUse(error)) wrong ??= error;
      else process.exitCode = 1;
      continue;
    }
    isSome = true;
    yield made;
  }
  if (!isSome && wrong !== undefined) throw wrong;
}

/** What a report takes is garbage after it: of very many V8 would let it grow to some hundred megabytes first. */
function spareMemory(): void {
  for (const flag of SPARING) setFlagsFromString(flag);
  // how far the heap grows follows from what was left the last time
  collectGarbage();
}

/** The report cards that a database holds, of these jobs or of all, as they were when the jobs were submitted. */
async function* storedCards(
  database: Database,
  ids: readonly string[],
  options: ReportOptions,
): AsyncGenerator<Report> {
  if (Object.keys(wantedOf(options)).length > 0)
    throw usage('the database has the report cards of whole jobs', 'name the recording to see a part of the job');
  const [{ findJobs, namedJobs }, { storedReports }] = await Promise.all([
    import('../database/find-jobs.ts'),
    import('../database/measured-jobs.ts'),
  ]);
  const jobs = ids.length === 0 ? await findJobs(database) : await namedJobs(database, ids);
  if (jobs.length === 0)
    throw new Fault('there are no jobs in the database', { hint: 'tacho submit RECORDING stores one' });
  // one by one: not all of very many need to be in memory
  for (const job of jobs) yield* await storedReports(database, [job]);
}

/** What works out a report is loaded only where none is kept. */
const judging = () => Promise.all([import('../judge/facts/gather.ts'), import('../judge/report.ts')] as const);

/** The rules as the configuration has them; undefined: as they are. */
async function ruleSettings({ config, isForgiving = false }: ReportOptions): Promise<RuleSettings | undefined> {
  // what else is wrong was said when the recording began
  if (isForgiving) return (await import('./rule-settings.ts')).changedRules(config);
  const settings = await loadConfig({}, config);
  if (!hasRuleSettings(settings)) return undefined;
  return (await import('../judge/rules/shared/settings.ts')).ruleSettingsOf(settings);
}

interface Reported extends Pick<FoundRecording, 'path' | 'names' | 'refreshed' | 'recording'> {
  wanted: GatherOptions;
  settings: RuleSettings | undefined;
  /** Of cards: how they look. */
  shown?: Looks;
}

interface Failed {
  failed: string;
  error: unknown;
}

/** The report of one recording: the one that is kept with it, or made now. */
export async function reportOf(
  { wanted, settings, ...reported }: Reported,
  keep?: (results: Results) => void,
): Promise<Report> {
  const recording = await openFound(reported);
  const { phases, ...selection } = wanted;
  const isUsual = settings === undefined && Object.keys(selection).length === 0;
  const kept = isUsual ? readKeptReport(recording, phases) : undefined;
  if (kept !== undefined) return kept;
  if (isUsual && phases !== true && keep !== undefined) {
    const { workOut } = await import('../judge/keep-results.ts');
    const results = await workOut(recording);
    keep(results);
    return withFinish({ ...results.report, cost: { ...results.report.cost } }, recording);
  }
  const [{ gatherQuickly }, { report }] = await judging();
  return report(await gatherQuickly(recording, wanted), settings);
}

/** Its card. */
export const cardOfFound = async (item: Reported): Promise<Card> => cardOf(await reportOf(item), item.shown ?? {});

const wantedOf = (options: ReportOptions): GatherOptions => ({
  ...spanQuery(options),
  ...(options.phases === true ? { phases: true } : {}),
});

/** A job that was cancelled, hit its limit or lost a node could not say so itself: its scheduler may know. */
function askHowItEnded(foundRecording: FoundRecording, steps: boolean): Promise<void> | undefined {
  if (steps ? foundRecording.hasSteps : foundRecording.isSettled) return undefined;
  return (async () => {
    const { refreshJob } = await import('../jobs/schedulers/refresh.ts');
    foundRecording.refreshed = await refreshJob(await openFound(foundRecording), { steps });
    foundRecording.job = foundRecording.refreshed;
  })();
}
