import * as path from 'node:path';
import { append } from '../../base/extremes.ts';
import { stated } from '../../base/stated.ts';
import { inTwoThreads } from '../../base/two-threads.ts';
import { type DaskRun, daskRun } from '../../query/dask/dask-run.ts';
import type { Material, NodeMaterial, Unread } from '../../query/material.ts';
import { pastSeries } from '../../query/past.ts';
import { damageText, recordedProcesses } from '../../query/processes/processes.ts';
import { processSeries } from '../../query/processes/sampled.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { type AllThreads, readAllThreads } from '../../query/processes/threads.ts';
import { REPORT_COLUMNS, SPREAD_COLUMNS } from '../../query/report-columns.ts';
import { series } from '../../query/series/series.ts';
import { type SpanQuery, sampledPart, select } from '../../query/spans/select.ts';
import type { StoredJob } from '../../query/store/records.ts';
import {
  type Asked,
  type NodeSummary,
  type SampledTimes,
  sealedDamage,
  summariseAsked,
  summariseParts,
  type TableDamage,
  type WantedColumns,
} from '../../query/summarise.ts';
import { type NodeSamples, readSamples, type UsedTable, usedTables } from '../../query/use/samples.ts';
import { lostRecords } from '../../recording/folder/lost-records.ts';
import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import { recordedMarkers } from '../../recording/read/markers.ts';
import { hasRows } from '../../recording/read/read.ts';
import {
  agentTable,
  cgroupTable,
  cpuTable,
  daskGraphTable,
  daskTaskTable,
  gpuTable,
  loadavgTable,
  markerTable,
  powerTable,
  processEndTable,
  processStartTable,
  processTable,
  processTotalTable,
  threadEndTable,
} from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import { rules } from '../rules/index.ts';
import { isColumn } from '../rules/shared/rule.ts';
import { overrunOf } from '../use/unrecorded-time.ts';
import { readKeptProcesses } from './kept-processes.ts';
import { phasePartsOf } from './phases.ts';

export interface GatherOptions extends SpanQuery {
  /** Also what every phase did on its own: reads the data, not only their statistics. */
  phases?: boolean;
  /** The recorded processes, when they have been read already. */
  processes?: ProcessSet;
  /** Processes are joined again, also where they are kept. */
  isAfresh?: boolean;
  /** What all of the job showed, by node, when it has been measured already. */
  inAll?: readonly NodeSummary[];
  /** Of a job that was downloaded: with all of its rows. */
  hasAllRows?: boolean;
  now?: number;
}

const needs = rules.flatMap((rule) => rule.needs);
const overTime = rules.flatMap((rule) => rule.overTime ?? []);

/** What the report is made of, and the columns that rules need. */
const WANTED_COLUMNS = new Map(REPORT_COLUMNS);
const needed = needs.flatMap((need): readonly TableColumn[] => (isColumn(need) ? [need] : (need.columns ?? [])));
/** Events have no statistics: who asks for processes has them. */
const EVENTS: ReadonlySet<string> = new Set(
  [markerTable, processEndTable, processStartTable, threadEndTable, daskTaskTable, daskGraphTable].map(
    ({ name }) => name,
  ),
);
for (const { table, name } of [...needed, ...overTime].filter((column) => !EVENTS.has(column.table)))
  WANTED_COLUMNS.set(table, [...(WANTED_COLUMNS.get(table) ?? []), name]);

/** Of these also how their values are spread. */
const SPREAD: WantedColumns = new Map(
  [...Map.groupBy<string, TableColumn>(SPREAD_COLUMNS, ({ table }) => table)].map(([table, columns]) => [
    table,
    columns.map(({ name }) => name),
  ]),
);

/** Columns whose samples rules may look at. */
const OVER_TIME: WantedColumns = new Map(
  [...Map.groupBy(overTime, ({ table }) => table)].map(([table, all]) => [table, all.map(({ name }) => name)]),
);

/** What says what the whole job used, where a part of it is looked at. */
const USE_COLUMNS: WantedColumns = new Map(
  [agentTable, cgroupTable, cpuTable, processTable, processTotalTable].map(({ name }) => [
    name,
    REPORT_COLUMNS.get(name)!,
  ]),
);

/** What says when samples were taken in a phase, and how busy GPUs were; what is used up is told by its curves. */
const PHASE_TABLES: WantedColumns = new Map([
  [cpuTable.name, []],
  [loadavgTable.name, []],
  [gpuTable.name, [gpuTable.col.utilization_percent.name, gpuTable.col.mine.name]],
  [powerTable.name, []],
]);

const NOT_IN_STORES = {
  what: 'process: short processes, and how long processes ran',
  why: 'a store holds only processes that used the CPU time of victoria.process_cpu (1 s) or more',
  hint: 'the recording in the archive of the hub has them all',
} as const;

