import { bootMilliseconds } from '../../sources/host/boot-time.ts';
import type { Host } from '../../sources/host.ts';
import { HIGHER_PEAK, KERNEL_CLOCK, RECORD_DELAY } from '../../sources/process/same-process.ts';
import { TICK_MS } from '../../sources/process/stat.ts';
import { processTable } from '../../sources/process/table.ts';
import { processEndTable, processStartTable } from '../../sources/records/tables.ts';
import type { Totals } from '../../sources/scope.ts';
import type { Source, SourceKind } from '../../sources/source.ts';
import type { Frame } from '../../table/frame.ts';
import type { TotalsBefore } from './totals-before.ts';

/** So long one that has ended is kept: what is said of it comes by two ways, which may differ by a tick. */
const KEPT_MICROSECONDS = 60e6;
/** Of very many only those count for the peak that were there in this tick. */
const MANY = 4096;
/** Who tells of more is not believed: the oldest are forgotten. */
const MOST = 16_384;

const LIVES = Number.POSITIVE_INFINITY;
const { at: END } = processEndTable;
const { at: SAMPLE } = processTable;

interface Seen {
  /** As the kernel has it: epoch milliseconds, in steps of ten. */
  readonly start: number;
  /** Epoch microseconds, as exactly as it is known; by samples alone at the latest. */
  begin: number;
  /** Whether that is by its own record. */
  exact: boolean;
  /** Epoch microseconds; infinite while it lives. */
  end: number;
  counted: number;
  peak: number;
  /** The part of it that samples have shown. */
  shown: number;
  /** What children used that it waited for, less what is counted of them already, and what was there before this agent. */
  reaped: number;
  /** What sampled children had used that have gone, and what it had waited for before this agent. */
  accounted: number;
}

export interface ProcessTotals extends Totals {
  /** The kinds that tell of processes: what they read is added up. */
  watch(kind: SourceKind): SourceKind;
}

/**
 * Adds up what the processes of a job use, by samples and by what they record of themselves. `before`: what an agent before
 * this one had added up, which is gone on with; 'unknown': there was one, and what the processes that live now have used is
 * in its rows.
 */
