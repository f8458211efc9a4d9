import type { Command } from 'commander';
import { Fault, reason, usage } from '../base/fault.ts';
import { parseMoment } from '../base/moment.ts';
import { warn } from '../base/warn.ts';
import { idsText, isOfJob } from '../jobs/found/of-job.ts';
import { isSettled } from '../jobs/schedulers/is-settled.ts';
import { type GatherOptions, gather, gatherStored } from '../judge/facts/gather.ts';
import { report } from '../judge/report.ts';
import type { Report } from '../judge/report-schema.ts';
import type { Recording } from '../recording/folder/open.ts';
import { reportText } from '../show/report/text.ts';
import { findRecordings } from './find-recordings.ts';
import { type StoreOptions, storedJobs, storeOption } from './store-option.ts';

const FORMATS = ['text', 'markdown', 'json', 'html'] as const;
type Format = (typeof FORMATS)[number];

export interface ReportOptions extends StoreOptions {
  format?: Format;
  /** Only the job with this id, or the tasks of this array. */
  job?: string;
  step?: string;
  marker?: string;
  /** Moments as people write them. */
  from?: string;
  to?: string;
  /** No folded tables. */
  all?: boolean;
  /** What each phase did on its own. */
  phases?: boolean;
  /** Where text is going to be written: colours follow from it. */
  stream?: { readonly isTTY?: boolean | undefined };
  /** Whoever has recorded reports: CPU seconds of its own that the recording does not have yet. */
  spent?: () => number;
}

export function define(command: Command): void {
  storeOption(command)
    .argument('[recording...]', 'recordings, or folders that hold some (default: the current folder)')
    .addOption(command.createOption('-f, --format <format>', 'how it looks').choices(FORMATS).default('text'))
    .option('-j, --job <id>', 'only the job with this id (of an array: all of its tasks)')
    .option('--step <n>', 'only while this step of the scheduler ran')
    .option('--marker <name>', 'only while this phase lasted (tacho mark begin NAME)')
    .option('--from <time>', 'only from this time on (2026-11-15T20:49, -10m)')
    .option('--to <time>', 'only until this time')
    .option('--phases', 'also say what each phase used; reads the data instead of their statistics')
    .option('-a, --all', 'show every row, process and figure')
    .addHelpText(
      'after',
      `
Examples:
  tacho report                             the recordings in this folder
  tacho report tacho-4711 --format html > report.html
  tacho report tacho-4711 --marker "epoch 3"
  tacho report runs/ --format json | jq '.[].summary.energy_joules'
  tacho report --job 4711 --store http://vm:8428
`,
    )
    .action(async (paths: string[], options: ReportOptions) => {
      const places = paths.length === 0 && options.store === undefined ? ['.'] : paths;
      const text = await reportCard(places, { ...options, stream: process.stdout });
      process.stdout.write(text);
    });
}

/** The report of one or several recordings as text of the wanted format. */
export async function reportCard(recordingPaths: readonly string[], options: ReportOptions = {}): Promise<string> {
  const format = options.format ?? 'text';
  if (!FORMATS.includes(format)) throw usage(`there is no format "${format}"`, `use one of ${FORMATS.join(', ')}`);
  const reports = await reportsOf(recordingPaths, options);
  const [only] = reports;
  if (options.spent !== undefined && only?.cost.cpu_seconds !== undefined) only.cost.cpu_seconds += options.spent();
  if (format === 'text') return reportText(reports, options);
  if (format === 'json') return (await import('../show/report/json.ts')).reportJson(reports);
  if (format === 'markdown') return (await import('../show/report/markdown.ts')).reportMarkdown(reports);
  return (await import('../show/report/html.ts')).reportHtml(reports);
}

const WRONG_USE = 2;

async function reportsOf(paths: readonly string[], options: ReportOptions): Promise<Report[]> {
  const wanted = wantedOf(options);
  if (options.store !== undefined) {
    const ids = options.job === undefined ? paths : [...paths, options.job];
    const timed = wanted.from !== undefined || wanted.to !== undefined;
    const jobs = await storedJobs(options.store, ids, !timed);
    const then = jobs.filter(({ recording }) => ranThen(recording, wanted));
    const reports: Report[] = [];
    for (const job of then.length > 0 ? then : jobs) reports.push(report(await gatherStored(job, wanted)));
    return reports;
  }
  const all = await findRecordings(paths);
  const found = options.job === undefined ? all : all.filter((r) => isOfJob(r.job.id, options.job!));
  if (found.length === 0) {
    throw usage(`no recording of job ${options.job} here`, `there are ${idsText(all.map((r) => r.job.id))}`);
  }
  // of many recordings only what is wanted is asked for: a scheduler serves others too
  const steps = options.step !== undefined || found.length === 1;
  await Promise.all(found.map((recording) => askHowItEnded(recording, steps)));
  // of several recordings those that ran at that time are meant; of one it is wrong use
  const then = found.filter((recording) => ranThen(recording, wanted));
  const chosen = then.length > 0 ? then : found;
  // what a folder holds comes by time, what is named one by one as it is named
  if (paths.length === 1) chosen.sort((a, b) => a.job.start - b.job.start || 0);
  if (chosen.length === 1) return [report(gather(chosen[0]!, wanted))];
  return chosen.flatMap((recording) => {
    try {
      return [report(gather(recording, wanted))];
    } catch (error) {
      if (error instanceof Fault && error.exit === WRONG_USE) throw error;
      // what is wrong with one says nothing about the others
      warn(`left out: ${recording.path}: ${reason(error)}`);
      process.exitCode = 1;
      return [];
    }
  });
}

function ranThen({ job }: Recording, wanted: GatherOptions): boolean {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = wanted;
  return !(job.start > to || (job.end ?? Number.POSITIVE_INFINITY) < from);
}

function wantedOf(options: ReportOptions): GatherOptions {
  const wanted: GatherOptions = {};
  if (options.from !== undefined) wanted.from = parseMoment(options.from);
  if (options.to !== undefined) wanted.to = parseMoment(options.to);
  if (options.step !== undefined) wanted.step = options.step;
  if (options.marker !== undefined) wanted.marker = options.marker;
  if (options.phases === true) wanted.phases = true;
  return wanted;
}

/** A job that was cancelled, hit its limit or lost a node could not say so itself: its scheduler may know. */
async function askHowItEnded(recording: Recording, steps: boolean): Promise<void> {
  if (isSettled(recording, steps)) return;
  const { refreshJob } = await import('../jobs/schedulers/refresh.ts');
  recording.job = await refreshJob(recording, { steps });
}
