const DAY = 86_400e3;

/** Undefined when there is no such zone. */
export interface Zone {
  readonly name: string;
  /** Microseconds east of UTC at a moment (epoch microseconds). */
  offset(time: number): number;
}

/** A zone by its name (`US/Eastern`, `EST5EDT`, `EST5`, `:Asia/Kolkata`); undefined when there is none of that name. */
export function zoneNamed(name: string): Zone | undefined {
  const plain = name.replace(/^:/, '').replace(/^.*\/zoneinfo\//, '');
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: plain, timeZoneName: 'longOffset', hour: 'numeric' });
    return { name: plain, offset: (time) => offsetIn(format.format(time / 1000)) };
  } catch {
    return fixedZone(plain);
  }
}

/** `EST5`, `UTC-5:30`: POSIX counts to the west, and without a second name there is no summer time. */
function fixedZone(name: string): Zone | undefined {
  const [, sign, hours, minutes = '0'] =
    /^(?:[a-z]{3,}|<[\w+-]{3,}>)([+-]?)(\d{1,2})(?::([0-5]\d))?$/i.exec(name) ?? [];
  if (hours === undefined || Number(hours) > 14) return undefined;
  const west = (Number(hours) * 60 + Number(minutes)) * 60e6;
  const offset = sign === '-' ? west : -west;
  return { name, offset: () => offset };
}

/** "8 AM GMT-04:00" */
function offsetIn(text: string): number {
  const [, sign, hours, minutes, seconds] = /GMT([+-])(\d+):(\d+)(?::(\d+))?/.exec(text) ?? [];
  if (sign === undefined) return 0;
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds ?? 0);
  return (sign === '-' ? -total : total) * 1e6;
}

/**
 * When the zone's clocks showed this, in epoch microseconds. An hour that came twice, or never, is taken in winter time,
 * as EPMT does.
 */
export function timeInZone(wall: number, zone: Zone): number {
  const offsets = [zone.offset(wall - DAY * 1000), zone.offset(wall + DAY * 1000)];
  const fitting = offsets.filter((offset) => zone.offset(wall - offset) === offset);
  return wall - Math.min(...(fitting.length > 0 ? fitting : offsets));
}
