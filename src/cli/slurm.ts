import type { Command } from 'commander';
import { warn } from '../base/warn.ts';

interface Options {
  prolog?: boolean;
  epilog?: boolean;
  taskProlog?: boolean;
  conf?: boolean;
}

export function define(command: Command): void {
  command
    .helpCommand(false)
    .usage('hooks [options]')
    .addHelpText('after', '\nExample:\n  tacho slurm hooks --prolog > /etc/slurm/prolog.d/50-tacho.sh\n');
  command
    .command('hooks')
    .description("Print the scripts that tell a node's agent of Slurm's jobs, and where to put them.")
    .option('--prolog', 'the Prolog script')
    .option('--epilog', 'the Epilog script')
    .option('--task-prolog', 'a TaskProlog that has every process of jobs recorded')
    .option('--conf', 'the lines for slurm.conf')
    .addHelpText(
      'after',
      `
Example:
  tacho slurm hooks --prolog > /etc/slurm/prolog.d/50-tacho.sh
  tacho slurm hooks --epilog > /etc/slurm/epilog.d/50-tacho.sh
  chmod 755 /etc/slurm/prolog.d/50-tacho.sh /etc/slurm/epilog.d/50-tacho.sh
  tacho slurm hooks --conf >> /etc/slurm/slurm.conf
`,
    )
    .action(async (options: Options) => {
      const { hooks, WHERE, whyTasksCannot } = await import('../control/slurm-hooks.ts');
      const { prolog, epilog, 'task-prolog': taskProlog, conf } = hooks();
      const asked = [
        ...(options.prolog ? [prolog] : []),
        ...(options.epilog ? [epilog] : []),
        ...(options.taskProlog ? [taskProlog] : []),
        ...(options.conf ? [conf] : []),
      ];
      const why = options.taskProlog || asked.length === 0 ? whyTasksCannot() : undefined;
      if (why !== undefined) warn(`with the task prolog nothing would be recorded: ${why}`);
      process.stdout.write(asked.length > 0 ? asked.join('\n') : WHERE);
    });
}
