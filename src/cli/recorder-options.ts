import type { Config } from '../config/config.ts';
import type { SettingKey } from '../config/settings.ts';

/** The settings of whatever records: `run`, `start` and the agents it starts. */
export const RECORDER_SETTINGS = [
  'interval',
  'offset',
  'recordings',
  'redact',
  'keep_environment',
  'sources.enable',
  'sources.disable',
  'sources.also',
  'spool.part_size',
  'spool.part_time',
  'spool.memory',
] as const satisfies readonly SettingKey[];

/** The configuration as recorders take it. */
export function recorderOptions(config: Config) {
  return {
    intervalSeconds: config.interval,
    offsetSeconds: config.offset,
    redact: config.redact,
    keepEnvironment: config.keep_environment,
    only: config['sources.enable'],
    without: config['sources.disable'],
    also: config['sources.also'],
    custom: config.custom,
    writer: {
      rollBytes: config['spool.part_size'],
      rollSeconds: config['spool.part_time'],
      keepBytes: config['spool.memory'],
    },
  };
}
