import * as path from 'node:path';
import { stated } from '../../base/stated.ts';
import type { Run } from '../../jobs/schedulers/command.ts';
import { AGENT_NEEDS, type AgentRecord } from '../../recording/folder/agent-record.ts';
import { MOST_BYTES, readJson } from '../../recording/folder/record-file.ts';
import { shaped } from '../../recording/folder/shape.ts';
import type { WriterOptions } from '../../recording/live/append.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import type { SharedView } from '../../sources/process/view.ts';
import type { Clock } from '../loop/clock.ts';
import type { Ticker } from '../loop/ticker.ts';
import type { Turns } from '../loop/turns.ts';
import type { RecordAside } from '../run/record-aside.ts';
import type { JobRecords } from './job-records.ts';
import type { SharedSources } from './shared-sources.ts';
import type { UserFolders } from './user-folders.ts';

/** What all recordings of a service have in common. */
export interface Common {
  node: string;
  root: string;
  facts: NodeFacts;
  shared: SharedSources;
  ticker: Ticker;
  /** For what cannot be said in a recording. */
  aside: RecordAside;
  /** For what jobs have written, a little of each at a time. */
  turns: Turns;
  /** The node's processes, for all jobs that look at the same moment. */
  view: SharedView;
  clock: Clock;
  writer: WriterOptions;
  redact: boolean;
  isWanted(table: string): boolean;
  /** Runs the scheduler's commands. */
  run: Run;
  /** Where processes of jobs record themselves; undefined: they do not. */
  records?: JobRecords;
  /** Does this when nothing else is to be done at once. */
  later(work: () => void): void;
  /** The service ends: nobody waits for anything any more. */
  ending: AbortSignal;
  /** Where jobs leave marks and annotations (src/agent/service/job-marks.ts), and where users find what is theirs; undefined: nowhere. */
  marks?: { folder: string; users: UserFolders };
}

/** What all agents of a service have alike. */
export const inCommon = ({ aside, node, writer, clock, ticker, turns }: Common, before: AgentRecord | undefined) => ({
  aside,
  node,
  writer,
  clock,
  ticker,
  turns,
  shared: true,
  ...stated({ before }),
});

export function readAgent(folder: string): AgentRecord | undefined {
  try {
    return shaped<AgentRecord>(readJson(path.join(folder, 'agent.json'), MOST_BYTES.agent) as object, AGENT_NEEDS, []);
  } catch {
    return undefined;
  }
}
