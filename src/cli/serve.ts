import * as fs from 'node:fs';
import * as os from 'node:os';
import { type Command, Option } from 'commander';
import { Fault, reason, usage } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import type { Config } from '../config/config.ts';
import { configFlags, configOf } from '../config/flags.ts';
import type { SettingKey } from '../config/settings.ts';
import { authorities, CLIENT_TRUST, trustOptions } from '../config/trust.ts';
import type { Opened } from '../serve/start.ts';
import { JOBS_ARGUMENT, pathsNamed } from './named-recordings.ts';
import { changedRules } from './rule-settings.ts';

const SERVE = [
  ...(['serve.listen', 'serve.access', 'serve.url', 'serve.user_header', 'serve.proxies'] as const),
  ...(['serve.oidc_issuer', 'serve.oidc_client', 'serve.oidc_secret_file', 'serve.oidc_claim'] as const),
  ...(['serve.administrators', 'serve.project_managers', 'serve.shares'] as const),
] satisfies readonly SettingKey[];

interface Options extends Record<string, unknown> {
  port?: string;
  format: string;
  archive?: string;
  hub?: string;
  store?: string;
  db?: string;
}

export function define(command: Command): void {
  command
    .argument('[folder...]', JOBS_ARGUMENT)
    .option('--archive <folder>', 'show the archive of a hub; with an index (tacho index) its table is there at once')
    .option('--hub <url>', 'show the jobs that a hub receives now (hub.site:8471)')
    .option('--store <url>', 'show the jobs in a VictoriaMetrics that Tacho pushed to (http://vm:8428)')
    .option('--db <url>', 'show the jobs in a database that they were submitted to: reports and processes, no samples')
    .option('--port <port>', 'port on this machine (0: any free one)')
    .addOption(
      new Option('-f, --format <format>', 'how the address is printed').choices(['text', 'json']).default('text'),
    );
  configFlags(command, [...CLIENT_TRUST, ...SERVE])
    .addHelpText(
      'after',
      `
Prints the address of the page and serves it until Ctrl-C. The address holds a token: without it nobody
sees anything. Recordings that appear in the folders later are shown, too, and running jobs are followed.
One of: folders, --archive, --hub, --store, --db.
For many users: --serve-access header or oidc; each then sees their own jobs (docs/serve-site.md).

Examples:
  tacho serve
  tacho serve ~/runs --port 8080
  tacho serve --archive /archive/tacho
  tacho serve --hub hub.site:8471
  tacho serve --store http://vm:8428
  tacho serve --db postgres://db.site/tacho
`,
    )
    .action(async (folders: string[], options: Options) => {
      const config = await configOf(options, [...CLIENT_TRUST, ...SERVE]);
      const listen = listenOf(options, config['serve.listen']);
      const opened = await openedBy(folders, options, config);
      const { startServing } = await import('../serve/start.ts');
      const { parseListening } = await import('../serve/start.ts');
      const serving = await startServing(opened, parseListening(listen), config, await changedRules()).catch(
        (error: unknown) => {
          if (error instanceof Fault) throw error;
          throw new Fault(`cannot serve on ${listen}: ${reason(error)}`, { hint: '--port 0 takes any free one' });
        },
      );
      const { url, port: taken } = serving;
      process.stdout.write(options.format === 'json' ? `${JSON.stringify({ url, port: taken })}\n` : `${url}\n`);
      if (config['serve.access'] === 'token')
        process.stderr.write(
          `From your own machine: ssh -L ${taken}:127.0.0.1:${taken} ${os.hostname()}, then open the address. Ctrl-C ends it.\n`,
        );
      for (const signal of ['SIGINT', 'SIGTERM'] as const)
        process.once(signal, () => void serving.close().then(() => process.exit(0)));
    });
}

/** HOST:PORT, or unix:FILE. */
function listenOf({ port }: Options, configured: string | undefined): string {
  if (port === undefined) return configured ?? '127.0.0.1:0';
  const number = Number(port);
  if (!Number.isInteger(number) || number < 0 || number > 65_535)
    throw usage(`"${port}" is not a port`, 'give a number from 0 to 65535');
  return `127.0.0.1:${port}`;
}

/** Where the jobs are: one kind at a time. */
async function openedBy(folders: readonly string[], options: Options, config: Config): Promise<Opened> {
  const { archive, hub, store, db } = options;
  const named = Object.keys(stated({ archive, hub, store, db })).map((name) => `--${name}`);
  if (folders.length > 0) named.unshift('folders');
  if (named.length > 1) throw usage(`${named.join(' and ')} cannot be shown together`, 'start one server for each');
  if (store !== undefined) {
    (await import('../query/store/client.ts')).parseStoreAddress(store);
    return { store };
  }
  if (db !== undefined) {
    (await import('../base/address.ts')).parseAddress(db);
    return { database: db };
  }
  if (hub !== undefined) {
    const { parseHubAddress } = await import('../sinks/hub/address.ts');
    const { openCredentials } = await import('../trust/gatekeeper.ts');
    const ca = authorities(config);
    const credentials = await openCredentials(await trustOptions(config));
    return { hub: parseHubAddress(hub, ca !== undefined), options: { credentials, ...stated({ ca }) } };
  }
  if (archive !== undefined) {
    if (fs.statSync(archive, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw usage(`${archive} is no folder`, 'give --archive the folder in which a hub files recordings');
    return { folders: [archive] };
  }
  const paths = await pathsNamed(folders, stated({ config: options.config as string | undefined }));
  for (const folder of paths) sayUnreadable(folder);
  return { folders: paths };
}

/** It is waited for all the same: a disk may come back. But it may be a slip of the pen. */
function sayUnreadable(folder: string): void {
  try {
    fs.readdirSync(folder);
  } catch (error) {
    warn(`nothing of ${folder} is shown until it can be read: ${reason(error)}`);
  }
}
