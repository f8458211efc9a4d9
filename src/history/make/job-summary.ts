import { commandLine } from '../../base/quote.ts';
import { unquoted, wordsOf } from '../../base/shell-words.ts';
import { stated } from '../../base/stated.ts';
import type { FlowReport, Report } from '../../judge/report-schema.ts';
import { rules } from '../../judge/rules/index.ts';
import { ifFinite, largest, type Material, sum } from '../../query/material.ts';
import type { FindingSummary, JobNodeSummary, JobSummary } from '../tables/summary.ts';
import { isShellScript, programOf } from './program.ts';

const HOUR = 3600;
/** A GPU that was never busier did nothing: drivers alone show a little. */
const UNUSED_GPU = 0.01;
const SEVERITIES = ['info', 'advice', 'warning', 'critical'];

/** The row of a job in the history. `recording`: its path below the archive. */
export function summaryOfJob(report: Report, material: Material, recording = ''): JobSummary {
  const { job, summary, quality } = report;
  const { asked } = job;
  const hours = ifFinite(summary.wall_seconds) === undefined ? undefined : summary.wall_seconds / HOUR;
  const { memory_peak_bytes: peak, memory_limit_bytes: limit } = summary;
  const memoryHours = times(asked.memory_bytes, hours);
  const peaks = summary.memory_peaks_sum_bytes;
  const own = report.gpus.filter((gpu) => gpu.own !== false && gpu.utilization_max !== undefined);
  const fom = report.figures.findLast(({ value }) => typeof value === 'number');
  const models = new Set(report.gpus.flatMap((gpu) => (gpu.own === false || !gpu.model ? [] : gpu.model)));
  return {
    ...keysOf(report),
    ...stated({
      end_time: ifFinite(job.end),
      submit_time: ifFinite(job.submit),
      state: job.state,
      exit_code: job.exit_code,
      signal: job.signal,
      reason: job.reason,
      restart: job.restart,
      array: arrayOf(job.id),
      name: textOr(job.name),
      account: textOr(job.account),
      partition: textOr(job.partition),
      scheduler: job.scheduler,
      program: programOfJob(report),
      command: textOr(job.command && commandLine(job.command)),
      directory: textOr(job.directory),
      origin: originOf(material),
      recording: textOr(recording),
      nodes: summary.nodes,
      node_list: textOr(report.nodes.map(({ node }) => node).join(',')),
      cpus: summary.cpus,
      gpus: summary.gpus,
      gpu_model: textOr([...models].join(',')),
      asked_nodes: asked.nodes,
      asked_cpus: asked.cpus,
      asked_memory_bytes: asked.memory_bytes,
      asked_gpus: asked.gpus,
      time_limit_seconds: asked.time_limit_seconds,
      wall_seconds: ifFinite(summary.wall_seconds),
      wait_seconds: waitOf(job),
      node_hours: ifFinite(summary.node_hours),
      core_hours: ifFinite(summary.core_hours),
      gpu_hours: ifFinite(summary.gpu_hours),
      memory_byte_hours: memoryHours,
      cpu_seconds: summary.cpu_seconds,
      cpu_use: summary.cpu_utilization,
      // where nobody knows how many CPUs it had, its CPU time tells
      cpus_busy: summary.cpus_busy ?? perSecond(summary.cpu_seconds, ifFinite(summary.wall_seconds)),
      memory_peak_bytes: peak,
      memory_peaks_bytes: peaks,
      memory_limit_bytes: limit,
      memory_use: peak === undefined || !limit ? undefined : peak / limit,
      gpu_use: summary.gpu_utilization,
      gpus_unused: own.length === 0 ? undefined : own.filter((gpu) => gpu.utilization_max! < UNUSED_GPU).length,
      gpu_memory_peak_bytes: summary.gpu_memory_peak_bytes,
      gpu_memory_use:
        summary.gpu_memory_peak_bytes === undefined || !summary.gpu_memory_total_bytes
          ? undefined
          : summary.gpu_memory_peak_bytes / summary.gpu_memory_total_bytes,
      ...storageOf(report.flows),
      ...networkOf(report.flows),
      energy_joules: summary.energy_joules,
      processes: summary.processes,
      ranks: ranksOf(material),
      threads_max: largest(report.processes.map(({ threads_max }) => threads_max)),
      fom: fom?.name,
      fom_value: fom?.value as number | undefined,
      interval_seconds: ifFinite(job.interval_seconds),
      quality: quality.grade,
      findings: textOr([...new Set(report.findings.map(({ id }) => id))].join(',')),
      worst: report.findings
        .map(({ severity }) => severity)
        .toSorted((a, b) => SEVERITIES.indexOf(b) - SEVERITIES.indexOf(a))[0],
      tags: jsonOf(job.tags),
      notes: jsonOf(material.job.annotations),
      core_hours_wasted: unused(summary.core_hours, summary.cpu_utilization),
      gpu_hours_wasted: unused(summary.gpu_hours, summary.gpu_utilization),
      memory_byte_hours_wasted:
        asked.memory_bytes === undefined || peaks === undefined
          ? undefined
          : times(Math.max(0, asked.memory_bytes - peaks), hours),
    }),
  };
}

