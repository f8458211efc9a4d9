/** Metrics of processes and of threads as of this version; test/native/lists.test.ts compares them with the tables. */
const METRICS = `
  usertime systemtime cutime cstime rssmax vsize minflt majflt cminflt cmajflt inblock outblock vol_ctxsw
  invol_ctxsw rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes time_oncpu time_waiting
  timeslices delayacct_blkio_time guest_time starttime processor num_threads rdtsc_duration
  perf_count_sw_cpu_clock
`
  .trim()
  .split(/\s+/)
  .map((name) => `  ${name} double precision,\n`)
  .join('');

/**
 * Jobs with their processes and threads. A process is known by its job and its number within it, so that a whole job
 * can be written in one go without asking the database for numbers. Missing is NULL. Metrics have the names that their
 * users know, in lower case; CPU times are microseconds. What a later machine counts beyond them is in `more`.
 */
export const jobs = {
  version: 1,
  what: 'jobs, users, hosts, processes, threads, operations, models',
  sql: `
create table tacho.users (
  name text primary key,
  uid bigint,
  since timestamptz not null default now()
);

create table tacho.hosts (
  name text primary key,
  facts jsonb not null default '{}',
  since timestamptz not null default now()
);

create table tacho.jobs (
  job bigint generated always as identity primary key,
  cluster text not null,
  id text not null,
  restart integer not null,
  start_time timestamptz not null,
  end_time timestamptz,
  submit_time timestamptz,
  name text not null,
  user_name text not null references tacho.users,
  account text,
  partition text,
  scheduler text not null,
  state text not null,
  exit_code integer,
  signal text,
  directory text,
  nodes text[] not null,
  tags jsonb not null,
  annotations jsonb not null default '{}',
  facts json not null,
  summary jsonb not null default '{}',
  findings jsonb not null default '[]',
  report json not null default '{}',
  measured json not null default '{}',
  processes integer not null,
  threads integer not null default 0,
  cpu_time double precision,
  metrics text[] not null,
  thread_metrics text[] not null default '{}',
  troubles text[] not null,
  recording text,
  submitted timestamptz not null default now(),
  submitted_by text not null default current_user,
  unique (cluster, id, restart, start_time)
);
create index jobs_id on tacho.jobs (id);
create index jobs_user on tacho.jobs (user_name, start_time);
create index jobs_time on tacho.jobs (start_time);
create index jobs_tags on tacho.jobs using gin (tags jsonb_path_ops);

create table tacho.job_hosts (
  job bigint not null references tacho.jobs on delete cascade,
  host text not null references tacho.hosts,
  agent jsonb,
  primary key (job, host)
);
create index job_hosts_host on tacho.job_hosts (host);

create table tacho.processes (
  job bigint not null,
  process integer not null,
  node text not null,
  pid bigint,
  ppid bigint,
  pgid bigint,
  sid bigint,
  uid bigint,
  user_name text,
  exename text,
  path text,
  args text,
  directory text,
  tags text,
  rank text,
  ended text,
  source text not null,
  start_time timestamptz,
  end_time timestamptz,
  birth_time timestamptz,
  exitcode bigint,
  exitsignal bigint,
  threads bigint,
  parent integer,
  depth integer not null,
  descendants integer not null,
  cpu_time double precision,
  inclusive_cpu_time double precision,
${METRICS}  more jsonb,
  primary key (job, process)
);
create index processes_exename on tacho.processes (exename, job);

create table tacho.threads (
  job bigint not null,
  process integer not null,
  thread integer not null,
  tid bigint,
  start_time timestamptz,
  end_time timestamptz,
  cpu_time double precision,
${METRICS}  more jsonb,
  primary key (job, process, thread)
);

-- instead of a foreign key, which would look up the job once for every row that is written
create function tacho.forget_processes() returns trigger language plpgsql as $$
begin
  delete from tacho.threads t using gone where t.job = gone.job;
  delete from tacho.processes p using gone where p.job = gone.job;
  return null;
end $$;
create trigger forget_processes after delete on tacho.jobs
  referencing old table as gone for each statement execute function tacho.forget_processes();

create table tacho.operations (
  job bigint not null references tacho.jobs on delete cascade,
  key text not null,
  value text not null,
  processes integer not null,
  threads double precision,
  runs integer not null,
  endless integer not null,
  cpu_time double precision,
  duration double precision,
  duration_sum double precision,
  duration_span double precision,
  start_time timestamptz,
  end_time timestamptz,
  primary key (job, key, value)
);
create index operations_tag on tacho.operations (key, value, job);

create table tacho.models (
  name text primary key,
  owner text not null default current_user,
  enabled boolean not null default true,
  created timestamptz not null default now(),
  model json not null
);
`,
};
