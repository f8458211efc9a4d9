import { greatest, smallest } from '../../base/extremes.ts';
import { largest, type Material, matching, type NodeMaterial } from '../../query/material.ts';
import { firstCurve, hasOneValue } from '../../query/series/first-curve.ts';
import { hasOwnCgroup } from '../../query/use/cpu-total.ts';
import type { TableCurve } from '../../recording/sealed/table-curves.ts';
import {
  cgroupTable,
  cpuTable,
  diskTable,
  gpuTable,
  lustreTable,
  meminfoTable,
  nfsTable,
  processMemoryTable,
  processTable,
} from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import type { CurvesReport, NodeReport } from '../report-schema.ts';

/** Two of these are one character of a card. */
const POINTS = 96;
/** Fewer show nothing that a number does not. */
const LEAST_POINTS = 5;

type CurveLine = CurvesReport['lines'][number];

/** Columns of one node that are added up; with `from`, they are taken from that one. */
interface CurveSource {
  columns: readonly TableColumn[];
  from?: TableColumn;
  factor: number;
  scope: 'job' | 'node';
  /** Only where the job has a cgroup of its own. */
  own?: true;
}

const { usage_us, memory_current_bytes, io_read_bytes, io_written_bytes } = cgroupTable.col;
const { user_ms, system_ms, rss_bytes } = processTable.col;
const { MemAvailable_bytes, MemTotal_bytes } = meminfoTable.col;

const CPU: readonly CurveSource[] = [
  { columns: [usage_us], factor: 1e-6, scope: 'job', own: true },
  { columns: [user_ms, system_ms], factor: 1e-3, scope: 'job' },
  { columns: [cpuTable.col.busy_ms], factor: 1e-3, scope: 'node' },
];
const MEMORY: readonly CurveSource[] = [
  { columns: [memory_current_bytes], factor: 1, scope: 'job', own: true },
  { columns: [processMemoryTable.col.pss_bytes], factor: 1, scope: 'job' },
  { columns: [rss_bytes], factor: 1, scope: 'job' },
  { columns: [MemAvailable_bytes], from: MemTotal_bytes, factor: 1, scope: 'node' },
];
const GPU: readonly CurveSource[] = [{ columns: [gpuTable.col.utilization_percent], factor: 1, scope: 'node' }];
/** Where bytes come and go: local disks by who knows them best, and file systems of the network. */
const DISKS: readonly CurveSource[] = [
  { columns: [io_read_bytes, io_written_bytes], factor: 1, scope: 'job', own: true },
  { columns: [diskTable.col.read_bytes, diskTable.col.written_bytes], factor: 1, scope: 'node' },
];
const NFS: readonly CurveSource[] = [
  { columns: [nfsTable.col.read_bytes, nfsTable.col.written_bytes], factor: 1, scope: 'node' },
];
const LUSTRE: readonly CurveSource[] = [
  { columns: [lustreTable.col.read_bytes, lustreTable.col.written_bytes], factor: 1, scope: 'node' },
];

interface Grid {
  from: number;
  step: number;
  steps: number;
}

/** What the job did over time, from the curves that statistics keep: no sample is read. */
export function curvesOf(material: Material, nodes: readonly NodeReport[]): CurvesReport | undefined {
  const grid = gridOf(material);
  if (grid === undefined) return undefined;
  const made = (...sources: (readonly CurveSource[])[]): NodeCurve[] =>
    sources.flatMap((each) => madeOf(material, each));
  const lines = [
    lineOf('CPU', 'CPUs', grid, withRest(made(CPU), nodes, grid)),
    lineOf('memory', 'bytes', grid, upToPeak(made(MEMORY), nodes)),
    lineOf('GPU', '%', grid, made(GPU), true),
    lineOf('I/O', 'bytes/s', grid, made(DISKS, NFS, LUSTRE)),
  ].filter((line) => line !== undefined);
  return lines.length === 0 ? undefined : { from: grid.from, step: grid.step, lines };
}

function gridOf({ job, nodes, range }: Material): Grid | undefined {
  // several stretches of time are no one picture, and of a step alone no curves are kept
  if ((range?.intervals?.length ?? 0) > 1 || range?.step !== undefined) return undefined;
  const last = largest(nodes.flatMap(({ tables }) => [...tables.values()].map(({ end }) => end)));
  const [from, to] = [range?.from ?? job.start, range?.to ?? job.end ?? last ?? Number.NaN];
  const interval = (job.interval_seconds || nodes[0]?.agent?.interval_seconds || 1) * 1e6;
  const steps = Math.min(POINTS, Math.floor((to - from) / interval));
  return steps >= LEAST_POINTS ? { from, step: (to - from) / steps, steps } : undefined;
}

/** The curve of a node in the steps of its statistics, and what it is made of. NaN: not measured. */
interface NodeCurve extends Pick<TableCurve, 'from' | 'step'> {
  node: string;
  source: CurveSource;
  values: Float64Array;
  /** Of how many series it is the mean. */
  weight: number;
}

/** Of each node the first of these that it has a curve of. */
const madeOf = ({ nodes }: Material, sources: readonly CurveSource[]): NodeCurve[] =>
  nodes.flatMap((node) => {
    const made = (source: CurveSource): NodeCurve | undefined => {
      const curve = source.own === true && !hasOwnCgroup(node) ? undefined : curveOf(node, source);
      return curve && { ...curve, node: node.node, source, weight: weightOf(node, source) };
    };
    return firstCurve(sources, made, ({ values }) => hasOneValue(values)) ?? [];
  });

const weightOf = (node: NodeMaterial, { columns }: CurveSource): number =>
  matching(node, columns[0]!.table).filter(({ texts }) => texts.mine !== 'no').length;

