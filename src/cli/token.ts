import type { Command } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { usage } from '../base/fault.ts';
import { configFlags, configOf } from '../config/flags.ts';

const KINDS = ['node', 'user', 'administrator'] as const;

export function define(command: Command): void {
  command.helpCommand(false).addHelpText(
    'after',
    `
Example:
  tacho token key /etc/tacho/hub.key
  tacho token node c1 --trust-key-file /etc/tacho/hub.key >c1.token
`,
  );
  command
    .command('key')
    .description('Make a key for a hub, in a file that only its owner can read.')
    .argument('<file>', 'the file to make')
    .addHelpText('after', '\nExample:\n  tacho token key /etc/tacho/hub.key\n')
    .action(async (file: string) => {
      const { makeKey } = await import('../trust/token.ts');
      makeKey(file);
    });
  for (const kind of KINDS) {
    const sub = command
      .command(kind)
      .description(DESCRIPTIONS[kind])
      .argument('<name>', kind === 'node' ? "the node's name; several with commas between them" : 'the name')
      .option('--expires <duration>', 'how long the token works, or "never"', '365d')
      .addHelpText(
        'after',
        `\nExample:\n  tacho token ${kind} ${EXAMPLES[kind]} --trust-key-file /etc/tacho/hub.key\n`,
      );
    configFlags(sub, ['trust.key_file']).action(
      async (name: string, options: Record<string, unknown> & { expires: string }) => {
        const config = await configOf(options, ['trust.key_file']);
        const file = config['trust.key_file'];
        if (file === undefined)
          throw usage("which hub's key? --trust-key-file names it", 'tacho token key FILE makes one');
        const { makeToken, readKey } = await import('../trust/token.ts');
        const until =
          options.expires === 'never' ? {} : { until: Math.floor(Date.now() / 1000 + parseDuration(options.expires)) };
        process.stdout.write(`${makeToken(readKey(file), { kind, name, ...until })}\n`);
      },
    );
  }
}

const DESCRIPTIONS = {
  node: 'Print the token with which the agent of a node writes to a hub.',
  user: 'Print the token with which a user sees their own jobs (and, with trust.users_write, sends some).',
  administrator: "Print the token with which everybody's jobs can be seen.",
} as const;

const EXAMPLES = { node: 'c1', user: 'alice', administrator: 'root' } as const;
