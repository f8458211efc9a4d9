import { constants } from 'node:os';

const NAMES = new Map<number, string>();
for (const [name, number] of Object.entries(constants.signals)) if (!NAMES.has(number)) NAMES.set(number, name);

/** SIGSEGV, of 11; "signal 64" where it has no name. */
export const signalName = (signal: number): string => NAMES.get(signal) ?? `signal ${signal}`;
