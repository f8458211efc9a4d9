import type { Job } from '../../recording/folder/job.ts';

/** A value between quotes in MetricsQL. */
export const quoted = (text: string): string => JSON.stringify(text);

/** Exactly one of these, as a regular expression. */
export function oneOf(alternatives: readonly string[]): string {
  return alternatives.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|');
}

export interface Which {
  /** Names of metrics. */
  names?: readonly string[];
  job: string;
  restart?: number;
  nodes?: readonly string[];
  /** Labels that a site puts on every series (metrics.labels), as they are on this job's. */
  labels?: Readonly<Record<string, string>>;
}

/** The series of a job, all or those of some names and nodes: {__name__=~"…",job="4711",restart="",node=~"…"} */
export function selector({ names, job, restart, nodes, labels = {} }: Which): string {
  const matchers: string[] = [];
  if (names?.length === 1) matchers.push(`__name__=${quoted(names[0]!)}`);
  else if (names !== undefined) matchers.push(`__name__=~${quoted(oneOf(names))}`);
  matchers.push(
    `job=${quoted(job)}`,
    `restart=${quoted(restart === undefined || restart === 0 ? '' : String(restart))}`,
  );
  if (nodes !== undefined) matchers.push(`node=~${quoted(oneOf(nodes))}`);
  for (const [name, value] of Object.entries(labels)) matchers.push(`${name}=${quoted(value)}`);
  return `{${matchers.join(',')}}`;
}

/** Milliseconds as MetricsQL writes a duration; it must be more than nothing. */
export const duration = (milliseconds: number): string => `${Math.max(1, Math.round(milliseconds))}ms`;

/** Pieces of a list, so that no query and no answer gets too large. */
export function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

/** Whose series a job's are, without the nodes and names. */
export function ownerOf(job: Pick<Job, 'id' | 'restart'>, labels: Readonly<Record<string, string>>): Which {
  // what a user recorded of the same job has this label
  return {
    job: job.id,
    labels: { recorded_by: '', ...labels },
    ...(job.restart === undefined ? {} : { restart: job.restart }),
  };
}
