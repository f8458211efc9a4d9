import { readColumns } from '../../query/processes/processes.ts';
import { filesMark } from '../../recording/folder/files-mark.ts';
import type { Recording } from '../../recording/folder/open.ts';
import type { Report } from '../report-schema.ts';
import { writeFeatures } from './features-file.ts';
import { measuredFeatures } from './measured-features.ts';

/** Computes the features of a recording that has ended and keeps them with it; not of one that is damaged. `made`: its report. */
export function keepFeatures(recording: Recording, made?: Report): void {
  // what changes while it is read has another mark then
  const files = filesMark(recording);
  const processes = readColumns([recording]);
  if (processes.troubles.length === 0) writeFeatures(recording, processes, measuredFeatures(recording, made), files);
}
