import type { Config } from '../../config/config.ts';
import type { SettingKey } from '../../config/settings.ts';
import { HUB_SETTINGS } from '../../sinks/hub/settings.ts';
import { KAFKA_SETTINGS, kafkaOptions } from '../../sinks/kafka/settings.ts';
import type { Sink } from '../../sinks/sink.ts';
import type { Streams } from '../../sinks/spool/streams.ts';
import { VICTORIA_SETTINGS, victoriaOptions } from '../../sinks/victoria/settings.ts';
import type { Outlet } from './service.ts';

/** The settings that say where samples go besides the spool. */
export const SINK_SETTINGS = [
  'spool.size',
  ...HUB_SETTINGS,
  ...KAFKA_SETTINGS,
  ...VICTORIA_SETTINGS,
] as const satisfies readonly SettingKey[];

export interface SinkContext {
  config: Config;
  spool: string;
  node: string;
  streams: Streams;
  say(line: string): void;
}

/** Makes a sink when the configuration asks for one; only then is its code loaded. */
type MakeSink = (context: SinkContext) => Promise<Sink | undefined>;

const SINKS: readonly MakeSink[] = [hub, kafka, victoria];

/** What takes samples out of the spool, as the configuration has it; undefined: nothing does, and recordings stay. */
export async function makeOutlet(
  sinkContext: Omit<SinkContext, 'streams'>,
  roll: () => void,
): Promise<(Outlet & { readonly sinks: readonly Sink[] }) | undefined> {
  const { config, spool, say } = sinkContext;
  const { spoolStreams } = await import('../../sinks/spool/streams.ts');
  const streams = spoolStreams(spool);
  const made = await Promise.all(SINKS.map((make) => make({ ...sinkContext, streams })));
  const sinks = made.filter((sink) => sink !== undefined);
  if (sinks.length === 0) return undefined;
  const { Spool } = await import('../../sinks/spool/spool.ts');
  const outlet = new Spool(spool, { limitBytes: config['spool.size'], sinks, streams, roll, tell: say });
  const watch = setInterval(troubles(sinks, say), TROUBLES_MS);
  watch.unref();
  return {
    sinks,
    wake: (atOnce) => outlet.wake(atOnce),
    close(seconds) {
      clearInterval(watch);
      return outlet.close(seconds);
    },
  };
}

/** An idle node ticks once a minute: an administrator who waits for the first sample should not have to. */
const TROUBLES_MS = 1000;

/** Says what keeps a sink from sending, each thing once until all is well again. */
export function troubles(
  sinks: readonly Pick<Sink, 'name' | 'trouble' | 'instead'>[],
  say: (line: string) => void,
): () => void {
  const reportedLines = sinks.map(() => new Set<string>());
  return () => {
    for (const [i, { name, trouble, instead }] of sinks.entries()) {
      const problem = trouble ?? (instead === undefined ? undefined : `samples go to ${instead} meanwhile`);
      if (problem === undefined && reportedLines[i]!.size > 0) {
        reportedLines[i]!.clear();
        say(`${name}: all is well again`);
      }
      for (const line of problem?.split('\n') ?? []) {
        if (reportedLines[i]!.has(line)) continue;
        reportedLines[i]!.add(line);
        say(`${name}: ${line}`);
      }
    }
  };
}

async function hub({ config, spool, node, streams, say }: SinkContext): Promise<Sink | undefined> {
  if (config['hub.addresses'].length === 0) return undefined;
  const { hubOptions } = await import('../../sinks/hub/settings.ts');
  const { HubSink } = await import('../../sinks/hub/sink.ts');
  return new HubSink({ ...(await hubOptions(config, say)), spool, streams, node });
}

async function kafka({ config, spool, streams }: SinkContext): Promise<Sink | undefined> {
  if (config['kafka.brokers'].length === 0) return undefined;
  const { KafkaSink } = await import('../../sinks/kafka/sink.ts');
  return new KafkaSink({ ...kafkaOptions(config), folder: spool, streams });
}

async function victoria({ config, spool, streams }: SinkContext): Promise<Sink | undefined> {
  const options = victoriaOptions(config);
  if (options === undefined) return undefined;
  const { VictoriaSink } = await import('../../sinks/victoria/sink.ts');
  return new VictoriaSink({ ...options, spool, streams });
}
