import type { WrittenRecording } from '../../import/epmt/import.ts';
import { countedRecords } from '../../query/processes/counted-records.ts';
import { openRecording } from '../../recording/folder/open.ts';
import { writeFeatures } from './features-file.ts';

/** Keeps the features of a recording whose processes are still in memory. Nothing was measured beside them. */
export function keepImportedFeatures({ folder, nodes }: WrittenRecording): void {
  const recording = openRecording(folder);
  const records = nodes.map(({ processes, start }) => ({ ends: processes, start }));
  writeFeatures(recording, countedRecords(recording.job, records), new Map());
}
