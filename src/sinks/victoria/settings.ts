import { usage } from '../../base/fault.ts';
import type { Config } from '../../config/config.ts';
import type { SettingKey } from '../../config/settings.ts';
import type { Labels } from '../../prometheus/series-labels.ts';
import { labelName } from '../../table/names.ts';
import type { VictoriaOptions } from './sink.ts';

/** What of the configuration the sink for VictoriaMetrics needs. */
export const VICTORIA_SETTINGS = [
  'victoria.url',
  'victoria.interval',
  'victoria.settle',
  'victoria.process_cpu',
  'metrics.omnistat_names',
  'metrics.labels',
] as const satisfies readonly SettingKey[];

/** How samples go to VictoriaMetrics; undefined: they do not. */
export function victoriaOptions(
  config: Pick<Config, (typeof VICTORIA_SETTINGS)[number]>,
): Omit<VictoriaOptions, 'streams' | 'spool'> | undefined {
  const url = config['victoria.url'];
  if (url === undefined) return undefined;
  return {
    url,
    intervalSeconds: config['victoria.interval'],
    settleSeconds: config['victoria.settle'],
    processCpuSeconds: config['victoria.process_cpu'],
    omnistat: config['metrics.omnistat_names'],
    labels: metricLabels(config['metrics.labels']),
  };
}

/** `cluster=alps` as a label. */
export function metricLabels(labelTexts: readonly string[]): Labels {
  return labelTexts.map((word) => {
    const [name = '', ...value] = word.split('=');
    if (value.length === 0 || labelName(name) !== name) {
      throw usage(`metrics.labels: "${word}" is no label`, 'write name=value, such as cluster=alps');
    }
    return [name, value.join('=')];
  });
}
