import { type Command, Option } from 'commander';
import { warn } from '../base/warn.ts';
import { keepFinish, ownSeconds } from './finish-cost.ts';
import { near } from './near.ts';
import type { ReportOptions } from './report.ts';

interface Options {
  report: boolean;
  seal: boolean;
  strict?: boolean;
  format: NonNullable<ReportOptions['format']>;
}

export function define(command: Command): void {
  command
    .argument('[recording]', 'the recording to stop (default: the one of this job or session)')
    .option('--no-report', 'do not print the report card')
    .option('--no-seal', 'leave the files as they were written')
    .addOption(new Option('--format <format>', 'of the report').choices(['text', 'markdown', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Examples:
  trap 'tacho stop' EXIT        in a job's script, after tacho start: keeps its exit status
  tacho stop
  tacho stop tacho-4711 --no-report
`,
    )
    .action(async (folder: string | undefined, options: Options) => {
      const { stopRecording } = await import('../control/stop.ts');
      const { recording, job, silent, never, over, noted } = await stopRecording(process.env, folder, (what, why) => {
        warn(`${what}: ${why}`);
      });
      const { nodesText } = await import('../base/hostlist.ts');
      const { sameWords } = await import('../control/launch.ts');
      const why = (node: string): string => job.not_recorded?.[node] ?? 'its agent wrote nothing';
      for (const { nodes, many, words } of sameWords(never.map((node) => ({ node, words: [why(node)] })))) {
        warn(`${nodes} ${many ? 'were' : 'was'} not recorded: ${words[0]}`);
      }
      const unrecorded = new Set(never);
      const lost = silent.filter((node) => !unrecorded.has(node));
      if (lost.length > 0) {
        warn(`no word from the end of recording on ${nodesText(lost)}: what was written there is kept`);
      }
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
        const card = { stream: process.stdout, format: options.format, spent };
        process.stdout.write(await reportCard([recording], card));
      }
      keepFinish(recording, spent());
    });
}

/** Completes the files: what processes still said to agents that had died, and a form that is small and quick to read. */
async function takeIn(folder: string, over: boolean): Promise<void> {
  const { openRecording } = await import('../recording/folder/open.ts');
  const { adoptRecords } = await import('../agent/run/adopt-records.ts');
  if (over) await adoptRecords(openRecording(folder), false);
  const { sealRecording } = await import('../recording/sealed/seal.ts');
  for (const { node, skipped } of sealRecording(openRecording(folder), { force: over })) {
    if (skipped !== undefined) warn(`${node} is not sealed: ${skipped}`);
  }
}
