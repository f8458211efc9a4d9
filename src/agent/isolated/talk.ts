import type { CustomSource } from '../../sources/custom/custom.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import type { Note } from '../../sources/host.ts';
import type { Scope } from '../../sources/scope.ts';
import type { Frame } from '../../table/frame.ts';
import type { Table } from '../../table/table.ts';

/** What the agent and the process that reads its isolated sources say to each other: one line of JSON each. */

/** The process is started with these arguments; the second makes room for what it is doing in `ps`. */
export const MARK = '--isolated-sources';
export const ROOM = 'reads what may not answer: the GPU libraries and the sources of the user';

export interface Opening {
  /** Process id of the agent: without it there is nobody to read for. */
  agent: number;
  kinds: readonly string[];
  custom: readonly CustomSource[];
  root: string;
  scope: Scope;
  skip: readonly string[];
  /** Tables that have been begun: a command's output keeps its columns. */
  tables: readonly Table[];
  /** Say what is being read, not only show it: a process that died shows nothing. */
  careful: boolean;
}

export interface Request {
  time: number;
  skip: readonly string[];
}

export interface FrameMessage {
  table: string;
  time: number;
  rows: number;
  /** null = missing */
  numbers: (number | null)[];
  texts: string[];
}

export interface SourceMessage {
  table?: Table;
  note?: Note;
  gpus?: NodeFacts['gpus'];
  frame?: FrameMessage;
  /** About to read this device. */
  at?: string;
  /** Opened: what is there has been said. */
  ready?: true;
  /** The request with this time has been dealt with. */
  done?: number;
  cost?: { cpu_us: number; rss_bytes: number };
}

export function frameMessage(frame: Frame): FrameMessage {
  return {
    table: frame.table.name,
    time: frame.time,
    rows: frame.rows,
    numbers: Array.from(frame.numbers.subarray(0, frame.rows * frame.numberWidth), (n) => (Number.isNaN(n) ? null : n)),
    texts: frame.texts.slice(0, frame.rows * frame.textWidth),
  };
}

/** Fills a frame of the same table with what was said. */
export function takeFrame(frame: Frame, message: FrameMessage): void {
  frame.clear(message.time);
  for (let r = 0; r < message.rows; r++) frame.row();
  for (let i = 0; i < message.numbers.length; i++) frame.numbers[i] = message.numbers[i] ?? Number.NaN;
  for (let i = 0; i < message.texts.length; i++) frame.texts[i] = message.texts[i]!;
}

const TITLE = 'tacho at ';

/** Shows in `ps` what is being read. */
export function showDevice(device: string): void {
  process.title = TITLE + device;
}

/** What a process shows: the device it is at, '' when it is at none. */
export function deviceShown(commandLine: string): string {
  const end = commandLine.indexOf('\0');
  const title = end < 0 ? commandLine : commandLine.slice(0, end);
  return title.startsWith(TITLE) ? title.slice(TITLE.length) : '';
}