/** The rows of its nodes. */
export function summariesOfNodes(report: Report, recording = ''): JobNodeSummary[] {
  return report.nodes.map((node) => ({
    ...keysOf(report),
    node: node.node,
    ...stated({
      end_time: ifFinite(report.job.end),
      restart: report.job.restart,
      cpus: node.cpus,
      cpu_seconds: node.cpu_seconds,
      cpu_use: node.cpu_utilization,
      memory_peak_bytes: node.memory_peak_bytes,
      memory_limit_bytes: node.memory_limit_bytes,
      gpus: node.gpus,
      gpu_use: node.gpu_utilization,
      energy_joules: node.energy_joules,
      node_cpus: node.node_cpus,
      node_cpu_use: node.node_cpu_utilization,
      recorded_seconds: node.recorded_seconds,
      status: node.status,
      straggler: textOr(node.straggler?.join('; ')),
      recording: textOr(recording),
    }),
  }));
}

/** The rows of its findings. */
export function summariesOfFindings(report: Report, recording = ''): FindingSummary[] {
  return report.findings.map((finding) => {
    const [first] = finding.evidence;
    return {
      ...keysOf(report),
      finding: finding.id,
      ...stated({
        end_time: ifFinite(report.job.end),
        restart: report.job.restart,
        severity: finding.severity,
        confidence: finding.confidence,
        kind: rules.find(({ id }) => id === finding.id)?.kind,
        text: finding.text,
        advice: finding.advice,
        node: first?.node,
        value: ifFinite(first?.value),
        threshold: ifFinite(first?.threshold),
        recording: textOr(recording),
      }),
    };
  });
}

/** What every row of a job begins with. */
const keysOf = ({ job }: Report) => ({
  time: ifFinite(job.start) ?? 0,
  job: job.id,
  cluster: job.cluster ?? '',
  user: job.user,
});

const perSecond = (amount: number | undefined, seconds: number | undefined): number | undefined =>
  amount === undefined || !seconds ? undefined : amount / seconds;

const textOr = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
const times = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a * b;

/** More than all cannot be used: what a measurement exceeds it by is no negative waste. */
const unused = (hours: number | undefined, use: number | undefined): number | undefined =>
  ifFinite(hours) === undefined || use === undefined ? undefined : hours! * Math.max(0, 1 - use);

const jsonOf = (pairs: Record<string, string> | undefined): string | undefined =>
  pairs === undefined || Object.keys(pairs).length === 0 ? undefined : JSON.stringify(pairs);

const waitOf = ({ submit, start }: Report['job']): number | undefined =>
  ifFinite(submit) === undefined || ifFinite(start) === undefined ? undefined : Math.max(0, start - submit!) / 1e6;

/** Slurm's 4711_3 is of 4711, the 12[3].server of PBS of 12[].server. */
export function arrayOf(id: string): string | undefined {
  const slurm = /^(\d+)_\d+$/.exec(id);
  if (slurm !== null) return slurm[1];
  const pbs = /^(\d+)\[\d+\](.*)$/.exec(id);
  return pbs === null ? undefined : `${pbs[1]}[]${pbs[2]}`;
}

/** Recordings that were made from other programs’ files say so in the record of their agents. */
function originOf({ nodes }: Material): string {
  const [imported] = nodes.flatMap(({ agent }) => /^imported from (\S+)/.exec(agent?.end_reason ?? '')?.[1] ?? []);
  return imported?.toLowerCase() ?? 'recorded';
}

/** The job’s own bytes where they are known; else all that its nodes read and wrote. */
function storageOf(flows: readonly FlowReport[]): Pick<JobSummary, 'read_bytes' | 'written_bytes'> {
  const own = flows.filter((flow) => flow.what !== 'network' && flow.scope === 'job');
  const all = own.length > 0 ? own : flows.filter((flow) => flow.what !== 'network');
  return stated({
    read_bytes: sum(all.map((flow) => flow.in_bytes)),
    written_bytes: sum(all.map((flow) => flow.out_bytes)),
  });
}

function networkOf(flows: readonly FlowReport[]): Pick<JobSummary, 'network_in_bytes' | 'network_out_bytes'> {
  const network = flows.filter(({ what }) => what === 'network');
  return stated({
    network_in_bytes: sum(network.map((flow) => flow.in_bytes)),
    network_out_bytes: sum(network.map((flow) => flow.out_bytes)),
  });
}

/** Different ranks of the step that has most of them. */
function ranksOf({ processes: set }: Material): number | undefined {
  if (set === undefined) return undefined;
  const ranks = new Map<string, Set<string>>();
  for (let i = 0; i < set.length; i++) {
    if (set.rank[i] === '') continue;
    const step = set.step[i]!;
    if (!ranks.has(step)) ranks.set(step, new Set());
    ranks.get(step)!.add(set.rank[i]!);
  }
  return largest([...ranks.values()].map(({ size }) => size));
}

/** What its command runs; of a shell script the program whose processes used most CPU time together. */
export function programOfJob({ job, programs, processes }: Report): string | undefined {
  const named = job.command === undefined ? undefined : programOf(job.command);
  if (named !== undefined && !isShellScript(named)) return named;
  for (const { command } of [...programs.map(({ largest }) => largest), ...processes]) {
    if (command === undefined) continue;
    const program = programOf(wordsOf(command).map(unquoted));
    if (program !== undefined && !isShellScript(program)) return program;
  }
  return named;
}
