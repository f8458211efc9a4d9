import type { ChartData } from '../../../src/charts/chart-data.ts';
import { entriesOf, type LegendEntry } from '../../../src/charts/legend.ts';
import { type ChartTheme, heatColours, heatScale } from '../../../src/charts/option.ts';
import { withUnit } from '../value-text.ts';
import type { Drawn } from './load.ts';

const RATIO = 2;
const FONT = 'Helvetica, Arial, sans-serif';
const [EDGE, TITLE, ROW, SWATCH, APART, CELL] = [8, 26, 16, 16, 14, 12];

/** A chart that is on the page as a picture of its own: with its title and what its colours mean, as its SVG has. */
export function namedPng(chart: Drawn, data: ChartData, theme: ChartTheme): string {
  const drawn = chart.renderToCanvas({ pixelRatio: RATIO, backgroundColor: theme.background });
  const canvas = document.createElement('canvas');
  const pen = canvas.getContext('2d')!;
  const width = drawn.width / RATIO;
  pen.font = `11px ${FONT}`;
  const names = placed(entriesOf(data, theme), width, (text) => pen.measureText(text).width);
  const above = TITLE + ROW * (1 + Math.max(-1, ...names.map(({ row }) => row)));
  // a new size forgets the font
  canvas.width = drawn.width;
  canvas.height = drawn.height + above * RATIO;
  pen.fillStyle = theme.background;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(drawn, 0, above * RATIO);
  pen.scale(RATIO, RATIO);
  pen.textBaseline = 'middle';
  pen.font = `bold 14px ${FONT}`;
  pen.fillStyle = theme.text;
  pen.fillText(data.title, EDGE, TITLE / 2);
  pen.font = `11px ${FONT}`;
  for (const { name, colour, isDashed, row, x } of names) {
    const y = TITLE + (row + 0.5) * ROW;
    pen.strokeStyle = colour;
    pen.lineWidth = 3;
    pen.setLineDash(isDashed === true ? [4, 3] : []);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + SWATCH - 4, y);
    pen.stroke();
    pen.fillStyle = theme.faint;
    pen.fillText(name, x + SWATCH, y);
  }
  if (data.as === 'heat') drawScale(pen, data, theme, width);
  return canvas.toDataURL('image/png');
}

/** Names beside their colours, in as many rows as they need. */
function placed(
  entries: readonly LegendEntry[],
  width: number,
  widthOf: (text: string) => number,
): (LegendEntry & { row: number; x: number })[] {
  let [row, x] = [0, EDGE];
  return entries.map((entry) => {
    const wide = SWATCH + widthOf(entry.name) + APART;
    if (x > EDGE && x + wide > width) [row, x] = [row + 1, EDGE];
    x += wide;
    return { ...entry, row, x: x - wide };
  });
}

/** The colours of a heat map from its least to its greatest value, in the upper right corner. */
function drawScale(pen: CanvasRenderingContext2D, data: ChartData, theme: ChartTheme, width: number): void {
  const [least, most] = heatScale(data).map((value) => withUnit(value, data.unit)) as [string, string];
  const colours = heatColours(theme);
  const right = width - EDGE - pen.measureText(most).width - 5;
  const left = right - colours.length * CELL;
  for (const [i, colour] of colours.entries()) {
    pen.fillStyle = colour;
    pen.fillRect(left + i * CELL, TITLE / 2 - 5, CELL, 10);
  }
  pen.fillStyle = theme.faint;
  pen.fillText(most, right + 5, TITLE / 2);
  pen.textAlign = 'right';
  pen.fillText(least, left - 5, TITLE / 2);
}
