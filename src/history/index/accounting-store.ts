import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import type { JobSummary, RecordingSummaries } from '../tables/summary.ts';
import { accountingId, shardOf } from './entry.ts';

/** The folder beside the index: the index follows from the recordings and from what is in here. */
export const ACCOUNTING_FOLDER = '.tacho-accounting';

/** What accounting knows of a run. */
export interface Accounted {
  id: string;
  summaries: Pick<RecordingSummaries, 'jobs' | 'job_nodes'>;
}

/** What became of an import. */
export interface AddedAccounting {
  /** Runs that were named. */
  jobs: number;
  /** Rows of the index that are new or have changed. */
  added: number;
  unchanged: number;
  /** Runs that are recorded: their recording has the row. */
  recorded: number;
}

type Line = Accounted | { id: string; gone: true };

/**
 * What accounting knows of jobs, recorded or not: lines of JSON in 256 files by the hash of the job's id. The last line of a run
 * counts. Whoever adds holds the lock of the index.
 */
export class AccountingStore {
  private readonly folder: string;

  constructor(archive: string) {
    this.folder = path.join(archive, ACCOUNTING_FOLDER);
  }

  get exists(): boolean {
    return fs.existsSync(this.folder);
  }

  /** All runs of a job. */
  find(job: string): Accounted[] {
    const text = textOf(this.file(shardOf(job)));
    // most lines of a file are of other jobs: they are not parsed
    const mark = `:${JSON.stringify(job).slice(1, -1)}:`;
    const own: string[] = [];
    for (let at = text.indexOf(mark); at >= 0; ) {
      const end = text.indexOf('\n', at);
      const to = end < 0 ? text.length : end;
      own.push(text.slice(text.lastIndexOf('\n', at) + 1, to));
      at = text.indexOf(mark, to);
    }
    return [...latest(own).values()].filter(({ summaries }) => summaries.jobs[0]!.job === job);
  }

  *all(): Generator<Accounted> {
    for (const name of this.names()) yield* latest(textOf(path.join(this.folder, name)).split('\n')).values();
  }

  /** Puts runs in the place of what there was of them. Returns those that are new or have changed. */
  add(runs: readonly Accounted[], gone: readonly JobSummary[] = []): Accounted[] {
    const changed: Accounted[] = [];
    const lines = Map.groupBy(
      [
        ...gone.map((row) => ({ shard: shardOf(row.job), line: { id: accountingId(row), gone: true } as Line })),
        ...runs.map((run) => ({ shard: shardOf(run.summaries.jobs[0]!.job), line: run as Line })),
      ],
      ({ shard }) => shard,
    );
    try {
      makeFolder(this.folder, 0o700);
      for (const [shard, own] of lines) {
        const file = this.file(shard);
        const there = textOf(file).split('\n');
        const storedJobs = latest(there);
        const news = own.filter(({ line }) =>
          'gone' in line ? storedJobs.has(line.id) : JSON.stringify(storedJobs.get(line.id)) !== JSON.stringify(line),
        );
        if (news.length === 0) continue;
        changed.push(...news.flatMap(({ line }) => ('gone' in line ? [] : line)));
        const all = latest([...there, ...news.map(({ line }) => JSON.stringify(line))]);
        const text = [...all.values()].map((line) => `${JSON.stringify(line)}\n`).join('');
        fs.writeFileSync(`${file}.tmp`, text, { mode: 0o600 });
        fs.renameSync(`${file}.tmp`, file);
      }
    } catch (error) {
      if (error instanceof Fault) throw error;
      throw new Fault(`cannot write ${this.folder}: ${reason(error)}`, { cause: error });
    }
    return changed;
  }

  private file(shard: string): string {
    return path.join(this.folder, `${shard}.jsonl`);
  }

  private names(): string[] {
    try {
      return fs.readdirSync(this.folder).filter((name) => /^[0-9a-f]{2}\.jsonl$/.test(name));
    } catch (error) {
      if (code(error) === 'ENOENT') return [];
      throw new Fault(`cannot read ${this.folder}: ${reason(error)}`, { cause: error });
    }
  }
}

function textOf(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (code(error) === 'ENOENT') return '';
    throw new Fault(`cannot read ${file}: ${reason(error)}`, { cause: error });
  }
}

/** A line that is no JSON is left out: the next import brings its job again. */
function latest(lines: readonly string[]): Map<string, Accounted> {
  const accountedById = new Map<string, Accounted>();
  for (const text of lines) {
    if (text === '') continue;
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch {
      continue;
    }
    if ('gone' in line) accountedById.delete(line.id);
    else if (line.summaries?.jobs?.[0] !== undefined) accountedById.set(line.id, line);
  }
  return accountedById;
}

/** The job that a recording is of, or a part of: of the task 4711.0.3 the job 4711. */
export const wholeJob = (id: string): string => id.replace(/^(\d+(?:_\d+)?)\..*$/, '$1');

/** Slurm and the agent begin within so many seconds. */
const NEAR_US = 300e6;

/** Whether a recording and a line of accounting are of the same run of a job. */
export function isSameRun(recorded: JobSummary, accounted: JobSummary): boolean {
  if (wholeJob(recorded.job) !== accounted.job) return false;
  if (recorded.cluster !== '' && accounted.cluster !== '' && recorded.cluster !== accounted.cluster) return false;
  const end = accounted.end_time ?? Number.POSITIVE_INFINITY;
  return recorded.time >= accounted.time - NEAR_US && recorded.time <= end + NEAR_US;
}

const COMPLETED = [
  'submit_time',
  'wait_seconds',
  'account',
  'partition',
  'asked_nodes',
  'asked_cpus',
  'asked_memory_bytes',
  'asked_gpus',
  'time_limit_seconds',
] as const satisfies (keyof JobSummary)[];

/** The row of a recording, with what only accounting knows. What was recorded stays. */
export function completed(recorded: JobSummary, accounted: JobSummary): JobSummary {
  // a task of a job has a part of what was asked for
  if (recorded.job !== accounted.job) return recorded;
  const row: Record<string, unknown> = { ...recorded };
  for (const name of COMPLETED)
    if (row[name] === undefined && accounted[name] !== undefined) row[name] = accounted[name];
  const isKnown = recorded.state !== undefined && recorded.state !== 'unknown' && recorded.state !== 'running';
  if (!isKnown && accounted.state !== 'running' && accounted.state !== 'unknown')
    for (const name of ['state', 'exit_code', 'signal', 'reason', 'end_time'] as const)
      if (accounted[name] !== undefined && (name !== 'end_time' || row.end_time === undefined))
        row[name] = accounted[name];
  return row as JobSummary;
}
