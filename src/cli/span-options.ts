import type { Command } from 'commander';
import { reason } from '../base/fault.ts';
import { parseMoment } from '../base/moment.ts';
import { stated } from '../base/stated.ts';
import { warn } from '../base/warn.ts';
import type { SpanQuery } from '../query/spans/select.ts';
import type { Recording } from '../recording/folder/open.ts';

/** What a verb that can be confined to a part of the job has among its options; moments as people write them. */
export interface SpanOptions {
  from?: string;
  to?: string;
  step?: string;
  marker?: string;
}

/** Gives a verb `--from`, `--to`, `--step` and `--marker`. */
export function spanOptions(command: Command): Command {
  return partOptions(command).option('--to <time>', 'only until this time');
}

/** The same without `--to`, for a verb where that is a place. */
export function partOptions(command: Command): Command {
  return command
    .option('--step <n>', 'only this step of the scheduler')
    .option('-m, --marker <name>', 'only during this phase (tacho mark begin NAME), every time it ran')
    .option('--from <time>', 'only from this time on (2026-11-15T20:49, -10m)');
}

export function spanQuery({ from, to, step, marker }: SpanOptions): SpanQuery {
  return {
    ...(from === undefined ? {} : { from: parseMoment(from) }),
    ...(to === undefined ? {} : { to: parseMoment(to) }),
    ...stated({ step, marker }),
  };
}

/** Of several recordings, one that has nothing of what is asked for. */
export const leaveOut = (recording: Pick<Recording, 'path'>, why: unknown): void =>
  warn(`left out: ${recording.path}: ${reason(why)}`);
