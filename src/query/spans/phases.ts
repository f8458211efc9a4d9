import type { Job } from '../../recording/folder/job.ts';
import { type Marker, pairPhases } from '../../recording/read/markers.ts';
import type { Span } from './span.ts';

/** The phases that a job has marked, by their start; one that was never ended lasts until the job ends, or until now. */
export function phaseSpans({ end }: Pick<Job, 'end'>, markers: readonly Marker[], now: number): Span[] {
  return pairPhases(markers).map(({ begin, end: ended }): Span => {
    const span = { kind: 'phase', name: begin.name, node: begin.node, from: begin.time, tags: {} } as const;
    if (ended !== undefined) return { ...span, to: ended.time };
    return { ...span, to: Math.max(end ?? now, begin.time), open: true };
  });
}
