/** Sums over the processes of each job, so that jobs can be compared without reading every process. */
export const features = {
  version: 7,
  what: 'what jobs are compared by',
  sql: `
alter table tacho.summary_jobs add column features text;
`,
};
