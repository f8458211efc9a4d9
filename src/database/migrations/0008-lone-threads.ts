/** Metrics of threads as of this version, in the order of their columns; those that no thread has of its own are NULL. */
const METRICS = `
  usertime systemtime NULL NULL rssmax vsize minflt majflt NULL NULL inblock outblock vol_ctxsw
  invol_ctxsw rchar wchar syscr syscw read_bytes write_bytes cancelled_write_bytes time_oncpu time_waiting
  timeslices delayacct_blkio_time guest_time starttime processor num_threads rdtsc_duration
  perf_count_sw_cpu_clock
`
  .trim()
  .split(/\s+/)
  .map((name) => (name === 'NULL' ? 'null::double precision' : name))
  .join(', ');

/**
 * A thread that says what its process says has no row: `threads` is a view that has it from the process. The function in it
 * asks as whoever asks the view, so that row-level security holds; PostgreSQL 13 and 14 have no other way.
 */
export const loneThreads = {
  version: 8,
  what: 'threads that are all of their process take no rows of their own',
  sql: `
alter table tacho.processes add column lone_thread boolean;
alter table tacho.threads rename to thread_rows;

create function tacho.all_threads() returns setof tacho.thread_rows language sql stable as $$
  select * from tacho.thread_rows
  union all
  select job, process, 0, pid, start_time, end_time, cpu_time, ${METRICS}, more
  from tacho.processes where lone_thread
$$;
create view tacho.threads as select * from tacho.all_threads();

-- who might read the table reads the view
do $$
declare reader record;
begin
  for reader in
    select coalesce(quote_ident(rolname), 'public') as name
    from pg_class cross join aclexplode(relacl) as granted left join pg_roles r on r.oid = granted.grantee
    where pg_class.oid = 'tacho.thread_rows'::regclass and privilege_type = 'SELECT' and granted.grantee <> relowner
  loop
    execute 'grant select on tacho.threads to ' || reader.name;
  end loop;
end $$;

create or replace function tacho.forget_processes() returns trigger language plpgsql as $$
begin
  delete from tacho.thread_rows t using gone where t.job = gone.job;
  delete from tacho.processes p using gone where p.job = gone.job;
  return null;
end $$;
`,
};
