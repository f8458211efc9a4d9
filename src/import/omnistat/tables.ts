import { stated } from '../../base/stated.ts';
import type { StoredSeries } from '../../query/store/export-lines.ts';
import { type MarkerRow, markerBatch } from '../../query/store/marker-rows.ts';
import type { Batch } from '../../recording/read/batch.ts';
import { type ColumnSamples, TableRows } from '../../recording/read/table-rows.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import type { Note } from '../../sources/host.ts';
import { sources } from '../../sources/index.ts';
import { cpuTable, diskTable, gpuTable, networkTable, powerTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import { tablesOf } from '../victoria/others.ts';
import { CLASSES, FACTS, MAPPED, type Mapped, RAS } from './metrics.ts';

type RowsOf = (column: TableColumn) => TableRows;

export interface OmnistatNode {
  batches: Batch[];
  facts: Partial<NodeFacts>;
  notes: Note[];
}

/** What Omnistat stored of one node while a job ran, as tables of Tacho's. */
export function omnistatTables(all: readonly StoredSeries[], job: string): OmnistatNode {
  const tables = new Map<string, TableRows>();
  const rowsOf: RowsOf = ({ table: name }) => {
    const existingRows = tables.get(name);
    if (existingRows !== undefined) return existingRows;
    const rows = new TableRows(sources.find(({ table }) => table.name === name)!.table);
    tables.set(name, rows);
    return rows;
  };
  const named = (name: string): StoredSeries[] => all.filter(({ labels }) => labels.__name__ === name);
  const facts = factsOf(named);
  const notes: Note[] = [];
  const others: StoredSeries[] = [];
  for (const series of all) {
    const name = series.labels.__name__ ?? '';
    const mapped = MAPPED[name] ?? accelerator(name, series.labels);
    if (mapped !== undefined) addMapped(rowsOf(mapped.column), mapped, series);
    else if (name !== 'rocm_vram_used_percentage' && name !== CORES && !RAS.test(name) && !FACTS.has(name))
      others.push(series);
  }
  for (const used of named('rocm_vram_used_percentage')) {
    const { card = '' } = used.labels;
    const total = named('rocm_vram_total_bytes').find(({ labels }) => labels.card === card);
    const bytes = total?.values.find((value) => value > 0);
    if (bytes === undefined) others.push(used);
    else rowsOf(USED).add({ gpu: card }, USED.name, scaled(used, bytes / 100, true));
  }
  addErrors(all, rowsOf);
  addCores(named(CORES), facts.cpus, rowsOf, notes);
  addTexts(all, facts, tables);
  const batches = [...tables.values()].filter((rows) => rows.columns().size > 0).map((rows) => rows.batch());
  const markers = [...phases(named('rmsjob_annotations'), job), ...figures(named('omnistat_fom'))];
  if (markers.length > 0) batches.push(markerBatch(markers.sort((a, b) => a.time - b.time)));
  // labels that name the machine and the user are the same on all series
  if (others.length > 0) batches.push(...tablesOf(others));
  return { batches, facts, notes };
}

const { memory_used_bytes: USED } = gpuTable.col;
const CORES = 'omnistat_host_cpu_aggregate_core_utilization';

/** omnistat_vendor_accel_…{accel}: one meter for each. */
function accelerator(name: string, labels: StoredSeries['labels']): Mapped | undefined {
  const metricMatch = /^omnistat_vendor_accel_(energy_joules|power_watts)$/.exec(name.trim());
  if (metricMatch === null) return undefined;
  const key = { name: 'domain', value: `accel${labels.accel ?? ''}` };
  const { energy_mj, power_watts } = powerTable.col;
  return metricMatch[1] === 'energy_joules' ? { column: energy_mj, key, factor: 1000 } : { column: power_watts, key };
}

function addMapped(rows: TableRows, { column, key, factor }: Mapped, series: StoredSeries): void {
  const keys = key === undefined ? {} : { [key.name]: key.value ?? series.labels[key.label!] ?? '' };
  rows.add(keys, column.name, scaled(series, factor ?? 1, column.type === 'int'));
}

function scaled({ times, values }: StoredSeries, factor: number, whole: boolean): ColumnSamples {
  return { times, values: values.map((value) => (whole ? Math.round(value * factor) : value * factor)) };
}

function addErrors(all: readonly StoredSeries[], rowsOf: RowsOf): void {
  const sums = new Map<string, Map<number, number>>();
  for (const { labels, times, values } of all) {
    const kind = RAS.exec(labels.__name__ ?? '')?.[1];
    if (kind === undefined) continue;
    const id = JSON.stringify([labels.card ?? '', kind]);
    const sum = sums.get(id) ?? new Map<number, number>();
    sums.set(id, sum);
    times.forEach((time, i) => {
      if (!Number.isNaN(values[i])) sum.set(time, (sum.get(time) ?? 0) + values[i]!);
    });
  }
  for (const [id, sum] of sums) {
    const [gpu, kind] = JSON.parse(id) as [string, string];
    const column = kind === 'correctable' ? gpuTable.col.ecc_corrected : gpuTable.col.ecc_uncorrected;
    rowsOf(column).add({ gpu }, column.name, {
      times: Float64Array.from(sum.keys()),
      values: Float64Array.from(sum.values()),
    });
  }
}

/** Busy CPUs at a moment become CPU time: what was seen is taken for all of the time since the sample before. */
function addCores(
  storedSeries: readonly StoredSeries[],
  cpus: number | undefined,
  rowsOf: RowsOf,
  notes: Note[],
): void {
  for (const { times, values } of storedSeries) {
    const busy = new Float64Array(times.length);
    const idle = new Float64Array(times.length).fill(Number.NaN);
    let [worked, rested] = [0, 0];
    for (let i = 0; i < times.length; i++) {
      const since = i === 0 || Number.isNaN(values[i]) ? 0 : times[i]! - times[i - 1]!;
      const cores = Number.isNaN(values[i]) ? 0 : values[i]!;
      worked += cores * since;
      rested += Math.max(0, (cpus ?? Number.NaN) - cores) * since;
      busy[i] = Math.round(worked);
      idle[i] = Math.round(rested);
    }
    const { busy_ms, idle_ms } = cpuTable.col;
    const rows = rowsOf(busy_ms);
    rows.add({ cpu: 'all' }, busy_ms.name, { times, values: busy });
    if (cpus !== undefined) rows.add({ cpu: 'all' }, idle_ms.name, { times, values: idle });
    notes.push({
      table: cpuTable.name,
      what: 'exact CPU time',
      why: 'Omnistat looks at the CPUs for 50 ms of each interval; busy_ms is estimated from that',
    });
  }
}

function factsOf(named: (name: string) => StoredSeries[]): Partial<NodeFacts> {
  const last = (name: string): number | undefined =>
    named(name)
      .at(-1)
      ?.values.findLast((value) => value > 0);
  const cpus = last('omnistat_host_cpu_num_logical_cores');
  const memory = last('omnistat_host_mem_total_bytes');
  const boot = last('omnistat_host_boot_time_seconds');
  const versions = named('rocm_version_info').map(({ labels }) => labels);
  const cards = new Set(named('rocm_utilization_percentage').map(({ labels }) => labels.card ?? ''));
  const gpus = [...cards].sort(byNumber).map((card) => {
    const version = versions.find((labels) => labels.card === card);
    const total = named('rocm_vram_total_bytes').find(({ labels }) => labels.card === card);
    const bytes = total?.values.find((value) => value > 0);
    return {
      gpu: card,
      vendor: 'AMD',
      ...(version?.type ? { model: version.type } : {}),
      ...(version?.serial ? { serial: version.serial } : {}),
      ...(version?.driver_ver ? { driver: version.driver_ver } : {}),
      ...stated({ memory_bytes: bytes }),
    };
  });
  return {
    gpus,
    ...stated({ cpus, memory_bytes: memory }),
    ...(boot === undefined ? {} : { boot_time: boot * 1e6 }),
  };
}

const byNumber = (a: string, b: string): number => Number(a) - Number(b) || (a < b ? -1 : 1);

function addTexts(all: readonly StoredSeries[], facts: Partial<NodeFacts>, tables: Map<string, TableRows>): void {
  const always = Number.NEGATIVE_INFINITY;
  for (const { gpu, vendor, model } of tables.has(gpuTable.name) ? (facts.gpus ?? []) : []) {
    const texts = { vendor, ...stated({ model }) };
    tables.get(gpuTable.name)!.say({ gpu }, { time: always, texts });
  }
  for (const { labels } of all) {
    const mapped = MAPPED[labels.__name__ ?? ''] ?? accelerator(labels.__name__ ?? '', labels);
    if (mapped?.column.table === networkTable.name) {
      const texts = { class: CLASSES[labels.device_class ?? ''] ?? labels.device_class ?? '' };
      tables.get(networkTable.name)!.say({ interface: labels.interface ?? '' }, { time: always, texts });
    } else if (mapped?.column.table === powerTable.name) {
      const domain = mapped.key!.value!;
      const texts = { meter: 'pm_counters', ...(domain === 'node' ? {} : { within: 'node' }) };
      tables.get(powerTable.name)!.say({ domain }, { time: always, texts });
    } else if (mapped?.column.table === diskTable.name)
      tables.get(diskTable.name)!.say({ disk: 'all' }, { time: always, texts: { class: 'disk' } });
  }
}

/** An annotation has the moment of its beginning for a value, and once 0 at its end. */
function phases(storedSeries: readonly StoredSeries[], job: string): MarkerRow[] {
  const rows: MarkerRow[] = [];
  for (const { labels, times, values } of storedSeries) {
    if ((labels.jobid ?? job) !== job) continue;
    const name = labels.marker ?? '';
    let begun = 0;
    for (let i = 0; i < times.length; i++) {
      const value = values[i]!;
      if (Number.isNaN(value) || value === begun) continue;
      if (begun > 0) rows.push({ time: times[i]! * 1000, action: 'end', name });
      if (value > 0) rows.push({ time: Math.round(value * 1e6), action: 'begin', name });
      begun = value;
    }
    // one that was never ended lasts as long as it was seen
    if (begun > 0) rows.push({ time: times.at(-1)! * 1000, action: 'end', name });
  }
  return rows;
}

/** A figure of merit is repeated with every sample until it changes. */
function figures(storedSeries: readonly StoredSeries[]): MarkerRow[] {
  return storedSeries.flatMap(({ labels, times, values }) => {
    const rows: MarkerRow[] = [];
    let before = Number.NaN;
    times.forEach((time, i) => {
      const value = values[i]!;
      if (!Number.isNaN(value) && value !== before)
        rows.push({ time: time * 1000, action: 'fom', name: labels.name ?? '', value: String(value) });
      before = value;
    });
    return rows;
  });
}
