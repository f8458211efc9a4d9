import type { Command } from 'commander';

/** A verb's module: it adds arguments, options, examples and the action to the command that it is given. */
export interface VerbModule {
  define(command: Command): void;
}

export interface Verb {
  readonly name: string;
  /** Where `tacho --help` lists it. */
  readonly group:
    | 'Record a job'
    | 'Look at recordings'
    | 'Look at many jobs'
    | 'Maintain recordings'
    | 'Store many jobs'
    | 'Record a cluster'
    | 'Get to know Tacho';
  /** One line for `tacho --help`. */
  readonly summary: string;
  /** Modules are loaded only when their verb is used: starting must be quick. */
  readonly load: () => Promise<VerbModule>;
  readonly hidden?: boolean;
  /**
   * A job's script calls it: what goes wrong there is only said, so that the job goes on. --strict has it fail; the text
   * says what that means.
   */
  readonly strict?: string;
}

const STRICT = 'exit with 1 or 2 on failure; without it a warning is printed and the script goes on';

const record = 'Record a job';
const look = 'Look at recordings';
const past = 'Look at many jobs';
const keep = 'Maintain recordings';
const many = 'Store many jobs';
const cluster = 'Record a cluster';
const learn = 'Get to know Tacho';

// biome-ignore format: one verb, one line
export const verbs: readonly Verb[] = [
  { name: 'run', group: record, summary: 'record a command and print its report card', strict: 'do not run the command unless it is recorded as asked, on every node', load: () => import('./run.ts') },
  { name: 'start', group: record, summary: 'start recording on every node of this job', strict: `${STRICT}; all nodes must record`, load: () => import('./start.ts') },
  { name: 'stop', group: record, summary: 'stop recording, seal, and print the report card', strict: STRICT, load: () => import('./stop.ts') },
  { name: 'status', group: record, summary: 'show which nodes record, and how late they are', load: () => import('./status.ts') },
  { name: 'mark', group: record, summary: 'mark where a phase of the job begins or ends', strict: STRICT, load: () => import('./mark.ts') },
  { name: 'fom', group: record, summary: 'record a figure of merit (name=value)', strict: STRICT, load: () => import('./fom.ts') },
  { name: 'env', group: record, summary: 'make a shell record every process that it starts', load: () => import('./env.ts') },
  { name: 'dask', group: record, summary: 'record the tasks and workers of a Dask cluster', load: () => import('./dask.ts') },
  { name: 'report', group: look, summary: 'print the report card of recordings', load: () => import('./report.ts') },
  { name: 'top', group: look, summary: 'follow a job that runs: nodes, GPUs, processes, findings', load: () => import('./top.ts') },
  { name: 'show', group: look, summary: 'print the values of a table for each interval', load: () => import('./show.ts') },
  { name: 'plot', group: look, summary: 'draw charts in the terminal, or save them as SVG, PNG or PDF', load: () => import('./plot.ts') },
  { name: 'serve', group: look, summary: 'show recordings in a browser', load: () => import('./serve.ts') },
  { name: 'share', group: look, summary: 'make, list and revoke links to jobs of a served page', load: () => import('./share.ts') },
  { name: 'processes', group: look, summary: 'list what ran inside jobs, or show who started whom', load: () => import('./processes.ts') },
  { name: 'threads', group: look, summary: 'list the threads of a process', load: () => import('./threads.ts') },
  { name: 'ranks', group: look, summary: 'list the ranks of parallel programs (MPI, srun)', load: () => import('./ranks.ts') },
  { name: 'timeline', group: look, summary: 'draw when processes or operations ran', load: () => import('./timeline.ts') },
  { name: 'operations', group: look, summary: 'add up the processes of jobs by their tags', load: () => import('./operations.ts') },
  { name: 'compare', group: look, summary: 'show what differs between jobs, and why one took longer', load: () => import('./compare.ts') },
  { name: 'outliers', group: look, summary: 'find jobs, operations, processes or threads unlike the others', load: () => import('./outliers.ts') },
  { name: 'model', group: look, summary: 'keep good jobs as a baseline for others', load: () => import('./model.ts') },
  { name: 'cause', group: look, summary: 'show how a job differs from its baseline', load: () => import('./cause.ts') },
  { name: 'explore', group: look, summary: 'show an experiment by components, time segments and jobs', load: () => import('./explore.ts') },
  { name: 'scale', group: look, summary: 'show how a program scales, and what more cores would bring', load: () => import('./scale.ts') },
  { name: 'advise', group: look, summary: 'advise what to ask the scheduler for next time', load: () => import('./advise.ts') },
  { name: 'export', group: look, summary: 'write recordings as CSV, Parquet or NDJSON', load: () => import('./export.ts') },
  { name: 'notebook', group: look, summary: 'open recordings in a Jupyter notebook', load: () => import('./notebook.ts') },
  { name: 'list', group: look, summary: 'list recordings', load: () => import('./list.ts') },
  { name: 'mcp', group: look, summary: 'let an assistant ask about recordings (Model Context Protocol)', load: () => import('./mcp.ts') },
  { name: 'seal', group: keep, summary: 'make finished recordings small and fast', load: () => import('./seal.ts') },
  { name: 'verify', group: keep, summary: 'find and repair damage in recordings', load: () => import('./verify.ts') },
  { name: 'import', group: keep, summary: 'make recordings of what other programs recorded', load: () => import('./import.ts') },
  { name: 'annotate', group: keep, summary: 'add notes and tags to a job, or show them', load: () => import('./annotate.ts') },
  { name: 'jobs', group: past, summary: 'list the jobs of an archive, with filters', load: () => import('./jobs.ts') },
  { name: 'history', group: past, summary: 'show who used how much, and when', load: () => import('./history.ts') },
  { name: 'waste', group: past, summary: 'show what was reserved and not used, by user', load: () => import('./waste.ts') },
  { name: 'hogs', group: past, summary: 'show who used more than a fair share of full nodes', load: () => import('./hogs.ts') },
  { name: 'load', group: past, summary: 'show what nodes did over time', load: () => import('./load.ts') },
  { name: 'uptime', group: past, summary: 'show when nodes and GPUs were up', load: () => import('./uptime.ts') },
  { name: 'policy', group: past, summary: 'find jobs that break rules of the site, and notify users', load: () => import('./policy.ts') },
  { name: 'sql', group: past, summary: 'ask anything about jobs and recordings in SQL', load: () => import('./sql.ts') },
  { name: 'index', group: past, summary: 'keep one row per job, node, hour and finding beside an archive', load: () => import('./index.ts') },
  { name: 'submit', group: many, summary: 'store recordings in a PostgreSQL database', load: () => import('./submit.ts') },
  { name: 'watch', group: many, summary: 'store every recording that appears in a folder', load: () => import('./watch.ts') },
  { name: 'push', group: many, summary: 'send recordings to a VictoriaMetrics, for Grafana', load: () => import('./push.ts') },
  { name: 'db', group: many, summary: 'manage the database: tables, jobs, retention', load: () => import('./db.ts') },
  { name: 'hub', group: cluster, summary: 'receive what agents record, and file it by user and job', load: () => import('./hub.ts') },
  { name: 'token', group: cluster, summary: 'make the tokens with which agents and users prove who they are', load: () => import('./token.ts') },
  { name: 'agent', group: cluster, summary: 'record this node and every job on it, as a service', load: () => import('./agent.ts') },
  { name: 'job', group: cluster, summary: "tell this node's agent that a job begins or has ended", load: () => import('./job.ts') },
  { name: 'slurm', group: cluster, summary: "print the prolog and epilog that report jobs to the agents", load: () => import('./slurm.ts') },
  { name: 'nodes', group: cluster, summary: 'show what a hub receives: nodes, tables, age, rate', load: () => import('./nodes.ts') },
  { name: 'ls', group: cluster, hidden: true, summary: 'the old name of tacho nodes', load: () => import('./nodes.ts') },
  { name: 'check', group: learn, summary: 'show what can be recorded on this machine', load: () => import('./check.ts') },
  { name: 'demo', group: learn, summary: 'write the recording of a synthetic GPU job', load: () => import('./demo.ts') },
  { name: 'completion', group: learn, summary: 'print a completion script for a shell', load: () => import('./completion.ts') },
];
