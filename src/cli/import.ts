import { type Command, Option } from 'commander';
import { Fault } from '../base/fault.ts';
import type { Imported, Refused } from '../import/epmt/import.ts';
import { progress } from '../show/progress.ts';
import { printable } from '../show/text-table.ts';
import { tell } from './failure.ts';

interface Options {
  output: string;
  format: 'text' | 'json';
}

export function define(command: Command): void {
  command.usage('PROGRAM FILE… [options]').addHelpText(
    'after',
    `
Examples:
  tacho import epmt 685000.tgz -o imported
  tacho report imported
`,
  );
  command
    .command('epmt')
    .summary("EPMT's staged archives and folders")
    .description("Import jobs that EPMT recorded: its staged archives (.tgz) or a job's folder, one recording a job.")
    .usage('FILE… [options]')
    .argument('<files...>', 'archives, folders of jobs, or folders that hold some of either')
    .option('-o, --output <folder>', 'where the recordings go, each as tacho-<job id>', '.')
    .addOption(new Option('--format <format>', 'how the result is printed').choices(['text', 'json']).default('text'))
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
      const stop = new AbortController();
      process.once('SIGINT', () => stop.abort(new Fault('interrupted; whole jobs were kept', { exit: 130 })));
      process.once('SIGTERM', () => stop.abort(new Fault('ended by SIGTERM; whole jobs were kept', { exit: 143 })));
      const inputs = listInputs(files);
      const bar = progress('importing', inputs.length);
      const { imported, refused } = await importEpmt(inputs, {
        folder: options.output,
        signal: stop.signal,
        progress: () => bar.advance(1),
      });
      bar.done();
      process.stdout.write(options.format === 'json' ? jsonText(imported, refused) : imported.map(text).join(''));
      for (const { fault } of refused) tell(fault);
      if (refused.length > 0) process.exitCode = 1;
    });
}

function text({ recording, nodes, processes, threads, notes }: Imported): string {
  const counts = `${grouped(processes)} processes, ${grouped(threads)} threads`;
  const lines = [`${recording}: ${counts}, ${nodes.join(' ')}`, ...notes.map((note) => `  ${note}`), ''];
  return lines.map(printable).join('\n');
}

/** 10,600: what knows the customs of every language takes longer to load than an archive to read. */
const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

const jsonText = (imported: readonly Imported[], refused: readonly Refused[]): string =>
  `${JSON.stringify(
    {
      imported,
      refused: refused.map(({ input, fault }) => ({ input, error: fault.message, hint: fault.hint })),
    },
    null,
    1,
  )}\n`;
