import { formatDuration } from '../../base/duration.ts';
import { greatest, smallest } from '../../base/extremes.ts';
import { nodeList } from '../../base/node-list.ts';
import { percent } from '../../base/readable.ts';
import { columnOf, largest, type Material, type NodeMaterial, sum } from '../../query/material.ts';
import { agentTable, loadavgTable, meminfoTable } from '../../sources/tables.ts';
import { isTooMuch } from '../../sources/too-much.ts';
import type { Grade, NodeReport, QualityReport } from '../report-schema.ts';
import { isShort, MOST_OF_JOB } from '../use/partly-recorded.ts';
import { isLate } from '../use/unrecorded-time.ts';
import { lostOf } from './lost.ts';
import { sampled } from './nodes.ts';

const GRADES: readonly [Grade, number][] = [
  ['A', 0.99],
  ['B', 0.95],
  ['C', 0.8],
];

/** Less than this part of the job's time does not speak for all of it. */
export /** Ticks of a node: rows of a table that has one row a tick, else what the agent counted; of a part, what was sampled in it. */
function ticksOf({ tables, agent }: NodeMaterial, isPart: boolean): number {
  const rows = [agentTable, loadavgTable, meminfoTable].map(({ name }) => tables.get(name)?.rows ?? 0);
  const counted = greatest(rows);
  if (counted > 0) return counted;
  if (!isPart) return agent?.ticks ?? 0;
  return largest([...tables.values()].flatMap(({ series }) => series.map(({ samples }) => samples))) ?? 0;
}

/** A tick counts for as much as could be written of it. */
function writtenShare({ nodes, range }: Material, { lost_samples: lost }: QualityReport): number {
  const samples = lost.filter(({ why }) => !isTooMuch(why));
  const missing = sum(samples.map(({ rows, waiting = 0 }) => rows + waiting)) ?? 0;
  // of a part nobody knows how much of it was lost
  if (missing === 0 || range !== undefined) return 1;
  const written = sum(nodes.flatMap(({ tables }) => [...tables.values()].map(({ rows }) => rows))) ?? 0;
  return written / (written + missing);
}

/** Not "100 %" of what is not whole. */
const wholePercent = (share: number): number => Math.floor(share * 100) / 100;

