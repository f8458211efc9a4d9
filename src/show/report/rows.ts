import { formatDuration } from '../../base/duration.ts';
import { greatest, smallest } from '../../base/extremes.ts';
import { allDigits } from '../../base/figure.ts';
import { count, energy, figure, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { stated } from '../../base/stated.ts';
import { isIdle } from '../../judge/facts/stragglers.ts';
import type {
  FigureReport,
  FlowReport,
  GpuReport,
  NodeReport,
  PhaseReport,
  ProcessReport,
  ProgramReport,
  Report,
} from '../../judge/report-schema.ts';
import { largest } from '../../query/material.ts';
import { right, type TextColumn } from '../terminal/text-table.ts';

/** The tables of the report, the same in every form. */
export interface Rows {
  columns: TextColumn[];
  rows: string[][];
}

const GIB = 2 ** 30;

const whole = (share: number | undefined): string => (share === undefined ? '-' : (share * 100).toFixed(0));
const gib = (bytes: number | undefined): string => (bytes === undefined ? '-' : (bytes / GIB).toFixed(1));
const mib = (bytes: number | undefined): string => (bytes === undefined ? '-' : (bytes / 2 ** 20).toFixed(1));
const round = (value: number | undefined): string => (value === undefined ? '-' : value.toFixed(0));
const bytes = (value: number | undefined): string => (value === undefined ? '-' : formatBytes(value));
const rate = (value: number | undefined): string => (value === undefined ? '-' : `${formatBytes(value)}/s`);

/** What is the matter with a card, in two words. */
export function gpuMark(gpu: GpuReport): string {
  if (gpu.lost !== undefined) return 'lost';
  if ((gpu.uncorrected_errors ?? 0) > 0) return 'memory errors';
  if (gpu.own === false) return 'not the job’s';
  if (isIdle(gpu)) return 'never used';
  if ((gpu.throttled_thermal ?? 0) > 0.05) return 'too hot';
  if (gpu.straggler !== undefined) return `${gpu.straggler[0]!.split(' ')[0]} differs`;
  return '';
}

export function gpuRows(gpus: readonly GpuReport[]): Rows {
  return {
    columns: [
      { head: 'node', most: 24, shrinks: true },
      { head: 'GPU', most: 9 },
      right('busy %'),
      { head: 'p95', align: 'right', spare: 2 },
      right('GiB'),
      { head: 'of', align: 'right', spare: 4 },
      right('W'),
      { head: 'max', align: 'right', spare: 3 },
      right('°C'),
      { head: 'energy', align: 'right', spare: 1 },
      { head: '', mark: true },
    ],
    rows: gpus.map((g) => [
      g.node,
      g.gpu,
      whole(g.utilization_mean),
      whole(g.utilization_p95),
      gib(g.memory_max_bytes),
      gib(g.memory_total_bytes),
      round(g.power_mean_watts),
      round(g.power_max_watts),
      round(g.temperature_max_celsius),
      energy(g.energy_joules),
      gpuMark(g),
    ]),
  };
}

export function nodeMark(node: NodeReport): string {
  if (node.status === 'never recorded') return 'not recorded';
  if (node.status === 'stopped early' || node.status === 'silent') return node.status;
  if ((node.oom_kills ?? 0) > 0) return 'out of memory';
  if (node.straggler !== undefined) return `${node.straggler[0]!.split(' ')[0]} differs`;
  if (node.idle_gpus !== undefined) return `${count(node.idle_gpus, 'GPU')} never used`;
  if (node.unlike_gpus !== undefined)
    return node.unlike_gpus === 1 ? 'one GPU differs' : `${node.unlike_gpus} GPUs differ`;
  return node.status === 'recording' ? 'recording' : '';
}

export function nodeRows(nodes: readonly NodeReport[]): Rows {
  const most = greatest(nodes.map((n) => largest([n.memory_peak_bytes, n.memory_limit_bytes]) ?? 0));
  // in a unit in which small jobs are more than nothing
  const [unit, memory] = most > 0 && most < GIB ? (['MiB', mib] as const) : (['GiB', gib] as const);
  return {
    columns: [
      { head: 'node', most: 24, shrinks: true },
      right('CPU %'),
      { head: 'max', align: 'right', spare: 3 },
      right(unit),
      { head: 'of', align: 'right', spare: 4 },
      { head: 'load', align: 'right', spare: 2 },
      { head: 'I/O wait %', align: 'right', spare: 5 },
      right('GPU %'),
      { head: 'energy', align: 'right', spare: 1 },
      { head: '', mark: true },
    ],
    rows: nodes.map((n) => [
      n.node,
      whole(n.cpu_utilization),
      whole(n.cpu_utilization_max),
      memory(n.memory_peak_bytes),
      memory(n.memory_limit_bytes),
      n.load_mean === undefined ? '-' : n.load_mean.toFixed(1),
      whole(n.iowait),
      whole(n.gpu_utilization),
      energy(n.energy_joules),
      nodeMark(n),
    ]),
  };
}

export function flowRows({ flows, work }: Report): Rows {
  const own: FlowReport[] = [
    {
      what: 'job, by calls',
      scope: 'job',
      ...stated({ in_bytes: work?.read_calls_bytes, out_bytes: work?.written_calls_bytes }),
    },
  ];
  // the cgroup's own count is better
  if (!flows.some(({ scope }) => scope === 'job'))
    own.push({
      what: 'job, disks',
      scope: 'job',
      ...stated({ in_bytes: work?.read_disk_bytes, out_bytes: work?.written_disk_bytes }),
    });
  return {
    columns: [
      { head: 'what' },
      right('in'),
      right('out'),
      right('peak in'),
      right('peak out'),
      { head: 'where', most: 22 },
    ],
    rows: [...own, ...flows]
      .filter((f) => (f.in_bytes ?? 0) + (f.out_bytes ?? 0) > 0)
      .map((f) => [
        f.scope === 'job' ? f.what : `${f.what} (node${f.virtual ? ', virtual' : ''})`,
        bytes(f.in_bytes),
        bytes(f.out_bytes),
        rate(f.in_peak),
        rate(f.out_peak),
        (f.in_peak ?? 0) >= (f.out_peak ?? 0) ? (f.in_peak_at ?? '') : (f.out_peak_at ?? ''),
      ]),
  };
}

/** How many calls moved these bytes; what is not in the sums. */
export function flowNote({ work }: Report): string | undefined {
  if (work?.read_calls === undefined || work.write_calls === undefined) return undefined;
  const { processes_missing: missing = 0 } = work;
  const rest = missing === 0 ? '' : `; without ${count(missing, 'process', 'processes')}`;
  return `${count(work.read_calls, 'call')} read, ${figure(work.write_calls)} wrote${rest}`;
}

/** Programs by CPU time, and the one with the largest process. A program that ran once is shown with its arguments. */
export function programRows(report: Report, most: number): Rows {
  const { programs } = report;
  const several = report.nodes.length > 1;
  const shown = programs.toSorted((a, b) => (b.cpu_seconds ?? -1) - (a.cpu_seconds ?? -1)).slice(0, most);
  const largest = programs.reduce<ProgramReport | undefined>(
    (a, b) => ((b.rss_max_bytes ?? -1) > (a?.rss_max_bytes ?? -1) ? b : a),
    undefined,
  );
  if (largest !== undefined && !shown.includes(largest)) shown.splice(most - 1, 1, largest);
  return {
    columns: [
      { head: 'program', most: 40, shrinks: true, command: true },
      { head: '', align: 'right' },
      right('CPU time'),
      right('of job'),
      right('memory'),
      { head: 'threads', align: 'right', spare: 1 },
      { head: 'pid', align: 'right', spare: 2 },
      { head: 'node', most: 16, spare: 3 },
      { head: '', mark: true },
    ],
    rows: shown.map((p) => [
      p.processes === 1 ? (p.largest.command ?? p.program) : p.program,
      p.processes === 1 ? '' : `× ${figure(p.processes)}`,
      p.cpu_seconds === undefined ? '-' : formatDuration(p.cpu_seconds),
      p.cpu_share === undefined ? '-' : percent(p.cpu_share),
      bytes(p.rss_max_bytes),
      figure(p.threads_max),
      p.processes === 1 ? p.largest.pid : '',
      several ? (p.nodes === 1 ? p.largest.node : `${figure(p.nodes)} nodes`) : '',
      p.failed === undefined ? '' : `${figure(p.failed)} failed`,
    ]),
  };
}

/** How many processes there were, and what is not known of them; undefined when there is nothing to add to the table. */
export function processNote(report: Report): string | undefined {
  const { records: r, summary: s, programs } = report;
  const total = s.processes ?? 0;
  const shown = programs.reduce((sum, { processes }) => sum + processes, 0);
  const noteTexts: string[] = [];
  if (total > 1 && (total > shown || programs.length > 1))
    noteTexts.push(`${count(total, 'process', 'processes')} total`);
  if (r !== undefined && r.failed > 0 && total > 1) noteTexts.push(`${figure(r.failed)} failed`);
  if (r !== undefined && r.by_parent > 0)
    noteTexts.push(`${figure(r.by_parent)} reported by ${r.by_parent === 1 ? 'its parent' : 'their parents'} only`);
  if (r !== undefined && r.starts > 0) noteTexts.push(`${figure(r.starts)} killed or still running`);
  // what was only sampled stands in the table with the CPU time that sampling saw
  const lost = (r?.unexplained ?? 0) * (s.cpu_seconds ?? 0) - (r?.sampled_cpu_seconds ?? 0);
  const share = lost / (s.cpu_seconds ?? 0);
  if (lost >= WORTH_SECONDS && share >= WORTH_SAYING)
    noteTexts.push(`${percent(share)} of the CPU time is that of processes that were not recorded`);
  return noteTexts.length === 0 ? undefined : noteTexts.join(', ');
}

/** From here on CPU time of processes that were not recorded is worth a line on the card. */
const WORTH_SAYING = 0.05;

/** How it ended, when that was not well. */
function processMark(p: ProcessReport): string {
  if (p.signal !== undefined) return `signal ${p.signal}`;
  if ((p.exit_code ?? 0) !== 0) return `exit ${p.exit_code}`;
  return p.source === 'start' ? 'no end' : p.source === 'sample' ? 'sampled' : '';
}

export function processRows(report: Report, most: number): Rows {
  const several = report.nodes.length > 1;
  return {
    columns: [
      { head: 'command', most: 40, shrinks: true, command: true },
      right('CPU time'),
      right('CPUs'),
      right('memory'),
      { head: 'threads', align: 'right', spare: 1 },
      { head: 'rank', align: 'right', spare: 2 },
      right('pid'),
      { head: 'node', most: 16 },
      { head: '', mark: true },
    ],
    rows: report.processes
      .slice(0, most)
      .map((p: ProcessReport) => [
        p.command ?? '-',
        p.cpu_seconds === undefined ? '-' : formatDuration(p.cpu_seconds),
        p.cpus_busy === undefined ? '-' : p.cpus_busy.toFixed(1),
        bytes(p.rss_max_bytes),
        figure(p.threads_max),
        p.rank === undefined ? '' : String(p.rank),
        p.pid,
        several ? p.node : '',
        processMark(p),
      ]),
  };
}

/** What was recorded of the job's processes, and what was not; undefined when they were not to record themselves. */
export function recordsText({ job, records: r, summary, quality }: Report): string | undefined {
  if (r === undefined) return undefined;
  const recordTexts: string[] = [];
  const own = r.records - r.by_parent;
  if (own > 0)
    recordTexts.push(`${count(own, 'process', 'processes')} recorded to the end, with ${count(r.threads, 'thread')}`);
  if (r.by_parent > 0)
    recordTexts.push(
      `${count(r.by_parent, 'process', 'processes')} reported by ${r.by_parent === 1 ? 'its parent' : 'their parents'} (killed, or not able to record ${r.by_parent === 1 ? 'itself' : 'themselves'})`,
    );
  if (r.failed > 0) recordTexts.push(`${figure(r.failed)} failed`);
  // they may have told of it, and nobody could write it down
  const isEndLost = quality.lost_samples.some(({ table }) => table === 'process_end');
  if (r.starts > 0)
    recordTexts.push(
      `${count(r.starts, 'process', 'processes')} ${isEndLost ? 'whose end was not recorded' : 'killed or still running'}`,
    );
  if (r.samples > 0) recordTexts.push(`${count(r.samples, 'process', 'processes')} only sampled`);
  if (r.sampled_cpu_seconds >= WORTH_SECONDS)
    recordTexts.push(
      `sampling saw ${formatDuration(r.sampled_cpu_seconds)} of ${r.starts + r.samples === 1 ? 'its' : 'their'} CPU time`,
    );
  const lost = (r.unexplained ?? 0) * (summary.cpu_seconds ?? 0);
  if (r.unexplained === undefined) return recordTexts.join(', ') || undefined;
  const reason =
    r.records + r.starts === 0
      ? 'no process recorded itself (eval "$(tacho env)" in the script has them do so)'
      : `it was used by processes that ${job.state === 'running' ? 'still run, ' : ''}were killed or cannot record themselves, or by others to end`;
  const why = lost < WORTH_SECONDS || r.unexplained < WORTH_SHARE ? '' : `: ${reason}`;
  // a large part of next to nothing is next to nothing
  const some =
    lost > 0 && lost < WORTH_SECONDS ? `${formatDuration(lost)} (${percent(r.unexplained)})` : percent(r.unexplained);
  const whole = `of the job’s CPU time (${summary.cpu_source})`;
  // one that told of its start alone, and that nobody waited for, wait4 has not counted
  const all =
    r.starts > 0 && summary.cpu_source === 'wait4'
      ? 'records explain all that wait4 counted; what nobody waited for is not in it'
      : `records explain all ${whole}`;
  // a process uses a little to end, after it has told what it used
  const isAll = lost <= CLOCK_TICK && (r.unexplained < WORTH_SHARE || r.records > 0);
  const rest = r.unexplained < WORTH_SHARE ? '' : ` but ${formatDuration(lost)}`;
  const share = isAll ? `${all}${rest}` : `no record explains ${some} ${whole}${why}`;
  return recordTexts.length === 0 ? share : `${recordTexts.join(', ')}; ${share}`;
}

/** What the kernel's clock cannot tell; the end of a process, which it cannot record itself, takes less. In seconds. */
const CLOCK_TICK = 0.01;

/** From here on CPU time that no process told of is worth a word about why. */
const WORTH_SECONDS = 1;
const WORTH_SHARE = 0.1;

export function operationRows({ operations = [] }: Report, most: number): Rows {
  return {
    columns: [
      { head: 'operation', most: 40, shrinks: true },
      right('processes'),
      right('CPU time'),
      right('share'),
      right('time'),
      right('of job'),
      right('runs'),
    ],
    rows: operations
      .slice(0, most)
      .map((o) => [
        o.name,
        figure(o.processes),
        formatDuration(o.cpu_seconds),
        percent(o.cpu_share),
        formatDuration(o.seconds),
        percent(o.time_share),
        figure(o.runs),
      ]),
  };
}

/** Phases one by one, or by name when there are many. */
export function phaseRows(phases: readonly PhaseReport[], start: number, most: number): Rows {
  if (phases.length <= most) {
    return {
      columns: [
        { head: 'phase', most: 36, shrinks: true },
        right('start'),
        right('duration'),
        right('CPU %'),
        right('GPU %'),
        { head: '' },
      ],
      rows: phases.map((p) => [
        p.name,
        `+${formatDuration(Math.max(0, (p.began ?? p.start) - start) / 1e6)}`,
        formatDuration(p.seconds),
        about([p]) + whole(p.cpu_utilization),
        whole(p.gpu_utilization),
        [
          p.whole_seconds === undefined ? [] : `of ${formatDuration(p.whole_seconds)} total`,
          p.end === undefined ? 'never ended' : [],
        ]
          .flat()
          .join(', '),
      ]),
    };
  }
  const groups = Map.groupBy(phases, (p) => p.name.replace(/[\s_#:-]*\d+$/, ''));
  const folded = groups.size < phases.length ? groups : Map.groupBy(phases, (p) => p.name);
  return {
    columns: [
      { head: 'phase', most: 36, shrinks: true },
      right('times'),
      right('total'),
      right('mean'),
      right('longest'),
      right('CPU %'),
      right('GPU %'),
      { head: 'longest was', most: 16, spare: 1 },
    ],
    rows: [...folded].map(([name, group]) => {
      const total = group.reduce((a, p) => a + p.seconds, 0);
      const longest = group.reduce((a, b) => (b.seconds > a.seconds ? b : a));
      return [
        name,
        figure(group.length),
        formatDuration(total),
        formatDuration(total / group.length),
        formatDuration(longest.seconds),
        about(group) + whole(meanOf(group, 'cpu_utilization')),
        whole(meanOf(group, 'gpu_utilization')),
        longest.name === name ? '' : longest.name,
      ];
    }),
  };
}

/** Sampling alone does not see what a process uses last. */
const about = (phases: readonly PhaseReport[]): string =>
  phases.some(({ cpu_source }) => cpu_source === 'processes') ? 'about ' : '';

/** Mean of the phases, each weighing as much as it lasted. */
function meanOf(phases: readonly PhaseReport[], what: 'cpu_utilization' | 'gpu_utilization'): number | undefined {
  const measuredPhases = phases.filter((p) => p[what] !== undefined);
  const seconds = measuredPhases.reduce((total, p) => total + p.seconds, 0);
  return seconds > 0 ? measuredPhases.reduce((total, p) => total + p[what]! * p.seconds, 0) / seconds : undefined;
}

/** Figures of merit by name: the last value, and how it moved. */
export function figureRows(figures: readonly FigureReport[]): Rows {
  const groups = Map.groupBy(figures, (f) => f.name);
  return {
    columns: [{ head: 'figure', most: 36 }, right('last'), right('lowest'), right('highest'), right('times')],
    rows: [...groups].map(([name, group]) => {
      const numbers = group.map((f) => f.value).filter((v) => typeof v === 'number');
      const last = group.at(-1)!.value;
      const several = numbers.length > 1;
      return [
        name,
        typeof last === 'number' ? allDigits(last) : last,
        several ? allDigits(smallest(numbers)) : '',
        several ? allDigits(greatest(numbers)) : '',
        group.length > 1 ? figure(group.length) : '',
      ];
    }),
  };
}
