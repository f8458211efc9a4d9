import { commandOf } from '../../../query/processes/columns.ts';
import type { ProcessSet } from '../../../query/processes/set.ts';
import type { Fact, RuleContext } from './rule.ts';

/** Processes as findings speak of them. */

/** A command is shown up to here. */
const MOST_CHARACTERS = 60;

export function commandName(set: ProcessSet, i: number): string {
  const command = commandOf(set, i);
  return command.length <= MOST_CHARACTERS ? command : `${command.slice(0, MOST_CHARACTERS - 1)}…`;
}

/** "solve 12 (pid 311 on c1)". */
export const processName = (set: ProcessSet, i: number): string =>
  `${commandName(set, i)} (pid ${set.pid[i]} on ${set.node[i]})`;

/** The last path component: `/bin/sh` is sh. */
export const programOf = (set: ProcessSet, i: number): string => set.exename[i]!.replace(/.*\//, '');

/** Programs that only start others, or ask them: what they return is the others' result. */
const SHELLS = /^(ba|da|z|k|tc|c|a|fi)?sh$/;

export const isShell = (set: ProcessSet, i: number): boolean => SHELLS.test(programOf(set, i).replace(/^-/, ''));

/** Of a process that executed other programs, the last one. */
export const isLastImage = (set: ProcessSet, i: number): boolean => set.ended[i] !== 'exec';

/** The whole job's, as records or samples tell. */
export const allProcesses: Fact = {
  what: 'the processes of the whole job',
  has: (facts) => (facts.allProcesses()?.length ?? 0) > 0,
  otherwise: ({ confined }) =>
    confined === undefined
      ? { skipped: 'no processes of the job were sampled' }
      : { skipped: 'only a part of the job is looked at' },
};

/** Those that told of their end: how each ended, and what it used. */
export const recordedEnds: Fact = {
  what: 'processes that recorded themselves (process_end)',
  has: ({ records }: RuleContext) => (records?.records ?? 0) > 0,
  otherwise: ({ confined }) =>
    confined === undefined
      ? { skipped: 'the job’s processes did not record themselves' }
      : { skipped: 'only a part of the job is looked at' },
};
