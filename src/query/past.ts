import * as fs from 'node:fs';
import * as path from 'node:path';
import { openRecording, readJob } from '../recording/folder/open.ts';
import type { SeriesStatistics } from '../recording/sealed/statistics.ts';
import { type Material, matching } from './material.ts';
import { summariseParts } from './summarise.ts';

/** A series of an earlier job whose recording lies beside this one. */
export interface PastSeries {
  /** The earlier job. */
  job: string;
  node: string;
  series: SeriesStatistics;
}

/** Number of earlier recordings that are read, the newest first. */
const MOST = 20;
/** Of a folder with more in it, so many by name are asked when they began. */
const MOST_NAMES = 500;

/** Some columns of a table in the jobs that ended before this one began, recorded into the same folder; the last one first. */
export function pastSeries(folder: string, start: number, table: string, columns: readonly string[]): PastSeries[] {
  const wanted = new Map([[table, columns]]);
  return earlier(folder, start).flatMap(({ recordingPath, id }) => {
    try {
      const nodes: Material['nodes'] = openRecording(recordingPath).nodes.map((node) => ({
        node: node.name,
        tables: summariseParts(node, [{}], wanted, new Map())[0]!.tables,
      }));
      return nodes.flatMap((one) => matching(one, table).map((series) => ({ job: id, node: one.node, series })));
    } catch {
      // what cannot be read of another job is no matter of this one
      return [];
    }
  });
}

function earlier(folder: string, start: number): { recordingPath: string; id: string }[] {
  const [own, beside] = [path.resolve(folder), path.dirname(path.resolve(folder))];
  const recordingPaths = namesIn(beside)
    .map((name) => path.join(beside, name))
    .filter((recordingPath) => recordingPath !== own);
  return recordingPaths
    .slice(-MOST_NAMES)
    .flatMap((recordingPath) => {
      const job = readJob(recordingPath);
      return job?.end !== undefined && job.end <= start ? [{ recordingPath, id: job.id, end: job.end }] : [];
    })
    .sort((a, b) => b.end - a.end)
    .slice(0, MOST);
}

function namesIn(folder: string): string[] {
  try {
    return fs
      .readdirSync(folder, { withFileTypes: true })
      .flatMap((entry) => (entry.isDirectory() && !entry.name.startsWith('.') ? [entry.name] : []))
      .sort();
  } catch {
    return [];
  }
}
