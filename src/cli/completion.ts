import { Argument, type Command } from 'commander';

export function define(command: Command): void {
  command
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
Examples:
  eval "$(tacho completion bash)"                    for this shell; put it in ~/.bashrc for every one
  source <(tacho completion zsh)                     the same for zsh, in ~/.zshrc after compinit
  tacho completion fish > ~/.config/fish/completions/tacho.fish
`,
    )
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const [{ completions }, { wholeProgram }] = await Promise.all([
        import('../show/completion.ts'),
        import('./program.ts'),
      ]);
      const program = await wholeProgram();
      const { sources } = await import('../sources/index.ts');
      const tables = [...sources.map(({ table }) => table.name), 'agent'];
      // offered, not demanded: recordings may hold other tables, too
      for (const option of program.commands.flatMap(({ options }) => options)) {
        if (option.long === '--table' || option.long === '--only' || option.long === '--without')
          option.argChoices = tables;
      }
      process.stdout.write(completions[shell](program));
    });
}
