import { type Command, Option } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { usage } from '../base/fault.ts';
import { formatMoment } from '../base/moment.ts';
import { tableWidth } from '../base/page-width.ts';
import type { JobShare } from '../serve/api.ts';
import type { ShareClient } from '../serve/share-client.ts';

interface Options {
  server?: string;
  format: 'text' | 'json' | 'csv';
}

const DAY = 86_400;

export function define(command: Command): void {
  command.helpCommand(false).addHelpText(
    'after',
    `
A link shows one job of a page that tacho serve serves, and nothing else, until it expires or is revoked.

Example:
  tacho serve ~/runs &
  tacho share make 4711 --expires 7d
  tacho share list
  tacho share revoke kJ2mXb0qPZ4d
`,
  );
  shared(command.command('make'))
    .description('Make a link to a job, and print it.')
    .argument('<job>', 'the id of a job that the page shows')
    .addOption(
      new Option('--expires <duration>', 'how long the link works, up to 366d')
        .argParser(parseDuration)
        .default(14 * DAY, '14d'),
    )
    .addHelpText('after', '\nExample:\n  tacho share make 4711 --expires 7d\n')
    .action(async (job: string, options: Options & { expires: number }) => {
      const days = options.expires / DAY;
      if (!(days > 0 && days <= 366)) throw usage('--expires must be more than 0 and at most 366d');
      const made = await (await clientFor(options)).make(job, days);
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(made, null, 2)}\n`);
      else {
        process.stdout.write(`${made.url}\n`);
        process.stderr.write(
          `It expires ${formatMoment(made.expires)}; tacho share revoke ${made.id} ends it before.\n`,
        );
      }
    });
  shared(command.command('list'), ['text', 'json', 'csv'])
    .description('List the links that were made.')
    .addHelpText('after', '\nExample:\n  tacho share list --format json\n')
    .action(async (options: Options) => {
      const links = await (await clientFor(options)).list();
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(links, null, 2)}\n`);
      else if (options.format === 'csv')
        process.stdout.write((await import('../show/object-csv.ts')).objectCsv(LINK_COLUMNS, links));
      else if (links.length === 0) process.stdout.write('No links were made.\n');
      else process.stdout.write(await linkTable(links));
    });
  shared(command.command('revoke'))
    .description('End a link at once.')
    .argument('<id>', 'its id, as tacho share list prints it')
    .addHelpText('after', '\nExample:\n  tacho share revoke kJ2mXb0qPZ4d\n')
    .action(async (id: string, options: Options) => {
      const link = await (await clientFor(options)).revoke(id);
      if (options.format === 'json') process.stdout.write(`${JSON.stringify(link, null, 2)}\n`);
      else process.stdout.write(`The link to ${link.name} opens nothing any more.\n`);
    });
}

const LINK_COLUMNS = ['id', 'job', 'name', 'by', 'created', 'expires', 'revoked', 'state'];

const shared = (command: Command, formats: readonly string[] = ['text', 'json']): Command =>
  command
    .option('--server <url>', 'the address that tacho serve printed (default: the page that you serve on this machine)')
    .addOption(new Option('-f, --format <format>', 'output format').choices(formats).default('text'));

async function clientFor({ server }: Options): Promise<ShareClient> {
  const { ShareClient } = await import('../serve/share-client.ts');
  if (server !== undefined) return new ShareClient(server);
  const { runningServers } = await import('../serve/access/running-servers.ts');
  const running = runningServers();
  if (running.length === 1) return new ShareClient(running[0]!);
  throw running.length === 0
    ? usage('you serve no page on this machine', 'start tacho serve, or name a page with --server')
    : usage(
        `you serve ${running.length} pages on this machine`,
        `name one: ${running.map((url) => `--server ${url}`).join(', ')}`,
      );
}

async function linkTable(links: readonly JobShare[]): Promise<string> {
  const { textTable } = await import('../show/terminal/text-table.ts');
  const stateLabels = { good: 'expires', expired: 'expired', revoked: 'revoked' } as const;
  const rows = links.map(({ id, name, created, expires, revoked, state, by }) => [
    ...[id, name, formatMoment(created), by || '-', stateLabels[state]],
    formatMoment(revoked ?? expires),
  ]);
  const columns = [
    ...[{ head: 'link' }, { head: 'job', shrinks: true }, { head: 'made' }, { head: 'by' }],
    ...[{ head: 'state' }, { head: 'when' }],
  ];
  return `${textTable(columns, rows, tableWidth()).join('\n')}\n`;
}
