import { formatDuration } from '../../base/duration.ts';
import { formatMoment } from '../../base/moment.ts';
import { WEEKDAYS } from '../../history/ask/calendar.ts';
import type { UsageAnswer, UsageRow } from '../../history/ask/usage.ts';
import { paint } from '../terminal/paint.ts';
import { ascii, type TextColumn, textTable } from '../terminal/text-table.ts';
import { shareText, thousands } from './jobs-text.ts';

const USUAL = 30;
const LONGEST_BAR = 30;

export interface UsageTextOptions {
  width?: number;
  limit?: number;
  stream: { readonly isTTY?: boolean | undefined };
}

export function valueText(value: number | undefined, unit: string): string {
  if (value === undefined) return '-';
  if (unit === 'share') return shareText(value);
  if (unit === 'seconds') return formatDuration(value);
  return thousands(value);
}

/** The answer as a table with bars, or of hour × weekday as a map of heat. */
export function usageText(usage: UsageAnswer, options: UsageTextOptions): string {
  const { from, to, zone, metric, unit, total } = usage;
  const period = `${formatMoment(from).slice(0, 16)} to ${formatMoment(to).slice(0, 16)}`;
  const all =
    total.value === undefined
      ? 'nothing was measured'
      : `${valueText(total.value, unit)}${unit === 'share' || unit === 'seconds' ? ' on average' : ` ${unit}`}`;
  const accounted =
    total.accounted === undefined ? '' : ` (${total.accounted.toLocaleString('en-US')} known from accounting only)`;
  const jobs = `${total.jobs.toLocaleString('en-US')} ${total.jobs === 1 ? 'job' : 'jobs'}`;
  const sum = metric === 'jobs' ? jobs : `${all}, ${jobs}`;
  const head = `${metric} by ${usage.by.replace('-', ' × ')}, ${period} (hours of ${zone}): ${sum}${accounted}\n\n`;
  const body = usage.by === 'hour-weekday' ? heatMap(usage, options) : bars(usage, options);
  const text = `${head}${body}`;
  return options.stream.isTTY ? text : ascii(text);
}

function bars(usage: UsageAnswer, { width, limit = USUAL, stream }: UsageTextOptions): string {
  const { unit, total, by } = usage;
  const rows = usage.rows.length > limit && (by === 'day' || by === 'month') ? withoutEdges(usage.rows) : usage.rows;
  const most = largestOf(rows);
  const shown = limit === 0 ? rows : rows.slice(0, limit);
  const isSum = unit !== 'share' && unit !== 'seconds';
  const block = stream.isTTY ? '█' : '#';
  const bar = (value: number | undefined): string =>
    value === undefined || most === 0 ? '' : block.repeat(Math.round((value / most) * LONGEST_BAR));
  const columns: TextColumn[] = [
    { head: by, shrinks: true },
    { head: isSum ? unit : usage.metric, align: 'right' },
    { head: 'part', align: 'right', spare: 1 },
    { head: 'jobs', align: 'right', spare: 2 },
    { head: '', spare: 3 },
  ];
  const cells = shown.map(({ group, value, jobs }) => [
    group === '' ? '(none)' : group,
    valueText(value, unit),
    isSum && value !== undefined && total.value ? shareText(value / total.value) : '-',
    jobs === undefined || unit === 'jobs' ? '-' : jobs.toLocaleString('en-US'),
    bar(value),
  ]);
  const rest = rows.length - shown.length;
  const more = rest > 0 ? `and ${rest.toLocaleString('en-US')} more; --limit 0 shows all\n` : '';
  return `${textTable(columns, cells, width).join('\n')}\n${more}`;
}

/** Days or months from the first to the last with a value: a long period may begin years before the first job. */
function withoutEdges(rows: readonly UsageRow[]): readonly UsageRow[] {
  const has = ({ value }: UsageRow): boolean => value !== undefined && value !== 0;
  const first = rows.findIndex(has);
  return first < 0 ? rows : rows.slice(first, rows.findLastIndex(has) + 1);
}

export const largestOf = (rows: readonly UsageRow[]): number =>
  rows.reduce((most, { value = 0 }) => Math.max(most, value), 0);

/** From nothing to most. */
const SHADES = [' ', '░', '▒', '▓', '█'];
const PLAIN_SHADES = ['.', ':', '+', '*', '#'];
/** Colours of 256: from dark blue to yellow. */
const HEAT = [17, 18, 54, 90, 126, 162, 198, 203, 208, 214, 220, 226];

/** The cell of an hour of a weekday. */
export function heatCells({ rows }: UsageAnswer): (UsageRow | undefined)[][] {
  const cells = new Map(rows.map((row) => [row.group, row]));
  return WEEKDAYS.map((day) =>
    Array.from({ length: 24 }, (_, hour) => cells.get(`${day} ${String(hour).padStart(2, '0')}`)),
  );
}

/** How warm a cell is: its value, of sums for an hour that the period has of it. */
export function warmth(row: UsageRow | undefined, unit: string): number | undefined {
  if (row?.value === undefined) return undefined;
  return unit === 'share' || unit === 'seconds' ? row.value : row.value / (row.hours || 1);
}

function heatMap(usage: UsageAnswer, { stream }: UsageTextOptions): string {
  const { unit } = usage;
  const cells = heatCells(usage);
  const warm = cells.map((day) => day.map((cell) => warmth(cell, unit)));
  const most = warm.flat().reduce<number>((high, value) => Math.max(high, value ?? 0), 0);
  const isColoured = paint(stream).red('x') !== 'x';
  const shades = stream.isTTY ? SHADES : PLAIN_SHADES;
  const cell = (value: number | undefined): string => {
    if (value === undefined) return '   ';
    const level = most === 0 ? 0 : value / most;
    if (isColoured) return `\x1b[48;5;${HEAT[Math.round(level * (HEAT.length - 1))]}m   \x1b[0m`;
    return shades[value === 0 ? 0 : Math.max(1, Math.round(level * (shades.length - 1)))]!.repeat(3);
  };
  const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0').padStart(3)).join('');
  const lines = warm.map((day, i) => `${WEEKDAYS[i]!.slice(0, 3)} ${day.map(cell).join('')}`);
  const scale = isColoured
    ? HEAT.map((colour) => `\x1b[48;5;${colour}m  \x1b[0m`).join('')
    : shades.map((shade) => shade.repeat(2)).join('');
  const isSum = unit !== 'share' && unit !== 'seconds';
  const top = `${valueText(most, unit)}${isSum ? ` ${unit} in an hour` : ''}`;
  return `    ${hours}\n${lines.join('\n')}\n\n    0 ${scale} ${top}; blank: nothing measured\n`;
}
