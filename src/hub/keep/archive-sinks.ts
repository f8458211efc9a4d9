import * as path from 'node:path';
import type { Config } from '../../config/config.ts';
import { isStored } from '../../sinks/hub/is-stored.ts';
import { KAFKA_SETTINGS, kafkaOptions } from '../../sinks/kafka/settings.ts';
import type { Sink } from '../../sinks/sink.ts';
import { archiveStreams, type LastWrite } from '../../sinks/spool/streams.ts';
import { VICTORIA_SETTINGS, victoriaOptions } from '../../sinks/victoria/settings.ts';
import type { Filing } from '../receive/filing.ts';
import { jobAsFiled } from '../receive/names.ts';

/** What of the configuration says where a hub sends samples on to. */
export const ARCHIVE_SINK_SETTINGS = [...KAFKA_SETTINGS, ...VICTORIA_SETTINGS] as const;

export interface ArchiveSinks {
  readonly names: readonly string[];
  /** Whether something of the recording in this folder has still to be sent: then its files must stay as they are. */
  holds(recording: string): boolean;
  close(seconds: number): Promise<void>;
}

const WAKE_MS = 1000;

/**
 * Sends what a hub files on to Kafka and VictoriaMetrics, when the configuration asks for it; undefined: it does not.
 * `noKafka`: the archive is made of what comes from there. `filing`: nobody but this writes to it.
 */
export async function openArchiveSinks(
  config: Pick<Config, (typeof ARCHIVE_SINK_SETTINGS)[number]>,
  archive: string,
  log: (text: string) => void,
  noKafka = false,
  filing?: Filing,
): Promise<ArchiveSinks | undefined> {
  const written = filing === undefined ? undefined : lastWrite(filing);
  const streams = archiveStreams(archive, jobAsFiled, undefined, written, log);
  const sinks: Sink[] = [];
  if (!noKafka && config['kafka.brokers'].length > 0) {
    const { KafkaSink } = await import('../../sinks/kafka/sink.ts');
    sinks.push(new KafkaSink({ ...kafkaOptions(config), folder: archive, streams }));
  }
  const victoria = victoriaOptions(config);
  if (victoria !== undefined) {
    const { VictoriaSink } = await import('../../sinks/victoria/sink.ts');
    sinks.push(new VictoriaSink({ ...victoria, spool: archive, streams }));
  }
  if (sinks.length === 0) return undefined;
  const reported = new Map<Sink, string | undefined>();
  const timer = setInterval(() => {
    for (const sink of sinks) {
      sink.wake();
      const { trouble, name } = sink;
      if (trouble === reported.get(sink)) continue;
      reported.set(sink, trouble);
      log(`${name}: ${trouble ?? 'all is well again'}`);
    }
  }, WAKE_MS);
  return {
    names: sinks.map(({ name }) => name),
    holds(recording) {
      // of this one alone: many may wait
      const mine = streams.of(path.resolve(recording));
      return mine.some((state) => sinks.some((sink) => !isStored(sink, state)));
    },
    async close(seconds) {
      clearInterval(timer);
      await Promise.all(sinks.map((sink) => sink.close(seconds)));
    },
  };
}

/** A hub knows to which streams it writes: the others need not be read to find that nothing has come. */
function lastWrite(filing: Filing): LastWrite {
  const before = path.resolve(filing.shelf.folders.root).length + 1;
  return ({ recording, node }) => filing.recordings.get(recording.slice(before))?.streams.get(node)?.heard;
}
