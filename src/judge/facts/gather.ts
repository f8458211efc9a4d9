import * as path from 'node:path';
import { append } from '../../base/extremes.ts';
import { damageWords, recordedProcesses } from '../../query/processes/processes.ts';
import { type SampledCpu, sampledCpu } from '../../query/processes/sampled-cpu.ts';
import type { ProcessSet } from '../../query/processes/set.ts';
import { series } from '../../query/series/series.ts';
import { type SpanQuery, sampledPart, select } from '../../query/spans/select.ts';
import type { StoredJob } from '../../query/store/records.ts';
import { type Part, summariseParts, type TableDamage, type WantedColumns } from '../../query/summarise.ts';
import { lostRecords } from '../../recording/folder/lost-records.ts';
import type { NodeRecording, Recording } from '../../recording/folder/open.ts';
import { recordedMarkers } from '../../recording/read/markers.ts';
import { cgroupTable, cpuTable, gpuTable, loadavgTable, powerTable, processTable } from '../../sources/tables.ts';
import { rules } from '../rules/index.ts';
import { isColumn } from '../rules/shared/rule.ts';
import { overrunOf } from '../use/overrun.ts';
import { hasLost, isMadeAnew } from '../use/remade-cgroup.ts';
import { hasOwnCgroup } from '../use/usage.ts';
import type { Material, NodeMaterial, Unread } from './material.ts';
import { phasePartsOf } from './phases.ts';
import { processSeries } from './processes.ts';
import { REPORT_COLUMNS, type ReportColumn } from './report-columns.ts';

export interface GatherOptions extends SpanQuery {
  /** Also what every phase did on its own: reads the data, not only their statistics. */
  phases?: boolean;
  /** The recorded processes, when they have been read already. */
  processes?: ProcessSet;
  now?: number;
}

const needs = rules.flatMap((rule) => rule.needs);
const overTime = needs.flatMap((need) => (isColumn(need) ? [] : (need.series ?? [])));

/** What the report is made of, and the columns that rules need. */
const WANTED_COLUMNS = new Map(REPORT_COLUMNS);
for (const { table, name } of [...needs.filter(isColumn), ...overTime])
  WANTED_COLUMNS.set(table, [...(WANTED_COLUMNS.get(table) ?? []), name]);

/** What says how busy CPUs and GPUs were in a phase, and what they drew. */
const PHASE_COLUMNS: readonly ReportColumn[] = [
  ...[cgroupTable.col.usage_us, cpuTable.col.busy_ms, loadavgTable.col.load1],
  ...[processTable.col.user_ms, processTable.col.system_ms, processTable.col.state, processTable.col.name],
  ...[gpuTable.col.utilization_percent, gpuTable.col.energy_mj, gpuTable.col.power_watts, gpuTable.col.mine],
  ...[powerTable.col.energy_mj, powerTable.col.power_watts, powerTable.col.meter, powerTable.col.within],
];

const PHASE_TABLES: WantedColumns = new Map(
  [...Map.groupBy(PHASE_COLUMNS, ({ table }) => table)].map(([table, columns]) => [
    table,
    columns.map(({ name }) => name),
  ]),
);

const NOT_IN_STORES = {
  what: 'process: short processes, and how long they lived',
  why: 'a store has a process only from when it has used so much CPU time as victoria.process_cpu says (1 s)',
  hint: 'the recording in the archive of the hub has them all',
} as const;

