import type { FigureReport, PhaseReport } from '../report-schema.ts';
import { known, type Marker, type Material, type Range } from './material.ts';

/** Pairs each end with the newest open begin of the same name; phases may nest and repeat, and begin or end beside a part. */
export function phasesOf(material: Pick<Material, 'markers' | 'job' | 'now' | 'range'>): PhaseReport[] {
  const open: Marker[] = [];
  const phases: PhaseReport[] = [];
  for (const marker of material.markers) {
    if (marker.action === 'begin') open.push(marker);
    if (marker.action !== 'end') continue;
    const at = open.findLastIndex((m) => m.name === marker.name);
    if (at < 0) continue;
    const [begin] = open.splice(at, 1);
    phases.push(phase(begin!, marker.time, true));
  }
  const end = material.job.end ?? material.now;
  for (const begin of open) phases.push(phase(begin, Math.max(end, begin.time), false));
  return phases.sort((a, b) => a.start - b.start).flatMap((found) => inPart(found, material.range));
}

/** What lies in a part of the job; none when it only touches that. */
function inPart(found: PhaseReport, range: Range | undefined): PhaseReport[] {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = range ?? {};
  const last = found.end ?? found.start + found.seconds * 1e6;
  const [start, end] = [Math.max(found.start, from), Math.min(last, to)];
  if (start === found.start && end === last) return [found];
  if (!(start < end)) return [];
  const cut: PhaseReport = { ...found, start, seconds: (end - start) / 1e6, whole_seconds: found.seconds };
  if (start > found.start) cut.began = found.start;
  if (found.end !== undefined) cut.end = end;
  return [cut];
}

function phase(begin: Marker, end: number, ended: boolean): PhaseReport {
  const seconds = (end - begin.time) / 1e6;
  const found: PhaseReport = { name: begin.name, start: begin.time, seconds };
  if (ended) found.end = end;
  return found;
}

export function figuresOf({ markers, range }: Pick<Material, 'markers' | 'range'>): FigureReport[] {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = range ?? {};
  return markers
    .filter((m) => m.action === 'fom' && m.time >= from && m.time <= to)
    .map((m) => {
      const number = m.value === undefined || m.value.trim() === '' ? undefined : known(Number(m.value));
      return { name: m.name, time: m.time, value: number ?? m.value ?? '' };
    });
}
