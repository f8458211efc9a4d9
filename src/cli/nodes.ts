import * as fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { Fault } from '../base/fault.ts';
import { tableWidth } from '../base/page-width.ts';
import { stated } from '../base/stated.ts';
import { configFlags, configOf } from '../config/flags.ts';
import type { SettingKey } from '../config/settings.ts';
import { authorities, CLIENT_TRUST, trustOptions } from '../config/trust.ts';
import type { Wanted } from '../hub/ask-nodes.ts';
import type { NodesReply } from '../sinks/hub/protocol.ts';
import { tell } from './failure.ts';
import { tellOld } from './flag-table.ts';

const KEYS = ['hub.addresses', ...CLIENT_TRUST] as const satisfies readonly SettingKey[];
const DEFAULT_HUB = 'http://127.0.0.1:8471';
const COLUMNS = [
  'node',
  'user',
  'job',
  'kind',
  'table',
  'newest',
  'rows_per_second',
  'bytes_per_second',
  'bytes',
  'state',
];
const AGAIN_MS = 2000;

interface Options extends Wanted {
  watch?: boolean;
  all?: boolean;
  format: string;
}

type Answer = Pick<NodesReply, 'now' | 'lines'> & Partial<Pick<NodesReply, 'batch_seconds'>>;

export function define(command: Command): void {
  const name = command.name();
  command
    .argument('[hub]', 'address of a hub (default: the first of hub.addresses, else this machine), or an archive')
    .option('--node <name>', 'of this node only')
    .option('-u, --user <name>', 'of this user only')
    .option('--job <id>', 'of this job only')
    .option('-a, --all', 'one line per table of each node')
    .option('--watch', 'again every 2 s, until Ctrl-C')
    .addOption(new Option('-f, --format <format>', 'output format').choices(['text', 'json', 'csv']).default('text'));
  configFlags(command, KEYS)
    .addHelpText(
      'after',
      `
One line per job: how old its newest samples are, how fast they come, how much there is, and whether it is live, late (a
node is silent, but not done) or has ended. --all has one line per table of each node. A busy hub lets agents collect samples for some seconds
before they send them (hub.busy_batch): the last line then says for how long. With --job that job is sent often. You see what is yours; administrators see everything.
Of an archive, whether a hub runs or not, it shows what its files say.

Examples:
  tacho ${name}
  tacho ${name} hub.site:8471 --user ada --watch
  tacho ${name} /archive/tacho --job 4711 --format json
`,
    )
    .action(async (hub: string | undefined, options: Options & Record<string, unknown>) => {
      if (name !== 'nodes') tellOld(`tacho ${name}`, 'tacho nodes');
      const ask = await asker(hub, options);
      if (options.watch !== true) return print(await ask(), options);
      for (let lastMessage = ''; ; ) {
        try {
          await print(await ask(), options, true);
          lastMessage = '';
        } catch (error) {
          // a hub that is being restarted is back in a moment
          if (!(error instanceof Fault)) throw error;
          if (error.message !== lastMessage) tell(error);
          lastMessage = error.message;
        }
        await pause(AGAIN_MS);
      }
    });
}

async function asker(
  hub: string | undefined,
  options: Options & Record<string, unknown>,
): Promise<() => Promise<Answer>> {
  const { node, user, job } = options;
  const wanted: Wanted = {
    ...stated({ node, user, job }),
  };
  if (hub !== undefined && fs.existsSync(hub)) {
    const { archiveLines } = await import('../hub/keep/archive-lines.ts');
    const { findRecordings } = await import('./find-recordings.ts');
    return async () => ({ now: Date.now() * 1000, lines: archiveLines(await findRecordings([hub]), wanted) });
  }
  const config = await configOf(options, KEYS);
  const { askNodes } = await import('../hub/ask-nodes.ts');
  const { parseHubAddress } = await import('../sinks/hub/address.ts');
  const { openCredentials } = await import('../trust/gatekeeper.ts');
  const ca = authorities(config);
  const address = parseHubAddress(hub ?? config['hub.addresses'][0] ?? DEFAULT_HUB, ca !== undefined);
  const credentials = await openCredentials(await trustOptions(config));
  return () => askNodes(address, wanted, { credentials, ...stated({ ca }) });
}

async function print(
  { now, lines, batch_seconds: batchSeconds }: Answer,
  { format, all }: Options,
  again = false,
): Promise<void> {
  const { jobsText, lsText, sortLines } = await import('../show/ls-text.ts');
  const { stdout } = process;
  if (format === 'json') return void stdout.write(`${JSON.stringify(sortLines(lines), null, 1)}\n`);
  if (format === 'csv') {
    const { objectCsv } = await import('../show/object-csv.ts');
    return void stdout.write(objectCsv(COLUMNS, sortLines(lines)));
  }
  if (lines.length === 0) return void process.stderr.write('nothing has been received, or nothing that is yours\n');
  const height = again && stdout.isTTY ? (stdout.rows ?? 24) : undefined;
  const layout = { width: tableWidth(), ...stated({ height, batchSeconds }) };
  // to the top, and the rest of the screen away
  stdout.write(
    `${again && stdout.isTTY ? '\x1b[H\x1b[J' : ''}${(all === true ? lsText : jobsText)(lines, now, layout)}`,
  );
}
