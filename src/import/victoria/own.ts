import { defaultFolder } from '../../jobs/schedulers/job-facts.ts';
import type { Store } from '../../query/store/client.ts';
import { columnsByMetric, keysOf, sampleOf, textsOf } from '../../query/store/columns.ts';
import type { StoredJob } from '../../query/store/records.ts';
import { selector } from '../../query/store/selector.ts';
import { storedMarkers } from '../../query/store/stored.ts';
import type { NodeRecording } from '../../recording/folder/open.ts';
import type { Batch } from '../../recording/read/batch.ts';
import { infoName } from '../../table/names.ts';
import type { Table } from '../../table/table.ts';
import { markerBatch } from '../series/markers.ts';
import { TableRows } from '../series/rows.ts';
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
        const batch = await storedTable(stored, node, table);
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

async function storedTable(stored: StoredJob, node: NodeRecording, table: Table): Promise<Batch | undefined> {
  const { store, owner, from, to } = stored;
  const columns = columnsByMetric(table);
  const info = infoName(table);
  const names = [...columns.keys(), ...(table.columns.some((c) => c.type === 'text') ? [info] : [])];
  const series = selector({ ...owner, names, nodes: [node.name] });
  return tableOf(store.samples(series, from, to), table, columns, info);
}

async function tableOf(
  samples: ReturnType<Store['samples']>,
  table: Table,
  columns: ReturnType<typeof columnsByMetric>,
  info: string,
): Promise<Batch | undefined> {
  const rows = new TableRows(table);
  for await (const { labels, values, times } of samples) {
    const keys = keysOf(table, labels);
    if (labels.__name__ === info) {
      const texts = textsOf(table, labels);
      for (const time of times) rows.say(keys, { time, texts });
      continue;
    }
    const column = columns.get(labels.__name__ ?? '');
    if (column === undefined) continue;
    rows.add(keys, column.name, { times, values: values.map((value) => sampleOf(column, value)) });
  }
  return rows.columns().size === 0 ? undefined : rows.batch();
}
