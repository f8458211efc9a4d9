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
      process.stdout.write(completions[shell](await wholeProgram()));
    });
}
