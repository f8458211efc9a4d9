import type { Command } from 'commander';
import { usage } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import { configFlags, configOf } from '../config/flags.ts';
import type { SettingKey } from '../config/settings.ts';
import { HUB_TRUST, tlsOptions, trustOptions, userName } from '../config/trust.ts';
import { ARCHIVE_SINK_SETTINGS, type ArchiveSinks, openArchiveSinks } from '../hub/keep/archive-sinks.ts';
import { kafkaOptions } from '../sinks/kafka/settings.ts';

const KEYS = [
  'hub.listen',
  'hub.archive',
  'hub.keep_age',
  'hub.keep_size',
  'hub.seal_after',
  'hub.index',
  'hub.batch',
  'hub.busy_batch',
  ...HUB_TRUST,
  ...ARCHIVE_SINK_SETTINGS,
] as const satisfies readonly SettingKey[];

/** How long samples may still be sent on when the hub is asked to end. */
const LAST_SEND_SECONDS = 5;

export function define(command: Command): void {
  configFlags(command, KEYS)
    .option('--samples-from <where>', 'build the archive also from what was sent to Kafka (--kafka): kafka')
    .addHelpText(
      'after',
      `
Agents send their samples to a hub; it files them as recordings: ARCHIVE/user=ada/job=4711 for jobs, and
ARCHIVE/fleet/day=2026-11-15 for what the nodes record of themselves. Run by root, each user's recordings are the user's
own and nobody else's. A recording is sealed when all of its nodes are done. SIGTERM ends the hub.

Examples:
  tacho hub --archive /archive/tacho
  tacho hub --archive /archive/tacho --listen 0.0.0.0:8471 --trust munge
  tacho hub --archive /archive/tacho --keep-age 90d --keep-size 1TiB
  tacho hub --archive /archive/tacho --samples-from kafka --kafka broker1:9092
`,
    )
    .action(async (options: Record<string, unknown>) => {
      const config = await configOf(options, KEYS);
      if (options.samplesFrom !== undefined && options.samplesFrom !== 'kafka')
        throw usage(`"${options.samplesFrom}" is nothing to read samples from`, 'give --samples-from kafka');
      if (options.samplesFrom === 'kafka' && config['kafka.brokers'].length === 0)
        throw usage('--samples-from kafka needs to know the brokers', 'give --kafka HOST:PORT');
      const kafka = kafkaOptions(config);
      const archive = config['hub.archive'];
      if (archive === undefined) throw usage('a hub needs a folder for its archive', 'give --archive FOLDER');
      const { startHub } = await import('../hub/hub.ts');
      const { parseListen } = await import('../trust/listen-address.ts');
      const { openGatekeeper } = await import('../trust/gatekeeper.ts');
      const tls = tlsOptions(config);
      const method = config['trust.method'];
      let sinks: ArchiveSinks | undefined;
      let ready = false;
      const hub = await startHub({
        // nothing is sealed before it is known who still has to read it
        holds: (recording) => !ready || sinks?.holds(recording) === true,
        listen: config['hub.listen'],
        archive,
        gatekeeper: await openGatekeeper(await trustOptions(config), userName),
        usersWrite: config['trust.users_write'],
        ...stated({ tls }),
        sealAfter: config['hub.seal_after'],
        index: config['hub.index'],
        batches: { idle: config['hub.batch'], busy: config['hub.busy_batch'] },
        ...stated({ keepAge: config['hub.keep_age'], keepSize: config['hub.keep_size'] }),
        tell: warn,
      });
      const { startFromKafka } = await import('../hub/kafka/from-kafka.ts');
      const { archive: root, filing } = hub;
      const reading =
        options.samplesFrom === 'kafka' ? startFromKafka({ ...kafka, archive: root, filing, tell: warn }) : undefined;
      sinks = await openArchiveSinks(config, root, warn, reading !== undefined, filing);
      ready = true;
      const trust = method === 'none' ? 'without trust' : `trust by ${method}`;
      const whose = hub.separate
        ? 'recordings belong to their users'
        : `recordings belong to user number ${process.getuid?.()}`;
      if (method === 'token' && tls === undefined && !parseListen(config['hub.listen']).loopback)
        warn(
          'tokens travel without TLS, and whoever reads one on the way can use it; set trust.certificate and trust.private_key',
        );
      process.stdout.write(`tacho hub: ${hub.address}, archive ${hub.archive}, ${trust}, ${whose}\n`);
      if (reading !== undefined)
        process.stdout.write(`tacho hub: samples come in from kafka ${config['kafka.brokers'].join(', ')}, too\n`);
      if (sinks !== undefined) {
        const { collectRarely } = await import('../hub/collect-rarely.ts');
        collectRarely();
        process.stdout.write(`tacho hub: samples go on to ${sinks.names.join(', ')}\n`);
      }
      process.on('SIGHUP', () => {});
      let ending = false;
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        process.on(signal, () => {
          if (ending) return;
          ending = true;
          void Promise.resolve(reading?.close())
            .then(() => sinks?.close(LAST_SEND_SECONDS))
            .then(() => hub.close())
            .then(() => process.exit(0));
        });
      }
    });
}
