import { formatDuration } from '../../../base/duration.ts';
import { formatBytes } from '../../../base/size.ts';
import type { Facts } from '../../report-schema.ts';

/** What to write into a job script, in the scheduler's own words. */

const GIB = 2 ** 30;

/** Bytes rounded up to what people write into a job script: steps of 1, 4, 16 and 64 GiB. */
export function roundedUp(bytes: number): number {
  const gib = bytes / GIB;
  if (gib < 2) return Math.ceil(gib * 4) * 256 * 2 ** 20;
  const step = gib <= 32 ? 1 : gib <= 128 ? 4 : gib <= 1024 ? 16 : 64;
  return Math.ceil(gib / step) * step * GIB;
}

export function memoryRequest({ job }: Facts, bytes: number): string {
  const whole = bytes % GIB === 0;
  const size = whole ? `${bytes / GIB}G` : `${bytes / 2 ** 20}M`;
  if (job.scheduler === 'slurm') return `#SBATCH --mem=${size} (for each node)`;
  if (job.scheduler === 'pbs')
    return `mem=${whole ? `${bytes / GIB}gb` : `${bytes / 2 ** 20}mb`} in each chunk of -l select`;
  return `${formatBytes(bytes)} on each node`;
}

/** Seconds rounded up to what people write: five minutes, a quarter of an hour beyond two hours. */
export function roundedSeconds(seconds: number): number {
  const step = seconds > 7200 ? 900 : 300;
  return Math.max(step, Math.ceil(seconds / step) * step);
}

/** "HH:MM:00", with days before it where there are some. */
export function clockTime(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  const days = Math.floor(minutes / 1440);
  const clock = `${String(Math.floor(minutes / 60) % 24).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}:00`;
  return days > 0 ? `${days}-${clock}` : clock;
}

const roundedTime = (seconds: number): string => clockTime(roundedSeconds(seconds));

export function timeRequest({ job }: Facts, seconds: number): string {
  if (job.scheduler === 'slurm') return `#SBATCH --time=${roundedTime(seconds)}`;
  if (job.scheduler === 'pbs') return `#PBS -l walltime=${roundedTime(seconds)}`;
  return formatDuration(seconds);
}

export const isSlurm = ({ job }: Facts): boolean => job.scheduler === 'slurm';
