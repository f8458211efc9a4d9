import type { NodeReport } from '../../report-schema.ts';

/** Limits of rules that look at waiting for files: among the thresholds of each. */
export const FILE_WORK = {
  /** Share of the time in which tasks waited for I/O. */
  pressure_io: 0.2,
  /** Bytes that any program reads and writes to start: they are no file work. */
  little_io_bytes: 4 * 2 ** 20,
  /** Bytes read and written per second of the job that are no file work either. */
  little_io_rate: 16 * 2 ** 10,
  /** Major page faults per second up to which a job did no file work. */
  little_faults: 10,
};

/** Whether only the whole node's waiting is known, and the job's own processes cannot have had a part in it. */
export function hasNoIo(n: NodeReport, limits: typeof FILE_WORK): boolean {
  if (n.pressure_scope === 'job' || n.io_bytes === undefined || n.major_faults === undefined) return false;
  const seconds = n.recorded_seconds ?? 0;
  const { little_io_bytes, little_io_rate, little_faults } = limits;
  return n.io_bytes < little_io_bytes + little_io_rate * seconds && n.major_faults <= little_faults * seconds;
}
