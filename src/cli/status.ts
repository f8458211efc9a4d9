import { type Command, Option } from 'commander';
import { formatDuration } from '../base/duration.ts';
import { figure } from '../base/figure.ts';
import { tableWidth } from '../base/page-width.ts';
import type { NodeStatus } from '../control/status.ts';
import { printable, textTable, wrap } from '../show/terminal/text-table.ts';
import { pathNamed } from './named-recordings.ts';

// biome-ignore format: as in the table
const COLUMNS = [
  'node', 'state', 'last_sample_seconds', 'ticks', 'late_ticks', 'missed_ticks', 'lost_samples', 'unmeasured', 'end_reason', 'trouble',
];

export function define(command: Command): void {
  command
    .argument('[recording]', 'the recording to look at (default: the one of this job or session)')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'))
    .addHelpText('after', '\nExamples:\n  tacho status\n  tacho status tacho-4711 --format json\n')
    .action(async (folder: string | undefined, options: { format: string }) => {
      const { needActive } = await import('../control/active.ts');
      const { recordingStatus } = await import('../control/status.ts');
      const status = recordingStatus(
        folder === undefined ? needActive(process.env, 'there is nothing to show').recording : await pathNamed(folder),
      );
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(status, null, 1)}\n`);
      else if (options.format === 'csv') {
        const { objectCsv } = await import('../show/object-csv.ts');
        process.stdout.write(objectCsv(COLUMNS, status.nodes));
      } else {
        // an import of what was not sampled has no interval
        const every = status.interval_seconds > 0 ? `, every ${status.interval_seconds} s` : '';
        const head = `${status.recording}, job ${status.job}${every}`;
        process.stdout.write(`${wrap(printable(head), tableWidth()).join('\n')}\n`);
        process.stdout.write(table(status.nodes));
        for (const { node, trouble } of status.nodes) {
          if (trouble !== undefined) process.stdout.write(`${printable(`${node}: ${trouble}`)}\n`);
        }
      }
      const bad: readonly NodeStatus['state'][] = ['blocked', 'silent', 'missing'];
      if (status.nodes.some(({ state }) => bad.includes(state))) process.exitCode = 1;
    });
}

function table(nodes: readonly NodeStatus[]): string {
  const rows = nodes.map((n) => [
    n.node,
    n.state,
    n.last_sample_seconds === undefined ? 'none' : `${formatDuration(n.last_sample_seconds)} ago`,
    String(n.ticks),
    String(n.late_ticks),
    String(n.missed_ticks),
    figure((n.lost_samples ?? []).reduce((sum, { rows, waiting = 0 }) => sum + rows + waiting, 0)),
    String(n.unmeasured),
  ]);
  const columns = [
    { head: 'node' },
    { head: 'state' },
    { head: 'last sample', whole: true },
    { head: 'ticks', align: 'right' },
    { head: 'late', align: 'right', spare: 1 },
    { head: 'missed', align: 'right' },
    { head: 'unwritten', align: 'right' },
    { head: 'unmeasured', align: 'right' },
  ] as const;
  return textTable(columns, rows, tableWidth() - 2)
    .map((line) => `  ${line}\n`)
    .join('');
}
