import { intersect, lengthOf } from '../../base/intervals.ts';
import { stated } from '../../base/stated.ts';
import { gpusOf, undivided } from '../../judge/facts/gpus.ts';
import type { GpuReport } from '../../judge/report-schema.ts';
import { columnOf, ifFinite, type Material, mean, type NodeMaterial, sum } from '../../query/material.ts';
import { over } from '../../query/use/curve.ts';
import { countersOf } from '../../query/use/samples.ts';
import { type Resource, useOf } from '../../query/use/use.ts';
import { cpuTable, gpuTable, loadavgTable, meminfoTable } from '../../sources/tables.ts';
import type { KeyValues, TableColumn } from '../../table/table.ts';
import type { NodeHourSummary } from '../tables/summary.ts';

export const HOUR_US = 3_600_000_000;

/** A recording whose clock went wrong may seem to span centuries: more hours than a year has are none. */
const MOST_HOURS = 366 * 24;

/** What the nodes of a recording did in every hour (UTC) that it has samples of. */
export function nodeHoursOf(material: Material, recording = ''): NodeHourSummary[] {
  const gpus = undivided(gpusOf(material));
  return material.nodes.flatMap((node) => {
    const begin = node.tables.get(cpuTable.name)?.start ?? Number.NaN;
    const end = node.tables.get(cpuTable.name)?.end ?? Number.NaN;
    const first = Math.floor(begin / HOUR_US);
    const last = Math.floor(end / HOUR_US);
    if (!(last >= first) || last - first > MOST_HOURS) return [];
    // of a single hour statistics say the same without a look at the samples
    const isOne = first === last;
    const sampled = isOne ? material : (material.sampled?.() ?? material);
    const levels = (column: Level, keys: KeyValues<string> = {}): LevelAt =>
      isOne ? ofStatistics(node, column, keys) : inHours(material, node, column, keys);
    const curves = curvesOf(sampled, node, levels);
    const own = gpus.filter((gpu) => gpu.node === node.node);
    return Array.from({ length: last - first + 1 }, (_, i) =>
      hourOf(material, node, (first + i) * HOUR_US, curves, own, recording),
    ).filter((row) => row !== undefined);
  });
}

type Level = TableColumn;
interface LevelFigures {
  mean: number | undefined;
  max: number | undefined;
  count: number;
}
/** What a column showed in the hour that begins then. */
type LevelAt = (hour: number) => LevelFigures | undefined;

const ofStatistics = (node: NodeMaterial, { table, name }: Level, keys: KeyValues<string>): LevelAt => {
  const figures = columnOf(node, { table, name } as never, keys as never);
  const isCounter = figures?.rate !== undefined;
  const hours = figures && {
    mean: ifFinite(isCounter ? figures.rate!.mean : figures.mean),
    max: ifFinite(isCounter ? figures.rate!.max : figures.max),
    count: figures.count,
  };
  return () => hours;
};

function inHours(material: Material, node: NodeMaterial, column: Level, keys: KeyValues<string>): LevelAt {
  const [hourlySeries] = material.series?.(column, { node: node.node, keys, step: HOUR_US }) ?? [];
  return (hour) => {
    const at = hourlySeries?.time.indexOf(hour) ?? -1;
    if (at < 0) return undefined;
    return {
      mean: ifFinite(hourlySeries!.mean[at]),
      max: ifFinite(hourlySeries!.max[at]),
      count: hourlySeries!.count[at]!,
    };
  };
}

function curvesOf(material: Material, node: NodeMaterial, level: (column: Level, keys?: KeyValues<string>) => LevelAt) {
  const { col } = meminfoTable;
  const all = { cpu: 'all' };
  const used = (...resources: Resource[]) => {
    const curves = resources.flatMap((resource) => useOf(material, node, resource)?.curve ?? []);
    return (span: readonly [number, number]) => sum(curves.map((curve) => over(curve, [span])?.amount));
  };
  return {
    busy: countersOf(material, node, cpuTable.col.busy_ms, all)[0]?.counter()?.curve,
    busyRate: level(cpuTable.col.busy_ms, all),
    load: level(loadavgTable.col.load1),
    total: level(col.MemTotal_bytes),
    available: level(col.MemAvailable_bytes),
    availableLeast: leastOf(material, node),
    gpus: countersOf(material, node, gpuTable.col.utilization_percent)
      .filter(({ keys }) => !keys.gpu?.includes(':'))
      .map(({ keys, counter }) => ({
        gpu: keys.gpu ?? '',
        use: counter()?.curve,
        memory: level(gpuTable.col.memory_used_bytes, { gpu: keys.gpu ?? '' }),
      })),
    energy: used('energy'),
    read: used('disk in', 'NFS in', 'Lustre in'),
    written: used('disk out', 'NFS out', 'Lustre out'),
    received: used('network in'),
    sent: used('network out'),
  };
}

