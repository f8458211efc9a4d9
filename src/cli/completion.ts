import { Argument, type Command, Option } from 'commander';
import type { Shell } from '../show/completion/completion.ts';

const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish', 'csh', 'tcsh'];

export function define(command: Command): void {
  command
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .addOption(new Option('--offer', 'what could stand at the end of COMMAND_LINE, as tcsh says it').hideHelp())
    .addHelpText(
      'after',
      `
Examples:
  eval "$(tacho completion bash)"                    for this shell; put it in ~/.bashrc for every one
  source <(tacho completion zsh)                     the same for zsh, in ~/.zshrc after compinit
  tacho completion fish > ~/.config/fish/completions/tacho.fish
  tacho completion csh >> ~/.tcshrc                  csh and tcsh
`,
    )
    .action(async (shell: Shell, options: { offer?: boolean }) => {
      const { wholeProgram } = await import('./program.ts');
      const program = await wholeProgram();
      await offerNames(program);
      if (options.offer === true) {
        const [{ offersFor }, { treeOf }] = await Promise.all([
          import('../show/completion/csh.ts'),
          import('../show/completion/tree.ts'),
        ]);
        const offers = offersFor(treeOf(program), process.env.COMMAND_LINE ?? '');
        return void process.stdout.write(offers.map((word) => `${word}\n`).join(''));
      }
      const { completion } = await import('../show/completion/completion.ts');
      process.stdout.write(completion(shell, program));
    });
}

/** Names that are offered, not demanded: recordings may hold other tables and columns, too. */
async function offerNames(program: Command): Promise<void> {
  const { sources } = await import('../sources/index.ts');
  const tables = [...sources.map(({ table }) => table.name), 'agent'];
  const offered: Readonly<Record<string, string[]>> = {
    '--table': tables,
    '--only': tables,
    '--without': tables,
    '--sort': ['cpu', 'rss', 'io', 'duration', 'start', 'threads', 'pid'],
  };
  const stored = ['jobs', 'users', 'hosts', 'job_hosts', 'processes', 'threads', 'operations', 'models'];
  const walk = (command: Command): void => {
    for (const option of command.options) {
      const choices = offered[option.long ?? ''];
      if (choices !== undefined) option.argChoices ??= choices;
    }
    for (const argument of command.registeredArguments) if (argument.name() === 'table') argument.argChoices ??= stored;
    for (const child of command.commands) walk(child);
  };
  walk(program);
}
