import { type Command, Option } from 'commander';
import { warn } from '../base/warn.ts';
import type { StopOptions } from './stop-finish.ts';
import { type StoppedRecording, takeStopped } from './stop-whole.ts';

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
    .action(async (folder: string | undefined, options: StopOptions) => {
      const stopped = takeStopped() ?? (await stop(folder));
      const { finish } = await import('./stop-finish.ts');
      await finish(stopped, options);
    });
}

/** Ends the agents, and says what they left out. */
async function stop(folder: string | undefined): Promise<StoppedRecording> {
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
  return { recording, over, noted };
}
