import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Fault, reason } from '../base/fault.ts';
import type { GpuValue, MetricValue, WorkerSample } from './events.ts';

/** A custom metric in TypeScript: it is computed by the monitor, from what a worker's sample has. */
export interface CustomMetric {
  name: string;
  read(sample: WorkerSample, gpu?: GpuValue): number | string | undefined;
  /** Call it for each GPU of the worker. */
  perDevice?: boolean;
}

/** Loads FILE.ts: its default export is one custom metric, or a list of them. */
export async function loadCustomModule(file: string): Promise<CustomMetric[]> {
  let module: { default?: unknown };
  try {
    module = (await import(pathToFileURL(path.resolve(file)).href)) as typeof module;
  } catch (error) {
    throw new Fault(`cannot load the custom metrics of ${file}: ${reason(error)}`, { cause: error });
  }
  const metrics = [module.default ?? []].flat() as CustomMetric[];
  const isMetric = (each: Partial<CustomMetric> | null): boolean =>
    typeof each?.name === 'string' && typeof each.read === 'function';
  if (metrics.length === 0 || !metrics.every(isMetric))
    throw new Fault(`${file} exports no custom metric`, {
      hint: "export default { name: 'busy', read: (sample) => sample.executing / sample.threads }",
    });
  return metrics;
}

export function computeCustom(
  metrics: readonly CustomMetric[],
  sample: WorkerSample,
  note: (text: string) => void,
): MetricValue[] {
  return metrics.flatMap((metric) => {
    const targets: (GpuValue | undefined)[] = metric.perDevice === true ? [...sample.gpus] : [undefined];
    return targets.map((gpu): MetricValue => {
      let value: number | string | undefined;
      try {
        value = metric.read(sample, gpu);
      } catch (error) {
        note(`custom metric ${metric.name}: ${reason(error)}`);
      }
      return { metric: metric.name, device: gpu?.device ?? '', value };
    });
  });
}
