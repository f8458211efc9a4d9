import type { NodeReport } from '../../report-schema.ts';

/** Limits of rules that look at waiting for files: among the thresholds of each. */
export const FILE_WORK = {
  /** Some task waited for I/O in this share of the time: enough to hold up a data loader. */
  pressure_io: 0.2,
  /** Programs read so much to start, and so much a second in passing: less is no work with files. */
  little_io_bytes: 4 * 2 ** 20,
  little_io_rate: 16 * 2 ** 10,
  /** Page faults a second that waited for a disk. */
  little_faults: 10,
};

/** Whether only the whole node's waiting is known, and the job's own processes cannot have had a part in it. */
export function hasNoIo(n: NodeReport, limits: typeof FILE_WORK): boolean {
  if (n.pressure_scope === 'job' || n.io_bytes === undefined || n.major_faults === undefined) return false;
  const seconds = n.recorded_seconds ?? 0;
  const { little_io_bytes, little_io_rate, little_faults } = limits;
  return n.io_bytes < little_io_bytes + little_io_rate * seconds && n.major_faults <= little_faults * seconds;
}
