import type { NodeRecording } from '../../recording/folder/open.ts';
import { type BatchOf, textAt } from '../../recording/read/batch.ts';
import { type ReadBatch, readDefined } from '../../recording/read/read.ts';
import { processTable } from '../../sources/process/table.ts';
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
  command?: string;
  user?: string;
  times: number[];
  used: number[];
  /** Whether its last row says that it had gone. */
  isGone?: true;
}

/** Of every process that was sampled on a node, in all of its recording. */
export function sampledCpu(node: NodeRecording, damaged: (batch: ReadBatch) => void): SampledCpu[] {
  if (!node.tables.has(processTable.name)) return [];
  const columns = ['user_ms', 'system_ms', 'state', 'name', 'command', 'user'] as const;
  const batch = readDefined(node, processTable, { columns });
  damaged(batch);
  return Array.from({ length: Math.max(0, batch.series.length - 1) }, (_, s) => cpuOf(batch, s));
}

function cpuOf(batch: BatchOf<typeof processTable>, s: number): SampledCpu {
  const [from, to] = [batch.series[s]!, batch.series[s + 1]!];
  const text = (name: NameIn<typeof processTable>, row: number): string => textAt(batch, name, row);
  /** What was said last and is not empty. */
  const said = (name: TextName<typeof processTable>): string => {
    for (let row = to - 1; row >= from; row--) if (text(name, row) !== '') return text(name, row);
    return '';
  };
  const columns = (['user_ms', 'system_ms'] as const).flatMap((name) => batch.numbers.get(name) ?? []);
  const found: SampledCpu = { pid: text('pid', from), start: text('start', from), times: [], used: [] };
  const [command, user] = [said('command') || said('name'), said('user')];
  if (command !== '') found.command = command;
  if (user !== '') found.user = user;
  if (text('state', to - 1) === 'X') found.isGone = true;
  const reached = columns.map(() => 0);
  for (let row = from; row < to; row++) {
    const seen = columns.map((column) => column[row]!);
    if (seen.every(Number.isNaN)) continue;
    // one that is missing has grown no less than before
    seen.forEach((value, i) => {
      if (!Number.isNaN(value)) reached[i] = value;
    });
    found.times.push(batch.time[row]!);
    found.used.push(reached.reduce((sum, value) => sum + value * 1000, 0));
  }
  return found;
}
