import { type Command, Option } from 'commander';
import { usage } from '../base/fault.ts';
import { type CompareBy, compare } from '../judge/compare.ts';
import { gather } from '../judge/gather.ts';
import { report } from '../judge/report.ts';
import { readProcesses } from '../query/processes.ts';
import { findRecordings } from '../recording/open.ts';
import { pageWidth } from './process-source.ts';
import { whole } from './processes.ts';

interface Options {
  by?: CompareBy;
  limit?: number;
  format: 'text' | 'json' | 'csv';
}

export function define(command: Command): void {
  command
    .usage('A B… [options]')
    .argument(
      '<recordings...>',
      'two or more recordings, or folders that hold some; the first is what others are held against',
    )
    .addOption(
      new Option(
        '-b, --by <what>',
        'what to look for the difference in (default: operations if there are tags, else processes)',
      ).choices(['operation', 'process', 'metric']),
    )
    .option('-n, --limit <n>', 'rows of each table; 0 is all (default: 12)', whole)
    .addOption(new Option('-f, --format <format>', 'how it looks').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
Examples:
  tacho compare tacho-4711 tacho-4712                       why did the second take longer?
  tacho compare tacho-4711 tacho-4712 --by process          by command instead of by tag
  tacho compare runs/ --by metric --format csv > runs.csv   every job below runs/ in a column
`,
    )
    .action(async (paths: string[], options: Options) => {
      const recordings = findRecordings(paths);
      if (recordings.length < 2) {
        throw usage(
          'there is one recording to compare: at least two are needed',
          'tacho list shows the recordings in a folder',
        );
      }
      const set = readProcesses(recordings);
      for (const trouble of set.troubles) process.stderr.write(`tacho: ${trouble}\n`);
      const reports = recordings.map((recording) => report(gather(recording)));
      const found = compare(reports, set, options.by);
      const { compareCsv, compareJson, compareText } = await import('../show/compare-text.ts');
      const page = {
        width: pageWidth(),
        stream: process.stdout,
        ...(options.limit === undefined ? {} : { limit: options.limit }),
      };
      if (options.format === 'json') process.stdout.write(compareJson(found));
      else if (options.format === 'csv') process.stdout.write(compareCsv(found));
      else process.stdout.write(compareText(found, page));
    });
}
