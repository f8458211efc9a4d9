import { moment } from './value-text.ts';

/** Periods that history and nodes are looked at in; all of them end with the last that is known. */
export const PERIODS = [
  ['1', 'day', 86_400e6],
  ['7', '7 days', 7 * 86_400e6],
  ['30', '30 days', 30 * 86_400e6],
  ['365', 'year', 365 * 86_400e6],
  ['all', 'all time', Number.POSITIVE_INFINITY],
] as const;

interface Timed {
  from: number;
  /** Not there: it runs. */
  to?: number | undefined;
}

export interface Period {
  /** Of PERIODS. */
  id: string;
  from: number;
  to: number;
}

/**
 * From when to when is shown, in whole hours of this place: up to now while something runs, else to the last end. Where
 * nobody has chosen, it is a week, or as much more as it takes to have half of the jobs in it.
 */
export function periodOf(name: string | null, jobs: readonly Timed[], now: number): Period {
  const hour = 3600e6;
  const last = jobs.reduce((latest, { from, to }) => Math.max(latest, to ?? Math.max(now, from)), 0) || now;
  const first = jobs.reduce((earliest, { from }) => Math.min(earliest, from), last);
  const to = Math.ceil(last / hour) * hour;
  const isUsual = (length: number): boolean =>
    2 * jobs.filter((job) => (job.to ?? now) >= to - length).length >= jobs.length;
  const [id, , length] =
    PERIODS.find(([each]) => each === name) ?? PERIODS.slice(1).find((each) => isUsual(each[2])) ?? PERIODS.at(-1)!;
  const from = Math.floor(Math.max(first, to - length) / hour) * hour;
  return { id, from: Math.min(from, to - hour), to };
}

/** What a period is called: the last one only where it ends now. */
export const periodName = (name: string, end: number, now: number): string =>
  name.startsWith('all') ? name : now - end < 86_400e6 ? `last ${name}` : `${name} until ${moment(end).slice(0, 10)}`;

/** Whole hours, days or weeks, so that a period has not more steps than this. */
export function stepOf({ from, to }: { from: number; to: number }, most: number): number {
  const hours = [1 / 12, 1 / 4, 1, 2, 3, 6, 12, 24, 48, 168, 336, 720, 2160];
  return (hours.find((each) => (to - from) / (each * 3600e6) <= most) ?? hours.at(-1)!) * 3600e6;
}