export function qualityOf(material: Material, nodes: readonly NodeReport[], wall: number): QualityReport {
  const agents = material.nodes.flatMap((n) => (n.agent === undefined ? [] : [n.agent]));
  const { range } = material;
  const ticks = (n: NodeMaterial): number => ticksOf(n, range !== undefined);
  // an agent's own count is of all the job
  const ticksNoted = (n: NodeMaterial, what: 'late_ticks' | 'missed_ticks'): number =>
    columnOf(n, agentTable.col[what])?.increase ?? (range === undefined ? n.agent?.[what] : undefined) ?? 0;
  const inside = ({ time }: { time: number }): boolean =>
    time >= (range?.from ?? Number.NEGATIVE_INFINITY) && time <= (range?.to ?? Number.POSITIVE_INFINITY);
  const late = sum(material.nodes.map((n) => ticksNoted(n, 'late_ticks'))) ?? 0;
  const missed = sum(material.nodes.map((n) => ticksNoted(n, 'missed_ticks'))) ?? 0;
  const doubts = agents.flatMap((a) => (a.doubts ?? []).map(({ where, why }) => `${where}: ${why}`));
  const quality: QualityReport = {
    grade: 'D',
    reasons: [],
    ticks: sum(material.nodes.map(ticks)) ?? 0,
    expected_ticks: 0,
    late_ticks: late,
    missed_ticks: missed,
    clock_jumps: agents.flatMap((a) => (a.clock_jumps ?? []).filter(inside).map((jump) => ({ node: a.node, ...jump }))),
    lost_samples: lostOf(material),
    damage: [...(material.damage ?? []), ...doubts],
    nodes_missing: nodes.filter((n) => n.status === 'never recorded').map((n) => n.node),
    nodes_stopped_early: nodes.filter((n) => n.status === 'stopped early').map((n) => n.node),
  };
  const away = agents.flatMap((a) => (a.away ?? []).map((gap) => ({ node: a.node, ...gap })));
  const gaps = away.filter(({ from, to }) => !(to < (range?.from ?? from) || from > (range?.to ?? to)));
  if (gaps.length > 0) quality.agents_away = gaps;
  const mute = nodes.filter((n) => n.status === 'silent').map((n) => n.node);
  if (mute.length > 0) quality.nodes_silent = mute;
  const left = quality.nodes_missing.length + quality.nodes_stopped_early.length + mute.length;
  const { interval_seconds: interval } = material.job;
  const first = smallest(nodes.map((n) => n.first_sample ?? Number.POSITIVE_INFINITY));
  const last = greatest(nodes.map((n) => n.last_sample ?? Number.NEGATIVE_INFINITY));
  const recorded = last > first ? (last - first) / 1e6 : 0;
  // of a part, also when there is nothing in it
  const unseen = range !== undefined && material.nodes.some((n) => ticks(n) === 0);
  const silent = unseen || left + quality.lost_samples.length > 0;
  // while nobody recorded, or nothing could be written, ticks were due all the same
  const window = silent && Number.isFinite(wall) ? Math.max(recorded, wall) : recorded;
  // a job shorter than its interval still has a first and a last sample
  const due = Math.max(1, Math.floor(window / interval) || 0);
  // one that is silent would have taken as many as the others, the first and the last included
  const each = silent ? Math.max(due, ...material.nodes.map(ticks)) : due;
  const { start = first, end = last } = material.job;
  // agents of other nodes that came before the job, or stayed after it, make no ticks due on this one
  const dueOn = ({ first_sample = first, last_sample = last }: NodeReport): number => {
    if (silent || range !== undefined) return each;
    const from = Math.min(first_sample, Math.max(first, start));
    const to = Math.max(last_sample, Math.min(last, end));
    return Math.max(1, Math.floor((to - from) / 1e6 / interval) || 0);
  };
  const nobody = nodes.length === 0;
  const untouched = agents.length > 0 && !agents.some(sampled);
  const recordings = new Map(material.nodes.map((n) => [n.node, n]));
  for (const node of untouched ? [] : nodes) {
    const own = recordings.get(node.node);
    // the first and the last sample lie beside the ticks: they make up neither for ticks that the agent knows it missed,
    // nor for those that none was there for, nor for those of another node
    const nobodys = sum(gaps.filter((gap) => gap.node === node.node).map((gap) => ticksIn(gap, interval, range))) ?? 0;
    const taken = own === undefined ? 0 : ticks(own) + ticksNoted(own, 'missed_ticks');
    quality.expected_ticks += Math.max(dueOn(node), taken + nobodys);
  }
  // what was sampled before or after the job is no part of its time
  const within = range === undefined ? Math.max(0, Math.min(last, end) - Math.max(first, start)) / 1e6 : recorded;
  if (wall > 0 && Number.isFinite(wall)) quality.job_share = Math.min(1, within / wall);
  // who starts a recording says when; the agent of a node should have been there all the time
  const isService = agents.some((a) => a.service === true);
  const written = writtenShare(material, quality);
  const none = nobody || (isService && last > first && quality.job_share === 0);
  const reached = untouched ? 1 : none ? 0 : Math.min(1, quality.ticks / quality.expected_ticks, written);
  quality.grade = GRADES.find(([, least]) => reached >= least)?.[0] ?? 'D';
  const unread = material.unread ?? [];
  // however long the others recorded, one that fell silent keeps it from the best grade; of a part it may have seen all
  const { troubles = [] } = material;
  const behind = isService && material.range === undefined && recorded > 0 ? (first - material.job.start) / 1e6 : 0;
  const lasting = isLate(behind, interval);
  const short = (lasting && (quality.job_share ?? 1) < MOST_OF_JOB) || isShort(quality, wall, interval);
  // each node counts, however early the agents of the others came; where they came apart, all that were late are named
  const tooLate = nodes.filter((n) => n.late_seconds! > wall * (1 - MOST_OF_JOB));
  const latecomers = tooLate.some((n) => n.late_seconds! > behind) ? tooLate : [];
  const absent = (short && isService) || latecomers.length > 0;
  const partly =
    unread.length + doubts.length + troubles.length > 0 || ((left > 0 || absent) && material.range === undefined);
  const best = unread.some((file) => file.whole) ? 'C' : partly ? 'B' : 'A';
  if (quality.grade < best) quality.grade = best;
  const { nodes_missing: missing, nodes_stopped_early: stopped } = quality;
  if (missing.length > 0) quality.reasons.push(`${nodeList(missing)} never recorded`);
  if (stopped.length > 0) quality.reasons.push(`${nodeList(stopped)} stopped early`);
  if (mute.length > 0) quality.reasons.push(`nothing comes from ${nodeList(mute)} now`);
  if (latecomers.length > 0) quality.reasons.push(lateWords(latecomers));
  if (gaps.length > 0 && reached < GRADES[0]![1]) quality.reasons.push(awayWords(gaps));
  if (missed > 0) quality.reasons.push('ticks missed');
  if (quality.lost_samples.length > 0)
    quality.reasons.push(written < 1 ? `samples lost, ${percent(wholePercent(written))} written` : 'samples lost');
  if (quality.damage.length > 0) quality.reasons.push('damaged files');
  if (quality.clock_jumps.length > 0) quality.reasons.push('clock jumped');
  const explained = quality.reasons.length > 0 || (absent && reached >= GRADES[0]![1]);
  if (!explained && quality.grade !== 'A') quality.reasons.push('gaps');
  const isWhy = latecomers.length === 0 && behind > (wall - recorded) / 2;
  const came = isWhy ? `, the agent came ${formatDuration(behind)} after its start` : '';
  if (short) quality.reasons.push(`${percent(quality.job_share)} of the job’s time recorded${came}`);
  return quality;
}

/** Whole intervals of the clock between two samples, in a part of the job if one is looked at. */
function ticksIn(gap: { from: number; to: number }, interval: number, range: Material['range']): number {
  const from = Math.max(gap.from, range?.from ?? gap.from);
  const to = Math.min(gap.to, range?.to ?? gap.to);
  return Math.max(0, Math.floor((to - 1) / (interval * 1e6)) - Math.floor(from / (interval * 1e6)));
}

function awayWords(gaps: NonNullable<QualityReport['agents_away']>): string {
  const nodes = [...new Set(gaps.map((gap) => gap.node))];
  const most = formatDuration(largest(gaps.map(({ from, to }) => (to - from) / 1e6))!);
  return `no agent on ${nodeList(nodes)} for ${gaps.length === 1 ? most : `up to ${most}`}`;
}

function lateWords(late: readonly NodeReport[]): string {
  const most = formatDuration(largest(late.map((n) => n.late_seconds))!);
  const [who, when] = late.length === 1 ? ['agent', most] : ['agents', `up to ${most}`];
  return `the ${who} of ${nodeList(late.map((n) => n.node))} came ${when} after the job’s start`;
}
