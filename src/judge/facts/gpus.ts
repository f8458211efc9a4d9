import {
  ifFinite,
  largest,
  type Material,
  type NodeMaterial,
  type ReportSeries,
  seriesOf,
} from '../../query/material.ts';
import { secondsIn } from '../../query/spans/select.ts';
import { cardMeters, type Meter } from '../../query/use/energy.ts';
import { usedIn } from '../../query/use/use.ts';
import { LOST_AT } from '../../sources/gpu/gpu.ts';
import { gpuProcessTable, gpuTable, processTable } from '../../sources/tables.ts';
import type { GpuReport } from '../report-schema.ts';

type GpuSeries = ReportSeries<typeof gpuTable>;

/** The GPUs of the job; those that only share its nodes come last. */
export function gpusOf(material: Material): GpuReport[] {
  const all: GpuReport[] = [];
  for (const node of material.nodes) {
    const meters = cardMeters(material, node);
    const newest = largest([...node.tables.values()].map((t) => t.end));
    for (const series of seriesOf(node, gpuTable)) {
      const meter = meters.find(({ keys }) => keys.gpu === series.keys.gpu);
      all.push(gpuOf(material, node, series, newest, meter));
    }
  }
  return all.sort((a, b) => Number(a.own === false) - Number(b.own === false));
}

/** `newest`: the last sample of its node. */
function gpuOf(
  material: Material,
  node: NodeMaterial,
  series: GpuSeries,
  newest: number | undefined,
  meter: Meter | undefined,
): GpuReport {
  const gpu = series.keys.gpu ?? Object.values(series.keys).join(' ');
  const facts = node.agent?.facts.gpus.find((g) => g.gpu === gpu);
  const { columns } = series;
  const energy = meter && usedIn(material, meter.curve)?.amount;
  const gpuFields: Record<keyof GpuReport, unknown> = {
    node: node.node,
    gpu,
    vendor: facts?.vendor ?? series.texts.vendor,
    model: facts?.model ?? series.texts.model,
    own: ownership(node, series),
    samples: series.samples,
    recorded_seconds: secondsIn(material.range, series.start, series.end),
    utilization_mean: share(columns.utilization_percent?.mean),
    utilization_p05: share(columns.utilization_percent?.p05),
    utilization_p50: share(columns.utilization_percent?.p50),
    utilization_p95: share(columns.utilization_percent?.p95),
    utilization_max: share(columns.utilization_percent?.max),
    memory_mean_bytes: ifFinite(columns.memory_used_bytes?.mean),
    memory_max_bytes: ifFinite(columns.memory_used_bytes?.max),
    memory_total_bytes: ifFinite(columns.memory_total_bytes?.max) ?? facts?.memory_bytes,
    power_mean_watts: ifFinite(columns.power_watts?.mean),
    power_max_watts: ifFinite(columns.power_watts?.max),
    temperature_mean_celsius: ifFinite(columns.temperature_celsius?.mean),
    temperature_max_celsius: ifFinite(columns.temperature_celsius?.max),
    clock_mean_mhz: ifFinite(columns.clock_mhz?.mean),
    clock_p05_mhz: ifFinite(columns.clock_mhz?.p05),
    clock_max_mhz: ifFinite(columns.clock_mhz?.max),
    energy_joules: energy,
    energy_source: energy === undefined ? undefined : meter!.isCounted ? 'counter' : 'integrated power',
    throttled_thermal: ifFinite(columns.throttled_thermal?.mean),
    throttled_power: ifFinite(columns.throttled_power?.mean),
    uncorrected_errors: ifFinite(columns.ecc_uncorrected?.increase),
    lost: lostAt(material, node, series, newest),
    straggler: undefined,
  };
  const report: Partial<typeof gpuFields> = {};
  for (const key of Object.keys(gpuFields) as (keyof GpuReport)[])
    if (gpuFields[key] !== undefined) report[key] = gpuFields[key];
  return report as unknown as GpuReport;
}

const share = (percentage: number | undefined): number | undefined =>
  ifFinite(percentage) === undefined ? undefined : percentage! / 100;

/** What the job's environment says; else whether its own processes, or only those of others, were on the card. */
function ownership(node: NodeMaterial, series: GpuSeries): boolean | undefined {
  if (series.texts.mine === 'yes') return true;
  if (series.texts.mine === 'no') return false;
  const users = seriesOf(node, gpuProcessTable, { gpu: series.keys.gpu ?? '' });
  if (users.length === 0) return undefined;
  const own = new Set(seriesOf(node, processTable).map((s) => s.keys.pid));
  if (own.size === 0) return undefined;
  return users.some((s) => own.has(s.keys.pid ?? ''));
}

/** A card whose values end well before those of its node has stopped answering. */
function lostAt(
  material: Material,
  node: NodeMaterial,
  series: GpuSeries,
  newest: number | undefined,
): number | undefined {
  if (isNoted(node, series)) return series.end;
  const patience = Math.max(LOST_SECONDS, LOST_INTERVALS * material.job.interval_seconds) * 1e6;
  return newest !== undefined && newest - series.end > patience ? series.end : undefined;
}

/** Whether the library said itself that the card is lost (sources/gpu/reader.ts). */
const isNoted = ({ agent }: NodeMaterial, { keys }: GpuSeries): boolean =>
  agent?.unmeasured.some(
    ({ table, what, why }) => table === gpuTable.name && what === `GPU ${keys.gpu}` && why.startsWith(LOST_AT),
  ) === true;

/** A slow library may skip some ticks; a hung one comes back after half a minute or not at all. */
const LOST_SECONDS = 60;
const LOST_INTERVALS = 5;

/** Cards that stand for themselves: not a card that is divided into MIG instances, which are listed apart. */
export function undivided(gpus: readonly GpuReport[]): GpuReport[] {
  const divided = new Set<string>();
  for (const { node, gpu } of gpus) {
    const colon = gpu.indexOf(':');
    if (colon >= 0) divided.add(`${node} ${gpu.slice(0, colon)}`);
  }
  return divided.size === 0 ? [...gpus] : gpus.filter((g) => !divided.has(`${g.node} ${g.gpu}`));
}
