import { figure } from '../../base/readable.ts';
import { shownSizes } from '../../judge/scale/curve.ts';
import { sizeText } from '../../judge/scale/size-text.ts';
import type { Study } from '../../judge/scale/study.ts';
import { pad, textWidth } from '../terminal/text-table.ts';

/** What a chart is drawn with; the second where a terminal or file has only ASCII. */
const MARKS = {
  unicode: { run: '●', law: '─', ideal: '·', corner: '└', side: '│', base: '─', here: '▲' },
  ascii: { run: 'o', law: '-', ideal: '.', corner: '+', side: '|', base: '-', here: '^' },
};

const HEIGHT = 14;
const MOST_WIDTH = 80;

/** A locale whose letters are UTF-8, as the shell says. */
export const hasUnicode = (environment: Readonly<Record<string, string | undefined>>): boolean =>
  /utf-?8/i.test(environment.LC_ALL || environment.LC_CTYPE || environment.LANG || '');

/** Speed-up against size, both by doublings: what scales perfectly is a straight line. */
export function speedupChart(study: Study, width = MOST_WIDTH, unicode = false): string[] {
  const marks = MARKS[unicode ? 'unicode' : 'ascii'];
  const [from, to] = shownSizes(study);
  const speedups = study.sizes.map((row) => row.speedup);
  const [least, most] = [Math.min(1, ...speedups), Math.max(to / from, ...speedups)];
  const labels = doublings(least, most);
  const left = Math.max(...labels.map((value) => textWidth(figure(value)))) + 1;
  const columns = Math.max(20, Math.min(width, MOST_WIDTH) - left - 2);
  const x = (size: number): number => Math.round((Math.log(size / from) / Math.log(to / from)) * (columns - 1));
  const y = (speedup: number): number =>
    HEIGHT - 1 - Math.round((Math.log(speedup / least) / Math.log(most / least)) * (HEIGHT - 1));
  const cells = Array.from({ length: HEIGHT }, () => new Array<string>(columns).fill(' '));
  const put = (column: number, speedup: number, mark: string): void => {
    const row = cells[y(speedup)];
    if (row !== undefined && column >= 0 && column < columns) row[column] = mark;
  };
  for (let column = 0; column < columns; column++) {
    const size = from * (to / from) ** (column / (columns - 1));
    if (column % 2 === 0) put(column, size / from, marks.ideal);
    if (study.predict !== undefined) put(column, study.predict(size).value, marks.law);
  }
  for (const row of study.sizes) put(x(row.size), row.speedup, marks.run);
  const named = new Map(labels.map((value) => [y(value), figure(value)]));
  const lines = cells.map((row, k) =>
    `${pad(named.get(k) ?? '', left, 'right')} ${marks.side}${row.join('')}`.trimEnd(),
  );
  lines.push(`${' '.repeat(left + 1)}${marks.corner}${marks.base.repeat(columns)}`);
  const ticks = study.sizes.map((row) => row.size);
  lines.push(`${' '.repeat(left + 2)}${axis(ticks, x, columns)}`.trimEnd());
  const { recommended } = study;
  if (recommended !== undefined && recommended.size >= from && recommended.size <= to)
    lines.push(
      `${' '.repeat(left + 2)}${under(x(recommended.size), marks.here, sizeText(recommended.size, study.by), columns)}`.trimEnd(),
    );
  const law = study.laws.find(({ best }) => best)?.law;
  lines.push(
    `${' '.repeat(left + 2)}speed-up by ${study.by.replace('tag:', '')}: ${marks.run} runs  ${law === undefined ? '' : `${marks.law} ${law}  `}${marks.ideal} perfect`,
  );
  return lines;
}

/** Powers of two that are in the chart. */
function doublings(least: number, most: number): number[] {
  const powers: number[] = [];
  for (let power = Math.ceil(Math.log2(least) - 1e-9); 2 ** power <= most * (1 + 1e-9); power++)
    powers.push(2 ** power);
  return powers;
}

/** Sizes below their columns; those that have no room are left out. */
function axis(sizes: readonly number[], x: (size: number) => number, columns: number): string {
  let line = '';
  for (const size of sizes) {
    const text = figure(size);
    const at = Math.min(x(size), columns - text.length);
    if (line !== '' && at <= line.length) continue;
    line = pad(line, at) + text;
  }
  return line;
}

/** A mark at a column, and its text behind it, or before it where there is no room. */
function under(column: number, mark: string, text: string, columns: number): string {
  if (column + 2 + textWidth(text) <= columns) return `${' '.repeat(column)}${mark} ${text}`;
  return `${pad(text, column - 1, 'right')} ${mark}`;
}
