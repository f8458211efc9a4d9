/** Values as people read them. */

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1).replace(/\.0$/, '');
  return Number(value.toPrecision(2)).toString();
}

export function bytes(value: number): string {
  let [size, unit] = [value, 0];
  while (Math.abs(size) >= 1024 && unit < BYTES.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${digits(size)} ${BYTES[unit]}`;
}

export function withUnit(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || Number.isNaN(value)) return 'not measured';
  if (unit === 'bytes') return bytes(value);
  if (unit === 'bytes/s') return `${bytes(value)}/s`;
  if (unit === '%') return `${digits(value)} %`;
  if (unit === 'W' && Math.abs(value) >= 10_000) return `${digits(value / 1000)} kW`;
  return `${digits(value)} ${unit}`;
}

export function duration(seconds: number | undefined): string {
  if (seconds === undefined || Number.isNaN(seconds)) return 'not known';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${digits(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, '0')} s`;
  const hours = Math.floor(seconds / 3600);
  if (hours < 48) return `${hours} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, '0')} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const pad = (n: number): string => String(n).padStart(2, '0');

/** "2026-03-02 08:00:00", local time. */
export function moment(micros: number | undefined | null): string {
  if (micros === undefined || micros === null || Number.isNaN(micros)) return 'not known';
  const d = new Date(micros / 1000);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${clock(micros)}`;
}

export function clock(micros: number): string {
  const d = new Date(micros / 1000);
  return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

export const zone = (): string => {
  const name = Intl.DateTimeFormat('en', { timeZoneName: 'short' })
    .formatToParts()
    .find(({ type }) => type === 'timeZoneName');
  return name?.value ?? '';
};

/** Time since the start of the job, for axes: "0:30", "1:02:03". */
export function sinceStart(micros: number): string {
  const s = Math.round(micros / 1e6);
  const [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
  return h > 0 ? `${h}:${pad(m)}:${pad(s % 60)}` : `${m}:${pad(s % 60)}`;
}

export const count = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`;
export const percent = (share: number | undefined): string =>
  share === undefined ? 'not measured' : `${digits(share * 100)} %`;
