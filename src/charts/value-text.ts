/** Values and times as charts write them, on the page and in files. Nothing of Node is used here. */

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function digits(value: number): string {
  const size = Math.abs(value);
  // by hand: the first number that Intl formats takes 10 to 25 ms
  if (size >= 1000)
    return Math.round(value)
      .toFixed(0)
      .replace(/\B(?=(\d{3})+$)/g, ',');
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

/** Units that are nouns: "1 CPU", "2 CPUs". */
const PLURALS: ReadonlySet<string> = new Set(['CPUs', 'threads', 'jobs']);

export function withUnit(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || Number.isNaN(value)) return 'not measured';
  if (unit === 'bytes') return bytes(value);
  if (unit === 'bytes/s') return `${bytes(value)}/s`;
  if (unit === '%') return `${digits(value)} %`;
  if (unit === 'W' && Math.abs(value) >= 10_000) return `${digits(value / 1000)} kW`;
  const text = digits(value);
  return `${text} ${text === '1' && PLURALS.has(unit) ? unit.slice(0, -1) : unit}`.trimEnd();
}

const pad = (n: number): string => String(n).padStart(2, '0');

/** Time since the start of the job: "0:30", "1:02:03", "0:00.5", "-0:01" before it. */
export function sinceStart(micros: number): string {
  const tenths = Math.round(micros / 1e5) % 10;
  if (tenths !== 0 && Math.abs(micros) < 60e6)
    return `${micros < 0 ? '-' : ''}0:${(Math.abs(micros) / 1e6).toFixed(1).padStart(4, '0')}`;
  const s = Math.round(Math.abs(micros) / 1e6);
  const sign = micros < 0 && s > 0 ? '-' : '';
  const [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
  return h > 0 ? `${sign}${h}:${pad(m)}:${pad(s % 60)}` : `${sign}${m}:${pad(s % 60)}`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** Time since the start of the job, at the ticks of an axis: "0", "0.2 s", "30 min", "1 h 30 min". */
export function tickText(micros: number): string {
  let tenths = Math.round(Math.abs(micros) / 1e5);
  if (tenths === 0) return '0';
  const spans: string[] = [];
  for (const [unit, seconds] of UNITS) {
    const size = unit === 's' ? tenths / 10 : Math.floor(tenths / 10 / seconds);
    if (size > 0) spans.push(`${size} ${unit}`);
    tenths -= Math.round(size * seconds * 10);
  }
  return `${micros < 0 ? '-' : ''}${spans.join(' ')}`;
}

/** "03-02" or "03-02 08:00", local time; of years "2026-03". */
export function dateText(micros: number, hasHour: boolean, hasYear = false): string {
  const d = new Date(micros / 1000);
  if (hasYear) return `${d.getFullYear()}-${pad(d.getMonth() + 1)}`;
  return `${pad(d.getMonth() + 1)}-${pad(d.getDate())}${hasHour ? ` ${pad(d.getHours())}:${pad(d.getMinutes())}` : ''}`;
}

/** "08:00:00", local time. */
export function clockText(micros: number): string {
  const d = new Date(micros / 1000);
  return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}
