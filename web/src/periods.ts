/** Periods that history and nodes are looked at in; all of them end with the last that is known. */
export const PERIODS = [
  ['1', 'last day', 86_400e6],
  ['7', 'last 7 days', 7 * 86_400e6],
  ['30', 'last 30 days', 30 * 86_400e6],
  ['365', 'last year', 365 * 86_400e6],
  ['all', 'all of the time', Number.POSITIVE_INFINITY],
] as const;

interface Timed {
  from: number;
  /** Not there: it runs. */
  to?: number | undefined;
}

/** From when to when is shown, in whole hours of this place: up to now while something runs, else to the last end. */
export function periodOf(name: string | null, jobs: readonly Timed[], now: number): { from: number; to: number } {
  const hour = 3600e6;
  const last = jobs.reduce((latest, { from, to }) => Math.max(latest, to ?? Math.max(now, from)), 0) || now;
  const first = jobs.reduce((earliest, { from }) => Math.min(earliest, from), last);
  const [, , length] = PERIODS.find(([id]) => id === name) ?? PERIODS[1];
  const to = Math.ceil(last / hour) * hour;
  const from = Math.floor(Math.max(first, to - length) / hour) * hour;
  return { from: Math.min(from, to - hour), to };
}

/** Whole hours, days or weeks, so that a period has not more steps than this. */
export function stepOf({ from, to }: { from: number; to: number }, most: number): number {
  const hours = [1 / 12, 1 / 4, 1, 2, 3, 6, 12, 24, 48, 168, 336, 720, 2160];
  return (hours.find((each) => (to - from) / (each * 3600e6) <= most) ?? hours.at(-1)!) * 3600e6;
}
