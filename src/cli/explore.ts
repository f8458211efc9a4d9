import * as fs from 'node:fs';
import { type Command, Option } from 'commander';
import { Fault, reason } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { EXPERIMENT_TAGS } from '../judge/explore/explore.ts';
import { type DatabaseOptions, databaseOption } from './database-option.ts';
import { openJobs, readingJobs } from './measured-jobs.ts';
import { JOBS_ARGUMENT } from './named-recordings.ts';
import { several, whole } from './processes.ts';

interface Options extends DatabaseOptions {
  metric: string;
  limit?: number;
  tag?: string[];
  experimentTag: string;
  componentTag: string;
  timeTag: string;
  segments?: string;
  format: 'text' | 'json' | 'csv';
}

export function define(command: Command): void {
  databaseOption(command)
    .usage('EXPERIMENT [JOB…] [options]')
    .argument('<experiment>', 'its name, as the jobs are tagged')
    .argument('[jobs...]', JOBS_ARGUMENT)
    .option('--metric <name>', 'duration, cpu_time, processes, rchar… (any feature of tacho outliers)', 'duration')
    .option('-n, --limit <n>', 'show at most N components (0: all; default: 10 as text)', whole)
    .option('-t, --tag <key:value>', 'only jobs with this tag; several must all be there', several)
    .option('--experiment-tag <key>', 'the job tag with the experiment', EXPERIMENT_TAGS.experiment)
    .option('--component-tag <key>', 'the job tag with the component', EXPERIMENT_TAGS.component)
    .option('--time-tag <key>', 'the job tag with the time segment', EXPERIMENT_TAGS.time)
    .option('--segments <list>', 'time segments that there should be, separated by commas; @FILE: one per line')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
From an experiment to its components, their time segments and jobs. A star is a method that says a value is out of line
(modified z-score, z-score, interquartile range). Where segments follow at regular distances, those that are missing
are named; --segments says which there should be.

Examples:
  tacho explore ESM4_historical_D151 /archive/jobs
  tacho explore ESM4_historical_D151 --metric cpu_time --limit 3
  tacho explore ESM4_historical_D151 /archive/jobs --format csv > segments.csv
  tacho explore ESM4_historical_D151 --segments @years.txt     which of these are missing
  tacho explore sweep-7 runs/ --experiment-tag sweep --component-tag model
`,
    )
    .action(async (experiment: string, names: string[], options: Options) => {
      const { explore } = await import('../judge/explore/explore.ts');
      const jobs = await openJobs(names, options);
      const bar = readingJobs(jobs.length);
      const exploration = await explore(experiment, jobs, {
        metric: options.metric,
        tags: { experiment: options.experimentTag, component: options.componentTag, time: options.timeTag },
        progress: bar.advance,
        ...stated({ expected: options.segments === undefined ? undefined : segmentsNamed(options.segments) }),
      });
      bar.done();
      const { format, limit } = options;
      if (format !== 'text') {
        const chosen = { ...exploration, components: exploration.components.slice(0, limit || undefined) };
        const { exploreCsv } = await import('../show/judged/judged-csv.ts');
        process.stdout.write(format === 'csv' ? exploreCsv(chosen) : `${JSON.stringify(chosen, null, 1)}\n`);
        return;
      }
      const { exploreText } = await import('../show/judged/explore-text.ts');
      const page = { stream: process.stdout, width: tableWidth(), ...stated({ limit }) };
      process.stdout.write(exploreText(exploration, page));
    });
}

/** The names in a list, or in a file with one per line. */
function segmentsNamed(list: string): string[] {
  if (!list.startsWith('@'))
    return list
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
  try {
    const lines = fs.readFileSync(list.slice(1), 'utf8').split('\n');
    return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  } catch (error) {
    throw new Fault(`cannot read ${list.slice(1)}: ${reason(error)}`, {
      hint: '--segments @FILE has one segment per line',
    });
  }
}
