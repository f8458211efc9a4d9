import type { KeyName, NumberName, Table, TextName } from '../../table/table.ts';
import { findingsTable } from './findings.ts';
import { jobNodesTable } from './job-nodes.ts';
import { jobsTable } from './jobs.ts';
import { nodeHoursTable } from './node-hours.ts';

/** A row of a table by the names of its columns. What was not measured is not there; a key that nobody knows is ''. */
export type RowOf<T extends Table> = { /** Epoch microseconds, UTC. */ time: number } & {
  [K in KeyName<T>]: string;
} & { [K in TextName<T>]?: string } & { [K in NumberName<T>]?: number };

/** What is known of one job. */
export type JobSummary = RowOf<typeof jobsTable>;
export type JobNodeSummary = RowOf<typeof jobNodesTable>;
export type NodeHourSummary = RowOf<typeof nodeHoursTable>;
export type FindingSummary = RowOf<typeof findingsTable>;

/** All tables of the history, by name. */
export const SUMMARY_TABLES = {
  jobs: jobsTable,
  job_nodes: jobNodesTable,
  node_hours: nodeHoursTable,
  findings: findingsTable,
} as const;

export type SummaryTableName = keyof typeof SUMMARY_TABLES;

/** What one recording adds to the history. */
export interface RecordingSummaries {
  jobs: JobSummary[];
  job_nodes: JobNodeSummary[];
  node_hours: NodeHourSummary[];
  findings: FindingSummary[];
}

export type JobNumber = NumberName<typeof jobsTable>;
export type JobText = TextName<typeof jobsTable> | KeyName<typeof jobsTable>;
