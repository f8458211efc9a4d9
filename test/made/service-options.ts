import * as path from 'node:path';
import type { ServiceOptions } from '../../src/agent/service/service.ts';

/** Options of a node's agent that keeps its recordings in a folder. */
export const serviceOptions = (folder: string, log: string[], more: Partial<ServiceOptions> = {}): ServiceOptions => ({
  spool: path.join(folder, 'spool'),
  jobs: path.join(folder, 'jobs'),
  node: 'c1',
  intervalSeconds: 1,
  idleIntervalSeconds: 1,
  only: ['loadavg'],
  without: [],
  custom: [],
  writer: {},
  redact: false,
  watchCgroups: false,
  say: (line) => void log.push(line),
  ...more,
});
