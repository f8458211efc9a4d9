import type { Command } from 'commander';
import { defineAttach } from './dask/attach.ts';
import { defineControl } from './dask/control.ts';
import { defineCsv } from './dask/csv.ts';
import { definePeaks } from './dask/peaks.ts';
import { defineTasks } from './dask/tasks.ts';

export function define(command: Command): void {
  command.helpCommand(false).addHelpText(
    'after',
    `
Examples:
  tacho dask attach tcp://localhost:8786 -o run7 &
  tacho dask status
  tacho dask detach
  tacho dask tasks run7
`,
  );
  defineAttach(command.command('attach'));
  defineControl(command);
  defineTasks(command.command('tasks'));
  definePeaks(command.command('peaks'));
  defineCsv(command.command('csv'));
}
