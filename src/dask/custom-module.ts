import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import * as vm from 'node:vm';
import { Fault, reason, usage } from '../base/fault.ts';
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
  if (!/\.[cm]?[jt]s$/.test(file))
    throw usage(`--custom: ${file} is neither Python nor TypeScript`, 'name it FILE.py or FILE.ts');
  if (!fs.existsSync(file)) throw new Fault(`cannot read ${file}: no such file or folder`);
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

/** How long a metric may take; after that it is not asked any more, because it would block the monitor. */
const LONGEST_MS = 1000;
const HUNG = new WeakSet<CustomMetric>();
const call = new vm.Script('read()');
/** Each costs as much as a hundred calls: all metrics share one. */
const around: { read?: () => unknown } = vm.createContext({});

/** What the metrics give for a sample; one that throws, hangs or gives something else has no value. */
export function computeCustom(
  metrics: readonly CustomMetric[],
  sample: WorkerSample,
  note: (text: string) => void,
): MetricValue[] {
  return metrics.flatMap((metric) => {
    const targets: (GpuValue | undefined)[] = metric.perDevice === true ? [...sample.gpus] : [undefined];
    return targets.map((gpu): MetricValue => {
      const value = HUNG.has(metric) ? undefined : metricValue(metric, sample, gpu, note);
      return { metric: metric.name, device: gpu?.device ?? '', value };
    });
  });
}

function metricValue(
  metric: CustomMetric,
  sample: WorkerSample,
  gpu: GpuValue | undefined,
  note: (text: string) => void,
): number | string | undefined {
  try {
    around.read = () => metric.read(sample, gpu);
    const value: unknown = call.runInContext(around, { timeout: LONGEST_MS });
    if (typeof value === 'number' || typeof value === 'string') return value;
    if (value !== undefined && value !== null)
      note(
        `custom metric ${metric.name}: it gives ${value instanceof Promise ? 'a promise' : typeof value}, not a number`,
      );
  } catch (error) {
    const isLate = (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    if (isLate) HUNG.add(metric);
    note(`custom metric ${metric.name}: ${isLate ? 'it hangs, and is not asked any more' : reason(error)}`);
  }
  return undefined;
}
