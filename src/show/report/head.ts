import { formatDuration } from '../../base/duration.ts';
import { formatMoment } from '../../base/moment.ts';
import { nodeList } from '../../base/node-list.ts';
import { commandLine } from '../../base/quote.ts';
import { count, figure, listed, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { isSchedulersId, isStepId } from '../../jobs/on-node/of-job.ts';
import type { Report, Unmeasured } from '../../judge/report-schema.ts';

/** What stands above and below the tables in every form of the report. */

export function title(report: Report): string {
  const { job } = report;
  const command = job.command && commandLine(job.command);
  // a name that was only taken from the command says less than the command
  const plain = job.name === '' || job.name === job.command?.[0]?.split('/').at(-1);
  const name = plain && command !== undefined ? command : job.name || 'job';
  // an id that Tacho made itself says nothing
  const isNamed = job.scheduler !== 'none' || isStepId(job.id) || isSchedulersId(job.id);
  const again = job.restart === undefined ? '' : ` (restart ${job.restart})`;
  if (!isNamed || job.id === '') return name;
  return name === job.id ? `${name}${again}` : `${job.id}${again} ${name}`;
}

/** "COMPLETED", "FAILED, exit code 3", "ended by SIGKILL". */
export function ending(report: Report): string {
  const { job } = report;
  const state = job.state.replaceAll('_', ' ').toUpperCase();
  if (job.signal !== undefined) return `${state}, ${job.signal}`;
  if ((job.exit_code ?? 0) !== 0) return `${state}, exit code ${job.exit_code}`;
  return state;
}

/** The same inside a sentence: "failed, SIGKILL". */
export const endingInText = (report: Report): string =>
  ending(report).replace(/^[A-Z ]+/, (state) => state.toLowerCase());

/** Who, where and when: one line each. */
export function about(report: Report): string[] {
  const { job, summary: s, confined } = report;
  const lines: string[] = [];
  const command = job.command && commandLine(job.command);
  if (command !== undefined && !title(report).endsWith(command)) lines.push(command);
  const where = [
    job.user === '' ? undefined : job.user,
    job.cluster === undefined ? undefined : `cluster ${job.cluster}`,
    job.partition === undefined ? undefined : `partition ${job.partition}`,
    job.account === undefined ? undefined : `account ${job.account}`,
    s.nodes === 1
      ? `node ${report.nodes[0]?.node}`
      : s.nodes === 0
        ? 'no nodes known'
        : `${count(s.nodes, 'node')} (${nodeList(report.nodes.map((n) => n.node))})`,
    s.cpus === undefined ? undefined : count(s.cpus, 'CPU'),
    s.gpus === undefined ? undefined : gpuWords(report),
  ];
  lines.push(where.filter((w) => w !== undefined).join(', '));
  const end = job.end === undefined ? '' : ` to ${until(job.start, job.end)}`;
  const { interval_seconds: interval } = job;
  const often = interval < 60 ? `${figure(interval)} s` : formatDuration(interval);
  const every = Number.isFinite(interval) ? `, sampled every ${often}` : '';
  lines.push(`${Number.isFinite(job.start) ? formatMoment(job.start) : 'start unknown'}${end}${every}`);
  // that a signal ended it stands in the title already
  if (job.reason !== undefined && !job.reason.startsWith('ended by ')) lines.push(`How it ended: ${job.reason}`);
  const tags = Object.entries(job.tags).map(([key, value]) => `${key}:${value}`);
  if (tags.length > 0) lines.push(`tags ${tags.join(' ')}`);
  for (const [key, text] of Object.entries(job.annotations ?? {})) lines.push(`${key}: ${text}`);
  if (job.imported !== undefined) lines.push(`imported from ${[job.imported.from, ...job.imported.notes].join('; ')}`);
  if (confined !== undefined) lines.push(`Only ${confined.what}: ${formatDuration(s.wall_seconds)} of the job.`);
  return lines;
}

function gpuWords(report: Report): string {
  const models = [...new Set(report.gpus.flatMap((g) => (g.own === false || g.model === undefined ? [] : [g.model])))];
  return models.length === 1
    ? `${count(report.summary.gpus!, 'GPU')} (${models[0]})`
    : count(report.summary.gpus!, 'GPU');
}

/** The day is said again only when it is another one. */
function until(start: number, end: number): string {
  const [from, to] = [formatMoment(start), formatMoment(end)];
  return from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to;
}

/** What recording cost and how complete it is. */
export function footer(report: Report): string[] {
  const { cost, quality } = report;
  if (quality.expected_ticks === 0 && report.nodes.length > 0)
    return ['Nothing was sampled: all figures are from records.'];
  const footerTexts: string[] = [];
  if (cost.cpu_seconds !== undefined) {
    const share =
      cost.core_share === undefined
        ? ''
        : ` (${percent(cost.core_share)} of a core${report.nodes.length > 1 ? ' on each node' : ''})`;
    footerTexts.push(`${formatDuration(cost.cpu_seconds)} CPU time${share}`);
  }
  const { max_rss_bytes: rss, max_own_bytes: own } = cost;
  // the program file of Node lies in memory once, however many run it
  const more = [
    ...(rss === undefined || own === undefined ? [] : [`${formatBytes(rss)} with shared files`]),
    ...(cost.in_memory_peak === true ? ['counted in the job’s by its cgroup'] : []),
  ];
  const moreText = more.length === 0 ? '' : ` (${more.join('; ')})`;
  if (rss !== undefined) footerTexts.push(`${formatBytes(own ?? rss)} memory at its peak${moreText}`);
  if (cost.bytes_written !== undefined) footerTexts.push(`${formatBytes(cost.bytes_written)} written`);
  const ticks =
    report.nodes.length === 0
      ? 'nothing was sampled'
      : `${figure(quality.ticks)} of ${figure(Math.max(quality.ticks, quality.expected_ticks))} samples${report.nodes.length > 1 ? ` on ${count(report.nodes.length, 'node')}` : ''}`;
  const late = quality.late_ticks > 0 ? `, ${figure(quality.late_ticks)} late` : '';
  const reasons = quality.reasons.length > 0 ? ` (${quality.reasons.join(', ')})` : '';
  const spent = footerTexts.length === 0 ? 'is not known' : footerTexts.join(', ');
  const recording = footerTexts.length === 0 && quality.ticks === 0 ? '' : `Recording cost ${spent}.`;
  return [
    ...[`${recording}${commandWords(cost)}`.trim()].filter(Boolean),
    `Quality ${quality.grade}: ${ticks}${late}${reasons}.`,
  ];
}

function commandWords({ commands = 0, commands_cpu_seconds = 0 }: Report['cost']): string {
  if (commands === 0) return '';
  const used = formatDuration(commands_cpu_seconds);
  return ` ${count(commands, 'command')} of Tacho in the job used ${used} CPU time, not counted as the job’s.`;
}

/** What was not measured: `count` of them in one line. */
export interface UnmeasuredLine {
  text: string;
  count: number;
}

/** What was not measured. Checks that could not be made for the same reason are one line; with `all`, each has its own. */
export function unmeasuredLines(report: Report, all = false): UnmeasuredLine[] {
  const checks = new Set(report.checks.filter((c) => c.outcome === 'unmeasurable').map((c) => `${c.title}: ${c.why}`));
  const isCheck = (u: Unmeasured): boolean => checks.has(`${u.what}: ${u.why}`);
  const groups = Map.groupBy(report.unmeasured, (u) => (isCheck(u) && !all ? `${u.why}; ${u.hint ?? ''}` : u));
  return [...groups.values()].map((same) => {
    const [{ nodes, why, hint }] = same as [Unmeasured];
    const where = nodes === undefined || report.nodes.length === 1 ? '' : ` (${nodeList(nodes)})`;
    const what = listed(same.map((u) => u.what));
    return { text: `${what}${where}: ${why}${hint === undefined ? '' : `; ${hint}`}`, count: same.length };
  });
}

/** Memory measured in every way, for the one node that was fullest. */
export function memoryLines({ summary: s }: Report): [string, number][] {
  const m = s.memory;
  if (m === undefined) return [];
  // sampling alone may miss the largest, which wait4 knows of
  const partly = (m.process_peaks_sum ?? 0) < (m.process_peak_max ?? 0);
  const all: [string, number | undefined][] = [
    ['cgroup peak, file cache included', m.cgroup_peak],
    ['of it programs’ own, at most', m.cgroup_anon_max],
    ['of it file cache, at most', m.cgroup_file_max],
    [partly ? 'peaks of sampled processes, added' : 'peaks of all processes added', m.process_peaks_sum],
    ['all processes, shared memory once', m.process_pss_max],
    ['largest process', m.process_peak_max],
    ['perhaps in files in memory (/dev/shm)', s.memory_shm_bytes],
    ['used on the node by everybody', m.node_used_max],
  ];
  return all.filter((line): line is [string, number] => line[1] !== undefined);
}
