import { type BatchOf, textAt } from '../../recording/read/batch.ts';
import type { processTable } from '../../sources/process/table.ts';
import type { NameIn, TextName } from '../../table/table.ts';
import type { ProcessSet } from './set.ts';

/** By what the sampled rows of a process are found, as they name it. */
export const sampleKey = (pid: string | undefined, start: string | undefined): string => `${pid} ${start}`;

/** The same for a row of a set. */
export const sampleKeyAt = ({ pid, sampled_birth }: ProcessSet, i: number): string =>
  sampleKey(String(pid[i]), String(sampled_birth[i]! / 1000));

/** The CPU time that a process was seen to have used. Times are epoch microseconds, `used` is in microseconds. */
export interface SampledCpu {
  pid: string;
  /** As samples name it, in milliseconds. */
  start: string;
  /** The process that waits for its end. */
  parent?: number;
  command?: string;
  user?: string;
  times: number[];
  used: number[];
  /** What children had used that it had waited for, and those that they had waited for. */
  children?: number[];
  /** The share (0 to 1) of it that was not in the kernel. */
  inUser?: number;
  /** Whether its last row says that it had gone. */
  isGone?: true;
}

export const SAMPLED_CPU_COLUMNS = [
  'user_ms',
  'system_ms',
  'children_user_ms',
  'children_system_ms',
  'ppid',
  'state',
  'name',
  'command',
  'user',
] as const satisfies NameIn<typeof processTable>[];

type ProcessBatch = BatchOf<typeof processTable>;

/** Of every process that was sampled on a node. */
export const sampledCpu = (batch: ProcessBatch): SampledCpu[] =>
  Array.from({ length: Math.max(0, batch.series.length - 1) }, (_, s) => cpuOf(batch, s));

function cpuOf(batch: ProcessBatch, s: number): SampledCpu {
  const [from, to] = [batch.series[s]!, batch.series[s + 1]!];
  const text = (name: NameIn<typeof processTable>, row: number): string => textAt(batch, name, row);
  /** What was said last and is not empty. */
  const textOf = (name: TextName<typeof processTable>): string => {
    for (let row = to - 1; row >= from; row--) if (text(name, row) !== '') return text(name, row);
    return '';
  };
  const sampled: SampledCpu = { pid: text('pid', from), start: text('start', from), times: [], used: [] };
  const [command, user] = [textOf('command') || textOf('name'), textOf('user')];
  if (command !== '') sampled.command = command;
  if (user !== '') sampled.user = user;
  if (text('state', to - 1) === 'X') sampled.isGone = true;
  const parent = batch.numbers.get('ppid')?.[to - 1];
  if (parent !== undefined && !Number.isNaN(parent)) sampled.parent = parent;
  const own = summed(batch, ['user_ms', 'system_ms'], from, to);
  const inUser = ((batch.numbers.get('user_ms')?.[to - 1] ?? Number.NaN) * 1000) / own.at(-1)!;
  if (inUser <= 1) sampled.inUser = inUser;
  const reaped = summed(batch, ['children_user_ms', 'children_system_ms'], from, to);
  const children: number[] = [];
  for (let row = from; row < to; row++) {
    if (Number.isNaN(own[row - from]!)) continue;
    sampled.times.push(batch.time[row]!);
    sampled.used.push(own[row - from]!);
    children.push(reaped[row - from]! || children.at(-1) || 0);
  }
  if (reaped.some((used) => used > 0)) sampled.children = children;
  return sampled;
}

/** Columns of milliseconds added up, row by row, in microseconds; NaN where no value has come yet or all are missing. */
function summed(
  batch: ProcessBatch,
  names: readonly ('user_ms' | 'system_ms' | 'children_user_ms' | 'children_system_ms')[],
  from: number,
  to: number,
): Float64Array {
  const columns = names.flatMap((name) => batch.numbers.get(name) ?? []);
  const reached = columns.map(() => 0);
  const sums = new Float64Array(to - from);
  for (let row = from; row < to; row++) {
    let isSeen = false;
    let sum = 0;
    for (let c = 0; c < columns.length; c++) {
      const value = columns[c]![row]!;
      // one that is missing has grown no less than before
      if (!Number.isNaN(value)) {
        reached[c] = value;
        isSeen = true;
      }
      sum += reached[c]! * 1000;
    }
    sums[row - from] = isSeen ? sum : Number.NaN;
  }
  return sums;
}