/** The same of a job in a store: what it has is downloaded. */
export async function gatherStored(stored: StoredJob, options: GatherOptions = {}): Promise<Material> {
  const { downloadJob } = await import('../../query/store/download.ts');
  const { job, nodes } = stored.recording;
  const { from, to, step, marker, phases } = options;
  const isPart = [from, to, step, marker, phases].some((each) => each !== undefined);
  const isAll = isPart || nodes.some(({ agent }) => overrunOf(job, agent) !== undefined);
  const rows = isAll ? true : OVER_TIME;
  return gather(await downloadJob(stored, { tables: [...WANTED_COLUMNS.keys()], rows }), options);
}

const hadProcesses = ({ tables, agent }: NodeRecording): boolean =>
  tables.has(processTable.name) || agent?.tables.some(({ name }) => name === processTable.name) === true;

/** Collects what the judge must know of a recording. */
export function gather(opened: Recording, options: GatherOptions = {}): Material {
  const recording = { ...opened, troubles: [...opened.troubles, ...lostRecords(opened)] };
  const now = options.now ?? Date.now() * 1000;
  const damage = [...recording.troubles];
  const unread: Unread[] = [];
  const reportDamage = (node: NodeRecording, tableDamage: TableDamage): void => {
    const damageWords = damageText(tableDamage);
    if (damage.includes(damageWords)) return;
    damage.push(damageWords);
    const file = path.basename(tableDamage.file);
    const why = damageWords.slice(damageWords.indexOf(': ', tableDamage.file.length) + 2);
    const whole = tableDamage.unreadable !== undefined;
    if (whole || tableDamage.bad_lines > 0 || tableDamage.lost_header || tableDamage.lost_columns !== undefined)
      unread.push({ node: node.name, table: tableDamage.table, file, why, whole, lines: tableDamage.bad_lines });
  };
  const markers = recordedMarkers(recording, reportDamage);
  const { job, path: folder, nodes: all } = recording;
  const { until, isPart, columns } = wholeJob(recording, options);
  const inAll = nodesOfSummaries(
    options.inAll ?? all.map((node) => summariseParts(node, [until], columns, SPREAD)[0]!),
    reportDamage,
  );
  const whole: Material = { path: folder, job, nodes: inAll, markers, now };
  let material = whole;
  const sampled = (name: string) => processSeries(inAll.find((n) => n.node === name)!);
  const isWhole = !isPart && until.to === undefined;
  const processes =
    options.processes ??
    (isWhole && options.isAfresh !== true ? readKeptProcesses(recording) : undefined) ??
    recordedProcesses(recording, sampled, reportDamage);
  if (processes !== undefined) {
    whole.processes = processes;
    let threads: AllThreads | undefined;
    whole.threads = () => {
      threads ??= readAllThreads(recording, processes, reportDamage);
      if (damage.length > 0) material.damage = damage;
      if (unread.length > 0) material.unread = unread;
      return threads;
    };
    append(
      damage,
      processes.troubles.filter((trouble) => !damage.includes(trouble)),
    );
  }
  if (all.some((node) => hasRows(node, daskTaskTable.name))) {
    let dask: { run: DaskRun | undefined } | undefined;
    whole.dask = () => {
      dask ??= { run: daskRun({ nodes: all.filter((node) => hasRows(node, daskTaskTable.name)) }) };
      return dask.run;
    };
  }
  if (opened.nodes.some((node) => (node.memory ?? node.agent?.from_store) && hadProcesses(node)))
    whole.leftOut = [NOT_IN_STORES];
  const range = select(recording, options, { markers, processes, now });
  const chosen = all.filter((node) => range?.nodes === undefined || range.nodes.includes(node.name));
  if (range !== undefined) {
    const { processes: _, threads: __, dask: ___, ...rest } = whole;
    material = {
      ...rest,
      nodes: measured(chosen, [sampledPart(range)], WANTED_COLUMNS, reportDamage)[0]!,
      range,
      whole,
    };
  } else if (isPart) material.nodes = measured(all, [until], WANTED_COLUMNS, reportDamage)[0]!;
  if (range === undefined && whole.threads !== undefined) reportDamagedThreads(all, whole.threads);
  const looked = range === undefined ? until : sampledPart(range);
  material.series = (column, { node, ...options } = {}) => {
    const asked = chosen.filter((one) => (node ?? one.name) === one.name && hasRows(one, column.table));
    return series(asked, column, { ...looked, ...options });
  };
  const used = new Map(chosen.map((node) => [node.name, usedTables(node, until.to)]));
  if (options.phases === true) {
    const phaseTimes = phasePartsOf(material).map(({ intervals }) => ({ intervals }));
    // what came after the end is in no curve, but may be in a phase
    const atHand = until.to === undefined ? used : undefined;
    material.phaseTables = measured(chosen, phaseTimes, PHASE_TABLES, reportDamage, new Map(), atHand);
  }
  const hasParts = range !== undefined || (material.phaseTables?.length ?? 0) > 0;
  if (hasParts) whole.samples = samplesOf(chosen, used, reportDamage);
  let sampledWhole = hasParts ? whole : undefined;
  const isRead = hasParts || options.hasAllRows === true || chosen.every(({ memory }) => memory === undefined);
  if (isRead)
    material.sampled = () => {
      sampledWhole ??= { ...whole, samples: samplesOf(chosen, used, reportDamage) };
      return sampledWhole;
    };
  if (isRead) material.past = (table, columns) => pastSeries(folder, job.start, table, columns);
  if (damage.length > 0) material.damage = damage;
  if (recording.troubles.length > 0) material.troubles = recording.troubles;
  if (unread.length > 0) material.unread = unread;
  if (recording.strays !== undefined) material.strays = recording.strays;
  return material;
}

