import { Fault } from '../base/fault.ts';
import { formatBytes } from '../base/size.ts';
import type { Report } from '../judge/report-schema.ts';
import type { Job } from '../recording/folder/job.ts';
import type { Database } from './connect.ts';
import { storableJson } from './copy-write.ts';
import { namedJobs } from './find-jobs.ts';

/** What is to be said of a job. */
export interface Notes {
  annotations: Readonly<Record<string, string>>;
  tags: Readonly<Record<string, string>>;
  /** Annotations that go. */
  remove: readonly string[];
}

/** Nothing is to be added or removed. */
export const isNothing = ({ annotations, tags, remove }: Notes): boolean =>
  Object.keys(annotations).length + Object.keys(tags).length + remove.length === 0;

/** The job with more said about it. */
export function annotated(job: Job, notes: Notes): Job {
  const annotations = { ...job.annotations, ...notes.annotations };
  for (const key of notes.remove) delete annotations[key];
  const changed = { ...job, annotations, tags: { ...job.tags, ...notes.tags } };
  const bytes = bytesOf(changed);
  // what is too much already may become less
  if (bytes > MOST_BYTES && bytes > bytesOf(job))
    throw new Fault(
      `the annotations and tags of job ${job.id} would have ${formatBytes(bytes)}; at most ${formatBytes(MOST_BYTES)} are kept`,
      { hint: 'put long texts into a file, and annotate where it is' },
    );
  return changed;
}

/** A job.json with more than 1 MiB is not read any more, and more is in it. */
const MOST_BYTES = 256 << 10;

const bytesOf = ({ annotations = {}, tags }: Job): number => Buffer.byteLength(JSON.stringify([annotations, tags]));

/** Says it of a job in the database. */
export async function annotateStored(database: Database, name: string, notes: Notes): Promise<Job> {
  const [storedJob] = await namedJobs(database, [name]);
  return database.transaction(async () => {
    const { rows } = await database.query<{ facts: Job; annotations: Record<string, string>; report: Report }>(
      'select facts, annotations, report from tacho.jobs where job = $1 for update',
      [storedJob!.job],
    );
    const { facts, annotations, report } = rows[0]!;
    const job = annotated({ ...facts, annotations }, notes);
    if (isNothing(notes)) return job;
    // its report card has the tags and annotations too
    const renewed = { ...report, job: { ...report.job, tags: job.tags, annotations: job.annotations } };
    await database.query('update tacho.jobs set facts = $2, tags = $3, annotations = $4, report = $5 where job = $1', [
      storedJob!.job,
      storableJson(job),
      storableJson(job.tags),
      storableJson(job.annotations),
      storableJson(renewed),
    ]);
    return job;
  });
}
