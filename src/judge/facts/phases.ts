import { holds, type Intervals, intersect, lengthOf } from '../../base/intervals.ts';
import { ifFinite, type Material } from '../../query/material.ts';
import { phaseSpans } from '../../query/spans/phases.ts';
import { intervalsOf } from '../../query/spans/select.ts';
import type { FigureReport, PhaseReport } from '../report-schema.ts';

type Phases = Pick<Material, 'markers' | 'job' | 'now' | 'range'>;

/** A phase, and when it lasted in the part of the job that is looked at. */
interface PhasePart {
  phase: PhaseReport;
  intervals: Intervals;
}

/** The phases of the job, or what lies of them in the part that is looked at; none when one only touches that. */
export function phasePartsOf({ markers, job, now, range }: Phases): PhasePart[] {
  const looked = intervalsOf(range);
  return phaseSpans(job, markers, now).flatMap(({ name, from, to, open }): PhasePart[] => {
    const intervals = intersect(looked, [[from, to]]);
    if (intervals.length === 0) return [];
    const [start, end] = [intervals[0]![0], intervals.at(-1)![1]];
    const [seconds, whole] = [lengthOf(intervals) / 1e6, (to - from) / 1e6];
    const phase: PhaseReport = { name, start, ...(open ? {} : { end }), seconds };
    if (seconds === whole) return [{ phase, intervals }];
    if (seconds === 0) return [];
    const began = start > from ? { began: from } : {};
    return [{ phase: { ...phase, whole_seconds: whole, ...began }, intervals }];
  });
}

export function figuresOf({ markers, range }: Pick<Material, 'markers' | 'range'>): FigureReport[] {
  const intervals = intervalsOf(range);
  return markers
    .filter((m) => m.action === 'fom' && holds(intervals, m.time))
    .map((m) => {
      const number = m.value === undefined || m.value.trim() === '' ? undefined : ifFinite(Number(m.value));
      return { name: m.name, time: m.time, value: number ?? m.value ?? '' };
    });
}
