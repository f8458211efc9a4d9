import type { PhaseReport, Report } from '../report-schema.ts';

/** What the phases of one name did in a job. */
export interface PhaseUse {
  /** How often it was entered. */
  times: number;
  /** Microseconds, all of them added up. */
  duration: number;
}

/** Phases of one name (`tacho mark`), in every job. */
export interface PhaseRow {
  name: string;
  /** undefined where it did not occur. */
  jobs: (PhaseUse | undefined)[];
  /** Against the first job, in the job where that is largest: microseconds that it took more (or less). */
  difference: number;
}

/** Differences that are this close are equal, and stand in the order of the phases: a store keeps times less exactly than files. */
const CLOSE_US = 10_000;

/** The phases of all jobs, the largest difference first. */
export function phaseRows(reports: readonly Report[]): PhaseRow[] {
  const all = reports.map(({ phases }) => usesOf(phases));
  const names = new Set(all.flatMap((uses) => [...uses.keys()]));
  const rows = [...names].map((name): PhaseRow => {
    const jobs = all.map((uses) => uses.get(name));
    const away = jobs.map((use) => (use?.duration ?? 0) - (jobs[0]?.duration ?? 0));
    return { name, jobs, difference: away.reduce((most, each) => (Math.abs(each) > Math.abs(most) ? each : most), 0) };
  });
  const rank = ({ difference }: PhaseRow): number => Math.round(Math.abs(difference) / CLOSE_US);
  return rows.sort((a, b) => rank(b) - rank(a));
}

function usesOf(phases: readonly PhaseReport[]): Map<string, PhaseUse> {
  const uses = new Map<string, PhaseUse>();
  for (const { name, seconds } of phases) {
    const { times, duration } = uses.get(name) ?? { times: 0, duration: 0 };
    uses.set(name, { times: times + 1, duration: duration + Math.round(seconds * 1e6) });
  }
  return uses;
}