/** The same of a job in a store: what it has is downloaded. */
export async function gatherStored(stored: StoredJob, options: GatherOptions = {}): Promise<Material> {
  const { downloadJob } = await import('../../query/store/download.ts');
  const { job, nodes } = stored.recording;
  const { from, to, step, marker, phases } = options;
  const isPart = [from, to, step, marker, phases].some((each) => each !== undefined);
  const rows = isPart || overTime.length > 0 || nodes.some(({ agent }) => overrunOf(job, agent) !== undefined);
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
  const tell = (node: NodeRecording, found: TableDamage): void => {
    const words = damageWords(found);
    if (damage.includes(words)) return;
    damage.push(words);
    const file = path.basename(found.file);
    const why = words.slice(words.indexOf(': ', found.file.length) + 2);
    const whole = found.unreadable !== undefined;
    if (whole || found.bad_lines > 0 || found.lost_header || found.lost_columns !== undefined)
      unread.push({ node: node.name, table: found.table, file, why, whole, lines: found.bad_lines });
  };
  const markers = recordedMarkers(recording, tell);
  const isPart = [options.from, options.to, options.step, options.marker].some((each) => each !== undefined);
  // records are of whole lives: of a part of the job they tell what began and ended in it, or was its step's
  const lives = isPart ? recordedProcesses(recording, () => [], tell) : undefined;
  const range = select(recording, options, { markers, processes: lives, now });
  const chosen = recording.nodes.filter((node) => range?.nodes === undefined || range.nodes.includes(node.name));
  // what an agent recorded that did not know of the end is none of the job's
  const late = range === undefined && chosen.some(({ agent }) => overrunOf(recording.job, agent) !== undefined);
  const until = late ? { what: 'the job', to: recording.job.end! } : range;
  const [nodes] = measured(chosen, [sampledPart(until)], WANTED_COLUMNS, tell) as [NodeMaterial[]];
  const material: Material = { path: recording.path, job: recording.job, nodes, markers, now };
  material.series = (column, options) => series(chosen, column, { ...sampledPart(until), ...options });
  if (range !== undefined) material.range = range;
  if (range !== undefined) {
    if (lives !== undefined) material.lives = lives;
  } else {
    const sampled = (name: string) => processSeries(nodes.find((n) => n.node === name)!);
    const processes = options.processes ?? recordedProcesses(recording, sampled, tell);
    if (processes !== undefined) {
      material.processes = processes;
      append(
        damage,
        processes.troubles.filter((trouble) => !damage.includes(trouble)),
      );
    }
  }
  if (options.phases === true) {
    const parts = phasePartsOf(material).map(({ intervals }) => ({ intervals }));
    material.phaseTables = measured(chosen, parts, PHASE_TABLES, tell, false);
  }
  const hasParts = range !== undefined || (material.phaseTables?.length ?? 0) > 0;
  const byName = new Map(nodes.map((n) => [n.node, n]));
  const uncounted = chosen.filter(({ name }) => !hasOwnCgroup(byName.get(name)!));
  // those of a node's own agent come and go with the job's processes
  const told = lives ?? material.processes;
  const served = chosen.filter((n) => hasParts && told && n.agent?.service === true && !uncounted.includes(n));
  const wholes =
    range === undefined || served.length === 0 ? nodes : measured(served, [{}], [cgroupTable.name], tell)[0]!;
  const remade = wholes.filter(({ node }) => served.some(({ name }) => name === node)).filter(isMadeAnew);
  const sought = chosen.filter((n) => uncounted.includes(n) || remade.some(({ node }) => node === n.name));
  let sampled = hasParts && sought.length > 0 ? sampledCpuOf(sought, tell) : undefined;
  if (sampled !== undefined && remade.length > 0) {
    const all: Material = { ...material, lives: told!, sampledCpu: sampled };
    const right = remade.filter((n) => !hasLost(all, n)).map(({ node }) => node);
    sampled = new Map([...sampled].filter(([name]) => !right.includes(name)));
  }
  if (sampled !== undefined) material.sampledCpu = sampled;
  const counted = chosen.filter(({ name }) => sampled?.has(name) !== true);
  const inCgroup = range !== undefined && told && counted.length > 0 ? sampledCpuOf(counted, tell) : undefined;
  if (inCgroup !== undefined) material.sampledInCgroup = inCgroup;
  if (damage.length > 0) material.damage = damage;
  if (recording.troubles.length > 0) material.troubles = recording.troubles;
  if (unread.length > 0) material.unread = unread;
  if (recording.strays !== undefined) material.strays = recording.strays;
  if (opened.nodes.some((node) => (node.memory ?? node.agent?.from_store) && hadProcesses(node)))
    material.leftOut = [NOT_IN_STORES];
  return material;
}

type Tell = (node: NodeRecording, damage: TableDamage) => void;

/** What the samples of some tables of some nodes showed in parts of the job, by part. */
function measured(
  nodes: readonly NodeRecording[],
  parts: readonly Part[],
  tables: readonly string[] | WantedColumns,
  tell: Tell,
  percentiles = true,
): NodeMaterial[][] {
  const byNode = nodes.map((node) => summariseParts(node, parts, tables, percentiles));
  return parts.map((_, i) =>
    byNode.map((summaries) => {
      const { node, tables, damage } = summaries[i]!;
      for (const each of damage) tell(node, each);
      return { node: node.name, tables, ...(node.agent === undefined ? {} : { agent: node.agent }) };
    }),
  );
}

const sampledCpuOf = (nodes: readonly NodeRecording[], tell: Tell): ReadonlyMap<string, readonly SampledCpu[]> =>
  new Map(
    nodes.map((node) => [
      node.name,
      sampledCpu(node, ({ damage }) => {
        for (const each of damage) tell(node, { ...each, table: processTable.name });
      }),
    ]),
  );
