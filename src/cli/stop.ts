import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { warn } from '../base/warn.ts';
import { pathNamed } from './named-recordings.ts';
import type { StopOptions, StoppedRecording } from './stop-finish.ts';

export function define(command: Command): void {
  command
    .argument('[recording]', 'the recording to stop (default: the one of this job or session)')
    .option('--no-report', 'do not print the report card')
    .addOption(
      new Option('--exit-code <status>', 'exit code of the script, where no scheduler reports it').argParser((text) => {
        if (/^\d{1,3}$/.test(text) && Number(text) < 256) return Number(text);
        throw usage(`"${text}" is not an exit code`, 'it is a whole number from 0 to 255');
      }),
    )
    .option('--no-seal', 'leave the files as they were written')
    .addOption(
      new Option('-f, --format <format>', 'of the report')
        .choices(['text', 'markdown', 'json', 'html'])
        .default('text'),
    )
    .addHelpText(
      'after',
      `
Examples:
  trap 'tacho stop' EXIT        in a job's script, after tacho start: keeps its exit status
  trap 'tacho stop --exit-code $?' EXIT        without a scheduler, so that the
                                               card says when the script failed
  tacho stop
  tacho stop tacho-4711 --no-report
`,
    )
    .action(async (folder: string | undefined, options: StopOptions) => {
      const stopped = await stop(folder === undefined ? undefined : await pathNamed(folder), options.exitCode);
      const { finish } = await import('./stop-finish.ts');
      await finish(stopped, options);
    });
}

/** Ends the agents, and says what they left out. */
async function stop(folder: string | undefined, exitCode: number | undefined): Promise<StoppedRecording> {
  const { stopRecording } = await import('../control/stop.ts');
  const reportTrouble = (what: string, why: string): void => warn(`${what}: ${why}`);
  const stopped = await stopRecording(process.env, folder, reportTrouble, undefined, exitCode);
  const { recording, job, silent, never, over, noted } = stopped;
  const { nodesText } = await import('../base/hostlist.ts');
  const { commonLogLines } = await import('../control/launch.ts');
  const why = (node: string): string => job.not_recorded?.[node] ?? 'its agent wrote nothing';
  for (const { nodes, many, logLines } of commonLogLines(never.map((node) => ({ node, logLines: [why(node)] })))) {
    warn(`${nodes} ${many ? 'were' : 'was'} not recorded: ${logLines[0]}`);
  }
  const unrecorded = new Set(never);
  const lost = silent.filter((node) => !unrecorded.has(node));
  if (lost.length > 0) {
    warn(`the agents on ${nodesText(lost)} did not confirm their end: what they wrote is kept`);
  }
  return { recording, over, noted };
}
