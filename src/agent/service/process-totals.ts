import { forgetOldest } from '../../base/forget-oldest.ts';
import { bootMilliseconds } from '../../sources/host/boot-time.ts';
import type { Host } from '../../sources/host.ts';
import { HIGHER_PEAK, isFirstImage, isSameBirth } from '../../sources/process/same-process.ts';
import { TICK_MS } from '../../sources/process/stat.ts';
import { processTable } from '../../sources/process/table.ts';
import { processEndTable, processStartTable } from '../../sources/records/tables.ts';
import type { Totals } from '../../sources/scope.ts';
import { type SourceKind, watched } from '../../sources/source.ts';
import type { Frame } from '../../table/frame.ts';
import type { EarlierTotals } from './earlier-totals.ts';

/** How long a process that has ended is kept: reports about it come in two ways, which may differ by a tick. */
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

/** Adds up what the processes of a job use, by samples and by what they record of themselves. */
export class ProcessTotals implements Totals {
  private readonly boot: number;
  private readonly left: EarlierTotals | undefined;
  private readonly processes = new Map<string, Seen>();
  private cpu: number;
  private peak: number;
  private recordedPeak = 0;
  private first: boolean;
  private looked = 0;
  /** What nobody has sampled, by what those say who waited for it: counts only where no process records itself. */
  private reaped = 0;
  private areRecorded = false;

  /**
   * `before`: what an agent before this one had added up, which is gone on with; 'unknown': there was one, and what the
   * processes that live now have used is in its rows.
   */
  constructor(host: Host, before?: EarlierTotals | 'unknown') {
    this.boot = bootMilliseconds(host);
    this.left = before === 'unknown' ? undefined : before;
    this.first = before !== undefined;
    this.cpu = this.left?.cpu_us ?? 0;
    this.peak = this.left?.peak_bytes ?? 0;
    for (const [pid, { start, used_us, children_us }] of this.left?.processes ?? [])
      Object.assign(this.processOf(pid, start, 0), { counted: used_us, accounted: children_us });
  }

  /** The kinds that tell of processes: what they read is added up. */
  watch(kind: SourceKind): SourceKind {
    const { name } = kind.table;
    if (name === processTable.name) return watched(kind, (frame) => this.sampled(frame));
    if (name === processEndTable.name) return watched(kind, (frame) => this.recorded(frame));
    return name === processStartTable.name ? watched(kind, (frame) => this.started(frame)) : kind;
  }

  now(time: number, wanted: boolean): ReturnType<Totals['now']> {
    const { processes } = this;
    if (wanted) this.peak = Math.max(this.peak, this.together());
    if (!this.areRecorded) this.cpu += this.reaped;
    this.reaped = 0;
    const sums = { cpu_us: Math.round(this.cpu), peak_bytes: this.peak, told_peak_bytes: this.recordedPeak };
    this.recordedPeak = 0;
    this.looked = time;
    for (const [pid, { end }] of processes) if (end < time - KEPT_MICROSECONDS) processes.delete(pid);
    return sums;
  }

  /** `start` in epoch milliseconds; NaN: whoever has this pid now. */
  private processOf(pid: string, start: number, time: number): Seen {
    const knownProcess = this.processes.get(pid);
    if (knownProcess !== undefined && isSameBirth(knownProcess.start * 1000, start * 1000)) return knownProcess;
    // what had its pid before counts in this tick, too
    if (knownProcess !== undefined) this.processes.set(`${pid} ${knownProcess.start}`, knownProcess);
    const began = Number.isNaN(start) ? time / 1000 : start;
    // one that follows another at once did not live at the same time
    const begin = (began + TICK_MS) * 1000;
    const made: Seen = {
      ...{ start: began, begin, exact: false, end: LIVES, counted: 0, peak: 0, shown: 0 },
      ...{ reaped: 0, accounted: 0 },
    };
    this.processes.set(pid, made);
    if (this.processes.size > MOST) forgetOldest(this.processes);
    return made;
  }

