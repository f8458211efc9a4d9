import { parseDuration } from './duration.ts';
import { usage } from './fault.ts';

const pad = (n: number, width = 2): string => String(n).padStart(width, '0');

/** Like "UTC", "CET" or "GMT+2": what the machine's clock is set to at that moment. */
function zone(date: Date): string {
  // Intl costs 10 ms of start-up: most machines that record run on UTC
  if (process.env.TZ === 'UTC' || (process.env.TZ === undefined && date.getTimezoneOffset() === 0)) return 'UTC';
  const dateFields = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts(date);
  return dateFields.find((dateField) => dateField.type === 'timeZoneName')?.value ?? 'UTC';
}

/** Local time with its zone, "2026-11-15 20:49:12 UTC", of epoch microseconds. */
export function formatMoment(microseconds: number): string {
  const date = new Date(microseconds / 1000);
  if (Number.isNaN(date.getTime())) return 'unknown';
  const day = `${pad(date.getFullYear(), 4)}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())} ${zone(date)}`;
}

const ISO = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?$/i;

/**
 * Epoch microseconds from "2026-11-15T20:49:12Z", "2026-11-15 20:49" (local time), "2026-11-15", "@1794775752.5"
 * (seconds since 1970), "now" or "-10m" (so long ago).
 */
export function parseMoment(text: string, now = Date.now() * 1000): number {
  const trimmed = text.trim();
  if (trimmed === 'now') return now;
  if (/^@\d+(\.\d+)?$/.test(trimmed)) return Math.round(Number(trimmed.slice(1)) * 1e6);
  if (/^-\d/.test(trimmed)) return now - Math.round(parseDuration(trimmed.slice(1)) * 1e6);
  const isoMatch = ISO.exec(trimmed);
  const at = isoMatch === null ? Number.NaN : fromParts(isoMatch);
  if (Number.isNaN(at)) {
    throw usage(
      `"${text}" is not a time`,
      'write it like 2026-11-15T20:49:12Z, "2026-11-15 20:49" (local), @1794775752 or -10m',
    );
  }
  return at;
}

/** Year, month (1…12), day, hour, minute, second. */
export type CalendarFields = [number, number, number, number, number, number];

function fromParts(isoMatch: RegExpExecArray): number {
  const [year, month, day, hour, minute, second] = isoMatch
    .slice(1, 7)
    .map((dateField) => Number(dateField ?? 0)) as CalendarFields;
  const fraction = Number((isoMatch[7] ?? '').padEnd(6, '0').slice(0, 6));
  const zoned = isoMatch[8];
  // a day of the calendar, not one that JavaScript carries into the next month
  const calendar = new Date(Date.UTC(year, month - 1, day));
  if (calendar.getUTCMonth() !== month - 1 || calendar.getUTCDate() !== day) return Number.NaN;
  if (hour > 23 || minute > 59 || second > 60) return Number.NaN;
  let milliseconds: number;
  if (zoned === undefined) milliseconds = new Date(year, month - 1, day, hour, minute, second).getTime();
  else {
    const offset = /^([+-])(\d\d):?(\d\d)$/.exec(zoned);
    const minutes = offset === null ? 0 : (offset[1] === '-' ? -1 : 1) * (Number(offset[2]) * 60 + Number(offset[3]));
    milliseconds = Date.UTC(year, month - 1, day, hour, minute, second) - minutes * 60_000;
  }
  return milliseconds * 1000 + fraction;
}
