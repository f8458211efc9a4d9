import { formatDuration } from '../../base/duration.ts';
import { greatest } from '../../base/extremes.ts';
import { textWidth } from '../../base/text-width.ts';
import { blockLine, type Ends, inSteps, type NamedSpan, repeatedLine, spanLines } from '../../charts/blocks.ts';
import { sinceStart, withUnit } from '../../charts/value-text.ts';
import type { CurvesReport, Report } from '../../judge/report-schema.ts';
import { printable } from '../terminal/text-table.ts';

export type CurveLine = CurvesReport['lines'][number];

/** Characters of a curve: with its name and its figure they make 80 columns. */
const CURVE_WIDTH = 48;
const MOST_PHASE_LINES = 3;
/** Number of characters of a name that tell phases apart. */
const LETTERS = 4;

/** The greatest value of a curve as it is drawn, which is what its scale ends with. */
const mostOf = ({ values }: CurveLine): number =>
  greatest(inSteps(values, Math.min(CURVE_WIDTH, values.length)).map((value) => value ?? 0));

export const nameOf = ({ what, scope }: CurveLine): string =>
  scope === 'node' && what !== 'GPU' ? `${what}, node` : what;

/** "max 3.9 CPUs". */
export const maximumText = (line: CurveLine): string => `max ${withUnit(mostOf(line), line.unit)}`;

/** "Over time, 1 min 12 s a character". */
export function curveTitle({ step, lines }: CurvesReport): string {
  const points = lines[0]?.values.length ?? 0;
  return `Over time, ${formatDuration((step * points) / CURVE_WIDTH / 1e6)} a character`;
}

/** What a line of text shows of a curve. */
export interface CurveText {
  name: string;
  line: string;
  most: string;
}

export function curveTexts({ lines }: CurvesReport, isUnicode: boolean): CurveText[] {
  return lines.map((line) => ({
    name: nameOf(line),
    line: blockLine(line.values, CURVE_WIDTH, mostOf(line), isUnicode),
    most: maximumText(line),
  }));
}

/** Phases whose names fit into their time share lines; others have one with their name beside it, the longest first. */
function phaseTexts(report: Report, ends: Ends): { name: string; line: string }[] {
  const { from, to, width } = ends;
  const spans = report.phases
    .filter(({ start, end = to }) => start < to && end > from)
    .map(({ name, start, end = to }) => ({ name: narrow(printable(name)), from: start, to: end }));
  const lengthOf = (of: readonly NamedSpan[]): number => of.reduce((sum, span) => sum + span.to - span.from, 0);
  const roomOf = (span: NamedSpan): number => Math.floor((lengthOf([span]) / (to - from)) * width) - 1;
  const isNamed = (all: readonly NamedSpan[]): boolean =>
    all.length === 1 && roomOf(all[0]!) >= Math.min(LETTERS, all[0]!.name.length);
  const groups = [...Map.groupBy(spans, ({ name }) => name.replace(/[\s_#:-]*\d+$/, ''))];
  const shared = spanLines(
    groups.filter(([, all]) => isNamed(all)).flatMap(([, all]) => all),
    ends,
    MOST_PHASE_LINES,
  ).map((line, i) => ({ name: i === 0 ? 'phases' : '', line }));
  const own = groups
    .filter(([, all]) => !isNamed(all))
    .sort(([, a], [, b]) => lengthOf(b) - lengthOf(a))
    .map(([name, all]) => ({ name, line: repeatedLine(all, ends) }));
  return [...shared, ...own].slice(0, MOST_PHASE_LINES);
}

/** The phases below the curves, then from when to when these go. */
export function curveFeet(
  report: Report,
  isUnicode: boolean,
): { phases: { name: string; line: string }[]; times: string } {
  const { from, step, lines } = report.curves!;
  const to = from + step * (lines[0]?.values.length ?? 0);
  const [begin, end] = curveEnds(report.curves!, report.job.start);
  return {
    phases: phaseTexts(report, { from, to, width: CURVE_WIDTH, isUnicode }),
    times: `${begin}${end.padStart(CURVE_WIDTH - begin.length)}`,
  };
}

/** From when to when curves go, since the start of the job. */
export const curveEnds = ({ from, step, lines }: CurvesReport, start: number): [begin: string, end: string] => [
  sinceStart(from - start),
  sinceStart(from + step * (lines[0]?.values.length ?? 0) - start),
];

/** Letters that take two columns, or none, would move what stands behind them. */
const narrow = (text: string): string => [...text].map((letter) => (textWidth(letter) === 1 ? letter : '?')).join('');
