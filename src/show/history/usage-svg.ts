import { asMarkup } from '../../base/markup.ts';
import { formatMoment } from '../../base/moment.ts';
import { WEEKDAYS } from '../../history/ask/calendar.ts';
import type { UsageAnswer } from '../../history/ask/usage.ts';
import { heatCells, largestOf, valueText, warmth } from './usage-text.ts';

const FONT = 'font-family="sans-serif" font-size="12"';
const BAR_HEIGHT = 20;
const BAR_ROOM = 420;
const NAME_ROOM = 180;
const CELL = 26;
const MOST_BARS = 100;

const text = (x: number, y: number, label: string, more = ''): string =>
  `<text x="${x}" y="${y}" ${more}>${asMarkup(label)}</text>`;

/** The answer as a picture: bars, or a map of heat. */
export function usageSvg(usage: UsageAnswer): string {
  return usage.by === 'hour-weekday' ? heatSvg(usage) : barSvg(usage);
}

function page(usage: UsageAnswer, width: number, height: number, body: readonly string[]): string {
  const { metric, by, unit, from, to, zone } = usage;
  const title = `${metric} by ${by.replace('-', ' × ')} (${unit}), ${formatMoment(from).slice(0, 10)} to ${formatMoment(to).slice(0, 10)}, ${zone}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ${FONT}>
<title>${asMarkup(title)}</title>
<rect width="100%" height="100%" fill="#fff"/>
${[text(10, 20, title, 'font-weight="bold"'), ...body].join('\n')}
</svg>
`;
}

function barSvg(usage: UsageAnswer): string {
  const rows = usage.rows.slice(0, MOST_BARS);
  const most = largestOf(rows);
  const body = rows.flatMap(({ group, value }, i) => {
    const y = 36 + i * BAR_HEIGHT;
    const length = value === undefined || most === 0 ? 0 : (value / most) * BAR_ROOM;
    return [
      text(NAME_ROOM - 6, y + 13, group === '' ? '(none)' : group, 'text-anchor="end"'),
      `<rect x="${NAME_ROOM}" y="${y + 2}" width="${length.toFixed(1)}" height="${BAR_HEIGHT - 5}" fill="#2a6f97"/>`,
      text(NAME_ROOM + length + 6, y + 13, valueText(value, usage.unit)),
    ];
  });
  return page(usage, NAME_ROOM + BAR_ROOM + 120, 50 + rows.length * BAR_HEIGHT, body);
}

function heatSvg(usage: UsageAnswer): string {
  const cells = heatCells(usage);
  const most = cells.flat().reduce((high, cell) => Math.max(high, warmth(cell, usage.unit) ?? 0), 0);
  const body: string[] = [];
  for (let hour = 0; hour < 24; hour++)
    body.push(text(50 + hour * CELL + CELL / 2, 46, String(hour), 'text-anchor="middle"'));
  cells.forEach((day, d) => {
    const y = 52 + d * CELL;
    body.push(text(44, y + 17, WEEKDAYS[d]!.slice(0, 3), 'text-anchor="end"'));
    day.forEach((cell, hour) => {
      const warm = warmth(cell, usage.unit);
      const tooltip = `${WEEKDAYS[d]} ${hour}:00: ${valueText(cell?.value, usage.unit)} ${usage.unit}`;
      body.push(
        `<rect x="${50 + hour * CELL}" y="${y}" width="${CELL - 1}" height="${CELL - 1}" fill="${colour(warm, most)}"><title>${asMarkup(tooltip)}</title></rect>`,
      );
    });
  });
  return page(usage, 50 + 24 * CELL + 20, 52 + 7 * CELL + 16, body);
}

/** From pale to dark; what was not measured is grey. */
function colour(value: number | undefined, most: number): string {
  if (value === undefined) return '#ddd';
  const level = most === 0 ? 0 : value / most;
  const mix = (from: number, to: number): number => Math.round(from + (to - from) * level);
  return `rgb(${mix(255, 128)},${mix(247, 0)},${mix(236, 38)})`;
}
