import { holds, intersect, lengthOf } from '../../base/intervals.ts';
import { phaseSpans } from '../../query/spans/phases.ts';
import { intervalsOf, type Selection } from '../../query/spans/select.ts';
import type { Span } from '../../query/spans/span.ts';
import type { FigureReport, PhaseReport } from '../report-schema.ts';
import { known, type Material } from './material.ts';

/** The phases of the job, or what lies of them in the part that is looked at; none when one only touches that. */
export function phasesOf({
  markers,
  job,
  now,
  range,
}: Pick<Material, 'markers' | 'job' | 'now' | 'range'>): PhaseReport[] {
  return phaseSpans(job, markers, now).flatMap((span) => inPart(span, range));
}

function inPart({ name, from, to, open }: Span, range: Selection | undefined): PhaseReport[] {
  const whole = (to - from) / 1e6;
  const ended = (end: number) => (open ? {} : { end });
  const inside = intersect(intervalsOf(range), [[from, to]]);
  if (inside.length === 0) return [];
  const [start, end] = [inside[0]![0], inside.at(-1)![1]];
  const seconds = lengthOf(inside) / 1e6;
  if (seconds === whole) return [{ name, start, ...ended(end), seconds }];
  if (seconds === 0) return [];
  const began = start > from ? { began: from } : {};
  return [{ name, start, ...ended(end), seconds, whole_seconds: whole, ...began }];
}

export function figuresOf({ markers, range }: Pick<Material, 'markers' | 'range'>): FigureReport[] {
  const intervals = intervalsOf(range);
  return markers
    .filter((m) => m.action === 'fom' && holds(intervals, m.time))
    .map((m) => {
      const number = m.value === undefined || m.value.trim() === '' ? undefined : known(Number(m.value));
      return { name: m.name, time: m.time, value: number ?? m.value ?? '' };
    });
}
