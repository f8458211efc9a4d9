import type { Command } from 'commander';
import { tableWidth } from '../base/page-width.ts';
import { WASTE_GROUPS, type WasteGroup, type WasteRow } from '../history/ask/waste.ts';
import { nothingThere, periodOf } from './history.ts';
import { filterOf, withHistory } from './history-options.ts';
import { type RankedOptions, rankedOptions, writeRanked } from './ranked.ts';

type Options = RankedOptions<WasteGroup>;

const COLUMNS = [
  'group',
  'user',
  'name',
  'jobs',
  'core_hours',
  'core_hours_wasted',
  'gpu_hours',
  'gpu_hours_wasted',
  'memory_byte_hours_wasted',
  'core_hours_unmeasured',
  'accounted',
  'finding',
];

export function define(command: Command): void {
  rankedOptions(command, '30 days ago', WASTE_GROUPS, 'whose')
    .addHelpText(
      'after',
      `
CPUs, GPUs and memory that jobs reserved and did not use; jobs that ended in the period count. The largest waste comes first;
a GPU-hour weighs as much as 16 core-hours. Jobs whose use was not measured are not counted as waste: their core-hours have a
column of their own.

Examples:
  tacho waste /archive/tacho --from -30d
  tacho waste --by job --user ada --from -7d
  tacho waste --by account --partition gpu --format csv
`,
    )
    .action(async (paths: string[], options: Options) => {
      const period = periodOf(options);
      const filter = { ...filterOf(options), ...period };
      const rows = await withHistory(paths, options, async (history) => {
        const wasteRows = await history.waste(options.by, {
          ...filter,
          ...(options.limit === 0 ? {} : { limit: options.limit }),
        });
        if (wasteRows.length === 0) throw await nothingThere(history, period);
        return wasteRows;
      });
      await writeRanked(rows, options.format, COLUMNS, (all) => text(all, options.by));
    });
}

const text = async (rows: readonly WasteRow[], by: WasteGroup): Promise<string> =>
  (await import('../show/history/waste-text.ts')).wasteText(rows, by, tableWidth());
