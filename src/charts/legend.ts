import { asMarkup } from '../base/markup.ts';
import type { ChartData } from './chart-data.ts';
import {
  type ChartTheme,
  colourOf,
  FIRST_FOCUSED,
  hasRangeBehind,
  heatColours,
  isDashed,
  seriesName,
} from './option.ts';

/** What the colours of a file mean: it has no page around it that says so. */

export interface LegendEntry {
  name: string;
  colour: string;
  isDashed?: boolean;
}

/** What the lines of a chart are; a heat map has a scale instead. */
export function entriesOf(data: ChartData, theme: ChartTheme): LegendEntry[] {
  if (data.as === 'heat') return [];
  const isBand = data.as === 'band';
  const band = { name: `minimum, mean and maximum of ${data.count}`, colour: colourOf(theme, 0) };
  const first = data.focus === undefined ? 0 : FIRST_FOCUSED;
  const lines = (data.focus ?? (isBand ? [] : data.series)).map((one, i) => ({
    name: seriesName(one),
    colour: colourOf(theme, i + first),
    isDashed: isDashed(i + first),
  }));
  const behind = hasRangeBehind(data) ? [{ name: 'shaded: single samples', colour: theme.faint }] : [];
  return isBand ? [band, ...lines] : [...lines, ...behind];
}

const SIZE = 10;
/** Letters are about so wide; those of a name that is longer are cut off. */
const LETTER = 5.6;
const LONGEST = 60;
const SWATCH = 16;
const APART = 14;
const ROW = 14;
const MOST_ROWS = 3;
const LEFT = 8;

export interface Legend {
  svg: string;
  height: number;
}

const label = (text: string, x: number, y: number, fill: string, anchor = 'start'): string =>
  `<text x="${x.toFixed(1)}" y="${y}" font-size="${SIZE}px" font-family="Helvetica, Arial, sans-serif" text-anchor="${anchor}" fill="${fill}">${asMarkup(text)}</text>`;

/** Names beside their colours, in rows from `top` on; where there is no room for all, how many are not named. */
export function legendOf(entries: readonly LegendEntry[], theme: ChartTheme, top: number, width: number): Legend {
  const entryShapes: string[] = [];
  let [x, row] = [LEFT, 0];
  for (const [i, { name, colour, isDashed }] of entries.entries()) {
    const text = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
    const wide = SWATCH + text.length * LETTER + APART;
    const isLast = row === MOST_ROWS - 1 && i < entries.length - 1;
    if (x + wide > width - LEFT - (isLast ? 90 : 0)) {
      if (row === MOST_ROWS - 1) {
        entryShapes.push(label(`and ${entries.length - i} more`, x, top + row * ROW + SIZE, theme.faint));
        break;
      }
      row++;
      x = LEFT;
    }
    const y = top + row * ROW + SIZE;
    const dash = isDashed === true ? ' stroke-dasharray="4 3"' : '';
    entryShapes.push(
      `<path d="M${x.toFixed(1)} ${y - 3.5}L${(x + SWATCH - 4).toFixed(1)} ${y - 3.5}" stroke="${colour}" stroke-width="3" fill="none"${dash}></path>`,
      label(text, x + SWATCH, y, theme.faint),
    );
    x += wide;
  }
  return { svg: entryShapes.join(''), height: entries.length === 0 ? 0 : (row + 1) * ROW };
}

const CELL = 12;

/** The colours of a heat map from its least to its greatest value, in the upper right corner. */
export function heatLegendOf(least: string, most: string, theme: ChartTheme, width: number): Legend {
  const right = width - LEFT - most.length * LETTER - 6;
  const colours = heatColours(theme);
  const left = right - colours.length * CELL;
  const cells = colours.map(
    (colour, i) =>
      `<rect x="${(left + i * CELL).toFixed(1)}" y="7" width="${CELL}" height="${SIZE}" fill="${colour}"></rect>`,
  );
  const texts = [label(least, left - 5, 15.5, theme.faint, 'end'), label(most, right + 5, 15.5, theme.faint)];
  return { svg: [...cells, ...texts].join(''), height: 0 };
}

/** A picture with its legend. */
export const withLegend = (picture: string, { svg }: Legend): string =>
  picture.replace(/<\/svg>\s*$/, () => `${svg}</svg>`);
