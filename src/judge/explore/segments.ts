import { smallest } from '../../base/extremes.ts';

/** Time segments as people name them: dates, months, years, or plain numbers, and the regular steps between them. */

interface Scale {
  /** In words, for a step of n. */
  step(n: number): string;
  read(name: string): number | undefined;
  write(at: number): string;
}

/** Days since some day; undefined: there is no such day. Models of the climate have calendars of their own. */
interface Calendar {
  number(year: number, month: number, day: number): number | undefined;
  date(number: number): [year: number, month: number, day: number];
}

/** Epoch milliseconds; years below 100 are what they are, which Date.UTC takes for those of the last century. */
const midnight = (year: number, month: number, day: number): number => new Date(0).setUTCFullYear(year, month - 1, day);

const USUAL: Calendar = {
  number(year, month, day) {
    const time = midnight(year, month, day);
    const date = new Date(time);
    return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? time / 864e5 : undefined;
  },
  date(number) {
    const date = new Date(number * 864e5);
    return [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
  },
};

/** Every year is a common one. */
const NO_LEAP: Calendar = {
  number(year, month, day) {
    const inYear = USUAL.number(2001, month, day);
    return inYear === undefined ? undefined : year * 365 + inYear - USUAL.number(2001, 1, 1)!;
  },
  date(number) {
    const year = Math.floor(number / 365);
    const [, month, day] = USUAL.date(USUAL.number(2001, 1, 1)! + number - year * 365);
    return [year, month, day];
  },
};

/** Every month has 30 days. */
const EVEN: Calendar = {
  number: (year, month, day) =>
    month < 1 || month > 12 || day < 1 || day > 30 ? undefined : year * 360 + (month - 1) * 30 + day - 1,
  date: (number) => [Math.floor(number / 360), Math.floor((number % 360) / 30) + 1, (number % 30) + 1],
};

const two = (n: number): string => String(n).padStart(2, '0');

/** Names that a pattern takes apart into year, month and day; `join` stands between them. Months are counted by `first`. */
function dates(pattern: RegExp, join: string, unit: 'months' | 'days', calendar = USUAL, first = 1): Scale {
  return {
    step: (n) => (unit === 'days' ? counted(n, 'day') : n % 12 === 0 ? counted(n / 12, 'year') : counted(n, 'month')),
    read(name) {
      const [, year, month, day = first] = pattern.exec(name) ?? [];
      if (year === undefined || month === undefined) return undefined;
      const number = calendar.number(Number(year), Number(month), Number(day));
      if (unit === 'days' || number === undefined) return number;
      return Number(day) === first ? Number(year) * 12 + Number(month) - 1 : undefined;
    },
    write(at) {
      const days = pattern.source.match(/\(\\d/g)!.length > 2;
      const [year, month, day] = unit === 'days' ? calendar.date(at) : [Math.floor(at / 12), (at % 12) + 1, first];
      const dateFields = [String(year).padStart(4, '0'), two(month)];
      if (days) dateFields.push(two(day));
      return dateFields.join(join);
    },
  };
}

const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

const COMPACT = /^(\d{4})(\d{2})(\d{2})$/;
const DASHED = /^(\d{4})-(\d{2})-(\d{2})$/;
const MONTHS = /^(\d{4})-(\d{2})$/;
/** Of a year that there is: numbers from 000001 on are not meant as months. */
const COMPACT_MONTHS = /^(?!0000)(\d{4})(\d{2})$/;

/** Dates, of which years and months come before days, because they differ in length; rarer calendars come last. */
const DATES: readonly Scale[] = [
  dates(COMPACT, '', 'months'),
  dates(DASHED, '-', 'months'),
  dates(MONTHS, '-', 'months'),
  dates(COMPACT_MONTHS, '', 'months'),
  ...[USUAL, NO_LEAP, EVEN].flatMap((calendar) => [
    dates(COMPACT, '', 'days', calendar),
    dates(DASHED, '-', 'days', calendar),
  ]),
];
const NUMBERS: Scale = {
  step: String,
  read: (name) => (/^\d{1,15}$/.test(name) ? Number(name) : undefined),
  write: String,
};
/** Meant as a day, or an hour of one, whether or not a calendar has it. */
const DAY = /^\d{4}-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])(?:T?(?:[01]\d|2[0-4])(?:[0-5]\d)?)?$/;
const LEAP_DAY = /^\d{4}-?02-?29$/;

/** Months that are named by another day than their first; not all of them have the last ones. */
function midMonths(name: string): Scale[] {
  const day = Number(/^\d{4}-?\d{2}-?(\d{2})$/.exec(name)?.[1]);
  if (!(day > 1 && day <= 28)) return [];
  return [dates(COMPACT, '', 'months', USUAL, day), dates(DASHED, '-', 'months', USUAL, day)];
}

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
  const scales = [...midMonths(all[0]!), ...DATES].filter((scale) =>
    all.every((name) => scale.read(name) !== undefined),
  );
  // what can be a date is no number
  if (scales.length === 0 && !all.every((name) => DAY.test(name))) return onScale(NUMBERS, all);
  for (const scale of scales) {
    const spacing = onScale(scale, all);
    if (spacing !== undefined && !lacksLeapDays(spacing, all)) return spacing;
  }
  return undefined;
}

/** One leap day may be missing, and any number together with the days around; where several alone are, years have none. */
function lacksLeapDays({ expected }: Spacing, all: readonly string[]): boolean {
  if (all.some((name) => LEAP_DAY.test(name))) return false;
  const there = new Set(all);
  const alone = expected.filter(
    (name, i) => LEAP_DAY.test(name) && there.has(expected[i - 1]!) && there.has(expected[i + 1]!),
  );
  return alone.length > 1;
}

function onScale(scale: Scale, all: readonly string[]): Spacing | undefined {
  const positions = all.map((name) => scale.read(name));
  if (positions.some((position) => position === undefined)) return undefined;
  const order = (positions as number[]).sort((a, b) => a - b);
  const step = usualStep(order);
  const first = order[0]!;
  if (step === undefined) return undefined;
  const number = (order.at(-1)! - first) / step + 1;
  if (number > MOST) return undefined;
  const width = smallest(all.map((name) => name.length));
  const expected = Array.from({ length: number }, (_, i) => scale.write(first + i * step).padStart(width, '0'));
  // what is written must be what was read
  return all.every((name) => expected.includes(name)) ? { step: scale.step(step), expected } : undefined;
}

/** The most frequent difference between neighbours that all others are multiples of; of several the smallest. */
function usualStep(order: readonly number[]): number | undefined {
  const steps = order.slice(1).map((position, i) => position - order[i]!);
  const counts = [...Map.groupBy(steps, (step) => step)].map(([step, same]) => [step, same.length] as const);
  return counts
    .filter(([step]) => steps.every((other) => other % step === 0))
    .sort((a, b) => b[1] - a[1] || a[0] - b[0])[0]?.[0];
}