/** The least memory that was free in an hour; statistics of a single hour have it as their minimum. */
function leastOf(material: Material, node: NodeMaterial): (hour: number, isOne: boolean) => number | undefined {
  const column = meminfoTable.col.MemAvailable_bytes;
  let least: Map<number, number> | undefined;
  return (hour, isOne) => {
    if (isOne) return ifFinite(columnOf(node, column)?.min);
    if (least === undefined) {
      const [hourlySeries] = material.series?.(column, { node: node.node, step: HOUR_US }) ?? [];
      least = new Map(
        hourlySeries === undefined ? [] : Array.from(hourlySeries.time, (time, i) => [time, hourlySeries.min[i]!]),
      );
    }
    return ifFinite(least.get(hour));
  };
}

function hourOf(
  material: Material,
  node: NodeMaterial,
  hour: number,
  curves: ReturnType<typeof curvesOf>,
  gpus: readonly GpuReport[],
  recording: string,
): NodeHourSummary | undefined {
  const { busy } = curves;
  if (busy === undefined) return undefined;
  const [from, to] = [Math.max(hour, busy.from), Math.min(hour + HOUR_US, busy.to)];
  const [first, last] = [busy.next(from), busy.previous(to)];
  const span = [first, last] as const;
  if (!(last > first)) return undefined;
  const away = (node.agent?.away ?? []).map((gap): [number, number] => [gap.from, gap.to]);
  const seconds = (last - first - lengthOf(intersect(away, [[first, last]]))) / 1e6;
  const cpus = node.agent?.facts.cpus || undefined;
  const used = over(busy, [span]);
  const isOne = busy.from >= hour && busy.to <= hour + HOUR_US;
  const total = curves.total(hour)?.max ?? node.agent?.facts.memory_bytes;
  const available = curves.available(hour)?.mean;
  const least = curves.availableLeast(hour, isOne);
  const rate = curves.busyRate(hour)?.max;
  const cards = curves.gpus.flatMap(({ use }) => {
    const usedInHour = use && over(use, [span]);
    return usedInHour === undefined || usedInHour.seconds === 0 ? [] : usedInHour.amount / usedInHour.seconds / 100;
  });
  return {
    time: hour,
    cluster: material.job.cluster ?? '',
    node: node.node,
    ...stated({
      first_time: Math.round(first),
      last_time: Math.round(last),
      seconds,
      ticks: curves.busyRate(hour)?.count,
      cpus,
      cpu_use:
        cpus === undefined || seconds <= 0 ? undefined : Math.min(1, used!.amount / 1e3 / (cpus * used!.seconds)),
      cpu_use_max: cpus === undefined || rate === undefined ? undefined : Math.min(1, rate / 1e3 / cpus),
      load_mean: curves.load(hour)?.mean,
      memory_total_bytes: total,
      memory_used_mean_bytes: total === undefined || available === undefined ? undefined : total - available,
      memory_used_max_bytes: total === undefined || least === undefined ? undefined : total - least,
      gpus: gpus.length === 0 ? undefined : gpus.length,
      gpu_use: mean(cards),
      gpu_memory_used_bytes: sum(curves.gpus.map(({ memory }) => memory(hour)?.mean)),
      gpu_memory_total_bytes: sum(gpus.map((gpu) => gpu.memory_total_bytes)),
      gpus_failed: gpus.length === 0 ? undefined : gpus.filter(({ lost }) => lost !== undefined && lost < last).length,
      energy_joules: curves.energy(span),
      read_bytes: curves.read(span),
      written_bytes: curves.written(span),
      network_in_bytes: curves.received(span),
      network_out_bytes: curves.sent(span),
      recording: recording === '' ? undefined : recording,
    }),
  };
}
