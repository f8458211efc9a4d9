import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Features } from '../../judge/outliers/features.ts';
import { numbersOf } from '../../judge/outliers/features-file.ts';
import { SUMMARY_TABLES } from '../tables/summary.ts';
import { Catalogue } from './catalogue.ts';
import { dayFolder, daysOf, hasIndex, indexFolder, partsIn } from './index-files.ts';
import { readRows } from './row-file.ts';
import { stampOf } from './stamp.ts';

/** How many folders above a recording may have the index that it is in. */
const LEVELS = 6;

/** What indexes have of recordings that have not changed since: each is read when the first recording below it is asked for. */
export function indexedFeatures(): (recording: { path: string }) => Features | undefined {
  const indexes = new Map<string, (recording: string) => Features | undefined>();
  return (recording) => {
    const folder = path.resolve(recording.path);
    let archive = path.dirname(folder);
    for (let level = 0; level < LEVELS && !hasIndex(archive); level++) archive = path.dirname(archive);
    if (!hasIndex(archive)) return undefined;
    let index = indexes.get(archive);
    if (index === undefined) {
      index = readIndex(archive);
      indexes.set(archive, index);
    }
    return index(folder);
  };
}

function readIndex(archive: string): (recording: string) => Features | undefined {
  const index = indexFolder(archive);
  const catalogue = new Catalogue(index);
  const featuresByRecording = new Map<string, string>();
  try {
    for (const day of daysOf(index, 'jobs'))
      for (const { name } of partsIn(path.join(index, dayFolder('jobs', day))))
        for (const row of readRows(path.join(index, dayFolder('jobs', day), name), SUMMARY_TABLES.jobs))
          if (typeof row.recording === 'string' && typeof row.features === 'string')
            featuresByRecording.set(row.recording, row.features);
  } catch {
    // it is being written, or is damaged: then processes are read
    return () => undefined;
  }
  return (recording) => {
    const id = path.relative(archive, recording);
    const features = featuresByRecording.get(id);
    if (features === undefined) return undefined;
    if (catalogue.get(id)?.stamp !== stampOf(recording, fs.readdirSync(recording))) return undefined;
    try {
      return numbersOf(JSON.parse(features));
    } catch {
      return undefined;
    }
  };
}
