import * as os from 'node:os';
import { type Command, Option } from 'commander';
import { Fault, reason, usage } from '../base/fault.ts';
import { JOBS_ARGUMENT, pathsNamed } from './named-recordings.ts';
import { forgivingRules } from './rule-settings.ts';

interface Options {
  port: string;
  format: string;
}

export function define(command: Command): void {
  command
    .argument('[folder...]', JOBS_ARGUMENT)
    .option('--port <port>', 'port on this machine (0: any free one)', '0')
    .addOption(
      new Option('-f, --format <format>', 'how the address is printed').choices(['text', 'json']).default('text'),
    )
    .addHelpText(
      'after',
      `
Prints the address of the page and serves it until Ctrl-C. The address holds a token: without it nobody
sees anything. Recordings that appear in the folders later are shown, too, and running jobs are followed.

Examples:
  tacho serve
  tacho serve ~/runs --port 8080
`,
    )
    .action(async (folders: string[], options: Options) => {
      const port = Number(options.port);
      if (!Number.isInteger(port) || port < 0 || port > 65_535)
        throw usage(`"${options.port}" is not a port`, 'give a number from 0 to 65535');
      const places = await pathsNamed(folders);
      const { startServing } = await import('../serve/start.ts');
      const serving = await startServing(places, port, await forgivingRules()).catch((error: unknown) => {
        if (error instanceof Fault) throw error;
        throw new Fault(`cannot serve on port ${port}: ${reason(error)}`, { hint: '--port 0 takes any free one' });
      });
      const { url, port: taken } = serving;
      process.stdout.write(options.format === 'json' ? `${JSON.stringify({ url, port: taken })}\n` : `${url}\n`);
      process.stderr.write(
        `From your own machine: ssh -L ${taken}:127.0.0.1:${taken} ${os.hostname()}, then open the address. Ctrl-C ends it.\n`,
      );
      for (const signal of ['SIGINT', 'SIGTERM'] as const)
        process.once(signal, () => void serving.close().then(() => process.exit(0)));
    });
}
