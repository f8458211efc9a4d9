/** The ranks of parallel programs, and where processes may run. */
export const ranks = {
  version: 4,
  what: 'which ranks were started together, and the CPUs that processes may run on',
  sql: `
alter table tacho.processes add column ranks bigint;
alter table tacho.processes add column world text;
alter table tacho.processes add column allowed_cpus text;
`,
};
