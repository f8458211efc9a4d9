import type { Command } from 'commander';
import { tableWidth } from '../base/page-width.ts';
import { HOG_GROUPS, type HogGroup, type HogRow } from '../history/ask/hogs.ts';
import { nothingThere, periodOf } from './history.ts';
import { filterOf, withHistory } from './history-options.ts';
import { type RankedOptions, rankedOptions, writeRanked } from './ranked.ts';

type Options = RankedOptions<HogGroup>;

const COLUMNS = ['group', 'user', 'jobs', 'nodes', 'core_hours_used', 'contended_hours', 'core_hours_hogged'];

export function define(command: Command): void {
  rankedOptions(command, '7 days ago', HOG_GROUPS, 'who')
    .addHelpText(
      'after',
      `
Who used more CPUs than a fair share while others needed them. Only hours count in which the node was full (90 % busy, or more
threads ready to run than CPUs) and others used at least 5 % of it. A fair share is what the scheduler gave; without a
scheduler it is half of the node. A job on an idle node, or alone on a full one, is no hog.

Examples:
  tacho hogs /archive/tacho --from -7d
  tacho hogs --by job --node login1 --format json
`,
    )
    .action(async (paths: string[], options: Options) => {
      const period = periodOf({ from: '-7d', ...options });
      const { from: _, to: __, ...filter } = filterOf(options);
      const rows = await withHistory(paths, options, async (history) => {
        const hogRows = await history.hogs({ by: options.by, ...period, filter });
        const { total } = await history.usage({ by: 'user', metric: 'core-hours', ...period, filter });
        if (total.jobs === 0) throw await nothingThere(history, period);
        return options.limit === 0 ? hogRows : hogRows.slice(0, options.limit);
      });
      await writeRanked(rows, options.format, COLUMNS, (all) => text(all, options.by));
    });
}

async function text(rows: readonly HogRow[], by: HogGroup): Promise<string> {
  if (rows.length === 0) return 'no user took more than a fair share of a full node\n';
  return (await import('../show/history/waste-text.ts')).hogsText(rows, by, tableWidth());
}
