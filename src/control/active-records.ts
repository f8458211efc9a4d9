import { Fault } from '../base/fault.ts';
import type { Environment } from '../jobs/schedulers/command.ts';
import { openRecording } from '../recording/folder/open.ts';
import type { Records } from '../sources/scope.ts';
import { needSpeakable } from './active.ts';
import { marksFileHere } from './marks-file.ts';
import { refusal, tryLibraryHere } from './preload.ts';

/** Where programs append marks for the recording that goes on here. */
export const activeMarks = (env: Environment): string =>
  marksFileHere(needSpeakable(env, 'there is nothing to mark', ''), env);

/** Where processes of the recording that goes on here record themselves; a fault when they cannot. */
export function activeRecords(env: Environment): Records {
  const recording = needSpeakable(env, 'processes have nowhere to record themselves', '');
  const { job } = openRecording(recording);
  if (job.process_records === undefined) {
    throw new Fault(`${recording} was started without the recording of processes`, {
      hint: 'start it without --no-processes',
    });
  }
  // the environment goes to every node of the job: one where the library cannot be used keeps it from all
  const trouble = refusal(recording, job.nodes) ?? tryLibraryHere(env);
  if (trouble !== undefined) throw new Fault(`processes cannot record themselves: ${trouble}`);
  return job.process_records;
}
