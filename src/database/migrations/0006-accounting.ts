/** What Slurm's accounting knows of runs, recorded or not; those that are not recorded have rows among the summaries. */
export const accounting = {
  version: 6,
  what: 'jobs of accounting',
  sql: `
create table tacho.accounting (
  id text primary key,
  "job" text not null,
  "user" text not null,
  start_time bigint not null,
  end_time bigint,
  summaries jsonb not null
);
create index accounting_job on tacho.accounting (job);
alter table tacho.summary_jobs
  add column accounted text references tacho.accounting on delete cascade,
  add column completed text[];
alter table tacho.summary_job_nodes add column accounted text references tacho.accounting on delete cascade;
create index summary_jobs_accounted on tacho.summary_jobs (accounted);
create index summary_job_nodes_accounted on tacho.summary_job_nodes (accounted);
create index summary_jobs_whole on tacho.summary_jobs (split_part(job, '.', 1));
`,
};
