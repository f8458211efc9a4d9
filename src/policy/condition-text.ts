import { formatDuration } from '../base/duration.ts';
import { count, energy, figure, listed, percent } from '../base/readable.ts';
import { formatBytes } from '../base/size.ts';
import type { Case } from './evaluate.ts';
import { numberFigure } from './figures.ts';
import type { Policy } from './policy.ts';

/** A figure of a job in its unit, as people read it. */
export function conditionFigure(name: string, value: number | string): string {
  if (typeof value === 'string') return value;
  switch (numberFigure(name)?.unit) {
    case 'share':
      return percent(value);
    case 'seconds':
      return formatDuration(value);
    case 'bytes':
      return formatBytes(value);
    case 'byte_hours':
      return `${figure(value / 2 ** 30)} GiB-hours`;
    case 'joules':
      return energy(value);
    default:
      return hours(value);
  }
}

const hours = (value: number): string =>
  Math.abs(value) < 10 ? figure(value) : Math.round(value).toLocaleString('en-US');

interface Cost {
  readonly core_hours?: number;
  readonly core_hours_wasted?: number;
  readonly gpu_hours?: number;
  readonly gpu_hours_wasted?: number;
}

/** What jobs cost: '320 core-hours, of which 300 were not used'. */
export function costText(totals: Cost): string {
  const costTexts = [
    spent(totals.core_hours, totals.core_hours_wasted, 'core-hours'),
    spent(totals.gpu_hours, totals.gpu_hours_wasted, 'GPU-hours'),
  ].filter((namedCost) => namedCost !== undefined);
  return costTexts.length === 0 ? 'what they cost was not measured' : listed(costTexts);
}

function spent(held: number | undefined, wasted: number | undefined, unit: string): string | undefined {
  if (held === undefined || held === 0) return undefined;
  return wasted === undefined ? `${hours(held)} ${unit}` : `${hours(held)} ${unit} (${hours(wasted)} not used)`;
}

export { hours as policyHours };

/** What a policy asks, in a line. */
export function conditionsText({ when, total, unless, per, window_seconds: window, jobs }: Policy): string {
  const texts = (all: Policy['when'], between: string): string => all.map(({ text }) => text).join(between);
  const which = jobs === 'running' ? 'running jobs' : jobs === 'all' ? 'running and ended jobs' : 'jobs';
  return [
    `${which}${when.length === 0 ? '' : ` with ${texts(when, ' and ')}`}`,
    ...(per === 'user' ? [`per user in ${shortDuration(window)}: ${texts(total, ' and ')}`] : []),
    ...(unless.length === 0 ? [] : [`unless ${texts(unless, ' or ')}`]),
  ].join('; ');
}

/** '7 d', '1 h': durations that people have chosen are round. */
export function shortDuration(seconds: number): string {
  for (const [unit, length] of [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
  ] as const)
    if (seconds >= length && seconds % length === 0) return `${seconds / length} ${unit}`;
  return formatDuration(seconds);
}

export const usersAndJobs = (cases: readonly Case[]): string =>
  `${count(cases.length, 'user')}, ${count(
    cases.reduce((sum, { jobs }) => sum + jobs.length, 0),
    'job',
  )}`;
