import * as path from 'node:path';
import { SUMMARY_TABLES } from '../tables/summary.ts';
import { dayFolder, daysOf, hasIndex, indexFolder, partsIn } from './index-files.ts';
import { readRows } from './row-file.ts';

/**
 * What the index of a folder says was found in its jobs, by the absolute path of the recording; nothing where there is no
 * index, or where it cannot be read.
 */
export function indexedFindings(folder: string): Map<string, string[]> {
  const findingsByRecording = new Map<string, string[]>();
  if (!hasIndex(folder)) return findingsByRecording;
  const index = indexFolder(folder);
  try {
    for (const day of daysOf(index, 'jobs'))
      for (const { name } of partsIn(path.join(index, dayFolder('jobs', day))))
        for (const { recording, findings } of readRows(
          path.join(index, dayFolder('jobs', day), name),
          SUMMARY_TABLES.jobs,
        ))
          if (typeof recording === 'string')
            findingsByRecording.set(
              path.resolve(folder, recording),
              String(findings ?? '')
                .split(',')
                .filter(Boolean),
            );
  } catch {
    // it is being written, or is damaged: then nobody knows
  }
  return findingsByRecording;
}
