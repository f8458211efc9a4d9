import { allowThreads } from '../base/two-threads.ts';
import { warn } from '../base/warn.ts';
import type { Results } from '../judge/keep-results.ts';
import { keepFinish, ownSeconds } from './finish-cost.ts';
import { near } from './near.ts';
import type { ReportOptions } from './report.ts';

/** What is known of a recording once its agents have ended. */
export interface StoppedRecording {
  recording: string;
  /** No agent can be writing any more. */
  over: boolean;
  /** CPU seconds of this process that are counted among Tacho's commands in the job. */
  noted: number;
}

export interface StopOptions {
  report: boolean;
  seal: boolean;
  strict?: boolean;
  exitCode?: number;
  format: NonNullable<ReportOptions['format']>;
}

/** What `tacho stop` does when no agent runs any more: seals the files and prints the report card. */
export async function finish({ recording, over, noted }: StoppedRecording, options: StopOptions): Promise<void> {
  allowThreads(process.argv[1]);
  const spent = (): number => Math.max(0, ownSeconds() - noted);
  if (options.seal) {
    // whatever becomes of it, the report card is what the job waits for
    try {
      await takeIn(recording, over);
    } catch (error) {
      const { tell } = await import('./failure.ts');
      tell(error);
      if (options.strict) process.exitCode = 1;
    }
  }
  if (!options.report) {
    warn(`stopped; tacho report ${near(recording)} shows what happened`);
  } else {
    const { reportCard } = await import('./report.ts');
    let results: Results | undefined;
    const keep = (all: Results): void => {
      results = all;
    };
    const card = { stream: process.stdout, format: options.format, spent, isForgiving: true, keep };
    process.stdout.write(await reportCard([recording], card));
    if (options.seal) await keepSums(recording, results, options.strict === true);
  }
  keepFinish(recording, spent());
}

/** Its report, its processes, and sums over them by which it is compared with other jobs. */
async function keepSums(folder: string, results: Results | undefined, strict: boolean): Promise<void> {
  try {
    const { openRecording } = await import('../recording/folder/open.ts');
    const { keepFeatures } = await import('../judge/outliers/kept-features.ts');
    const { keep, keepResults } = await import('../judge/keep-results.ts');
    const recording = openRecording(folder);
    keepFeatures(recording, results === undefined ? keepResults(recording) : keep(results));
  } catch (error) {
    const { tell } = await import('./failure.ts');
    tell(error);
    if (strict) process.exitCode = 1;
  }
}

/** Completes the files: what processes still said to agents that had died, and a form that is small and quick to read. */
async function takeIn(folder: string, over: boolean): Promise<void> {
  const { openRecording } = await import('../recording/folder/open.ts');
  const { leftRecords } = await import('../agent/run/left-records.ts');
  const recording = openRecording(folder);
  // mostly there is nothing: what reads it is not loaded then
  const isLeft = over && leftRecords(recording) !== undefined;
  if (isLeft) await (await import('../agent/run/adopt-records.ts')).adoptRecords(recording, false);
  const { sealRecording } = await import('../recording/sealed/seal.ts');
  for (const { node, skipped } of sealRecording(isLeft ? openRecording(folder) : recording, { force: over })) {
    if (skipped !== undefined) warn(`${node} is not sealed: ${skipped}`);
  }
}