type Curve = Pick<NodeCurve, 'from' | 'step' | 'values'>;

function curveOf(node: NodeMaterial, { columns, from: whole, factor }: CurveSource): Curve | undefined {
  const read = ({ table, name }: TableColumn): TableCurve | undefined => node.tables.get(table)?.curves?.[name];
  const curves = columns.flatMap((column) => read(column) ?? []);
  const [first] = curves;
  const all = whole && read(whole);
  // columns of one table have the same steps
  if (first === undefined || (whole !== undefined && all === undefined)) return undefined;
  const values = new Float64Array(first.values.length);
  let isSome = false;
  for (let i = 0; i < values.length; i++) {
    let sum = 0;
    for (const tableCurve of curves) sum += tableCurve.values[i] ?? Number.NaN;
    if (all !== undefined) sum = (all.values[i] ?? Number.NaN) - sum;
    values[i] = sum * factor;
    isSome ||= !Number.isNaN(sum);
  }
  return isSome ? { from: first.from, step: first.step, values } : undefined;
}

/** CPU time that nobody saw in samples was used at some time or other: evenly, as the page draws it. */
function withRest(curves: NodeCurve[], nodes: readonly NodeReport[], { step: long, steps }: Grid): NodeCurve[] {
  for (const { node, source, values, step } of curves) {
    const used = nodes.find((one) => one.node === node)?.cpu_seconds;
    if (used === undefined || source.own === true || source.scope === 'node') continue;
    const sampledSeconds = values.reduce((sum, value) => sum + (value || 0), 0) * (step / 1e6);
    const rest = Math.max(0, used - sampledSeconds) / ((long / 1e6) * steps);
    // a gap stays one
    for (let i = 0; i < values.length; i++) values[i]! += rest;
  }
  return curves;
}

/**
 * Processes that followed each other within a step are added up in it as if they had lived at once: no more than the highest
 * use of those that did, which the report has.
 */
function upToPeak(curves: NodeCurve[], nodes: readonly NodeReport[]): NodeCurve[] {
  for (const { node, source, values } of curves) {
    const peak = nodes.find((one) => one.node === node)?.memory_peak_bytes;
    if (peak === undefined || source.own === true || source.scope === 'node') continue;
    for (let i = 0; i < values.length; i++) if (values[i]! > peak) values[i] = peak;
  }
  return curves;
}

/** Curves of nodes added up, each as often as it weighs. */
interface Sum {
  from: number;
  step: number;
  values: Float64Array;
  weights: Float64Array;
}

/** Most nodes have the same steps: they are added up before they are put on the grid. */
function sumsOf(curves: readonly NodeCurve[], isMean: boolean): Sum[] {
  return [...Map.groupBy(curves, ({ step }) => step)].map(([step, all]) => {
    const from = smallest(all.map((curve) => curve.from));
    const end = greatest(all.map((curve) => curve.from + curve.values.length * step));
    const length = Math.min(MOST_STEPS, Math.round((end - from) / step));
    const sum: Sum = { from, step, values: new Float64Array(length), weights: new Float64Array(length) };
    for (const curve of all) {
      const shift = Math.round((curve.from - from) / step);
      const weight = isMean ? curve.weight : 1;
      for (let i = 0; i < curve.values.length && i + shift < length; i++) {
        if (Number.isNaN(curve.values[i]!)) continue;
        sum.values[i + shift]! += curve.values[i]! * weight;
        sum.weights[i + shift]! += weight;
      }
    }
    return sum;
  });
}

/** Nodes whose clocks disagree by years are no reason to fill the memory. */
const MOST_STEPS = 1 << 16;

/** The mean of each step of the grid; of what was added up, of all together. null: nothing is known. */
function onGrid(sums: readonly Sum[], grid: Grid, isMean: boolean): (number | null)[] {
  const total = new Float64Array(grid.steps);
  const weight = new Float64Array(grid.steps);
  for (const { from, step, values, weights } of sums) {
    const coveredTime = new Float64Array(grid.steps);
    const area = new Float64Array(grid.steps);
    const held = new Float64Array(grid.steps);
    for (let i = 0; i < values.length; i++) {
      if (weights[i] === 0) continue;
      const [begin, end] = [from + i * step, from + (i + 1) * step];
      const first = Math.max(0, Math.floor((begin - grid.from) / grid.step));
      for (let at = first; at < grid.steps && grid.from + at * grid.step < end; at++) {
        const time = Math.min(end, grid.from + (at + 1) * grid.step) - Math.max(begin, grid.from + at * grid.step);
        if (!(time > 0)) continue;
        coveredTime[at]! += time;
        area[at]! += values[i]! * time;
        held[at]! += weights[i]! * time;
      }
    }
    for (let i = 0; i < grid.steps; i++) {
      // a touch of the step beside it says little of a step
      if (coveredTime[i]! * 4 < grid.step) continue;
      total[i]! += area[i]! / coveredTime[i]!;
      weight[i]! += held[i]! / coveredTime[i]!;
    }
  }
  return Array.from(total, (sum, i) =>
    weight[i] === 0 ? null : Number((isMean ? sum / weight[i]! : sum).toPrecision(4)),
  );
}

function lineOf(
  what: CurveLine['what'],
  unit: CurveLine['unit'],
  grid: Grid,
  curves: readonly NodeCurve[],
  isMean = false,
): CurveLine | undefined {
  if (curves.length === 0) return undefined;
  const columns = new Set<string>();
  for (const { source } of curves) for (const { table, name } of source.columns) columns.add(`${table}.${name}`);
  const scope = curves.some(({ source }) => source.scope === 'node') ? 'node' : 'job';
  return { what, unit, scope, from: [...columns].join(', '), values: onGrid(sumsOf(curves, isMean), grid, isMean) };
}
