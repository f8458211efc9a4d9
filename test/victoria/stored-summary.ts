import { downloadJob } from '../../src/query/store/download.ts';
import type { StoredJob } from '../../src/query/store/records.ts';
import { type NodeSummary, type SummariseOptions, summarise } from '../../src/query/summarise.ts';

/** What every series of every table of a job in a store showed. */
export async function storedSummary(job: StoredJob, options: SummariseOptions = {}): Promise<NodeSummary[]> {
  return summarise([await downloadJob(job, { rows: true })], options)[0]!.nodes;
}