  private count(one: Seen, used: number, most: number): void {
    if (used > one.counted) {
      this.cpu += used - one.counted;
      one.counted = used;
    }
    if (most > one.peak) one.peak = most;
  }

  private sampled(frame: Frame): void {
    const { numbers, numberWidth, texts, textWidth } = frame;
    const childrenOf = (at: number): number =>
      ((numbers[at + SAMPLE.children_user_ms]! || 0) + (numbers[at + SAMPLE.children_system_ms]! || 0)) * 1000;
    for (let row = 0; row < frame.rows; row++) {
      const one = this.processOf(
        texts[row * textWidth + SAMPLE.pid]!,
        Number(texts[row * textWidth + SAMPLE.start]),
        frame.time,
      );
      const at = row * numberWidth;
      const used = (numbers[at + SAMPLE.user_ms]! + numbers[at + SAMPLE.system_ms]!) * 1000;
      // one that began when no agent was there is new
      if (this.first && one.counted === 0 && !(one.start * 1000 > (this.left?.time ?? LIVES))) {
        one.counted = used;
        one.accounted = childrenOf(at);
      }
      const parent =
        texts[row * textWidth + SAMPLE.state] === 'X' && this.processes.get(String(numbers[at + SAMPLE.ppid]!));
      if (parent) parent.accounted += used + childrenOf(at);
      this.count(one, used, numbers[at + SAMPLE.rss_peak_bytes]!);
      one.shown = Math.max(one.shown, numbers[at + SAMPLE.rss_peak_bytes]! || 0);
      // it was alive a tick ago, when it was looked at last
      if (texts[row * textWidth + SAMPLE.state] === 'X' && one.end === LIVES)
        one.end = Math.max(this.looked, one.begin);
    }
    // what has gone in this tick is known now
    for (let row = 0; row < frame.rows; row++) {
      const one = this.processes.get(texts[row * textWidth + SAMPLE.pid]!)!;
      const beyond = childrenOf(row * numberWidth) - one.accounted;
      if (!(beyond > one.reaped)) continue;
      this.reaped += beyond - one.reaped;
      one.reaped = beyond;
    }
    this.first = false;
  }

  private recorded(frame: Frame): void {
    const { numbers, numberWidth, texts, textWidth } = frame;
    this.started(frame);
    for (let row = 0; row < frame.rows; row++) {
      const from = row * numberWidth;
      const time = frame.times![row]!;
      const one = this.processOf(
        texts[row * textWidth + END.pid]!,
        this.boot + numbers[from + END.starttime]! * TICK_MS,
        time,
      );
      // the first of its images began with it
      const begin = Number(texts[row * textWidth + END.start]);
      if (!one.exact && isFirstImage(begin, one.start * 1000)) {
        one.begin = begin;
        one.exact = true;
      }
      const most = numbers[from + END.rssmax]! * 1024;
      this.count(one, numbers[from + END.usertime]! + numbers[from + END.systemtime]!, most);
      if (most > this.recordedPeak && most > one.shown * HIGHER_PEAK) this.recordedPeak = most;
      // another program goes on in its place
      if (texts[row * textWidth + END.ended] !== 'exec') one.end = Math.min(one.end, time);
    }
  }

  private started({ rows }: Frame): void {
    if (rows > 0) this.areRecorded = true;
  }

  /** The most that those add up to that lived at the same time lately: what one used is known when it has ended. */
  private together(): number {
    const sampledProcesses = [...this.processes.values()].filter(
      ({ end }) => this.processes.size < MANY || end >= this.looked,
    );
    const begun = sampledProcesses.toSorted((a, b) => a.begin - b.begin);
    const ended = sampledProcesses.toSorted((a, b) => a.end - b.end);
    let [now, gone, most] = [0, 0, 0];
    for (const one of begun) {
      while (gone < ended.length && ended[gone]!.end < one.begin) now -= ended[gone++]!.peak;
      now += one.peak;
      most = Math.max(most, now);
    }
    return most;
  }
}
