import * as fs from 'node:fs';
import * as path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { openRecording, type Recording } from '../recording/folder/open.ts';
import type { Check } from '../recording/repair/verify.ts';
import { gather } from './facts/gather.ts';
import { PROCESSES_FILE, readKeptProcesses } from './facts/kept-processes.ts';
import { REPORT_FILE, readKeptReport } from './kept-report.ts';
import { report } from './report.ts';

/**
 * Compares what is kept with a sealed recording with what its data says, and removes what is something else. What was made by
 * another version, or of other files, is not used by anybody, and not looked at.
 */
export function checkResults(folder: string, dryRun: boolean): Check[] {
  const recording = openRecording(folder);
  const wrong = [
    ...(areProcessesWrong(recording) ? [PROCESSES_FILE] : []),
    ...([false, true].some((phases) => isReportWrong(recording, phases)) ? [REPORT_FILE] : []),
  ];
  return wrong.map((file): Check => {
    const what = 'is not what the data of the recording says';
    const action = 'it is worked out from the data again';
    if (dryRun) return { file, what, outcome: 'would repair', action: `removed: ${action}` };
    fs.rmSync(path.join(folder, file), { force: true });
    return { file, what, outcome: 'repaired', action: `removed: ${action}` };
  });
}

function areProcessesWrong(recording: Recording): boolean {
  const kept = readKeptProcesses(recording);
  return kept !== undefined && !isDeepStrictEqual(kept, gather(recording, { isAfresh: true }).processes);
}

function isReportWrong(recording: Recording, phases: boolean): boolean {
  const kept = readKeptReport(recording, phases);
  if (kept === undefined) return false;
  const made = report(gather(recording, { isAfresh: true, ...(phases ? { phases } : {}) }));
  return !isDeepStrictEqual(kept, made);
}
