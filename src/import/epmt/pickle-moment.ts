/** Date and time as they stood on the clock; without an offset nobody knows on which one. */
export interface Moment {
  /** Microseconds since 1970 that a clock in UTC shows when it shows this. */
  wall: number;
  /** Microseconds east of UTC. */
  offset?: number;
}

/** Python's own form: year (2 bytes), month, day, hour, minute, second, microsecond (3 bytes). */
export function readMoment(bytes: Buffer, offset?: number): Moment {
  if (bytes.length !== 10) throw new Error('a moment in it is damaged');
  const [high, low, monthAndFold, day, hour, minute, second, a, b, c] = bytes as unknown as number[];
  // the highest bit of the month marks the second of two equal hours
  const wall = wallTime(high! * 256 + low!, monthAndFold! & 0x7f, day!, hour!, minute!, second!);
  const microsecond = a! * 65536 + b! * 256 + c!;
  if (microsecond > 999_999) throw new Error('a moment in it is damaged');
  return offset === undefined ? { wall: wall + microsecond } : { wall: wall + microsecond, offset };
}

export function readDate(bytes: Buffer): Moment {
  if (bytes.length !== 4) throw new Error('a date in it is damaged');
  return { wall: wallTime(bytes[0]! * 256 + bytes[1]!, bytes[2]!, bytes[3]!, 0, 0, 0) };
}

/** A time of day, as a text: "22:13:20.500000+01:00". */
export function readTime(bytes: Buffer, offset?: number): string {
  if (bytes.length !== 6) throw new Error('a time in it is damaged');
  const [hour, ...rest] = bytes as unknown as number[];
  const { wall } = readMoment(Buffer.from([1970 >> 8, 1970 & 0xff, 1, 1, hour! & 0x7f, ...rest]));
  const [, time] = new Date(wall / 1000).toISOString().split(/[T.Z]/);
  const fraction = wall % 1e6 === 0 ? '' : `.${String(wall % 1e6).padStart(6, '0')}`;
  return time! + fraction + (offset === undefined ? '' : zoneText(offset));
}

function zoneText(offset: number): string {
  const minutes = Math.round(Math.abs(offset) / 60e6);
  const digits = (value: number): string => String(value).padStart(2, '0');
  return `${offset < 0 ? '-' : '+'}${digits(Math.floor(minutes / 60))}:${digits(minutes % 60)}`;
}

function wallTime(year: number, month: number, day: number, hour: number, minute: number, second: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const same = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && date.getUTCHours() === hour;
  if (!same || year < 1 || minute > 59 || second > 59) throw new Error('a moment in it is damaged');
  return date.getTime() * 1000;
}
