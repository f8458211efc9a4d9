import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { isFleet } from '../../recording/folder/fleet.ts';
import { findEach, openRecording } from '../../recording/folder/open.ts';
import { summariesOf } from '../make/summaries.ts';
import type { JobSummary } from '../tables/summary.ts';
import { inOrder, isWanted, type JobFilter } from './filter.ts';

/** Where the history is: beside an archive that is indexed, or in recordings that are summarised when they are asked about. */
export interface HistoryPlace {
  /** Recordings, or folders that hold some. */
  folders?: readonly string[];
  /** Told of a recording that cannot be summarised; the others answer all the same. Without it that is thrown. */
  leftOut?: (why: Fault) => void;
  /** Told now and then how many of how many recordings were summarised. */
  progress?: (done: number, of: number) => void;
}

/** What can be asked about jobs. */
export interface History {
  selectJobs(filter?: JobFilter): Promise<JobSummary[]>;
  close(): Promise<void>;
}

export async function openHistory(place: HistoryPlace): Promise<History> {
  const { folders = ['.'] } = place;
  return summarisedHistory(folders, place);
}

/** The jobs that are wanted, oldest first unless the filter says otherwise. */
export const selectJobs = (source: History, filter: JobFilter = {}): Promise<JobSummary[]> => source.selectJobs(filter);

function summarisedHistory(folders: readonly string[], { leftOut, progress }: HistoryPlace): History {
  let rows: JobSummary[] | undefined;
  return {
    async selectJobs(filter = {}) {
      rows ??= summarised(folders, leftOut, progress);
      return inOrder(
        rows.filter((row) => isWanted(row, filter)),
        filter,
      );
    },
    async close() {
      rows = undefined;
    },
  };
}

function summarised(
  folders: readonly string[],
  leftOut?: (why: Fault) => void,
  progress?: (done: number, of: number) => void,
): JobSummary[] {
  const found = findEach(folders, (folder) => folder, leftOut);
  return found.flatMap((folder, i) => {
    try {
      const recording = openRecording(folder);
      return isFleet(recording.job)
        ? []
        : summariesOf(recording, { recording: path.resolve(folder), nodeHours: false }).jobs;
    } catch (error) {
      const why =
        error instanceof Fault ? error : new Fault(`cannot summarise ${folder}: ${reason(error)}`, { cause: error });
      if (leftOut === undefined) throw why;
      leftOut(why);
      return [];
    } finally {
      progress?.(i + 1, found.length);
    }
  });
}
