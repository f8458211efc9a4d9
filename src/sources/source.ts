import type { Frame } from '../table/frame.ts';
import type { Table } from '../table/table.ts';
import type { FormFile } from './form.ts';
import type { Host } from './host.ts';
import type { Scope } from './scope.ts';

/** Reads one table. `read` is called once a tick; it adds rows to the frame and allocates as little as it can. */
export interface Source {
  /** The table as it is on this node (an open table has its real columns here). */
  readonly table: Table;
  read(frame: Frame): void;
  /**
   * The files that gave the frame's rows, where nothing but their numbers changes from tick to tick: C reads them until one
   * of them looks otherwise. Undefined: `read` has to.
   */
  forms?(frame: Frame): readonly FormFile[] | undefined;
  /** Whether the next ticks can do without `read`, and what has to stay as it is for that. */
  rest?(): Rest | undefined;
  /** Sources of events: the last read has not taken everything; what is left is read soon. */
  behind?(): boolean;
  /** There is no time to read the rest. */
  skip?(): void;
  /** Rows that could not be read in time, and why. */
  lost?(): { rows: number; why: string; since: number } | undefined;
  /** The next read is the last one: nothing may be kept back for later. */
  last?(): void;
  close(): void;
}

/** No source rests longer. */
export const REST_SECONDS = 30;

/** A source can rest while … */
export interface Rest {
  /** … it is not this time, in epoch microseconds, and … */
  readonly until?: number;
  /** … none of these processes needs JavaScript and none is started: see Schedules. */
  readonly processes?: RestingProcesses | undefined;
}

export interface RestingProcesses {
  /** The file with the newest process id. */
  readonly pids: number;
  readonly files: Int32Array;
  readonly counts: Float64Array;
  readonly results: Uint8Array;
  readonly rows: ProcessRows;
  /** C has looked at them for the next `read`. */
  looked(): void;
}

/** What C has to know of processes to read those that ran, and to write their rows (native/node-sampling.processes.c). */
export interface ProcessRows {
  readonly readable: Int32Array;
  readonly facts: Float64Array;
  readonly numbers: Float64Array;
  readonly texts: Uint8Array;
  /** Where among the numbers of a row each one goes. */
  readonly positions: Int32Array;
  readonly decimals: Uint8Array;
  /** From when on memory has leapt or is much, and how long the status may go unread. */
  readonly limits: Float64Array;
}

/** What a file in this folder exports: the table's definition, and how to open it on a host. */
export type SourceKind = QuickKind | IsolatedKind;

interface AnyKind {
  readonly table: Table;
  /** Recorded only when somebody asks for it by name. */
  readonly optional?: true;
  /** Read at most once in so many seconds (default: every tick). */
  readonly every?: number;
  /** Throws `Unavailable` when there is nothing to read here. */
  open(host: Host, scope: Scope): Source;
}

interface QuickKind extends AnyKind {
  readonly isolated?: false;
}

/**
 * Its reads may hang (vendor libraries, network file systems): it is read in a process of its own, which is started only
 * where there is something to read.
 */
export interface IsolatedKind extends AnyKind {
  readonly isolated: true;
  /** Quick and certain not to hang: is there anything to read here? */
  present(host: Host): boolean;
  /** Loads the code that reads, which nobody else needs; awaited before `open`. */
  load(): Promise<void>;
}

/** The kind with somebody who looks at the rows of each read; `first` is the first of them. */
export function watched(kind: SourceKind, look: (frame: Frame, first: number) => void): SourceKind {
  return {
    ...kind,
    open(host, scope) {
      const source = kind.open(host, scope);
      const read = (frame: Frame): void => {
        const first = frame.rows;
        source.read(frame);
        look(frame, first);
      };
      return { ...source, table: source.table, read };
    },
  };
}

/**
 * Why a source cannot be read. absent: this machine has no such thing (no GPU, no InfiniBand), nobody misses it.
 * denied: it is there, or should be, but cannot be read; `hint` says what would help.
 */
export class Unavailable extends Error {
  readonly why: 'absent' | 'denied';
  readonly hint: string | undefined;

  constructor(why: 'absent' | 'denied', message: string, hint?: string) {
    super(message);
    this.name = 'Unavailable';
    this.why = why;
    this.hint = hint;
  }
}
