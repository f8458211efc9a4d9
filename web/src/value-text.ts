import { formatDuration } from '../../src/base/duration.ts';
import { bytes, clockText, digits, sinceStart, tickText, withUnit } from '../../src/charts/value-text.ts';

export { bytes, clockText as clock, digits, sinceStart, tickText, withUnit };

/** Values as people read them. */

export const duration = (seconds: number | undefined): string =>
  seconds === undefined || Number.isNaN(seconds) ? 'not known' : formatDuration(seconds);

const pad = (n: number): string => String(n).padStart(2, '0');

/** "2026-03-02 08:00:00", local time. */
export function moment(micros: number | undefined | null): string {
  if (micros === undefined || micros === null || Number.isNaN(micros)) return 'not known';
  const d = new Date(micros / 1000);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${clockText(micros)}`;
}

export const zone = (): string => {
  const name = Intl.DateTimeFormat('en', { timeZoneName: 'short' })
    .formatToParts()
    .find(({ type }) => type === 'timeZoneName');
  return name?.value ?? '';
};

export const count = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`;
export const percent = (share: number | undefined): string =>
  share === undefined ? 'not measured' : share > 0 && share < 0.001 ? '< 0.1 %' : `${digits(share * 100)} %`;
