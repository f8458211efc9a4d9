import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import type { RuleSettings } from '../../judge/rules/shared/settings.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { summariesOf } from '../make/summaries.ts';
import type { Entry } from './entry.ts';

/** A recording of an archive that is to be summarised. */
export interface UnindexedRecording {
  /** Its path below the archive. */
  id: string;
  stamp: string;
}

/** What the index is to have of it; what is wrong with it is told there, too. */
export function summariseOne(archive: string, { id, stamp }: UnindexedRecording, rules?: RuleSettings): Entry {
  try {
    const recording = openRecording(path.join(archive, id));
    const [damage] = recording.troubles;
    const summaries = summariesOf(recording, { recording: id, ...stated({ rules }) });
    return { id, stamp, summaries, ...stated({ damage }) };
  } catch (error) {
    return { id, stamp, trouble: error instanceof Fault ? error.message : `cannot summarise ${id}: ${reason(error)}` };
  }
}
