import * as fs from 'node:fs';
import { Fault, usage } from '../base/fault.ts';
import { type MeasuredJob, measuredRecordings } from '../judge/outliers/measured-job.ts';
import { findRecordings, type Recording } from '../recording/open.ts';
import { progress } from '../show/progress.ts';
import { parseTags } from './tags.ts';

/** Jobs as they are named: recordings, folders that hold some, or ids of jobs in the current folder. */
export function openJobs(names: readonly string[], tags: readonly string[] = []): MeasuredJob[] {
  const wanted = Object.entries(parseTags(tags));
  const found = new Map<string, Recording>();
  for (const name of names.length === 0 ? ['.'] : names) {
    for (const recording of recordingsNamed(name)) found.set(recording.path, recording);
  }
  const jobs = [...found.values()].filter(({ job }) => wanted.every(([key, value]) => job.tags[key] === value));
  if (jobs.length === 0) {
    throw new Fault(`none of ${found.size} jobs has the tag ${tags.join(', ')}`, {
      hint: 'tacho list --format json shows the tags of jobs',
    });
  }
  for (const { troubles } of jobs) for (const trouble of troubles) process.stderr.write(`tacho: ${trouble}\n`);
  return measuredRecordings(jobs);
}

function recordingsNamed(name: string): Recording[] {
  if (fs.existsSync(name) || name.includes('/')) return findRecordings([name]);
  // an id, perhaps: of a job that lies here
  let here: Recording[] = [];
  try {
    here = findRecordings(['.']).filter(({ job }) => job.id === name);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
  return here.length > 0 ? here : findRecordings([name]);
}

/** One job by its name. */
export function openJob(name: string): MeasuredJob {
  const jobs = openJobs([name]);
  if (jobs.length === 1) return jobs[0]!;
  const ids = jobs.slice(0, 8).map(({ job }) => job.id);
  throw usage(`${name} holds ${jobs.length} jobs; name one of them`, `there are ${ids.join(', ')}`);
}

/** A bar for reading many jobs. */
export function readingJobs(number: number): { advance: () => void; done: () => void } {
  const bar = progress('reading jobs', number);
  return { advance: () => bar.advance(1), done: () => bar.done() };
}
