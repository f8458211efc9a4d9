import type { NodeReport } from '../../report-schema.ts';

/** Programs read so much to start, and so much a second in passing: less is no work with files. */
const LITTLE_IO_BYTES = 4 * 2 ** 20;
const LITTLE_IO_RATE = 16 * 2 ** 10;
/** Page faults a second that waited for a disk. */
const LITTLE_FAULTS = 10;

/** Some task waited for I/O in this share of the time: enough to hold up a data loader. */
export const PRESSURE_IO = 0.2;

/** Whether only the whole node's waiting is known, and the job's own processes cannot have had a part in it. */
export function hasNoIo(n: NodeReport): boolean {
  if (n.pressure_scope === 'job' || n.io_bytes === undefined || n.major_faults === undefined) return false;
  const seconds = n.recorded_seconds ?? 0;
  return n.io_bytes < LITTLE_IO_BYTES + LITTLE_IO_RATE * seconds && n.major_faults <= LITTLE_FAULTS * seconds;
}