export function processTotals(host: Host, before?: TotalsBefore | 'unknown'): ProcessTotals {
  const boot = bootMilliseconds(host);
  const known = new Map<string, Seen>();
  const left = before === 'unknown' ? undefined : before;
  let cpu = left?.cpu_us ?? 0;
  let peak = left?.peak_bytes ?? 0;
  let told = 0;
  let first = before !== undefined;
  let looked = 0;
  /** What nobody has sampled, by what those say who waited for it: counts only where no process records itself. */
  let reaped = 0;
  let areRecorded = false;
  for (const [pid, { start, used_us, children_us }] of left?.processes ?? [])
    Object.assign(seen(pid, start, 0), { counted: used_us, accounted: children_us });

  /** `start` in epoch milliseconds; NaN: whoever has this pid now. */
  function seen(pid: string, start: number, time: number): Seen {
    const found = known.get(pid);
    if (found !== undefined && !(Math.abs(found.start - start) * 1000 > KERNEL_CLOCK)) return found;
    // what had its pid before counts in this tick, too
    if (found !== undefined) known.set(`${pid} ${found.start}`, found);
    const began = Number.isNaN(start) ? time / 1000 : start;
    // one that follows another at once did not live at the same time
    const begin = (began + TICK_MS) * 1000;
    const made: Seen = {
      ...{ start: began, begin, exact: false, end: LIVES, counted: 0, peak: 0, shown: 0 },
      ...{ reaped: 0, accounted: 0 },
    };
    known.set(pid, made);
    if (known.size > MOST) forgetOldest();
    return made;
  }

  function forgetOldest(): void {
    let left = MOST / 8;
    for (const oldest of known.keys()) {
      if (left-- === 0) return;
      known.delete(oldest);
    }
  }

  function count(one: Seen, used: number, most: number): void {
    if (used > one.counted) {
      cpu += used - one.counted;
      one.counted = used;
    }
    if (most > one.peak) one.peak = most;
  }

  function sampled(frame: Frame): void {
    const { numbers, numberWidth, texts, textWidth } = frame;
    const childrenOf = (at: number): number =>
      ((numbers[at + SAMPLE.children_user_ms]! || 0) + (numbers[at + SAMPLE.children_system_ms]! || 0)) * 1000;
    for (let row = 0; row < frame.rows; row++) {
      const one = seen(texts[row * textWidth + SAMPLE.pid]!, Number(texts[row * textWidth + SAMPLE.start]), frame.time);
      const at = row * numberWidth;
      const used = (numbers[at + SAMPLE.user_ms]! + numbers[at + SAMPLE.system_ms]!) * 1000;
      // one that began when no agent was there is new
      if (first && one.counted === 0 && !(one.start * 1000 > (left?.time ?? LIVES))) {
        one.counted = used;
        one.accounted = childrenOf(at);
      }
      const parent = texts[row * textWidth + SAMPLE.state] === 'X' && known.get(String(numbers[at + SAMPLE.ppid]!));
      if (parent) parent.accounted += used + childrenOf(at);
      count(one, used, numbers[at + SAMPLE.rss_peak_bytes]!);
      one.shown = Math.max(one.shown, numbers[at + SAMPLE.rss_peak_bytes]! || 0);
      // it was alive a tick ago, when it was looked at last
      if (texts[row * textWidth + SAMPLE.state] === 'X' && one.end === LIVES) one.end = Math.max(looked, one.begin);
    }
    // what has gone in this tick is known now
    for (let row = 0; row < frame.rows; row++) {
      const one = known.get(texts[row * textWidth + SAMPLE.pid]!)!;
      const beyond = childrenOf(row * numberWidth) - one.accounted;
      if (!(beyond > one.reaped)) continue;
      reaped += beyond - one.reaped;
      one.reaped = beyond;
    }
    first = false;
  }

  function recorded(frame: Frame): void {
    const { numbers, numberWidth, texts, textWidth } = frame;
    started(frame);
    for (let row = 0; row < frame.rows; row++) {
      const from = row * numberWidth;
      const time = frame.times![row]!;
      const one = seen(texts[row * textWidth + END.pid]!, boot + numbers[from + END.starttime]! * TICK_MS, time);
      // the first of its images began with it
      const begin = Number(texts[row * textWidth + END.start]);
      if (!one.exact && Math.abs(begin - one.start * 1000) <= RECORD_DELAY) {
        one.begin = begin;
        one.exact = true;
      }
      const most = numbers[from + END.rssmax]! * 1024;
      count(one, numbers[from + END.usertime]! + numbers[from + END.systemtime]!, most);
      if (most > told && most > one.shown * HIGHER_PEAK) told = most;
      // another program goes on in its place
      if (texts[row * textWidth + END.ended] !== 'exec') one.end = Math.min(one.end, time);
    }
  }

  function started({ rows }: Frame): void {
    if (rows > 0) areRecorded = true;
  }

  /** The most that those add up to that lived at the same time lately: what one used is known when it has ended. */
  function together(): number {
    const lives = [...known.values()].filter(({ end }) => known.size < MANY || end >= looked);
    const begun = lives.toSorted((a, b) => a.begin - b.begin);
    const ended = lives.toSorted((a, b) => a.end - b.end);
    let [now, gone, most] = [0, 0, 0];
    for (const one of begun) {
      while (gone < ended.length && ended[gone]!.end < one.begin) now -= ended[gone++]!.peak;
      now += one.peak;
      most = Math.max(most, now);
    }
    return most;
  }

  const adding = new Map<string, (frame: Frame) => void>([
    [processTable.name, sampled],
    [processEndTable.name, recorded],
    [processStartTable.name, started],
  ]);
  return {
    watch(kind) {
      const add = adding.get(kind.table.name);
      if (add === undefined) return kind;
      return {
        ...kind,
        open(own, scope): Source {
          const source = kind.open(own, scope);
          return {
            ...source,
            table: source.table,
            read(frame) {
              source.read(frame);
              add(frame);
            },
          };
        },
      };
    },
    now(time, wanted) {
      if (wanted) peak = Math.max(peak, together());
      if (!areRecorded) cpu += reaped;
      reaped = 0;
      const found = { cpu_us: Math.round(cpu), peak_bytes: peak, told_peak_bytes: told };
      told = 0;
      looked = time;
      for (const [pid, { end }] of known) if (end < time - KEPT_MICROSECONDS) known.delete(pid);
      return found;
    },
  };
}
