import { gauge } from '../../table/table.ts';

/** Columns that several tables of the history have, in their units. */
export const share = <N extends string>(name: N, help: string) => gauge(name, 'share', help, 'float', 6);
export const seconds = <N extends string>(name: N, help: string) => gauge(name, 'seconds', help, 'float', 3);
export const hours = <N extends string>(name: N, help: string) => gauge(name, 'hours', help, 'float', 6);
export const byteHours = <N extends string>(name: N, help: string) => gauge(name, 'byte_hours', help, 'float', 3);

/** Which job a row of another table belongs to, and when that ended. */
export const jobKeys = [
  { name: 'job', help: 'Id of the job.' },
  { name: 'cluster', help: 'Cluster, where the scheduler has named one.' },
  { name: 'user', help: 'Who ran it.' },
] as const;
export const jobEnding = [
  gauge('end_time', 'epoch', 'When the job ended; empty while it runs.'),
  gauge('restart', 'count', 'How often the scheduler had restarted the job before.'),
] as const;
