/** Time segments as people name them: dates, months, years, or plain numbers, and the regular steps between them. */

interface Scale {
  /** In words, for a step of n. */
  step(n: number): string;
  read(name: string): number | undefined;
  write(at: number): string;
}

/** Epoch milliseconds; years below 100 are what they are, which Date.UTC takes for those of the last century. */
const midnight = (year: number, month: number, day: number): number => new Date(0).setUTCFullYear(year, month, day);

const two = (n: number): string => String(n).padStart(2, '0');

/** Names that a pattern takes apart into year, month and day; `join` stands between them. */
function dates(pattern: RegExp, join: string, unit: 'months' | 'days'): Scale {
  return {
    step: (n) => (unit === 'days' ? counted(n, 'day') : n % 12 === 0 ? counted(n / 12, 'year') : counted(n, 'month')),
    read(name) {
      const [, year, month, day = '01'] = pattern.exec(name) ?? [];
      if (year === undefined || month === undefined) return undefined;
      const time = midnight(Number(year), Number(month) - 1, Number(day));
      const date = new Date(time);
      if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
      if (unit === 'days') return time / 864e5;
      return Number(day) === 1 ? Number(year) * 12 + Number(month) - 1 : undefined;
    },
    write(at) {
      const days = pattern.source.match(/\(\\d/g)!.length > 2;
      const date = unit === 'days' ? new Date(at * 864e5) : new Date(midnight(Math.floor(at / 12), at % 12, 1));
      const parts = [String(date.getUTCFullYear()).padStart(4, '0'), two(date.getUTCMonth() + 1)];
      if (days) parts.push(two(date.getUTCDate()));
      return parts.join(join);
    },
  };
}

const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

const COMPACT = /^(\d{4})(\d{2})(\d{2})$/;
const DASHED = /^(\d{4})-(\d{2})-(\d{2})$/;
const MONTHS = /^(\d{4})-(\d{2})$/;
/** Of a year that there is: numbers from 000001 on are not meant as months. */
const COMPACT_MONTHS = /^(?!0000)(\d{4})(\d{2})$/;

/** The first that can read all of them is theirs; months before days, because years and months differ in length. */
const SCALES: readonly Scale[] = [
  dates(COMPACT, '', 'months'),
  dates(COMPACT, '', 'days'),
  dates(DASHED, '-', 'months'),
  dates(DASHED, '-', 'days'),
  dates(MONTHS, '-', 'months'),
  dates(COMPACT_MONTHS, '', 'months'),
  { step: String, read: (name) => (/^\d{1,15}$/.test(name) ? Number(name) : undefined), write: String },
];

export interface Spacing {
  /** In words: "5 years". */
  step: string;
  /** Every segment from the first to the last, whether it is there or not. */
  expected: string[];
}

/** More gaps than this are no gaps. */
const MOST = 10_000;

/** The regular spacing of segments; undefined when there are fewer than three, or no such thing. */
export function spacingOf(names: Iterable<string>): Spacing | undefined {
  const all = [...new Set(names)];
  if (all.length < 3) return undefined;
  for (const scale of SCALES) {
    const places = all.map((name) => scale.read(name));
    if (places.some((place) => place === undefined)) continue;
    const order = (places as number[]).sort((a, b) => a - b);
    const step = usualStep(order);
    const first = order[0]!;
    if (step === undefined) return undefined;
    const number = (order.at(-1)! - first) / step + 1;
    if (number > MOST) return undefined;
    const width = Math.min(...all.map((name) => name.length));
    const expected = Array.from({ length: number }, (_, i) => scale.write(first + i * step).padStart(width, '0'));
    // what is written must be what was read
    return all.every((name) => expected.includes(name)) ? { step: scale.step(step), expected } : undefined;
  }
  return undefined;
}

/** The most frequent difference between neighbours that all others are multiples of; of several the smallest. */
function usualStep(order: readonly number[]): number | undefined {
  const steps = order.slice(1).map((place, i) => place - order[i]!);
  const counts = [...Map.groupBy(steps, (step) => step)].map(([step, same]) => [step, same.length] as const);
  return counts
    .filter(([step]) => steps.every((other) => other % step === 0))
    .sort((a, b) => b[1] - a[1] || a[0] - b[0])[0]?.[0];
}
