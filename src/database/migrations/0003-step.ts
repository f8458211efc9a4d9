/** The step of its job that a process belongs to. */
export const step = {
  version: 3,
  what: 'the steps that processes belong to',
  sql: `
alter table tacho.processes add column step text;
`,
};
