import * as fs from 'node:fs';
import * as path from 'node:path';
import { code } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { VERSION } from '../../base/version.ts';
import { plain } from '../../jobs/schedulers/job-facts.ts';
import type { AgentRecord } from '../../recording/folder/agent-record.ts';
import { FORMAT, type Job } from '../../recording/folder/job.ts';
import { nodeFolder } from '../../recording/folder/node-folder.ts';
import { readJob } from '../../recording/folder/open.ts';
import { replaceJson } from '../../recording/folder/replace.ts';
import { syncFolder } from '../../recording/folder/synced.ts';
import { moveTables } from '../../recording/folder/tables-file.ts';
import type { Batch } from '../../recording/read/batch.ts';
import { packedMetadata, writeParquet } from '../../recording/sealed/parquet/write.ts';
import type { TableStatistics } from '../../recording/sealed/statistics.ts';
import { writeStatistics } from '../../recording/sealed/statistics-file.ts';
import type { Note } from '../../sources/host.ts';
import { processEndTable, threadEndTable } from '../../sources/records/tables.ts';
import type { WrittenRecording } from './import.ts';
import type { NodeTables } from './tables.ts';

const TABLES = [processEndTable.name, threadEndTable.name];

export type Doubt = NonNullable<AgentRecord['doubts']>[number];

export interface ImportedNode extends NodeTables {
  name: string;
  notes: Note[];
  doubts: Doubt[];
}

/** The folder that the recording of a job gets; another run of the same id, or an id like it, may have the first name. */
export function recordingPath(
  folder: string,
  job: Pick<Job, 'id' | 'start' | 'user'>,
): { target: string; there: boolean } {
  const name = path.join(folder, `tacho-${plain(job.id)}`);
  for (let n = 1; ; n++) {
    const target = n === 1 ? name : `${name}-${n}`;
    if (!fs.existsSync(target)) return { target, there: false };
    const earlierJob = readJob(target);
    if (earlierJob?.id === job.id && earlierJob.start === job.start && earlierJob.user === job.user)
      return { target, there: true };
  }
}

/**
 * Writes a sealed recording under a name that nobody looks at, then gives it its own, which `place` says: it is there
 * whole or not at all. Returns where.
 */
export function writeRecording(
  placeRecording: () => string,
  job: Job,
  nodes: readonly ImportedNode[],
  from: string,
  complete?: (written: WrittenRecording) => void,
): string {
  const first = placeRecording();
  const folder = path.dirname(first);
  // an import beside this one that came to nothing may have removed it
  makeFolder(folder);
  const temporary = fs.mkdtempSync(path.join(folder, `.${path.basename(first)}.tmp-`));
  try {
    for (const node of nodes) writeNode(temporary, job, node, from);
    for (const { name } of nodes)
      moveTables(path.join(temporary, nodeFolder(name)), { written: TABLES, several: nodes.length > 1 });
    replaceJson(path.join(temporary, 'job.json'), job);
    complete?.({ folder: temporary, nodes });
    const target = rename(temporary, placeRecording);
    syncFolder(folder);
    return target;
  } catch (error) {
    fs.rmSync(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Another import may have taken the name meanwhile: then there is a next one. */
function rename(temporary: string, placeRecording: () => string): string {
  for (;;) {
    const target = placeRecording();
    try {
      fs.renameSync(temporary, target);
      return target;
    } catch (error) {
      if (code(error) !== 'ENOTEMPTY' && code(error) !== 'EEXIST') throw error;
    }
  }
}

function writeNode(recording: string, job: Job, node: ImportedNode, from: string): void {
  const folder = path.join(recording, nodeFolder(node.name));
  fs.mkdirSync(folder, { mode: 0o700 });
  let bytes = 0;
  const put = (batch: Batch, rows: number, times: readonly Float64Array[]): void => {
    const { name } = batch.table;
    const sealed = path.join(folder, `${name}.parquet`);
    bytes += writeParquet(sealed, batch, { quick: true, whole: node.whole, metadata: packedMetadata(batch.table) });
    writeStatistics(path.join(folder, `${name}.stats.json`), statisticsOf(name, rows, times), sealed);
  };
  const { processes, threads } = node;
  put(processes, processes.rows, [processes.time]);
  put(threads, node.threadCount, [processes.time, threads.time]);
  replaceJson(path.join(folder, 'agent.json'), agentRecord(job, node, from, bytes));
}

/** Events have no statistics: only how many there were, and when. */
function statisticsOf(table: string, rows: number, times: readonly Float64Array[]): TableStatistics {
  let start = Number.POSITIVE_INFINITY;
  let end = Number.NEGATIVE_INFINITY;
  for (const moments of times) {
    for (const moment of moments) {
      if (moment < start) start = moment;
      if (moment > end) end = moment;
    }
  }
  return { table, rows, start, end, series: [], series_total: rows };
}

/** No agent was there: what it says of itself is where the data came from, and what they cannot tell. */
function agentRecord(job: Job, node: ImportedNode, from: string, bytes: number): AgentRecord {
  return {
    format: FORMAT,
    tacho: VERSION,
    node: node.name,
    pid: 0,
    interval_seconds: Number.NaN,
    start: job.start,
    // what was recorded covers the whole job
    first_sample: job.start,
    last_sample: job.end!,
    end: job.end!,
    end_reason: `imported from EPMT (${path.basename(from)})`,
    facts: {
      hostname: node.name,
      kernel: '',
      architecture: '',
      cpus: Number.NaN,
      memory_bytes: Number.NaN,
      gpus: [],
    },
    scope: { members: "the job's processes, as papiex recorded them" },
    tables: [node.processes.table, node.threads.table],
    unmeasured: node.notes,
    ...(node.doubts.length === 0 ? {} : { doubts: node.doubts }),
    ticks: 0,
    late_ticks: 0,
    missed_ticks: 0,
    cost: { cpu_seconds: 0, max_rss_bytes: 0, bytes_written: bytes },
  };
}
