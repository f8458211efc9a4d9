import { Fault } from '../../base/fault.ts';
import { formatMoment } from '../../base/moment.ts';
import { timeInZone, type Zone, zoneNamed } from '../../base/zone.ts';
import type { Metadata } from './metadata.ts';
import type { Moment } from './pickle-moment.ts';
import type { ProcessRows } from './rows.ts';

const QUARTER = 900e6;
const WESTERNMOST = -12 * 3600e6;
const EASTERNMOST = 14 * 3600e6;
/** EPMT's own assumption. */
const USUAL = 'US/Eastern';

export interface JobTimes {
  /** Epoch microseconds. */
  submit: number;
  start: number;
  stop: number;
  /** How a moment without a zone was read, in words. */
  note?: string;
}

/** First start and last end of any process. */
interface Span {
  from: number;
  to: number;
}

/**
 * When the job ran. Older archives say it without a zone, but the processes' own times have one: if only one distance
 * to UTC fits them, that is it. Otherwise the zone of the job's environment counts, then EPMT_TZ, then US/Eastern.
 */
export function jobTimes(metadata: Metadata, rows: ProcessRows, env: Record<string, string | undefined>): JobTimes {
  const { submit, start, stop } = metadata;
  const { offset } = start;
  if (offset !== undefined) {
    const at = (moment: Moment): number => moment.wall - (moment.offset ?? offset);
    return { submit: at(submit), start: at(start), stop: at(stop) };
  }
  const span = spanOf(rows);
  const fitting = span === undefined ? [] : fittingOffsets(start.wall, stop.wall, span);
  const shifted = (by: number, note: string): JobTimes => ({
    submit: submit.wall - by,
    start: start.wall - by,
    stop: stop.wall - by,
    note: `the job's times have no zone; ${note}`,
  });
  if (fitting.length === 1) return shifted(fitting[0]!, `its processes show that it was ${offsetText(fitting[0]!)}`);
  const { zone, unknown } = assumedZone(metadata, env);
  const at = (moment: Moment): number => timeInZone(moment.wall, zone);
  const why = unknown.length === 0 ? '' : `, as ${unknown.join(', ')} is no zone that is known`;
  const note = `the job's times have no zone; they were read as ${zone.name}${why}`;
  const assumed = { submit: at(submit), start: at(start), stop: at(stop), note };
  const fits = span === undefined || (assumed.start <= span.from && span.to <= assumed.stop);
  if (fits || fitting.length === 0) return assumed;
  return shifted(
    fitting[0]!,
    `it was taken as ${offsetText(fitting[0]!)}, which fits its processes, ${zone.name} does not`,
  );
}

function spanOf(rows: ProcessRows): Span | undefined {
  if (rows.processes === 0) return undefined;
  const start = rows.column('start');
  const end = rows.column('end');
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (let p = 0; p < rows.processes; p++) {
    const t = rows.first[p]!;
    if (start[t]! < from) from = start[t]!;
    if (end[t]! > to) to = end[t]!;
  }
  return { from, to };
}

/** Distances from UTC, in quarters of an hour, with which all processes lie within the job; the closest to its start first. */
function fittingOffsets(start: number, stop: number, span: Span): number[] {
  const offsets: number[] = [];
  const least = Math.max(WESTERNMOST, Math.ceil((start - span.from) / QUARTER) * QUARTER);
  const most = Math.min(EASTERNMOST, stop - span.to);
  for (let offset = least; offset <= most; offset += QUARTER) offsets.push(offset);
  return offsets;
}

/** `unknown`: what should have named it, before it. */
function assumedZone(
  { environment: { TZ, TIMEZONE } }: Metadata,
  { EPMT_TZ }: Record<string, string | undefined>,
): { zone: Zone; unknown: string[] } {
  const unknown: string[] = [];
  for (const [variable, name = ''] of Object.entries({ TZ, TIMEZONE, EPMT_TZ })) {
    const zone = name === '' ? undefined : zoneNamed(name);
    if (zone !== undefined) return { zone, unknown };
    if (name !== '') unknown.push(`${variable}=${name}`);
  }
  return { zone: zoneNamed(USUAL)!, unknown };
}

function offsetText(offset: number): string {
  const minutes = Math.abs(offset) / 60e6;
  const two = (n: number): string => String(n).padStart(2, '0');
  return `UTC${offset < 0 ? '−' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/**
 * A process that ran before its job began or after it ended was not of this job, or its line is corrupted. Only CSV
 * files are refused for it, as EPMT does; of others the number of such processes is returned.
 */
export function checkTimes(rows: ProcessRows, times: JobTimes): number {
  const start = rows.column('start');
  const end = rows.column('end');
  let outside = 0;
  for (let p = 0; p < rows.processes; p++) {
    const t = rows.first[p]!;
    const from = start[t]!;
    const to = end[t]!;
    if (from >= times.start && from <= times.stop && to >= times.start && to <= times.stop) continue;
    outside++;
    if (rows.files[rows.file[p]!]!.endsWith('.tsv')) continue;
    const { codes } = rows.texts.get('exename')!;
    const ran = `${exactMoment(start[t]!)} to ${exactMoment(end[t]!)}`;
    const job = `${exactMoment(times.start)} to ${exactMoment(times.stop)}`;
    throw new Fault(
      `${rows.where(p)}: ${rows.values('exename')[codes[p]!]} (pid ${rows.column('pid')[t]}) ran from ${ran}, the job from ${job}`,
      times.note === undefined ? {} : { hint: `${times.note}; EPMT_TZ=ZONE names another zone` },
    );
  }
  return outside;
}

/** A microsecond can make the difference: papiex and EPMT write times as exact as that. */
const exactMoment = (at: number): string =>
  formatMoment(at).replace(/:\d\d(?= )/, (seconds) => `${seconds}.${String(at % 1e6).padStart(6, '0')}`);
