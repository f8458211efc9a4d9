import { usage } from '../../base/fault.ts';

const HOUR_US = 3_600_000_000;
const DAY_MS = 86_400_000;

/** A moment as the clocks of a time zone show it. */
export interface LocalTime {
  /** 2026-03-29 */
  day: string;
  /** 2026-03 */
  month: string;
  /** 0 is Monday. */
  weekday: number;
  hour: number;
}

export const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

/** Offsets of a time zone from UTC, looked up once for each day: Intl is slow, and clocks change twice a year. */
export class Calendar {
  readonly zone: string;
  private readonly format: Intl.DateTimeFormat;
  private readonly days = new Map<number, number | undefined>();

  /** Without a name: the zone of this machine. */
  constructor(zone?: string) {
    try {
      this.format = new Intl.DateTimeFormat('en-CA', { ...(zone === undefined ? {} : { timeZone: zone }), ...PARTS });
    } catch {
      throw usage(`there is no time zone "${zone}"`, 'name it as in Europe/Oslo, America/New_York or UTC');
    }
    this.zone = this.format.resolvedOptions().timeZone;
  }

  /** Minutes that its clocks are ahead of UTC at a moment in epoch microseconds. */
  offset(moment: number): number {
    const day = Math.floor(moment / 1000 / DAY_MS);
    if (!this.days.has(day)) {
      const [first, last] = [this.ask(day * DAY_MS), this.ask((day + 1) * DAY_MS - 1)];
      this.days.set(day, first === last ? first : undefined);
    }
    return this.days.get(day) ?? this.ask(Math.floor(moment / 1000));
  }

  private ask(milliseconds: number): number {
    const second = Math.floor(milliseconds / 1000) * 1000;
    const dateFields = Object.fromEntries(
      this.format.formatToParts(second).map(({ type, value }) => [type, Number(value)]),
    );
    const { year, month, day, hour, minute, second: s } = dateFields as Record<string, number>;
    return Math.round((Date.UTC(year!, month! - 1, day!, hour! % 24, minute!, s!) - second) / 60_000);
  }

  local(moment: number): LocalTime {
    const shown = new Date(moment / 1000 + this.offset(moment) * 60_000);
    const text = shown.toISOString();
    return {
      day: text.slice(0, 10),
      month: text.slice(0, 7),
      weekday: (shown.getUTCDay() + 6) % 7,
      hour: shown.getUTCHours(),
    };
  }

  /** How long a slot of time may be, in microseconds, so that no local hour begins inside of one: India is half an hour off. */
  slot(from: number, to: number): number {
    let step = 60;
    for (let at = from; at <= to; at += DAY_MS * 1000) step = divisor(step, Math.abs(this.offset(at)));
    return (HOUR_US / 60) * divisor(step, Math.abs(this.offset(to)));
  }
}

const PARTS = {
  hourCycle: 'h23',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
} as const;

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
