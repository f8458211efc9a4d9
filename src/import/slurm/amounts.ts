import type { CalendarFields } from '../../base/moment.ts';
import { timeInZone, type Zone } from '../../base/zone.ts';
import { parseTres } from '../../jobs/schedulers/slurm.ts';
import { usedBytes } from '../../jobs/schedulers/slurm-ending.ts';

/** `1-02:03:04`, `02:03:04`, `03:04.567`: seconds; undefined: it is no time. */
export function durationSeconds(text: string | undefined): number | undefined {
  const [, days = '0', hours = '0', minutes, seconds] =
    /^(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+(?:\.\d+)?)$/.exec(text ?? '') ?? [];
  if (minutes === undefined) return undefined;
  return Number(days) * 86_400 + Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

const MOMENT = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?$/;

/**
 * Epoch microseconds of a time as `sacct` prints it: in the zone of whoever called it, or with an offset, or as epoch seconds
 * (SLURM_TIME_FORMAT). Undefined: Unknown, None, or no time.
 */
export function momentIn(zone: Zone, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^\d{9,11}$/.test(text)) return Number(text) * 1e6;
  const momentMatch = MOMENT.exec(text);
  if (momentMatch === null) return undefined;
  const [year, month, day, hour, minute, second] = momentMatch.slice(1, 7).map(Number) as CalendarFields;
  const wall = Date.UTC(year, month - 1, day, hour, minute, second) * 1000;
  if (new Date(wall / 1000).getUTCDate() !== day) return undefined;
  const offset = momentMatch[7];
  if (offset === undefined) return timeInZone(wall, zone);
  if (offset === 'Z') return wall;
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(offset)!;
  const east = (Number(hours) * 60 + Number(minutes)) * 60e6;
  return sign === '-' ? wall + east : wall - east;
}

/** What tasks used, from `cpu=00:00:05,mem=6444K,gres/gpuutil=87`. */
export interface Usage {
  cpu_seconds?: number;
  memory_bytes?: number;
  disk_bytes?: number;
  gpu_memory_bytes?: number;
  /** 0 to 1. */
  gpu_use?: number;
}

export function usageOf(text: string | undefined): Usage {
  const pairs = parseTres(text);
  const set = (value: number | undefined, name: keyof Usage): Usage => (value === undefined ? {} : { [name]: value });
  const percent = pairs.get('gres/gpuutil');
  return {
    ...set(durationSeconds(pairs.get('cpu')), 'cpu_seconds'),
    ...set(usedBytes(pairs.get('mem')), 'memory_bytes'),
    ...set(usedBytes(pairs.get('fs/disk')), 'disk_bytes'),
    ...set(usedBytes(pairs.get('gres/gpumem')), 'gpu_memory_bytes'),
    ...set(percent === undefined || !/^\d+$/.test(percent) ? undefined : Number(percent) / 100, 'gpu_use'),
  };
}
