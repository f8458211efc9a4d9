import { blockLine } from '../charts/blocks.ts';
import type { Drawing } from '../charts/draw.ts';
import { seriesName } from '../charts/option.ts';
import type { Bar, Box } from '../charts/plot/option.ts';
import { sinceStart, withUnit } from '../charts/value-text.ts';
import { cut, pad, printable } from './terminal/text-table.ts';

/** Charts as characters. */
export interface TextPage {
  width: number;
  isUnicode: boolean;
  /** When the job began. */
  start: number;
}

const NAME = 18;
const FIGURE = 16;
const HEIGHT = 10;
/** From little to much. */
const SHADES = { unicode: ['·', '░', '▒', '▓', '█'], plain: ['.', '-', '+', '*', '#'] };

const ends = (from: number, to: number, width: number, { start }: TextPage): string => {
  // the first step may begin a little before the job
  const [begin, end] = [sinceStart(Math.max(0, from - start)), sinceStart(to - start)];
  return begin.length + end.length < width ? `${begin}${end.padStart(width - begin.length)}` : `${begin} to ${end}`;
};

const finiteOf = (values: Iterable<number>): number[] => [...values].filter((value) => !Number.isNaN(value));
const orNull = (values: Float64Array): (number | null)[] => Array.from(values, (v) => (Number.isNaN(v) ? null : v));

/** A line for each series, all of one scale. */
export function linesText(drawing: Drawing, page: TextPage): string {
  const width = page.width - NAME - FIGURE - 2;
  const most = Math.max(0, ...drawing.series.flatMap(({ max }) => finiteOf(max)));
  const rows = drawing.series.map((one) => {
    const peak = withUnit(Math.max(...finiteOf(one.max)), drawing.chart.unit);
    return `${pad(cut(printable(seriesName(one)), NAME - 1), NAME)}${blockLine(orNull(one.mean), width, most, page.isUnicode)}  max ${peak}`;
  });
  const to = drawing.from + drawing.step * drawing.steps;
  const title = `${drawing.chart.title}, 0 to ${withUnit(most, drawing.chart.unit)}`;
  return `${[title, ...rows, `${' '.repeat(NAME)}${ends(drawing.from, to, width, page)}`].join('\n')}\n`;
}

/** A row for each series, each cell as dark as its mean is of the greatest. */
export function heatText(drawing: Drawing, page: TextPage): string {
  const width = page.width - NAME;
  const shades = page.isUnicode ? SHADES.unicode : SHADES.plain;
  const most = Math.max(0, ...drawing.series.flatMap(({ mean }) => finiteOf(mean)));
  const rows = drawing.series.map((one) => {
    const cells = Array.from({ length: width }, (_, i) => {
      const [from, to] = [(i * drawing.steps) / width, ((i + 1) * drawing.steps) / width];
      const values = finiteOf(one.mean.slice(Math.floor(from), Math.max(Math.floor(from) + 1, Math.floor(to))));
      if (values.length === 0) return ' ';
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      return shades[most > 0 ? Math.round((Math.max(0, mean) / most) * (shades.length - 1)) : 0]!;
    });
    return `${pad(cut(printable(seriesName(one)), NAME - 1), NAME)}${cells.join('')}`;
  });
  const to = drawing.from + drawing.step * drawing.steps;
  const title = `${drawing.chart.title}, ${shades[0]} 0 to ${shades.at(-1)} ${withUnit(most, drawing.chart.unit)}`;
  return `${[title, ...rows, `${' '.repeat(NAME)}${ends(drawing.from, to, width, page)}`].join('\n')}\n`;
}

/** Samples in each box: so many more than `records` that the page has room for all of them, as none may be left out. */
export const recordsThatFit = ({ steps }: Pick<Drawing, 'steps'>, records: number, { width }: TextPage): number =>
  records * Math.max(1, Math.ceil(steps / records / (width - NAME)));

/** Boxes upright: the line from least to greatest, the box of the middle half, its median. */
export function boxesText(title: string, unit: string, boxes: readonly Box[], page: TextPage): string {
  const most = Math.max(0, ...boxes.map(({ values }) => values[4])) || 1;
  const [whisker, box, median] = page.isUnicode ? ['│', '█', '━'] : ['|', '#', '='];
  const rowOf = (value: number): number => Math.min(HEIGHT - 1, Math.floor((value / most) * HEIGHT));
  const rows = Array.from({ length: HEIGHT }, (_, i) => {
    const row = HEIGHT - 1 - i;
    const cells = boxes.map(({ values: [least, low, middle, high, top] }) => {
      if (row === rowOf(middle)) return median;
      if (row >= rowOf(low) && row <= rowOf(high)) return box;
      return row >= rowOf(least) && row <= rowOf(top) ? whisker : ' ';
    });
    const label = i === 0 ? withUnit(most, unit) : i === HEIGHT - 1 ? '0' : '';
    return `${pad(label, NAME - 1, 'right')} ${cells.join('')}`.trimEnd();
  });
  const legend = `${whisker} least to greatest, ${box} middle half, ${median} median`;
  const axis = `${' '.repeat(NAME)}${ends(boxes[0]!.from, boxes.at(-1)!.to, boxes.length, page)}`;
  return `${[title, legend, ...rows, axis].join('\n')}\n`;
}

export function barsText(title: string, unit: string, bars: readonly Bar[], page: TextPage): string {
  const width = page.width - NAME - FIGURE;
  const most = Math.max(0, ...bars.map(({ mean }) => mean)) || 1;
  const rows = bars.map(({ name, mean }) => {
    const bar = (page.isUnicode ? '█' : '#').repeat(Math.round((mean / most) * width));
    return `${pad(cut(printable(name), NAME - 1), NAME)}${pad(bar, width)}  ${withUnit(mean, unit)}`;
  });
  return `${[title, ...rows].join('\n')}\n`;
}
