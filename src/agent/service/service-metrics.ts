import { stated } from '../../base/stated.ts';
import type { Config } from '../../config/config.ts';
import type { SettingKey } from '../../config/settings.ts';
import type { MetricsServer } from '../../prometheus/metrics-server.ts';
import { metricLabels, type VICTORIA_SETTINGS } from '../../sinks/victoria/settings.ts';
import type { Service } from './service.ts';

/** Names and labels are those of pushed series: their settings are the sink's. */
export const METRICS_SETTINGS = [
  'metrics.listen',
  'metrics.token_file',
  'trust.certificate',
  'trust.private_key',
] as const satisfies readonly SettingKey[];

/** /metrics of a node's agent, when it is configured: only then is its code loaded. */
export async function openServiceMetrics(
  config: Pick<Config, (typeof METRICS_SETTINGS | typeof VICTORIA_SETTINGS)[number]>,
  service: () => Service | undefined,
): Promise<MetricsServer | undefined> {
  const listen = config['metrics.listen'];
  if (listen === undefined) return undefined;
  const { serveMetrics } = await import('../../prometheus/metrics-server.ts');
  const tokenFile = config['metrics.token_file'];
  const certificate = config['trust.certificate'];
  const key = config['trust.private_key'];
  const options = {
    listen,
    omnistat: config['metrics.omnistat_names'],
    labels: metricLabels(config['metrics.labels']),
    ...stated({ tokenFile }),
    ...(certificate === undefined || key === undefined ? {} : { certificate, key }),
  };
  return serveMetrics(options, () => {
    const running = service();
    if (running === undefined) return [];
    return [running.fleet, ...running.jobs.values()].map(({ job, agent }) => ({
      job,
      agent: agent.record,
      frames: agent.newest(),
    }));
  });
}
