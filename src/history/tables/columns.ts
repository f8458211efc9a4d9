import { gauge } from '../../table/table.ts';

/** Columns that several tables of the history have, in their units. */
export const share = <N extends string>(name: N, help: string) => gauge(name, 'share', help, 'float', 6);
export const seconds = <N extends string>(name: N, help: string) => gauge(name, 'seconds', help, 'float', 3);
export const hours = <N extends string>(name: N, help: string) => gauge(name, 'hours', help, 'float', 6);
export const byteHours = <N extends string>(name: N, help: string) => gauge(name, 'byte_hours', help, 'float', 3);
