import { defaultFolder } from '../../jobs/schedulers/job-facts.ts';
import { storedTable } from '../../query/store/download.ts';
import { markerBatch } from '../../query/store/marker-rows.ts';
import { storedMarkers } from '../../query/store/markers.ts';
import type { StoredJob } from '../../query/store/records.ts';
import { SealedRecording } from '../series/write.ts';

export interface Imported {
  recording: string;
  job: string;
  nodes: string[];
  rows: number;
  /** What somebody should know about the data. */
  notes: string[];
}

/** A job that Tacho pushed, as a recording again: all samples are downloaded, a table of a node at a time. */
export async function importStored(
  stored: StoredJob,
  folder: string,
  signal?: AbortSignal,
  wanted?: readonly string[],
): Promise<Imported> {
  const { job, nodes } = stored.recording;
  const recording = new SealedRecording(folder, folderOf(stored));
  try {
    const markers = await storedMarkers(stored);
    for (const node of nodes) {
      const written: string[] = [];
      for (const { every: _, ...table } of node.agent?.tables ?? []) {
        if (table.events === true || (wanted !== undefined && !wanted.includes(table.name))) continue;
        signal?.throwIfAborted();
        const batch = (await storedTable(stored, [node], table)).get(node);
        if (batch === undefined) continue;
        recording.table(node.name, batch, job.interval_seconds);
        written.push(table.name);
      }
      const own = markers.filter((each) => each.node === node.name);
      if (own.length > 0) recording.table(node.name, markerBatch(own), job.interval_seconds);
      const not_stored = (node.agent?.written ?? []).filter((table) => !written.includes(table));
      if (node.agent !== undefined) recording.agent({ ...node.agent, written, from_store: true, not_stored });
    }
    const rows = recording.rows;
    return { recording: recording.finish(job), job: job.id, nodes: job.nodes, rows, notes: [] };
  } catch (error) {
    recording.abandon();
    throw error;
  }
}

/** Whose it is and who recorded it is in the name where there is another one of this id. */
function folderOf({ recording, run }: StoredJob): string {
  const { job, path } = recording;
  const whose = path.includes(`#${job.user}/`) ? `@${encodeURIComponent(job.user)}` : '';
  const own = job.recorded_by === undefined ? '' : '+own';
  return `${defaultFolder(job)}${whose}${own}${run === undefined ? '' : `.${run}`}`;
}
