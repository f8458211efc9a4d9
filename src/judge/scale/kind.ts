import { figure } from '../../base/readable.ts';
import type { ScaleRun } from './run.ts';

export type StudyKind = 'strong' | 'weak';

export interface KindVerdict {
  kind: StudyKind;
  /** user: somebody said so. work: the work of the runs tells. cpu time: guessed by what they used. */
  kind_source: 'user' | 'work' | 'cpu time' | 'time';
  kind_why: string;
}

/** How something grows with the size: 0 not at all, 1 in proportion (the slope of a line through the logarithms). */
function growth(runs: readonly ScaleRun[], of: (run: ScaleRun) => number | undefined): number | undefined {
  const points = runs.flatMap((run) => {
    const value = of(run);
    return value === undefined || !(value > 0) ? [] : [[Math.log(run.size), Math.log(value)] as const];
  });
  const mean = (all: readonly number[]): number => all.reduce((sum, each) => sum + each, 0) / all.length;
  const [x, y] = [mean(points.map(([size]) => size)), mean(points.map(([, value]) => value))];
  const spread = points.reduce((sum, [size]) => sum + (size - x) ** 2, 0);
  if (!(spread > 0)) return undefined;
  return points.reduce((sum, [size, value]) => sum + (size - x) * (value - y), 0) / spread;
}

/** In the middle between work that stays the same and work that grows with the size. */
const HALF = 0.5;
/** Growth by less is none. */
const FLAT = 0.05;
/** Time that falls faster than this with the size: the same work was shared out. */
const FALLS = -0.25;

/** Strong: the same work on more. Weak: more work on more. */
export function kindOf(runs: readonly ScaleRun[], stated?: StudyKind): KindVerdict {
  if (stated !== undefined) return { kind: stated, kind_source: 'user', kind_why: 'stated with --kind' };
  const work = runs.every((run) => run.work !== undefined) ? growth(runs, (run) => run.work) : undefined;
  if (work !== undefined) {
    const kind = work > HALF ? 'weak' : 'strong';
    const why = kind === 'weak' ? 'the work grew with the size' : 'the work did not grow with the size';
    return { kind, kind_source: 'work', kind_why: why };
  }
  const cpu = runs.every((run) => run.cpu_seconds !== undefined) ? growth(runs, (run) => run.cpu_seconds) : undefined;
  const time = growth(runs, (run) => run.wall_seconds) ?? 0;
  if (cpu === undefined) {
    const kind = time < FALLS ? 'strong' : 'weak';
    const why = kind === 'strong' ? 'the time fell with the size' : 'the time did not fall with the size';
    return { kind, kind_source: 'time', kind_why: `${why}, and the CPU time is not known` };
  }
  const grew =
    cpu < FLAT
      ? 'CPU time did not grow with the size'
      : `CPU time grew with the size to the power ${figure(Number(cpu.toFixed(2)))}`;
  if (cpu <= HALF) return { kind: 'strong', kind_source: 'cpu time', kind_why: `${grew}: the same work at every size` };
  if (time < FALLS)
    return {
      kind: 'strong',
      kind_source: 'cpu time',
      kind_why: `the time fell with the size, though ${grew}: much of it may be active waiting`,
    };
  return {
    kind: 'weak',
    kind_source: 'cpu time',
    kind_why: `${grew} and the time did not fall: more work on more; if its threads only waited actively, say --kind strong`,
  };
}
