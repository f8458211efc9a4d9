import { smallest } from '../../base/extremes.ts';
import { count, figure } from '../../base/figure.ts';
import { formatMoment } from '../../base/moment.ts';
import type { Trouble } from '../live/append.ts';
import type { AgentRecord } from './agent-record.ts';

/** Samples of a table that could not be written. */
export interface LostSamples {
  table: string;
  /** Given up for good. */
  rows: number;
  why: string;
  /** The first that was refused, in epoch microseconds. */
  since?: number;
  /** Still in memory, in case there is room again. */
  waiting?: number;
}

/** What the writers of some tables have had to keep or give up. */
export function lostSamples(writers: ReadonlyMap<string, { trouble: Trouble | undefined }>): LostSamples[] {
  return [...writers].flatMap(([table, { trouble }]) => {
    if (trouble === undefined) return [];
    const { why, since, lostRows: rows, keptRows: waiting } = trouble;
    return [{ table, rows, why, since, ...(waiting > 0 ? { waiting } : {}) }];
  });
}

/** Losses for one reason. */
export interface Loss {
  why: string;
  samples: number;
  /** "since 2026-11-16 02:57:20 UTC"; '' when nobody knows. */
  since: string;
  /** "44 of meminfo, 43 of vmstat". */
  tables: string;
}

export function lossesOf(lost: readonly LostSamples[]): Loss[] {
  const reasons = Map.groupBy(
    lost.filter((each) => missing(each) > 0),
    ({ why }) => why,
  );
  return [...reasons].map(([why, all]) => {
    const since = smallest(all.map((each) => each.since ?? Number.POSITIVE_INFINITY));
    return {
      why,
      samples: all.reduce((total, each) => total + missing(each), 0),
      since: Number.isFinite(since) ? `since ${formatMoment(since)}` : '',
      tables: all.map((each) => `${figure(missing(each))} of ${each.table}`).join(', '),
    };
  });
}

/** "493 samples could not be written since 2026-11-16 02:57:20 UTC: no space left on the device (44 of meminfo, …)". */
export function lostSamplesText(lost: readonly LostSamples[]): string[] {
  return lossesOf(lost).map(({ why, samples, since, tables }) => {
    const what = `${count(samples, 'sample')} could not be written`;
    return `${since === '' ? what : `${what} ${since}`}: ${why} (${tables})`;
  });
}

const missing = ({ rows, waiting = 0 }: LostSamples): number => rows + waiting;

/** Of an agent that no longer runs, what waited is lost too. */
export function allLost(lost: readonly LostSamples[]): LostSamples[] {
  return lost.map(({ waiting = 0, ...each }) => ({ ...each, rows: each.rows + waiting }));
}

/** What an agent that was killed had given up; what waited in its memory went with it, but events are still where they came from. */
export function lostWith({ tables, lost_samples = [] }: Pick<AgentRecord, 'tables' | 'lost_samples'>): LostSamples[] {
  const comesAgain = new Set(tables.flatMap(({ name, events }) => (events === true ? name : [])));
  const gone = lost_samples.map(({ waiting, ...each }) =>
    waiting === undefined || comesAgain.has(each.table) ? each : { ...each, rows: each.rows + waiting },
  );
  return gone.filter(({ rows }) => rows > 0);
}
