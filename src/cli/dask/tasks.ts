import { type Command, Option } from 'commander';
import { tableWidth } from '../../base/page-width.ts';
import { stated } from '../../base/stated.ts';
import { warn } from '../../base/warn.ts';
import type { TaskChoice } from '../../query/dask/prefixes.ts';
import type { DaskUse } from '../../query/dask/task-use.ts';
import { whole } from '../processes.ts';
import { daskRecording, recordingArgument } from './dask-source.ts';

interface Options {
  each?: boolean;
  prefix?: string;
  job?: number;
  dag?: number;
  limit: number;
  format: 'text' | 'json' | 'csv';
}

export function defineTasks(command: Command): void {
  recordingArgument(command)
    .description('List what the tasks of each prefix used.')
    .option('--each', 'one row per task, the longest first')
    .option('--prefix <name>', 'only tasks of this prefix')
    .option('--job <number>', 'only tasks of this job', whole)
    .option('--dag <number>', 'only tasks of this graph of the job', whole)
    .option('-n, --limit <n>', 'show at most N rows (0: all)', whole, 30)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText(
      'after',
      `
CPU is the share of the workers' CPU time: where several tasks ran on a worker, each gets a part by its time. Memory and GPU are
those of the whole worker. The column shared says how much of their time other tasks ran there.

Examples:
  tacho dask tasks run7
  tacho dask tasks run7 --each --prefix load
  tacho dask tasks run7 --job 2 --format json
`,
    )
    .action(async (source: string | undefined, { each, job, dag, prefix, limit, format }: Options) => {
      const recording = await daskRecording(source);
      const { daskUse } = await import('../../query/dask/task-use.ts');
      const { needTasks, prefixUse } = await import('../../query/dask/prefixes.ts');
      const { needDask } = await import('../../query/dask/workers.ts');
      needDask(recording);
      const uses = daskUse(recording);
      const choice = stated({ job, dag, prefix });
      needTasks(uses, choice);
      if (format === 'text' && uses.every(({ tasks }) => tasks.length === 0))
        return warn('no task ended while it recorded');
      if (each) return listTasks(uses, choice, limit, format);
      const prefixes = prefixUse(uses, choice);
      const { prefixCsv, prefixTable } = await import('../../show/dask/prefix-table.ts');
      if (format === 'json') process.stdout.write(`${JSON.stringify(prefixes, null, 1)}\n`);
      else if (format === 'csv') process.stdout.write(prefixCsv(prefixes));
      else process.stdout.write(prefixTable(prefixes, limit, tableWidth()));
    });
}

async function listTasks(
  uses: readonly DaskUse[],
  choice: TaskChoice,
  limit: number,
  format: Options['format'],
): Promise<void> {
  const { longestTasks } = await import('../../query/dask/task-list.ts');
  const { taskCsv, taskJson, taskTable } = await import('../../show/dask/task-table.ts');
  const rows = longestTasks(uses, choice);
  if (format === 'text') process.stdout.write(taskTable(rows, limit, tableWidth()));
  else for (const text of format === 'csv' ? taskCsv(rows) : taskJson(rows)) process.stdout.write(text);
}
