import type { Report } from '../../judge/report-schema.ts';
import type { ChartData, ChartFacts, DaskStreamData, JobNotes, JobSpans, ProcessData, ThreadData } from '../api.ts';

/** The values of one chart in a job file. */
export interface FiledChart {
  /** Every series, or of many a band. */
  lines: ChartData;
  /** Every series, where `lines` is a band; not there: too many for a file. */
  heat?: ChartData;
}

/** All that the page of one job shows, in one file that needs no server. */
export interface JobFileContents {
  report: Report;
  /** The part of the job that the report is about, microseconds; not there: all of it. */
  range?: { from: number; to: number };
  charts: ChartFacts[];
  /** By the id of the chart. */
  values: Record<string, FiledChart>;
  spans: JobSpans;
  processes: ProcessData;
  threads: ThreadData;
  dask: DaskStreamData;
  notes: JobNotes;
}
