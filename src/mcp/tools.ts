import { z } from 'zod';
import { adviceOf } from '../advise/advise.ts';
import { Fault } from '../base/fault.ts';
import { parseMoment } from '../base/moment.ts';
import { stated } from '../base/stated.ts';
import { bandOf, draw, hasChart } from '../charts/draw.ts';
import { chartOf, JOB_CHARTS } from '../charts/job-charts.ts';
import { METRICS } from '../history/ask/metrics.ts';
import { GROUPS } from '../history/ask/usage.ts';
import { COMPARE_BY, compare } from '../judge/compare/compare.ts';
import { commandOf } from '../query/processes/columns.ts';
import { readColumns } from '../query/processes/processes.ts';
import { joinColumns } from '../query/processes/set.ts';
import { linkProcesses } from '../query/processes/tree.ts';
import { processEndTable } from '../sources/tables.ts';
import type { JobsAtHand } from './jobs-at-hand.ts';

/** One question that an assistant may ask. All of them only read. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  input: z.ZodObject;
  run(jobs: JobsAtHand, given: never): Promise<unknown>;
}

const tool = <S extends z.ZodRawShape>(
  name: string,
  title: string,
  description: string,
  shape: S,
  run: (jobs: JobsAtHand, given: z.infer<z.ZodObject<S>>) => Promise<unknown>,
): Tool => ({ name, title, description, input: z.strictObject(shape), run: run as Tool['run'] });

const job = z.string().min(1).max(300).describe('Id of a job, or name of its recording.');
const time = (what: string) =>
  z.string().max(40).optional().describe(`${what}: a date (2026-03-01), a moment, or an age (-7d).`);
const names = (what: string) =>
  z.array(z.string().max(200)).max(50).optional().describe(`${what}; * and ? are allowed.`);
const limit = (usual: number) =>
  z.number().int().min(1).max(200).optional().describe(`Maximum number of results (default: ${usual}).`);

const filter = {
  users: names('Only jobs of these users'),
  accounts: names('Only jobs of these accounts'),
  partitions: names('Only jobs in these partitions'),
  names: names('Only jobs with these names'),
  programs: names('Only runs of these programs'),
  states: names('Only jobs that ended so: completed, failed, timeout, out_of_memory …'),
  findings: names('Only jobs with one of these findings'),
  from: time('Only jobs that ended then or later'),
  to: time('Only jobs that ended before'),
};

interface Given {
  from?: string | undefined;
  to?: string | undefined;
}

const moments = ({ from, to }: Given): { from?: number; to?: number } =>
  stated({
    from: from === undefined ? undefined : parseMoment(from),
    to: to === undefined ? undefined : parseMoment(to),
  });

export const TOOLS: readonly Tool[] = [
  tool(
    'list_jobs',
    'List jobs',
    'Jobs with what they asked for and used, the newest first: CPU, memory and GPU use (0 to 1), core-hours and how many were wasted, findings.',
    { ...filter, limit: limit(30) },
    async (jobs, { limit: most = 30, from, to, ...lists }) => {
      const jobSummaries = await jobs.asking((history) =>
        history.selectJobs({
          ...stated(lists),
          ...moments({ from, to }),
          order: { by: 'time', descending: true },
          limit: most,
        }),
      );
      return jobSummaries.map(({ command: _, directory: __, node_list: ___, ...row }) => row);
    },
  ),
  tool(
    'report',
    'Report of a job',
    'Everything that the report card of one job says: what it used, nodes, GPUs, processes, phases, findings, and how good the recording is.',
    { job },
    async (jobs, { job: name }) => {
      const { checks: _, ...rest } = (await jobs.open(name)).report;
      return rest;
    },
  ),
  tool(
    'findings',
    'Findings of a job',
    'What is wrong with one job or could be better, each with its evidence, advice and confidence; and what could not be judged, and why.',
    { job },
    async (jobs, { job: name }) => {
      const { findings, checks, unmeasured } = (await jobs.open(name)).report;
      return { findings, not_judged: checks.filter(({ outcome }) => outcome === 'unmeasurable'), unmeasured };
    },
  ),
  tool(
    'compare',
    'Compare jobs',
    'What differs between two to six jobs, ranked: which operations or programs explain the difference in time, tasks of Dask by prefix, and which metrics differ. Durations and differences are microseconds.',
    { jobs: z.array(job).min(2).max(6), by: z.enum(COMPARE_BY).optional() },
    async (jobs, { jobs: list, by }) => {
      const opened = [];
      for (const name of list) opened.push(await jobs.open(name));
      const columnsOfJobs = opened.map(({ material, recording }) => material.processes ?? readColumns([recording]));
      return compare(
        opened.map(({ report }) => report),
        linkProcesses(joinColumns(columnsOfJobs)),
        by,
      );
    },
  ),
  tool(
    'series',
    'A job over time',
    'What one job did over time: without chart, the charts that it has; with one, in each step (step_seconds, from first on) the least, mean and greatest of all series and their sum, and with node each series of that node. A missing value is null.',
    {
      job,
      chart: z.string().max(40).optional(),
      from: time('From'),
      to: time('Until'),
      node: z.string().max(200).optional(),
      points: z.number().int().min(1).max(200).optional().describe('Steps (60).'),
    },
    async (jobs, { job: name, chart: id, from, to, node, points = 60 }) => {
      const { material } = await jobs.open(name);
      const charts = JOB_CHARTS.filter((each) => hasChart(material, each));
      const chart = id === undefined ? undefined : chartOf(id);
      if (id !== undefined && chart === undefined)
        throw new Fault(`there is no chart "${id}"`, {
          hint: `this job has ${charts.map((each) => each.id).join(', ')}`,
        });
      if (chart === undefined) return { charts: charts.map(({ sources: _, ...facts }) => facts) };
      const drawing = draw(material, chart, { ...moments({ from, to }), points, ...stated({ node }) });
      if (drawing === undefined) return { missing: `nothing was recorded for "${chart.title}" in this time` };
      const { series, source, from: first, step } = drawing;
      const own = node === undefined ? {} : { series: series.map(({ key, mean }) => ({ key, mean })) };
      return {
        title: chart.title,
        unit: chart.unit,
        scope: source.scope,
        first,
        step_seconds: step / 1e6,
        count: series.length,
        all: bandOf(drawing),
        ...own,
      };
    },
  ),
  tool(
    'processes',
    'Processes of a job',
    'The processes of one job that used most: command, pid, node, start, duration, CPU time, peak memory, exit code.',
    {
      job,
      sort: z.enum(['cpu', 'memory', 'duration']).optional(),
      command: z.string().max(200).optional().describe('Only commands with this in them.'),
      limit: limit(30),
    },
    async (jobs, { job: name, sort = 'cpu', command, limit: most = 30 }) => {
      const { material, recording } = await jobs.open(name);
      const set = material.processes ?? linkProcesses(readColumns([recording]));
      const memory = set.metrics.get(processEndTable.col.rssmax.name);
      const rows = Array.from({ length: set.length }, (_, i) => ({
        command: commandOf(set, i),
        pid: set.pid[i]!,
        node: set.node[i]!,
        start: set.start[i]!,
        duration: (set.end[i]! - set.start[i]!) / 1e6,
        cpu: set.cpu_time[i]! / 1e6,
        memory: (memory?.[i] ?? Number.NaN) * 1024,
        exit_code: set.exitcode[i]!,
        rank: set.rank[i]!,
      })).filter((row) => command === undefined || row.command.includes(command));
      rows.sort((a, b) => (b[sort] || 0) - (a[sort] || 0));
      return {
        processes: rows.length,
        shown: rows.slice(0, most),
        units: { duration: 's', cpu: 's', memory: 'bytes' },
      };
    },
  ),
  tool(
    'history',
    'Who used how much, and when',
    'What the jobs of a period used, by user, account, partition, node, program or time.',
    {
      by: z.enum(GROUPS),
      metric: z
        .enum(METRICS.map(({ name }) => name) as [string, ...string[]])
        .optional()
        .describe('core-hours if not given.'),
      timezone: z.string().max(60).optional(),
      ...filter,
    },
    async (jobs, { by, metric = 'core-hours', timezone, from = '-30d', to, ...lists }) =>
      jobs.asking((history) =>
        history.usage({
          by,
          metric: metric as never,
          from: parseMoment(from),
          to: to === undefined ? Date.now() * 1000 : parseMoment(to),
          filter: stated(lists),
          ...stated({ zone: timezone }),
        }),
      ),
  ),
  tool(
    'advise',
    'What to ask for next time',
    'Time, memory, CPUs, GPUs and nodes for the next job, from what past runs used, as the head of a job script, with what it saves and how sure it is.',
    { ...filter, jobs: names('Ids of jobs'), last: z.number().int().min(1).max(1000).optional() },
    async (jobs, { from, to, last = 100, ...lists }) => {
      const jobSummaries = await jobs.asking((history) =>
        history.selectJobs({
          ...stated(lists),
          ...moments({ from, to }),
          order: { by: 'time', descending: true },
          limit: last,
        }),
      );
      if (jobSummaries.length === 0) throw new Fault('no job matches', { hint: 'list_jobs says which jobs there are' });
      return adviceOf(jobSummaries, {});
    },
  ),
];
