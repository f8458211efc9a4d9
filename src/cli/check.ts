import { type Command, Option } from 'commander';
import { configFlags, configOf } from '../config/flags.ts';

const SETTINGS = ['recordings', 'sources.enable', 'sources.disable', 'sources.also'] as const;

export function define(command: Command): void {
  configFlags(command, SETTINGS)
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Opens and reads every source once. The exit code is 0 when a job can be recorded here, else 1.

Examples:
  tacho check
  srun --ntasks-per-node=1 -N 4 tacho check --format json > check.json
`,
    )
    .action(async (options: { format: 'text' | 'json'; config?: string }) => {
      const [{ checkMachine }, { Host }] = await Promise.all([
        import('../check/check.ts'),
        import('../sources/host.ts'),
      ]);
      const config = await configOf(options, SETTINGS);
      const result = await checkMachine({
        host: new Host(),
        folder: config.recordings ?? process.cwd(),
        custom: config.custom,
        tables: {
          only: config['sources.enable'],
          without: config['sources.disable'],
          also: config['sources.also'],
        },
        environment: process.env,
      });
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
      else {
        const { checkText } = await import('../show/check-text.ts');
        process.stdout.write(checkText(result, process.stdout));
      }
      if (!result.records) process.exitCode = 1;
    });
}
