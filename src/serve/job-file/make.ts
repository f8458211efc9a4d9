import * as fs from 'node:fs';
import * as path from 'node:path';
import * as zlib from 'node:zlib';
import { confinedTo } from '../../judge/confined-to.ts';
import { gather } from '../../judge/facts/gather.ts';
import type { Report } from '../../judge/report-schema.ts';
import { daskStream } from '../../query/dask/stream.ts';
import { readProcesses } from '../../query/processes/processes.ts';
import type { Recording } from '../../recording/folder/open.ts';
import { exactJson } from '../../show/exact-json.ts';
import type { InteractivePage } from '../../show/report/html.ts';
import type { ThreadData } from '../api.ts';
import { chartsThere, factsOf } from '../data/charts.ts';
import { processDataOf } from '../data/processes.ts';
import { jobSpansOf } from '../data/spans.ts';
import { busiestThreads } from '../data/threads.ts';
import { pageFolder } from '../page-files.ts';
import { chartValues } from './chart-values.ts';
import type { FiledChart, JobFileContents } from './contents.ts';
import { mostUsed } from './most-used.ts';

const MOST_PROCESSES = 10_000;
const MOST_THREADS = 5000;
const MOST_TASKS = 4000;
const NO_THREADS: ThreadData = {
  length: 0,
  process: [],
  tid: [],
  start: [],
  end: [],
  cpu: [],
  waiting: [],
  left_out: 0,
};

/** What makes the report of one job an interactive page: the program of the page, its style, and all that it shows. */
export function interactivePage(report: Report, recording: Recording): InteractivePage {
  const folder = pageFolder();
  const contents = contentsOf(JSON.parse(exactJson(report)) as Report, recording);
  return {
    script: fs.readFileSync(path.join(folder, 'job-file.js'), 'utf8'),
    style: fs.readFileSync(path.join(folder, 'app.css'), 'utf8'),
    data: zlib.gzipSync(JSON.stringify(contents), { level: 9 }).toString('base64'),
  };
}

function contentsOf(report: Report, recording: Recording): JobFileContents {
  const material = gather(recording);
  const range = confinedTo(report);
  const values: Record<string, FiledChart> = {};
  const charts = chartsThere(material).filter((chart) => {
    const filed = chartValues(material, chart, range ?? {});
    if (filed !== undefined) values[chart.id] = filed;
    return filed !== undefined;
  });
  const set = material.processes ?? readProcesses([recording]);
  const processes = processDataOf(set);
  const run = material.dask?.();
  return {
    report,
    ...(range === undefined ? {} : { range }),
    charts: charts.map(factsOf),
    values,
    spans: jobSpansOf(material),
    processes: mostUsed(processes, MOST_PROCESSES),
    // places of processes that are left out would be wrong ones
    threads: processes.length > MOST_PROCESSES ? NO_THREADS : busiestThreads(recording, set, MOST_THREADS),
    dask: {
      stream:
        run === undefined
          ? null
          : daskStream(run, range?.from ?? Number.NEGATIVE_INFINITY, range?.to ?? Number.POSITIVE_INFINITY, MOST_TASKS),
    },
    notes: { annotations: recording.job.annotations ?? {}, tags: recording.job.tags, writable: false },
  };
}
