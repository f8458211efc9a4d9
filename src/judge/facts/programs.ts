import { stated } from '../../base/stated.ts';
import { ifFinite, type Material, wholeOf } from '../../query/material.ts';
import { commandOf } from '../../query/processes/columns.ts';
import { programName, programOfLine } from '../../query/processes/program.ts';
import { processCpuSeconds, processPeak, processSeries } from '../../query/processes/sampled.ts';
import { sampleKey } from '../../query/processes/sampled-cpu.ts';
import { hasFailed, type ProcessSet } from '../../query/processes/set.ts';
import { partProcessesOf, sampledInPart } from '../../query/use/part-processes.ts';
import { processEndTable } from '../../sources/tables.ts';
import type { ProgramReport } from '../report-schema.ts';

/** Number of programs that are kept by CPU time, and as many again by memory. */
const MOST = 10;

/** One process, or one program that a process ran. */
interface Run {
  program: string;
  node: string;
  pid: string;
  command: string;
  /** Seconds. */
  cpu: number | undefined;
  /** Bytes. */
  rss: number | undefined;
  threads: number | undefined;
  failed: boolean;
}

interface Sums extends Omit<Run, 'command' | 'failed'> {
  processes: number;
  failed: number;
  nodes: Set<string>;
  largest: Run;
}

/** The job's processes by program: those with most CPU time first, then those that only have much memory. */
export function programsOf(material: Material, jobCpu: number | undefined): ProgramReport[] {
  const all = new Map<string, Sums>();
  for (const run of runsOf(material)) {
    const sums = all.get(run.program);
    if (sums === undefined)
      all.set(run.program, {
        ...run,
        processes: 1,
        failed: Number(run.failed),
        nodes: new Set([run.node]),
        largest: run,
      });
    else add(sums, run);
  }
  const sorted = (of: (sums: Sums) => number | undefined): Sums[] =>
    [...all.values()].sort((a, b) => (of(b) ?? -1) - (of(a) ?? -1)).slice(0, MOST);
  const kept = new Set([...sorted(({ cpu }) => cpu), ...sorted(({ rss }) => rss)]);
  return [...kept].map((sums) => reportOf(sums, jobCpu));
}

function add(sums: Sums, run: Run): void {
  sums.processes++;
  if (run.failed) sums.failed++;
  sums.nodes.add(run.node);
  if (run.cpu !== undefined) sums.cpu = (sums.cpu ?? 0) + run.cpu;
  if (run.threads !== undefined) sums.threads = Math.max(sums.threads ?? 0, run.threads);
  const { largest } = sums;
  const isLarger =
    (run.rss ?? -1) === (largest.rss ?? -1)
      ? (run.cpu ?? -1) > (largest.cpu ?? -1)
      : (run.rss ?? -1) > (largest.rss ?? -1);
  if (isLarger) sums.largest = run;
  sums.rss = sums.largest.rss;
}

function reportOf(sums: Sums, jobCpu: number | undefined): ProgramReport {
  const { program, processes, cpu, rss, threads, failed, nodes, largest } = sums;
  const { node, pid, command } = largest;
  return {
    program,
    processes,
    nodes: nodes.size,
    largest: { node, pid, ...(command === '' ? {} : { command }) },
    ...stated({
      cpu_seconds: cpu,
      cpu_share: cpu !== undefined && jobCpu !== undefined && jobCpu > 0 ? cpu / jobCpu : undefined,
      rss_max_bytes: rss,
      threads_max: threads,
      failed: failed === 0 ? undefined : failed,
    }),
  };
}

/** Of the whole job, or of a part of it what ran in the part. */
function* runsOf(material: Material): Generator<Run> {
  const { processes: set } = wholeOf(material);
  if (material.range === undefined) {
    if (set !== undefined)
      for (let i = 0; i < set.length; i++) yield recorded(set, i, ifFinite(set.cpu_time[i]! / 1e6));
    else yield* sampled(material);
    return;
  }
  for (const node of material.nodes)
    if (set !== undefined) for (const [i, cpu] of partProcessesOf(material, node).byRecord) yield recorded(set, i, cpu);
  yield* sampled(material);
}

const recorded = (set: ProcessSet, i: number, cpu: number | undefined): Run => ({
  program: programName(set.exename[i]!, set.args[i]!),
  node: set.node[i]!,
  pid: String(set.pid[i]),
  command: commandOf(set, i),
  cpu,
  rss: ifFinite((set.metrics.get(processEndTable.col.rssmax.name)?.[i] ?? Number.NaN) * 1024),
  threads: ifFinite(set.threads[i]),
  failed: hasFailed(set, i),
});

function* sampled(material: Material): Generator<Run> {
  for (const node of material.nodes) {
    const partProcesses = material.range === undefined ? undefined : partProcessesOf(material, node);
    for (const series of partProcesses === undefined ? processSeries(node) : sampledInPart(node, partProcesses)) {
      const { pid = '', start } = series.keys;
      const command = series.texts.command || series.texts.name || '';
      yield {
        program: programOfLine(command),
        node: node.node,
        pid,
        command,
        cpu:
          partProcesses === undefined
            ? processCpuSeconds(material, node, series)
            : partProcesses.bySample.get(sampleKey(pid, start)),
        rss: processPeak(material, node, series),
        threads: ifFinite(series.columns.threads?.max),
        failed: false,
      };
    }
  }
}
