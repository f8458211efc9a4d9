import { known, type Marker, type Material } from './material.ts';

/** A stretch of the job between `mark begin` and `mark end`. Times are epoch microseconds. */
export interface PhaseReport {
  name: string;
  node?: string;
  start: number;
  /** Not there when the phase was never ended; it is then taken to last until the job's end. */
  end?: number;
  seconds: number;
  /** Means while it lasted, when they were read (`--phases`). */
  cpu_utilization?: number;
  gpu_utilization?: number;
  power_watts?: number;
}

/** A figure of merit. */
export interface FigureReport {
  name: string;
  /** Epoch microseconds. */
  time: number;
  value: number | string;
}

/** Pairs each end with the newest open begin of the same name; phases may nest and repeat. */
export function phasesOf(material: Pick<Material, 'markers' | 'job' | 'now'>): PhaseReport[] {
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
  return phases.sort((a, b) => a.start - b.start);
}

function phase(begin: Marker, end: number, ended: boolean): PhaseReport {
  const seconds = (end - begin.time) / 1e6;
  const found: PhaseReport = { name: begin.name, start: begin.time, seconds };
  if (ended) found.end = end;
  return found;
}

export function figuresOf(material: Pick<Material, 'markers'>): FigureReport[] {
  return material.markers
    .filter((m) => m.action === 'fom')
    .map((m) => {
      const number = m.value === undefined || m.value.trim() === '' ? undefined : known(Number(m.value));
      return { name: m.name, time: m.time, value: number ?? m.value ?? '' };
    });
}
