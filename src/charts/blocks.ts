/** Curves of characters, for terminals and texts. Nothing of Node is used here. */

const EIGHTHS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const PLAIN = ['_', '.', ',', '-', '=', '+', '*', '#'];

type Values = readonly (number | null)[];

/** Values in `width` steps of the same time: the mean of what is known in each; null: nothing is. */
export function inSteps(values: Values, width: number): (number | null)[] {
  const each = values.length / width;
  return Array.from({ length: width }, (_, i) => {
    const [from, to] = [i * each, (i + 1) * each];
    let [sum, measured] = [0, 0];
    for (let at = Math.floor(from); at < Math.min(values.length, Math.ceil(to - 1e-9)); at++) {
      const value = values[at];
      const share = Math.min(to, at + 1) - Math.max(from, at);
      if (value === null || value === undefined || !(share > 0)) continue;
      sum += value * share;
      measured += share;
    }
    return measured > 0 ? sum / measured : null;
  });
}

/** One line: a character for each step, as high as its value is of `most`. Steps without a value are blank. */
export function blockLine(values: Values, width: number, most: number, isUnicode: boolean): string {
  const levels = isUnicode ? EIGHTHS : PLAIN;
  return inSteps(values, width)
    .map((value) => (value === null ? ' ' : levels[levelOf(value, most, levels.length)]!))
    .join('');
}

/** Only what is nothing, or next to it, has the lowest level. */
function levelOf(value: number, most: number, levels: number): number {
  if (!(most > 0) || !(value > 0)) return 0;
  return Math.min(levels - 1, Math.max(value > most / 100 ? 1 : 0, Math.round((value / most) * (levels - 1))));
}

/** A span of time with a name, in the unit of the line's ends. */
export interface NamedSpan {
  name: string;
  from: number;
  to: number;
}

/** Spans below a line: a bar where each begins, then as much of its name as fits. Those that overlap stand in further lines. */
export function spanLines(spans: readonly NamedSpan[], ends: Ends, mostLines: number): string[] {
  const lines: string[][] = [];
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const [first, last] = placesOf(span, ends);
    const isFree = (line: readonly string[]): boolean => line.slice(first, last).every((each) => each === ' ');
    let line = lines.find(isFree);
    if (line === undefined && lines.length < mostLines) {
      line = new Array<string>(ends.width).fill(' ');
      lines.push(line);
    }
    // one that has no room is in the table of phases
    if (line !== undefined) put(line, first, last, span.name, ends.isUnicode);
  }
  return lines.map((line) => line.join('').trimEnd());
}

/** Spans of one name in one line: a bar where each begins. */
export function repeatedLine(spans: readonly NamedSpan[], ends: Ends): string {
  const line = new Array<string>(ends.width).fill(' ');
  for (const span of spans) {
    const [first, last] = placesOf(span, ends);
    put(line, first, last, '', ends.isUnicode);
  }
  return line.join('').trimEnd();
}

/** From when to when a line goes, and how. */
export interface Ends {
  from: number;
  to: number;
  width: number;
  isUnicode: boolean;
}

function placesOf(span: NamedSpan, { from, to, width }: Ends): [first: number, last: number] {
  const at = (time: number): number => ((time - from) / (to - from)) * width;
  const first = Math.max(0, Math.min(width - 1, Math.floor(at(span.from) + 1e-9)));
  return [first, Math.max(first + 1, Math.min(width, Math.round(at(span.to))))];
}

function put(line: string[], first: number, last: number, name: string, isUnicode: boolean): void {
  const letters = [...name].slice(0, last - first - 1);
  line[first] = isUnicode ? '▏' : '|';
  for (let i = first + 1; i < last; i++) line[i] = letters[i - first - 1] ?? (isUnicode ? '─' : '-');
}