/** Damaged tables of threads are reported also where no rule asks for threads: then, and where they are not sealed, they are read. */
function reportDamagedThreads(nodes: readonly NodeRecording[], read: () => AllThreads): void {
  const { name } = threadEndTable;
  const isWhole = (node: NodeRecording): boolean => sealedDamage(node, name)?.length === 0;
  if (nodes.some((node) => node.tables.has(name) && !isWhole(node))) read();
}

/** What is asked of the whole job. */
function wholeJob({ job, nodes }: Recording, { from, to, step, marker }: GatherOptions) {
  // what an agent recorded that did not know of the end is none of the job's
  const isLate = nodes.some(({ agent }) => overrunOf(job, agent) !== undefined);
  const isPart = [from, to, step, marker].some((each) => each !== undefined);
  return { until: isLate ? { to: job.end! } : {}, isPart, columns: isPart ? USE_COLUMNS : WANTED_COLUMNS };
}

/** Number of rolled file parts, each with some minutes of samples, from which another thread is worth it. */
const MANY_PARTS = 64;

/** The same; a large recording that is not sealed is read by two threads. */
export async function gatherQuickly(recording: Recording, options: GatherOptions = {}): Promise<Material> {
  const { nodes } = recording;
  const fileCounts = nodes.flatMap(({ tables }) =>
    [...tables.values()].map(({ parts }) => Math.max(0, parts.length - 1)),
  );
  if (nodes.length === 1 || fileCounts.reduce((a, b) => a + b, 0) < MANY_PARTS) return gather(recording, options);
  const { until, columns } = wholeJob(recording, options);
  const items = nodes.map((node): Asked => [node, [until], columns, SPREAD]);
  const inAll: NodeSummary[] = [];
  for await (const [summary] of inTwoThreads('summarise', items, summariseAsked))
    inAll.push({ ...summary!, node: nodes[inAll.length]! });
  return gather(recording, { ...options, inAll });
}

type Tell = (node: NodeRecording, damage: TableDamage) => void;

/** What the samples of some tables of some nodes showed in parts of the job, by part. */
function measured(
  nodes: readonly NodeRecording[],
  sampledTimes: readonly SampledTimes[],
  tables: readonly string[] | WantedColumns,
  reportDamage: Tell,
  spread = SPREAD,
  atHand?: ReadonlyMap<string, UsedTable>,
): NodeMaterial[][] {
  const byNode = nodes.map((node) => summariseParts(node, sampledTimes, tables, spread, atHand?.get(node.name)));
  return sampledTimes.map((_, i) =>
    nodesOfSummaries(
      byNode.map((summaries) => summaries[i]!),
      reportDamage,
    ),
  );
}

/** Summaries as the judge takes them, once it is told what could not be read. */
function nodesOfSummaries(summaries: readonly NodeSummary[], reportDamage: Tell): NodeMaterial[] {
  return summaries.map(({ node, tables, damage }) => {
    for (const each of damage) reportDamage(node, each);
    return { node: node.name, tables, ...stated({ agent: node.agent }) };
  });
}

/** What was sampled of what is used up, by node. */
function samplesOf(
  nodes: readonly NodeRecording[],
  used: ReadonlyMap<string, UsedTable>,
  reportDamage: Tell,
): ReadonlyMap<string, NodeSamples> {
  return new Map(
    nodes.map((node) => {
      const samples = readSamples(used.get(node.name)!);
      for (const each of samples.damage) reportDamage(node, each);
      return [node.name, samples];
    }),
  );
}
