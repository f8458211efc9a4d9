/** The name that a process was called by, which need not be one of its file. */
export const argv0 = {
  version: 2,
  what: 'the names that processes were called by (argv0)',
  sql: `
alter table tacho.processes add column argv0 text;
`,
};
