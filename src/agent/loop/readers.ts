import { reason } from '../../base/fault.ts';
import type { LostSamples } from '../../recording/folder/lost-samples.ts';
import type { TableWriter } from '../../recording/live/append.ts';
import type { Host } from '../../sources/host.ts';
import type { Scope } from '../../sources/scope.ts';
import { type Rest, type Source, type SourceKind, Unavailable } from '../../sources/source.ts';
import { Frame } from '../../table/frame.ts';
import type { Table } from '../../table/table.ts';
import type { QuietTicks } from './quiet-ticks.ts';

/** A source that failed so often in a row is asked only once a minute. */
const PATIENCE = 10;
const RETRY_SECONDS = 60;

interface Reader {
  kind: SourceKind;
  source: Source;
  frame: Frame;
  writer: TableWriter;
  /** Microseconds; 0 = every tick. */
  every: number;
  due: number;
  failures: number;
}

/** The sources that an agent reads itself, each with the file of its table. */
export class Readers {
  private readonly host: Host;
  private readonly intervalSeconds: number;
  private readonly writerOf: (table: Table) => TableWriter;
  private readonly all: Reader[] = [];
  private leaving = false;
  private quiet: QuietTicks | undefined;

  constructor(host: Host, intervalSeconds: number, writerOf: (table: Table) => TableWriter) {
    this.host = host;
    this.intervalSeconds = intervalSeconds;
    this.writerOf = writerOf;
  }

  /** C reads what it can. */
  readBy(quiet: QuietTicks): void {
    this.quiet = quiet;
  }

  /** The newest samples of each. */
  get frames(): Frame[] {
    return this.all.map(({ frame }) => frame);
  }

  /** Opens sources; what is not on this machine is left out, what cannot be read is noted. `opened` learns the others' tables. */
  open(kinds: readonly SourceKind[], scope: Scope, opened: (table: Table, every?: number) => void): void {
    const { host } = this;
    this.quiet?.forget();
    for (const kind of kinds) {
      try {
        const source = kind.open(host, scope);
        this.all.push({
          kind,
          source,
          frame: new Frame(source.table),
          writer: this.writerOf(source.table),
          every: kind.every === undefined || kind.every <= this.intervalSeconds ? 0 : kind.every * 1e6,
          due: 0,
          failures: 0,
        });
        opened(source.table, kind.every);
      } catch (error) {
        if (error instanceof Unavailable && error.why === 'absent') continue;
        host.note({
          table: kind.table.name,
          what: kind.table.name,
          why: reason(error),
          ...(error instanceof Unavailable && error.hint !== undefined ? { hint: error.hint } : {}),
        });
      }
    }
  }

  /** Closes sources, and reads them no more. */
  close(kinds: readonly SourceKind[]): void {
    this.quiet?.forget();
    for (const reader of this.all.filter(({ kind }) => kinds.includes(kind))) {
      reader.source.close();
      this.all.splice(this.all.indexOf(reader), 1);
    }
  }

  /** What has to be said before the last sample. */
  last(): void {
    this.leaving = true;
    for (const { source } of this.all) source.last?.();
  }

  closeAll(): void {
    for (const { source } of this.all) source.close();
  }

  /** Reads those whose time has come, or `always` all. Of events that have gathered only a small part: see `catchUp`. */
  read(time: number, always: boolean): void {
    this.quiet?.sample(time, always);
    this.round(time, (reader) => (always || time >= reader.due) && this.quiet?.isDone(reader.source, time) !== true);
  }

  /** Until when nobody has to be read but those that C reads, and while which processes do not run; undefined: it has to. */
  rest(time: number): (Rest & { until: number; processWriter: TableWriter | undefined }) | undefined {
    const planned = this.all.filter(({ source, every }) => every === 0 && source.forms !== undefined);
    let isResting = this.quiet?.plan(planned, time) === true && !this.isBehind;
    let until = Number.POSITIVE_INFINITY;
    let processes: Rest['processes'];
    let processWriter: TableWriter | undefined;
    for (const { source, writer, due, every, failures } of this.all) {
      if (every > 0) until = Math.min(until, due);
      else if (source.forms === undefined) {
        const rest = failures === 0 ? source.rest?.() : undefined;
        isResting &&= rest !== undefined;
        until = Math.min(until, rest?.until ?? until);
        if (rest?.processes === undefined) continue;
        // C looks at those of one job
        isResting &&= processes === undefined;
        processes = rest.processes;
        processWriter = writer;
        writer.rollWhenDue(time);
      }
    }
    return isResting ? { until, processes, processWriter } : undefined;
  }

  /** Reads the job's own tables once more. */
  glance(time: number): void {
    this.round(time, ({ kind }) => kind.table.scope === 'job');
  }

  /** Events have gathered faster than one read takes them. A source that fails is not asked again until the next tick. */
  get isBehind(): boolean {
    return this.all.some((reader) => reader.failures === 0 && reader.source.behind?.() === true);
  }

  /** Reads a small part of the events that have gathered; false: there is no more, or it is better left where it is. */
  catchUp(time: number): boolean {
    return this.round(time, isOfEvents) && this.isBehind;
  }

  /** Leaves out events that there is no time for. */
  skip(): void {
    for (const { source } of this.all) source.skip?.();
  }

  /** What sources could not read in time. */
  get lost(): LostSamples[] {
    return this.all.flatMap(({ kind, source }) => {
      const lost = source.lost?.();
      return lost === undefined ? [] : [{ table: kind.table.name, ...lost }];
    });
  }

  /** Whether those of events were read, too: their tables come from one file, and are read together or not at all. */
  private round(time: number, isDue: (reader: Reader) => boolean): boolean {
    const stay = this.eventsStay();
    for (const reader of this.all) if (isDue(reader) && !(stay && isOfEvents(reader))) this.readOne(reader, time);
    return !stay;
  }

  /**
   * Whether events are better left where they are: while the disk refuses any of those before them, these would be lost
   * with an agent that is killed.
   */
  private eventsStay(): boolean {
    if (this.leaving) return false;
    let stay = false;
    for (const reader of this.all) {
      if (!isOfEvents(reader) || !reader.writer.isWaiting) continue;
      reader.writer.retry();
      stay ||= reader.writer.isWaiting;
    }
    return stay;
  }

  private readOne(reader: Reader, time: number): void {
    const { frame } = reader;
    frame.clear(time);
    // half an interval of grace: ticks are never quite even
    reader.due = reader.every === 0 ? 0 : time + reader.every - (this.intervalSeconds * 1e6) / 2;
    try {
      reader.source.read(frame);
      reader.failures = 0;
    } catch (error) {
      frame.clear(time);
      this.host.note({ table: reader.kind.table.name, what: reader.kind.table.name, why: reason(error) });
      if (++reader.failures >= PATIENCE) reader.due = time + RETRY_SECONDS * 1e6;
      return;
    }
    reader.writer.append(frame);
  }
}

const isOfEvents = ({ source }: Reader): boolean => source.behind !== undefined;
